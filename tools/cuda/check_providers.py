#!/usr/bin/env python3
"""Builds the PyTorch plug-in here, and holds `hunch run --device cuda --provider native,torch` to what is known.

usage: check_providers.py HUNCH FOLDER [--quick]

HUNCH is a command that starts hunch (several words are fine). The plug-in is compiled from this tree against the
PyTorch of this Python, and opened by HUNCH through HUNCH_TORCH_PLUGIN. Checked are: the counts of the reference
problem on both sides, against PyTorch's own profiler for PyTorch's; every result against the reference; the same
counts from the recordings by `hunch explain`; refusals in PyTorch's words; guesses about one provider's variant;
the fields of the JSON. Traces go to FOLDER. Prints what fails, and a short table last; exit status 1 where
something fails. Needs g++ or cmake, and a CUDA device.
"""
import argparse
import glob
import json
import os
import shlex
import subprocess
import sys
import time

import torch

import check_why
import compare_variants as theirs

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
REFERENCE = (8, 16, 1024, 64)
VARIANTS = theirs.VARIANTS
# PyTorch's kernels, copies and memsets of the reference problem. Memsets are libraries' own: another number than
# this is told and fails nothing.
TORCH = {"naive": (5, 1, 1), "naive_inplace": (5, 0, 1), "math": (20, 0, 0), "efficient": (1, 0, 0), "flash": (1, 0, 0),
         "cudnn": (1, 0, 1)}
# More problems: sizes, heads of key and value, their length, dtype, mask.
OTHERS = [((2, 8, 512, 128), 8, 512, "f16", "none"), ((2, 8, 512, 64), 8, 512, "bf16", "bool"),
          ((2, 8, 512, 64), 8, 512, "bf16", "float"), ((2, 8, 512, 64), 8, 512, "f32", "causal"),
          ((2, 16, 384, 64), 4, 384, "bf16", "causal"), ((4, 16, 1, 128), 16, 4096, "bf16", "none"),
          ((2, 4, 200, 72), 4, 333, "bf16", "bool"), ((2, 4, 128, 20), 4, 128, "f16", "none")]

failures = []


def check(holds, what):
    what = what if len(what) < 600 else what[:600] + " ..."
    if not holds:
        failures.append(what)
        print(f"FAILED {what}", flush=True)
    return holds


def build(folder):
    """libhunch_torch.so for this PyTorch, by the compiler alone."""
    root = os.path.dirname(torch.__file__)
    libraries = ["-Wl,--no-as-needed", "-ltorch", "-Wl,--as-needed", "-ltorch_cpu", "-lc10"]
    flags = []
    headers = [path for path in (glob.glob(f"{root}/../nvidia/cu*/include") + [f"{root}/../nvidia/cuda_runtime/include",
               "/usr/local/cuda/include"]) if os.path.exists(f"{path}/crt/host_config.h")]
    if os.path.exists(f"{root}/lib/libc10_cuda.so") and headers:
        flags = ["-DHUNCH_TORCH_CUDA=1", "-isystem", headers[0]]
        libraries.append("-lc10_cuda")
    output = os.path.join(os.path.abspath(folder), "libhunch_torch.so")
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-I", TREE,
               "-isystem", f"{root}/include", "-isystem", f"{root}/include/torch/csrc/api/include", *flags,
               os.path.join(TREE, "hunch/attention/torch/plugin_torch.cc"), "-o", output, f"-L{root}/lib",
               f"-Wl,-rpath,{root}/lib", *libraries]
    start = time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"the plug-in does not compile:\n{' '.join(command)}\n{done.stderr[-4000:]}")
    print(f"plug-in: {output}, built in {time.time() - start:.0f} s, {'with' if flags else 'WITHOUT'} CUDA, PyTorch "
          f"{torch.__version__}", flush=True)
    return output


def run(hunch, arguments, expect=0):
    """The JSON of one run; what is wrong with it is a failure."""
    done = subprocess.run(hunch + ["run", "--device", "cuda", *arguments, "--format", "json"], capture_output=True,
                          text=True)
    what = " ".join(arguments)
    check(done.returncode == expect, f"{what}: exit {done.returncode}, not {expect}: {done.stderr.strip()}")
    if done.returncode > 1:  # 1 is a guess that missed, with a report
        return {"variants": [], "providers": []}
    if done.stderr.strip():
        print(f"stderr of {what}: {done.stderr.strip()[:600]}", flush=True)
    return json.loads(done.stdout)


def median(row, key):
    return theirs.median_of(row[key])


def us(ns):
    return f"{ns / 1e3:.1f}"


def check_reference(hunch, folder, dtype, rows_of_table):
    shape = "x".join(map(str, REFERENCE))
    traces = os.path.join(folder, dtype)
    report = run(hunch, ["--provider", "native,torch", "--problem", shape, "--dtype", dtype, "--mask", "causal",
                         "--steps", "1,3,10", "--trace-dir", traces])
    libraries = {each["name"]: each["library"] for each in report["providers"]}
    check(libraries.get("torch") is not None and torch.__version__.split("+")[0] in libraries["torch"],
          f"providers: {libraries}")
    print(f"{dtype}: {libraries.get('torch')}", flush=True)
    rows = {row["name"]: row for row in report["variants"]}
    check(list(rows) == [name for v in VARIANTS for name in (v, f"torch.{v}")], f"order of rows: {list(rows)}")
    for name, row in rows.items():
        variant, of_torch = row["backend"], row["provider"] == "torch"
        if not check(row["available"], f"{dtype} {name}: {row['reasons']}"):
            continue
        counts = tuple(median(row, key) for key in ("kernels", "memcpy", "memset"))
        check(counts[:2] == theirs.EXPECTED[variant], f"{dtype} {name}: {counts}, design {theirs.EXPECTED[variant]}")
        if of_torch and counts != TORCH[variant]:
            print(f"note: {dtype} {name}: {counts}, design {TORCH[variant]}")
        check(row["error_ok"], f"{dtype} {name}: error {row['max_abs_error']} of {row['error_bound']}")
        check(row["first_call"] and row["first_call"]["host_ns"], f"{dtype} {name}: first call {row['first_call']}")
        check((row["peak_bytes"] or 0) and median(row, "peak_bytes") > 0, f"{dtype} {name}: peak {row['peak_bytes']}")
        done = subprocess.run(hunch + ["explain", os.path.join(traces, name + ".json.gz"), "--format", "json"],
                              capture_output=True, text=True)
        if check(done.returncode == 0, f"explain {name}: {done.stderr.strip()}"):
            forward = next(each for each in json.loads(done.stdout)["forwards"] if each["range"] == "attn_fwd")
            read = tuple(median(forward, key) for key in ("kernels", "memcpy", "memset"))
            check(read == counts, f"{dtype} {name}: the trace has {read}, the run {counts}")
            backend = "naive" if variant.startswith("naive") else variant
            check(forward["backend"] == backend, f"{dtype} {name}: the trace took {forward['backend']}")
            if of_torch:
                check(all(step["op"].startswith("aten::") for step in forward["sequence"]),
                      f"{dtype} {name}: ops {[step['op'] for step in forward['sequence']]}")
        own = ""
        if of_torch and dtype == "bf16":
            profiled, _ = theirs.forward_of(hunch, theirs.record_torch(variant, REFERENCE, True, torch.bfloat16, traces))
            own = theirs.counts(profiled)
            check(own[:2] == counts[:2], f"{dtype} {name}: {counts}, and PyTorch's profiler {own}")
            own = f"{own}, {us(median(profiled, 'device_ns'))} us"
        first = row["first_call"] or {"prepare_ns": 0, "host_ns": 0}
        rows_of_table.append((dtype, name, str(counts), us(median(row, "device_ns")), us(median(row, "host_ns")),
                              us(first["prepare_ns"] + (first["host_ns"] or 0)), f"{row['max_abs_error']:.2g}", own))


def check_others(hunch):
    """Whether PyTorch's variants run is what `hunch why` says; what runs is right."""
    problems = [{"batch": shape[0], "heads": shape[1], "kv_heads": kv_heads, "length": shape[2], "kv_length": kv_length,
                 "head_dim": shape[3], "value_dim": shape[3], "dtype": dtype, "mask": mask, "gqa": kv_heads != shape[1],
                 **({"mask_shape": [shape[2], kv_length]} if mask in ("bool", "float") else {})}
                for shape, kv_heads, kv_length, dtype, mask in OTHERS]
    major, minor = torch.cuda.get_device_capability()
    cudnn = torch.backends.cudnn.version()
    usable = check_why.ask_hunch(shlex.join(hunch), problems, [
        "--torch", ".".join(torch.__version__.split("+")[0].split(".")[:2]), "--arch", f"sm_{major}{minor}", "--cudnn",
        f"{cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}", "--cuda", torch.version.cuda])
    for (shape, kv_heads, kv_length, dtype, mask), why in zip(OTHERS, usable):
        what = f"{'x'.join(map(str, shape))} kv {kv_heads}x{kv_length} {dtype} {mask}"
        report = run(hunch, ["--provider", "native,torch", "--problem", "x".join(map(str, shape)), "--kv-heads",
                             str(kv_heads), "--kv-length", str(kv_length), "--dtype", dtype, "--mask", mask])
        told = []
        for row in report["variants"]:
            name = f"{what} {row['name']}"
            if row["available"]:
                check(row["error_ok"], f"{name}: error {row['max_abs_error']} of {row['error_bound']}")
            if row["provider"] != "torch":
                continue
            expected = why.get(row["backend"], True)
            check(expected is None or row["available"] == expected,
                  f"{name}: ran {row['available']}, hunch why says {expected}: {row['reasons']}")
            if not row["available"]:
                check(any("PyTorch says: " in reason for reason in row["reasons"]), f"{name}: {row['reasons']}")
                told.append(f"{row['backend']}: {'; '.join(row['reasons'])[:200]}")
        print(what + "".join(f"\n    refused {each}" for each in told), flush=True)


def check_guesses(hunch, folder):
    arguments = ["--provider", "native,torch", "--problem", "8x16x512x64", "--variant", "naive,flash"]
    for name, text, status in (
            ("right", '[forward."torch.flash"]\nkernels = 1\nmemcpy = 0\nbackend = "flash"\ntensor_cores = true\n'
             'dtype = "bf16"\npeak_memory = "< torch.naive"\n[forward."flash"]\nkernels = 1\n', 0),
            ("wrong", '[forward."torch.naive"]\nmemcpy = 0\n', 1)):
        path = os.path.join(folder, name + ".toml")
        with open(path, "w") as file:
            file.write(text)
        report = run(hunch, [*arguments, "--guess", path], expect=status)
        for row in report["variants"]:
            for verdict in row["guess"]:
                missed = name == "wrong" and row["name"] == "torch.naive"
                check(verdict["verdict"] == ("misses" if missed else "holds"), f"{name} {row['name']}: {verdict}")
                check(not missed or "hidden_copy" in verdict["why"], f"{name} {row['name']}: why {verdict['why']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hunch")
    parser.add_argument("folder")
    parser.add_argument("--quick", action="store_true", help="the reference problem in bf16 only")
    options = parser.parse_args()
    hunch = shlex.split(options.hunch)
    os.makedirs(options.folder, exist_ok=True)
    os.environ["HUNCH_TORCH_PLUGIN"] = build(options.folder)
    done = subprocess.run(hunch + ["doctor"], capture_output=True, text=True)
    print("\n".join(line for line in done.stdout.splitlines() if any(
        word in line for word in ("PyTorch", "CUDA", "cuda:0", "CUPTI", "cuBLASLt", "cuDNN"))), flush=True)
    check("PyTorch" in done.stdout and done.returncode == 0, f"doctor: {done.returncode} {done.stderr.strip()}")

    table = []
    check_reference(hunch, options.folder, "bf16", table)
    if not options.quick:
        check_reference(hunch, options.folder, "f16", table)
        check_others(hunch)
        check_guesses(hunch, options.folder)

    heads = ("dtype", "variant", "counts", "device us", "host us", "first us", "error", "PyTorch's profiler")
    widths = [max(len(str(row[i])) for row in [heads, *table]) for i in range(len(heads))]
    print(f"\n{torch.cuda.get_device_name()}, PyTorch {torch.__version__}: kernels, copies, memsets of one forward")
    for row in [heads, *table]:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
    print(f"failed: {len(failures)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
