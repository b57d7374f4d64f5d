#!/usr/bin/env python3
"""Times decoding with every count of parts and size of clusters, beside what flash itself chooses and cuDNN.

usage: time_parts.py LIBRARY [--json FILE]

LIBRARY is libhunch_fused_sm80.so of a build with CUDA. Needs PyTorch and flash_bench.py beside this. What parts.cc's
model was fitted to, and what judges it: the last line says how much longer the choice takes than the best that was
timed. Each result is held to PyTorch's first; exit 1 where one is wrong. Some 100 s on an H200.
"""
import argparse
import ctypes as C
import json
import math
import sys

import torch
import torch.nn.functional as F

import flash_bench

TILES = [(1, 1), (1, 2), (3, 1), (1, 4), (1, 6), (1, 8), (3, 4), (2, 8), (4, 8), (6, 8), (8, 8)]  # batch, key heads
FILLINGS = [1, 0.85, 0.7, 0.5, 0.33]  # of a device with blocks


def shapes():
    """batch, key heads, query heads of each, keys, head_dim."""
    for dim in (128, 64, 256):
        for batch, kv_heads in TILES:
            for group in (1, 4, 8, 16):
                for keys in (512, 1024, 4096, 8192, 32768, 131072):
                    if batch * kv_heads * keys <= 2**20 and not (dim != 128 and group == 8):
                        yield batch, kv_heads, group, keys, dim


def parts_for(tiles, keys, multiprocessors):
    """(count, cluster) that are worth a try: a block has 64 keys or more, and a multiprocessor of its own."""
    for cluster in (1, 2, 4, 8, 16):
        most = min(64, multiprocessors // tiles, keys // 64) // cluster
        for groups in sorted({min(most, max(1, round(filling * multiprocessors / tiles / cluster))) for filling in FILLINGS}):
            if 1 <= groups <= most:
                yield groups * cluster, cluster


def time_shape(kernel, batch, kv_heads, group, keys, dim, multiprocessors):
    """(count, cluster) or "cudnn": microseconds; what flash chooses, which is among them; and how many are wrong."""
    q = torch.randn(batch, kv_heads * group, 1, dim, device="cuda", dtype=torch.bfloat16)
    large = batch * kv_heads * keys * dim * 4 > 2e7
    sets = [[torch.randn(batch, kv_heads, keys, dim, device="cuda", dtype=torch.bfloat16) for _ in "kv"]
            for _ in range(3 if large else 6)]
    out = torch.empty_like(q)
    truth = F.scaled_dot_product_attention(q.float()[:1], sets[0][0].float()[:1], sets[0][1].float()[:1], enable_gqa=True)
    calls = [kernel.params(q, k, v, out) for k, v in sets]
    functions, chosen = {}, kernel.chosen_parts(calls[0])
    cudnn = flash_bench.pytorch_step(flash_bench.BACKENDS[2][1], [(q, *each) for each in sets], enable_gqa=group > 1)
    if flash_bench.takes(cudnn):
        functions["cudnn"] = cudnn
    wrong = 0

    def run(params, cluster):
        stream = C.c_void_p(torch.cuda.current_stream().cuda_stream)
        return kernel.library.hunch_flash_parts_forward(C.byref(params), flash_bench.ELEMENT_TYPES[torch.bfloat16],
                                                        cluster, stream)

    for count, cluster in {chosen, *parts_for(batch * kv_heads, keys, multiprocessors)}:
        given = [kernel.params(q, k, v, out, splits=count) for k, v in sets]
        out.fill_(math.nan)
        if run(given[0], cluster) != 0:  # no room for such a cluster
            continue
        torch.cuda.synchronize()
        if out.isnan().any() or not (out.float()[:1] - truth).abs().max().item() < 0.02:
            print(f"WRONG {batch}x{kv_heads}, {group} heads each, {keys} keys x {dim}: {count} parts, clusters of {cluster}")
            wrong += 1
            continue
        functions[count, cluster] = lambda i, given=given, cluster=cluster: run(given[i % len(sets)], cluster)
    return {name: 1e3 * ms for name, ms in flash_bench.take_turns(functions, 3, 6).items()}, chosen, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--json", help="every time, a line a shape")
    options = parser.parse_args()
    kernel = flash_bench.Kernel(options.library)
    multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}, "
          f"clusters of 2, 4, 8 and 16 blocks at once: {kernel.clusters()}")
    longer, wrong = [], 0
    file = open(options.json, "w", encoding="utf-8") if options.json else None
    for shape in shapes():
        times, chosen, bad = time_shape(kernel, *shape, multiprocessors)
        wrong += bad
        tried = {parts: us for parts, us in times.items() if isinstance(parts, tuple)}
        best = min(tried, key=tried.get)
        longer.append(tried.get(chosen, math.nan) / tried[best])
        print(f"{shape}: {chosen[0]} in clusters of {chosen[1]} {tried.get(chosen, math.nan):.1f} us, best {best[0]} in clusters of {best[1]} {tried[best]:.1f}, "
              f"cudnn {times.get('cudnn', math.nan):.1f}", flush=True)
        if file:
            file.write(json.dumps({"shape": shape, "clusters": kernel.clusters(), "chosen": str(chosen), "us": [[str(name), us] for name, us in times.items()]}) + "\n")
    print(f"{len(longer)} shapes, {wrong} wrong: flash takes {flash_bench.geometric_mean(longer):.3f} of the best of them, "
          f"at most {max(longer):.2f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
