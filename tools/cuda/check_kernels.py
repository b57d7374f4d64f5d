#!/usr/bin/env python3
"""Holds what `hunch why` says of hunch's own flash kernel to what `hunch run` launches on a GPU.

usage: check_kernels.py HUNCH

HUNCH is a command that starts a hunch with CUDA (several words are fine). Each problem is asked about on this GPU and
for its architecture as if it were not here, then run and recorded; compared are the kernel's family, its tile, whether it
is the general one, and its parts, by the recorded name's template arguments and the grid. Where the recording has hunch's
own short names (no CUPTI), the family alone. Prints a row for each problem and a count last; exit status 1 where one
disagrees. Needs no PyTorch.
"""
import json
import re
import shlex
import subprocess
import sys
import tempfile

PROBLEMS = [
    ("short causal", "8x16x1024x64", []),
    ("long", "2x16x4096x64", ["--mask", "none"]),
    ("head_dim 128", "2x16x2048x128", []),
    ("head_dim 128, long", "1x8x8192x128", []),
    ("head_dim 256", "2x8x1024x256", []),
    ("head_dim 72", "2x8x512x72", []),
    ("head_dim 65", "2x8x512x65", []),
    ("f16", "8x16x1024x64", ["--dtype", "f16"]),
    ("bool mask", "2x8x512x64", ["--mask", "bool"]),
    ("float mask, 256", "2x8x512x256", ["--mask", "float"]),
    ("window", "2x8x2048x64", ["--window", "256"]),
    ("softcap", "2x8x512x128", ["--softcap", "30"]),
    ("negative scale", "2x8x512x64", ["--scale", "-0.1"]),
    ("63 queries", "2x8x63x64", []),
    ("64 queries", "2x8x64x64", []),
    ("decoding", "1x32x1x128", ["--kv-heads", "8", "--kv-length", "8192", "--mask", "none"]),
    ("decoding, many", "64x32x1x128", ["--kv-heads", "8", "--kv-length", "1024", "--mask", "none"]),
    ("decoding, mask", "1x32x1x64", ["--kv-heads", "8", "--kv-length", "4096", "--mask", "bool"]),
    ("few, one head each", "1x4x16x64", ["--kv-length", "8192", "--mask", "none"]),
    ("decoding, f16, 256", "2x16x1x256", ["--kv-heads", "1", "--kv-length", "20000", "--mask", "none", "--dtype", "f16"]),
    ("decoding, a head each", "8x16x1x64", ["--kv-length", "1024", "--mask", "none"]),
    ("decoding, many, f16", "50x32x1x64", ["--kv-heads", "8", "--kv-length", "500", "--mask", "none", "--dtype", "f16"]),
    ("decoding, two each", "20x32x1x128", ["--kv-heads", "8", "--kv-length", "300", "--mask", "none"]),
    ("decoding, three each", "20x32x1x128", ["--kv-heads", "8", "--kv-length", "2048", "--mask", "none"]),
    ("decoding, four each", "60x16x1x128", ["--kv-heads", "8", "--kv-length", "512", "--mask", "none"]),
    ("decoding, 256, many", "40x32x1x256", ["--kv-heads", "8", "--kv-length", "256", "--mask", "none"]),
    ("17 rows of a key head", "2x17x1x64", ["--kv-heads", "1", "--kv-length", "4096", "--mask", "none"]),
    ("64 rows of a key head", "1x16x4x128", ["--kv-heads", "1", "--kv-length", "9000", "--mask", "none"]),
    ("65 rows of a key head", "2x65x1x64", ["--kv-heads", "1", "--kv-length", "4096", "--mask", "none"]),
    ("three tiles, many keys", "8x16x33x128", ["--kv-length", "4096", "--mask", "none"]),
    ("few, causal", "2x32x8x64", ["--kv-heads", "4", "--kv-length", "64"]),
]


def ask(hunch, *words):
    done = subprocess.run([*hunch, *words, "--format", "json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"hunch {' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def told(hunch, problem, options, where):
    """Family, rows and keys of a tile, few rows, general, packed, parts: as `hunch why` says."""
    answer = ask(hunch, "why", "--problem", problem, *options, "--dispatcher", "hunch", *where)
    flash = next(b for b in answer["dispatchers"][0]["backends"] if b["name"] == "flash")
    if not flash["kernel"]:
        raise RuntimeError(f"no kernel is told: {flash['reasons']}")
    notes = " ".join(reason["text"] for reason in flash["reasons"])
    rows, keys = re.search(r"tiles of (\d+) queries x (\d+) keys", notes).groups()
    parts = re.search(r"the keys in (\d+) parts", notes)
    few = "kernel for few rows" in notes
    each = re.search(r"(\d+) blocks to a multiprocessor", notes)
    heads = "query heads of a key head share its tiles" in notes or few
    return {"family": re.search(r"attention::(\w+)::", flash["kernel"]).group(1), "rows": int(rows), "keys": int(keys),
            "few": few, "general": "its general form" in notes, "packed": heads or parts is not None,
            "parts": int(parts.group(1)) if parts else 1, "each": int(each.group(1)) if each else 1}


def launched(hunch, problem, options, folder):
    """The same of what ran, as far as the recorded name and grid tell; and the GPU's architecture."""
    ask(hunch, "run", "--variant", "flash", "--device", "cuda", "--problem", problem, *options, "--steps", "0,1,1",
        "--trace-dir", folder)
    report = ask(hunch, "explain", f"{folder}/flash.json.gz")
    kernels = [k for k in report["kernels"] if re.search(r"flash_(forward|few_rows)_kernel", k["name"])]
    if len(kernels) != 1:
        raise RuntimeError(f"{len(kernels)} flash kernels: {[k['name'] for k in report['kernels']]}")
    name = kernels[0]["name"]
    seen = {"family": re.search(r"attention::(\w+)::flash_", name).group(1), "few": "flash_few_rows" in name}
    hopper = re.search(r"Shape90<[^,<>]+, *(?:\(int\))?(\d+), *(?:\(int\))?(\d+), *(?:\(int\))?(\d+)", name)
    if hopper:
        seen |= {"rows": int(hopper.group(2)), "keys": int(hopper.group(3))}
    older = re.search(r"FlashShape<[^,<>]+, *(?:\(int\))?(\d+), *(?:\(int\))?(\d+), *(?:\(int\))?(\d+)[^<>]*>, *"
                      r"(?:\(bool\))?(\w+), *(?:\(bool\))?(\w+)", name)
    if older:
        seen |= {"rows": int(older.group(2)), "keys": int(older.group(3)),
                 "general": older.group(4) in ("true", "1"), "packed": older.group(5) in ("true", "1")}
    few = re.search(r"FewRowsShape<[^,<>]+" + r", *(?:\(int\))?(\d+)" * 5 + r"[^<>]*>, *(?:\(bool\))?(\w+)", name)
    if few:
        seen |= {"rows": 16, "keys": int(few.group(2)) * int(few.group(3)), "general": few.group(6) in ("true", "1"),
                 "packed": True, "each": int(few.group(5))}
    if older or few:
        grid = kernels[0].get("grid")
        if seen["packed"] and grid:
            batch, heads, length, _dim = (int(size) for size in problem.split("x"))
            kv_heads = int(options[options.index("--kv-heads") + 1]) if "--kv-heads" in options else heads
            tiles = -(-(heads // kv_heads) * length // seen["rows"]) * batch * kv_heads
            seen["parts"] = int(str(grid).split("x")[0]) // tiles
    return seen, re.search(r"sm_\d+", report["trace"]["device"]).group(0)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    hunch = shlex.split(sys.argv[1])
    arch, wrong = None, 0
    for label, problem, options in PROBLEMS:
        try:
            here = told(hunch, problem, options, ["--device", "cuda"])
            with tempfile.TemporaryDirectory() as folder:
                ran, arch = launched(hunch, problem, options, folder)
            there = told(hunch, problem, options, ["--arch", arch])
        except (RuntimeError, StopIteration, AttributeError, ValueError) as error:
            wrong += 1
            print(f"FAILED {label:<20} {problem}: {error}", flush=True)
            continue
        differs = {what: (here[what], ran[what]) for what in ran if here[what] != ran[what]}
        # How many parts depends on multiprocessors, of which the architecture's usual product may have others.
        offline = {what: (there[what], here[what]) for what in here if what != "parts" and there[what] != here[what]}
        wrong += bool(differs or offline)
        kinds = [kind for kind in ("few", "general", "packed") if here[kind] and not (kind == "packed" and here["few"])]
        words = " ".join([here["family"], f"{here['rows']}x{here['keys']}", *kinds] +
                         ([f"{here['parts']} parts"] if here["parts"] > 1 else []) +
                         ([f"{here['each']} blocks each"] if here["each"] > 1 else []))
        state = "DIFFERS" if differs or offline else "ok"
        print(f"{state:<8}{label:<20} {words:<34} held: {', '.join(sorted(ran))}", flush=True)
        if differs:
            print(f"        told and launched: {differs}")
        if offline:
            print(f"        for --arch {arch} and here: {offline}")
    print(f"{len(PROBLEMS) - wrong} of {len(PROBLEMS)} problems agree ({arch})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
