#!/usr/bin/env python3
"""Puts PyTorch's elementwise ops and products beside ours: one table, from one run on the GPU at hand.

usage: ops_bench.py COMMAND...

COMMAND runs the program bench_ops_cuda of a build with CUDA. Needs PyTorch. Both sides are timed by CUDA events,
medians of single calls that rotate over inputs several times larger than the second cache, on the same shapes;
rates count the bytes that must be read and written once. masked_fill_causal: ours skips what the mask leaves
alone, PyTorch's rewrites it.
"""
import statistics
import subprocess
import sys

import torch

SCORES, HEADS, SETS, REPETITIONS = (8, 16, 1024, 1024), (8, 16, 1024, 64), 3, 30


def time(body):
    times = []
    for i in range(REPETITIONS + SETS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        body(i % SETS)
        end.record()
        end.synchronize()
        if i >= SETS:
            times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


def ours(command):
    rows = {}
    for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        name, *numbers = line.split("\t")
        rows[name] = [float(number) for number in numbers]
    return rows


def theirs(dtype, label):
    x = [torch.randn(SCORES, device="cuda", dtype=dtype) for _ in range(SETS)]
    bias = torch.randn(SCORES[2:], device="cuda", dtype=dtype)
    hidden = ~torch.ones(SCORES[2:], device="cuda", dtype=torch.bool).tril()
    other = torch.bfloat16 if dtype == torch.float32 else torch.float32
    times = {}

    def add(name, body):
        times[f"{name}<{label}>"] = time(body)

    add("memcpy", lambda i: x[i].clone())
    add("mul", lambda i: x[i] * 0.125)
    add("add", lambda i: x[i] + bias)
    add("softmax", lambda i: torch.softmax(x[i], -1))
    add("is_neg_inf", lambda i: x[i] == float("-inf"))
    add("transposed_copy", lambda i: x[i].transpose(-1, -2).contiguous())
    rows = (x[0] == float("-inf")).all(-1, keepdim=True)
    zero = torch.zeros((), device="cuda", dtype=dtype)
    add("where_rows", lambda i: torch.where(rows, zero, x[i]))
    add("cast", lambda i: x[i].to(other))
    add("masked_fill_causal", lambda i: x[i].masked_fill_(hidden, float("-inf")))
    flags = [each == float("-inf") for each in x]
    add("all", lambda i: flags[i].all(-1, keepdim=True))
    inside = [torch.randn((64, 1024, 16, 64), device="cuda", dtype=dtype) for _ in range(SETS)]
    add("heads_copy", lambda i: inside[i].transpose(1, 2).contiguous())
    q = [torch.randn(HEADS, device="cuda", dtype=dtype) for _ in range(SETS)]
    k = [torch.randn(HEADS, device="cuda", dtype=dtype) for _ in range(SETS)]
    x = [torch.softmax(each.nan_to_num_(0, 0, 0), -1) for each in x]
    add("matmul_qk", lambda i: q[i] @ k[i].transpose(-1, -2))
    add("matmul_wv", lambda i: x[i] @ k[i])
    return times


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    mine = ours(sys.argv[1:])
    pytorch = theirs(torch.bfloat16, "bf16") | theirs(torch.float32, "f32")
    print(f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, PyTorch {torch.__version__}")
    print(f"{'op':28} {'ours us':>9} {'TB/s':>6} {'of copy':>8} {'TFLOP/s':>8} {'PyTorch us':>11} {'ratio':>6}")
    for name, (us, size, flops) in mine.items():
        copy = mine["memcpy<" + name.split("<")[1].split(">")[0] + ">"]
        share = size / us / (copy[1] / copy[0])
        work = f"{flops / us / 1e6:8.1f}" if flops else " " * 8
        beside = f"{pytorch[name]:11.1f} {pytorch[name] / us:6.2f}" if name in pytorch else ""
        print(f"{name:28} {us:9.1f} {size / us / 1e6:6.2f} {share:8.1%} {work} {beside}")


if __name__ == "__main__":
    main()
