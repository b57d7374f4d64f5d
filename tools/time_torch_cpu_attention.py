#!/usr/bin/env python3
"""PyTorch's CPU attention beside hunch's, in one run with the same threads.

Times torch's scaled_dot_product_attention and, in turn with it, `bench_attention --csv` (give its path with
--bench), for the same problem. Prints the medians over rounds in GFLOP/s and the ratio as the median of the
rounds' ratios. Causal counts half of the work of a square problem.

  tools/time_torch_cpu_attention.py --bench build/bench/bench/attention/bench_attention --threads 2
"""
import argparse
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def seconds(run, enough=0.2):
    """The fastest of at least two runs, repeated until `enough` seconds are full."""
    best, total, count = float("inf"), 0.0, 0
    while count < 2 or total < enough:
        start = time.perf_counter()
        run()
        took = time.perf_counter() - start
        best, total, count = min(best, took), total + took, count + 1
    return best


def flops(batch, heads, length, kv_length, head_dim, mask):
    pairs = length * kv_length
    if mask == "causal":
        pairs = pairs / 2 if length == kv_length else sum(min(i + 1, kv_length) for i in range(length))
    return 4.0 * batch * heads * pairs * head_dim


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", help="path of bench_attention; without it only torch is timed")
    parser.add_argument("--problem", action="append", help="BxHxSxD; may repeat")
    parser.add_argument("--kv-length", type=int)
    parser.add_argument("--dtype", action="append", choices=DTYPES)
    parser.add_argument("--mask", default="causal", choices=["none", "causal", "bool", "float"])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"torch {torch.__version__}, {arguments.threads} threads, {torch.backends.cpu.get_cpu_capability()}")

    for dtype in arguments.dtype or ["f32", "bf16"]:
        for problem in arguments.problem or ["1x2x4096x64"]:
            batch, heads, length, head_dim = map(int, problem.split("x"))
            kv_length = arguments.kv_length or length
            generator = torch.Generator().manual_seed(1)
            make = lambda n: torch.randn(batch, heads, n, head_dim, generator=generator).to(DTYPES[dtype])
            query, key, value = make(length), make(kv_length), make(kv_length)
            mask = None
            if arguments.mask == "bool":
                mask = torch.rand(length, kv_length, generator=generator) < 0.75
            elif arguments.mask == "float":
                mask = torch.randn(length, kv_length, generator=generator).to(DTYPES[dtype])
            run = lambda: F.scaled_dot_product_attention(query, key, value, attn_mask=mask,
                                                         is_causal=arguments.mask == "causal")
            work = flops(batch, heads, length, kv_length, head_dim, arguments.mask)
            rates, ratios = {}, {}
            with torch.no_grad():
                run()
                for _ in range(arguments.rounds):
                    torch_rate = work / seconds(run) / 1e9
                    rates.setdefault("torch", []).append(torch_rate)
                    if not arguments.bench:
                        continue
                    command = [arguments.bench, "--csv", "--rounds", "1", "--problem", problem, "--dtype", dtype,
                               "--mask", arguments.mask, "--threads", str(arguments.threads),
                               "--kv-length", str(kv_length)]
                    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split():
                        name, rate = line.split(",")
                        rates.setdefault(name, []).append(float(rate))
                        ratios.setdefault(name, []).append(float(rate) / torch_rate)
            print(f"{problem} {dtype} {arguments.mask}")
            for name, seen in rates.items():
                ratio = f"   {statistics.median(ratios[name]):.2f}x of torch" if name in ratios else ""
                print(f"  {name:<12}{statistics.median(seen):8.1f} GFLOP/s{ratio}")


if __name__ == "__main__":
    main()
