#!/usr/bin/env python3
"""Judges and times the fused CUDA kernels beside PyTorch's backends, in one run on the GPU at hand.

usage: flash_bench.py LIBRARY [--problems N] [--seed N] [--no-times]

LIBRARY is libhunch_fused_sm80.so of a build with CUDA. Needs PyTorch. Correctness: over N random problems (types, layouts,
lengths, grouped heads, masks, scales, splits) the error against double precision is at most twice that of a plain
implementation in the same type, plus 1e-5; outputs are poisoned first, memory behind K and V is NaN, and two runs agree
to the bit. Times: medians by CUDA events over rotating inputs, in TFLOP/s; causal counts half the work. Exit 1 on a wrong result.
"""
import argparse
import ctypes as C
import math
import random
import statistics
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

MASK_TYPES = {torch.bool: 1, torch.float32: 2, torch.float16: 3, torch.bfloat16: 4}
ELEMENT_TYPES = {torch.float16: 0, torch.bfloat16: 1, torch.float32: 2}
DTYPE_NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
SHAPES = [(8, 16, 1024, 64), (4, 16, 4096, 64), (1, 16, 16384, 64), (4, 16, 4096, 128), (2, 16, 8192, 128),
          (1, 16, 16384, 128), (2, 8, 8192, 256)]
BACKENDS = [("efficient", SDPBackend.EFFICIENT_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION),
            ("cudnn", SDPBackend.CUDNN_ATTENTION)]


class Params(C.Structure):  # AttentionParams of tiles/attention_params.h
    _fields_ = ([(n, C.c_void_p) for n in ("q", "k", "v", "out", "lse")]
                + [(f"{t}_{d}", C.c_int64) for t in "qkvo" for d in ("batch", "head", "row")]
                + [("mask", C.c_void_p), ("mask_type", C.c_int)]
                + [(f"mask_{d}", C.c_int64) for d in ("batch", "head", "row", "column")]
                + [(n, C.c_int) for n in ("batch", "heads", "kv_heads", "length", "kv_length", "head_dim", "value_dim")]
                + [("scale", C.c_float)] + [(n, C.c_int) for n in ("causal", "aligned", "splits")]
                + [("partial_out", C.c_void_p), ("partial_lse", C.c_void_p)])


class Kernel:
    def __init__(self, path):
        self.library = C.CDLL(path)
        size = self.library.hunch_params_size()
        assert size == C.sizeof(Params), f"AttentionParams has {size} bytes there and {C.sizeof(Params)} here"
        self.multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count

    def params(self, q, k, v, out, lse=None, mask=None, causal=False, scale=None, splits=None):
        p = Params()
        for name, tensor in zip("qkvo", (q, k, v, out)):
            setattr(p, "out" if name == "o" else name, tensor.data_ptr())
            for dim, stride in zip(("batch", "head", "row"), tensor.stride()):
                setattr(p, f"{name}_{dim}", stride)
        p.lse = lse.data_ptr() if lse is not None else None
        if mask is not None:
            whole = mask.expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])
            p.mask, p.mask_type = whole.data_ptr(), MASK_TYPES[whole.dtype]
            p.mask_batch, p.mask_head, p.mask_row, p.mask_column = whole.stride()
        p.batch, p.heads, p.length, p.head_dim = q.shape
        p.kv_heads, p.kv_length, p.value_dim = k.shape[1], k.shape[2], v.shape[3]
        p.scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale
        p.causal = int(causal)
        p.aligned = int(all(
            t.data_ptr() % 16 == 0 and all(s * t.element_size() % 16 == 0 for s in (t.shape[3], *t.stride()[:3]))
            for t in (q, k, v, out)))
        p.splits = splits or self.library.hunch_flash_splits(C.byref(p), self.multiprocessors)
        keep = None
        if p.splits > 1:
            keep = (torch.full((p.splits, *out.shape), math.nan, device="cuda"),
                    torch.full((p.splits, *q.shape[:3]), math.nan, device="cuda"))
            p.partial_out, p.partial_lse = keep[0].data_ptr(), keep[1].data_ptr()
        return p, keep

    def run(self, backend, params, dtype):
        stream = C.c_void_p(torch.cuda.current_stream().cuda_stream)
        error = getattr(self.library, f"hunch_{backend}_forward")(C.byref(params), ELEMENT_TYPES[dtype], stream)
        assert error == 0, f"the launch failed with CUDA error {error}"


def plain(q, k, v, mask, causal, scale):
    """Attention step by step in the dtype of q; LSE beside it."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    s = (q @ k.transpose(-1, -2)) * scale
    if causal:
        s = s.masked_fill(~torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril(), -math.inf)
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else (s + mask.to(s.dtype))
    return torch.softmax(s, -1).nan_to_num(0.0) @ v, torch.logsumexp(s, -1)


def behind(shape, dtype, layout):
    """Random values inside a larger buffer of NaN, in one of two layouts."""
    b, h, s, d = shape
    if layout == "bshd":
        whole = torch.full((b, s + 3, h, d), math.nan, device="cuda", dtype=dtype)
        view = whole[:, :s].transpose(1, 2)
    else:
        whole = torch.full((b, h, s + 3, d), math.nan, device="cuda", dtype=dtype)
        view = whole[:, :, :s]
    view.copy_(torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype))
    return view


def random_problem(rng):
    d = rng.choice([rng.randint(1, 256), 8 * rng.randint(1, 32), 64, 128, 256])
    return {"batch": rng.randint(1, 3), "kv_heads": rng.randint(1, 3), "group": rng.choice([1, 1, 2, 4]),
            "length": rng.choice([1, 2, rng.randint(1, 130), rng.randint(1, 400)]), "kv_length": rng.randint(1, 400),
            "head_dim": d, "value_dim": d if rng.random() < 0.8 else rng.randint(1, 256),
            "backend": rng.choice(["flash", "efficient", "efficient"]),
            "dtype": rng.choice([torch.bfloat16, torch.float16, torch.float32]), "layout": rng.choice(["bhsd", "bshd"]),
            "mask": rng.choice(["none", "none", "causal", "bool", "rows", "f32", "own"]),
            "scale": rng.choice([None, None, None, 0.0, -0.1, 0.5]), "splits": rng.choice([None, None, 1, 2, 5])}


def judge(kernel, problem):
    """Returns the error over its bound; more than 1, or NaN, is wrong."""
    r = problem
    if r["backend"] == "flash" and r["dtype"] == torch.float32:
        r["dtype"] = torch.bfloat16
    heads = r["kv_heads"] * r["group"]
    q = behind((r["batch"], heads, r["length"], r["head_dim"]), r["dtype"], r["layout"])
    k, v = (behind((r["batch"], r["kv_heads"], r["kv_length"], r[d]), r["dtype"], r["layout"]) for d in ("head_dim", "value_dim"))
    causal, mask = r["mask"] == "causal", None
    pairs = (r["length"], r["kv_length"])
    if r["mask"] == "bool":
        mask = torch.rand(r["batch"], 1, *pairs, device="cuda") < 0.7
    elif r["mask"] == "rows":
        mask = (torch.rand(pairs, device="cuda") < 0.7) & (torch.rand(pairs[0], 1, device="cuda") < 0.8)
    elif r["mask"] == "f32":
        mask = torch.randn(heads, *pairs, device="cuda")
    elif r["mask"] == "own":
        mask = torch.randn(pairs, device="cuda").to(r["dtype"])
    scale = 1 / math.sqrt(r["head_dim"]) if r["scale"] is None else r["scale"]
    outs = []
    for _ in range(2):
        out = torch.full((*q.shape[:3], r["value_dim"]), math.nan, device="cuda", dtype=r["dtype"])
        lse = torch.full(q.shape[:3], math.nan, device="cuda")
        params, keep = kernel.params(q, k, v, out, lse, mask, causal, scale, 1 if causal or r["backend"] != "flash" else r["splits"])
        kernel.run(r["backend"], params, r["dtype"])
        torch.cuda.synchronize()
        outs.append((out, lse))
        del keep
    (out, lse), again = outs
    if not (torch.equal(out.view(torch.uint8), again[0].view(torch.uint8)) and torch.equal(lse, again[1])):
        return math.inf
    true, true_lse = plain(q.double(), k.double(), v.double(), mask.double() if mask is not None and mask.dtype != torch.bool else mask, causal, scale)
    bound = 2 * (plain(q, k, v, mask, causal, scale)[0].double() - true).abs().max().item() + 1e-5
    empty = true_lse == -math.inf
    if not torch.equal(lse == -math.inf, empty) or bool((out[empty] != 0).any()):
        return math.inf
    seen = ~empty
    if seen.any() and not (lse.double() - true_lse)[seen].abs().max().item() <= 1e-3 * max(1.0, true_lse[seen].abs().max().item()):
        return math.inf
    return (out.double() - true).abs().max().item() / bound


def median_ms(function, repeats=30):
    for i in range(3):
        function(i)
    spans = []
    for i in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        function(i)
        end.record()
        spans.append((start, end))
    torch.cuda.synchronize()
    return statistics.median(s.elapsed_time(e) for s, e in spans)


def time_shape(kernel, shape, causal, dtype):
    b, h, s, d = shape
    inputs = [[torch.randn(shape, device="cuda", dtype=dtype) for _ in range(3)] for _ in range(3)]
    out = torch.empty(shape, device="cuda", dtype=dtype)
    calls = [kernel.params(*x, out, causal=causal, splits=1)[0] for x in inputs]
    flop = 4 * b * h * s * s * d * (0.5 if causal else 1)
    repeats = 30 if dtype != torch.float32 else 10
    times = {}
    for name, backend in BACKENDS:
        if dtype == torch.float32 and name != "efficient":
            continue

        def step(i):
            with sdpa_kernel(backend):
                F.scaled_dot_product_attention(*inputs[i % 3], is_causal=causal)
        times[name] = median_ms(step, repeats)
    for name in ("efficient", "flash") if dtype != torch.float32 else ("efficient",):
        times["our " + name] = median_ms(lambda i: kernel.run(name, calls[i % 3], dtype), repeats)
    return {name: flop / ms / 1e9 for name, ms in times.items()}


def time_decode(kernel, heads, kv_heads, keys, dim):
    """One query against many keys: GB/s of K and V read."""
    q = torch.randn(8, heads, 1, dim, device="cuda", dtype=torch.bfloat16)
    sets = [[torch.randn(8, kv_heads, keys, dim, device="cuda", dtype=torch.bfloat16) for _ in "kv"] for _ in range(3)]
    out = torch.empty_like(q)
    calls = [kernel.params(q, k, v, out) for k, v in sets]
    size = 2 * 2 * 8 * kv_heads * keys * dim
    ours = median_ms(lambda i: kernel.run("flash", calls[i % 3][0], torch.bfloat16))

    def step(i):
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            F.scaled_dot_product_attention(q, *sets[i % 3], enable_gqa=heads != kv_heads)
    theirs = median_ms(step)
    return calls[0][0].splits, size / ours / 1e6, size / theirs / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-times", action="store_true")
    options = parser.parse_args()
    kernel = Kernel(options.library)
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}")

    rng = random.Random(options.seed)
    torch.manual_seed(options.seed)
    worst, wrong = 0.0, 0
    for _ in range(options.problems):
        problem = random_problem(rng)
        ratio = judge(kernel, problem)
        if not ratio <= 1:
            wrong += 1
            print("WRONG", problem, f"error/bound {ratio}")
        else:
            worst = max(worst, ratio)
    print(f"{options.problems} random problems, seed {options.seed}: {wrong} wrong, worst error/bound {worst:.2f}")
    if options.no_times:
        return 1 if wrong else 0

    names = ("efficient", "flash", "cudnn", "our efficient", "our flash")
    print(f"\n{'B,H,S,D':>16} {'':>6} {'dtype':>5}", *(f"{name:>13}" for name in names), " efficient  flash")
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        for shape in SHAPES:
            for causal in (True, False):
                t = time_shape(kernel, shape, causal, dtype)
                ratios = [t[f"our {n}"] / t[n] if n in t else math.nan for n in ("efficient", "flash")]
                print(f"{','.join(map(str, shape)):>16} {'causal' if causal else 'full':>6} {DTYPE_NAMES[dtype]:>5}",
                      *(f"{t.get(name, math.nan):13.0f}" for name in names), f"{ratios[0]:10.2f} {ratios[1]:6.2f}", flush=True)
    print("\none query, batch 8, bf16: heads, kv_heads, keys, head_dim: parts, GB/s of K and V, PyTorch's flash")
    for heads, kv_heads, keys, dim in ((16, 16, 4096, 64), (32, 8, 4096, 128), (32, 8, 16384, 128), (32, 8, 65536, 128)):
        parts, ours, theirs = time_decode(kernel, heads, kv_heads, keys, dim)
        print(f"{heads:>4} {kv_heads:>4} {keys:>6} {dim:>4}: {parts:>3} parts {ours:6.0f} {theirs:6.0f}  {ours / theirs:.2f}x")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
