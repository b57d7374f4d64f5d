#!/usr/bin/env python3
"""Every variant of hunch beside PyTorch's of the same name, on one GPU in one run.

usage: compare_variants.py HUNCH FOLDER [--quick] [--dtypes bf16,f16]

HUNCH is a command that starts hunch (several words are fine). Both sides are recorded by CUPTI (PyTorch's by
its own profiler) and read by `hunch explain`, so both columns count and time in the same way: device time is
the sum of the device work that one forward launched, the median of the recorded forwards. Traces go to FOLDER.
Rounds of hunch and PyTorch alternate. Prints, for the reference problem, counts from the run and from the
recorded trace; then device times and ratios (PyTorch's time over hunch's: above 1, hunch is faster).
"""
import argparse
import json
import math
import os
import shlex
import subprocess
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile, record_function, schedule

SHAPES = [(8, 16, 1024, 64), (4, 16, 4096, 64), (1, 16, 16384, 64), (4, 16, 4096, 128), (2, 16, 8192, 128),
          (1, 16, 16384, 128), (2, 8, 8192, 256)]
VARIANTS = ["naive", "naive_inplace", "math", "efficient", "flash", "cudnn"]
EXPECTED = {"naive": (5, 1), "naive_inplace": (5, 0), "math": (20, 0), "efficient": (1, 0), "flash": (1, 0),
            "cudnn": (1, 0)}
SDPA = {"math": SDPBackend.MATH, "efficient": SDPBackend.EFFICIENT_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
        "cudnn": SDPBackend.CUDNN_ATTENTION}
STEPS = (1, 3, 10)


def median_of(value):
    return value["median"] if isinstance(value, dict) else value


def hunch_json(hunch, arguments):
    done = subprocess.run(hunch + arguments + ["--format", "json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}")
    if done.stderr.strip():
        print(done.stderr.strip(), file=sys.stderr)
    return json.loads(done.stdout)


def run_hunch(hunch, shape, causal, dtype, variants, folder):
    return hunch_json(hunch, ["run", "--device", "cuda", "--problem", "x".join(map(str, shape)), "--mask",
                              "causal" if causal else "none", "--dtype", dtype, "--variant", ",".join(variants),
                              "--steps", ",".join(map(str, STEPS)), "--trace-dir", folder])


def by_hand(query, key, value, mask, in_place):
    scores = torch.matmul(query, key.transpose(-2, -1)) * (1 / math.sqrt(query.shape[-1]))
    if mask is not None:
        scores = scores.masked_fill_(mask, -math.inf) if in_place else scores.masked_fill(mask, -math.inf)
    return torch.matmul(torch.softmax(scores, -1), value)


def torch_forward(variant, query, key, value, causal):
    if variant.startswith("naive"):
        rows, columns = query.shape[2], key.shape[2]
        mask = torch.ones(rows, columns, device="cuda", dtype=torch.bool).triu(1) if causal else None
        return lambda: by_hand(query, key, value, mask, variant == "naive_inplace")

    def forward():
        with sdpa_kernel(SDPA[variant]):
            return F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    return forward


def record_torch(variant, shape, causal, dtype, folder):
    batch, heads, length, head_dim = shape
    query, key, value = (torch.randn(batch, heads, length, head_dim, device="cuda", dtype=dtype) for _ in range(3))
    forward = torch_forward(variant, query, key, value, causal)
    wait, warmup, active = STEPS
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                 schedule=schedule(wait=wait, warmup=warmup, active=active, repeat=1)) as recorder:
        for _ in range(sum(STEPS)):
            with record_function("attn_fwd"), torch.no_grad():
                forward()
            torch.cuda.synchronize()
            recorder.step()
    path = os.path.join(folder, f"torch_{variant}.json")
    recorder.export_chrome_trace(path)
    return path


def forward_of(hunch, path):
    report = hunch_json(hunch, ["explain", path])
    found = [each for each in report["forwards"] if each["range"] == "attn_fwd"]
    return (found[0], report) if found else (None, report)


def counts(row):
    return tuple(median_of(row[key]) for key in ("kernels", "memcpy", "memset"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hunch")
    parser.add_argument("folder")
    parser.add_argument("--quick", action="store_true", help="the reference problem only")
    parser.add_argument("--dtypes", default="bf16,f16")
    options = parser.parse_args()
    hunch = shlex.split(options.hunch)
    os.makedirs(options.folder, exist_ok=True)
    wrong = 0

    print("## Counts on the reference problem: kernels, copies, memsets; from the run, from its trace, of PyTorch")
    reference = run_hunch(hunch, SHAPES[0], True, "bf16", VARIANTS, options.folder)
    for row in reference["variants"]:
        if not row["available"]:
            print(f"{row['name']:14} not available: {'; '.join(row['reasons'])}")
            wrong += 1
            continue
        forward, report = forward_of(hunch, os.path.join(options.folder, row["name"] + ".json.gz"))
        theirs, _ = forward_of(hunch, record_torch(row["name"], SHAPES[0], True, torch.bfloat16, options.folder))
        ran, read = counts(row), counts(forward)
        same = ran == read and ran[:2] == EXPECTED[row["name"]]
        wrong += not same
        rules = sorted({each["rule"] for each in row["findings"]})
        told = sorted({each["rule"] for each in report["findings"] if each["range"] == "attn_fwd"})
        print(f"{row['name']:14} {ran} {read} {counts(theirs)} {'ok' if same else 'WRONG'}; error "
              f"{row['max_abs_error']:.2g} of {row['error_bound']:.2g} {'ok' if row['error_ok'] else 'WRONG'}; "
              f"findings {', '.join(rules)}{'' if rules == told else '; of the trace ' + ', '.join(told)}")
        wrong += not row["error_ok"]

    for dtype_name in options.dtypes.split(","):
        dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[dtype_name]
        print(f"\n## Device time of one forward, {dtype_name}: us of hunch / us of PyTorch = ratio")
        print("| B,H,S,D | mask | " + " | ".join(VARIANTS) + " |\n" + "|---" * (2 + len(VARIANTS)) + "|")
        for shape in SHAPES[:1] if options.quick else SHAPES:
            for causal in (True, False):
                # The score matrix of the longest ones takes most of the memory and time; the fused ones show enough.
                variants = VARIANTS if shape[2] <= 8192 and dtype_name != "f16" else VARIANTS[3:]
                torch.cuda.empty_cache()
                rows = {row["name"]: row for row in
                        run_hunch(hunch, shape, causal, dtype_name, variants, options.folder)["variants"]}
                cells = []
                for variant in VARIANTS:
                    row = rows.get(variant)
                    if row is None or not row["available"]:
                        cells.append("-" if row is None else "; ".join(row["reasons"]))
                        continue
                    theirs, _ = forward_of(hunch, record_torch(variant, shape, causal, dtype, options.folder))
                    ours_us, torch_us = median_of(row["device_ns"]) / 1e3, median_of(theirs["device_ns"]) / 1e3
                    bad = "" if row["error_ok"] else " WRONG"
                    wrong += not row["error_ok"]
                    cells.append(f"{ours_us:.0f} / {torch_us:.0f} = {torch_us / ours_us:.2f}{bad}")
                print(f"| {','.join(map(str, shape))} | {'causal' if causal else 'full'} | " + " | ".join(cells) + " |",
                      flush=True)
    print(f"\nwrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
