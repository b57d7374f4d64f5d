#!/usr/bin/env python3
"""Judges and times the fused CUDA kernels beside PyTorch's backends, in one run on the GPU at hand.

usage: flash_bench.py LIBRARY [--problems N] [--few-rows] [--small] [--reference cpu] [--seed N] [--no-times] [--decode-only]
                      [--decode-grid] [--types bf16,f16,f32]

LIBRARY is libhunch_fused_sm80.so of a build with CUDA. Needs PyTorch. Correctness: over N random problems (types, layouts,
lengths, grouped heads, masks, scales, splits) the error against double precision is at most twice that of a plain
implementation in the same type, plus 1e-5; outputs are poisoned first, memory behind K and V is NaN, and two runs agree
to the bit. For compute-sanitizer take --reference cpu: the GPU then runs these kernels, and PyTorch's that fill tensors.
Times: medians by CUDA events over rotating inputs, the kernels in turns, launches queued behind a kernel that
waits, so that no host time is in them; in TFLOP/s, causal counts half the work. Exit 1 on a wrong result.
"""
import argparse
import ctypes as C
import math
import random
import statistics
import sys
import warnings

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

MASK_TYPES = {torch.bool: 1, torch.float32: 2, torch.float16: 3, torch.bfloat16: 4}
ELEMENT_TYPES = {torch.float16: 0, torch.bfloat16: 1, torch.float32: 2}
DTYPE_NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
SHAPES = [(8, 16, 1024, 64), (4, 16, 4096, 64), (1, 16, 16384, 64), (4, 16, 4096, 128), (2, 16, 8192, 128),
          (1, 16, 16384, 128), (2, 8, 8192, 256)]
ODD_SHAPES = [(8, 16, 1000, 64), (4, 16, 4097, 64), (4, 16, 1000, 128), (4, 16, 4097, 128), (4, 8, 1000, 256), (2, 8, 4097, 256)]
DECODING = [(8, 16, 16, 4096, 64), (8, 32, 8, 4096, 128), (8, 32, 8, 16384, 128), (8, 32, 8, 65536, 128), (8, 16, 2, 65536, 256),
            (8, 16, 16, 1024, 64), (1, 32, 8, 8192, 128), (1, 8, 1, 32768, 128), (1, 16, 1, 8192, 128), (8, 8, 1, 8192, 128),
            (7, 28, 7, 4096, 128), (11, 32, 8, 4096, 128), (20, 32, 8, 4096, 128), (64, 32, 8, 2048, 128)]
BACKENDS = [("efficient", SDPBackend.EFFICIENT_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION),
            ("cudnn", SDPBackend.CUDNN_ATTENTION)]


class Params(C.Structure):  # AttentionParams of tiles/attention_params.h
    _fields_ = ([(n, C.c_void_p) for n in ("q", "k", "v", "out", "lse")]
                + [(f"{t}_{d}", C.c_int64) for t in "qkvo" for d in ("batch", "head", "row")]
                + [("mask", C.c_void_p), ("mask_type", C.c_int)]
                + [(f"mask_{d}", C.c_int64) for d in ("batch", "head", "row", "column")]
                + [(n, C.c_int) for n in ("batch", "heads", "kv_heads", "length", "kv_length", "head_dim", "value_dim")]
                + [("scale", C.c_float)] + [("causal", C.c_int), ("window", C.c_int), ("softcap", C.c_float), ("aligned", C.c_int), ("splits", C.c_int)]
                + [("partial_out", C.c_void_p), ("counters", C.c_void_p)])


class Kernel:
    def __init__(self, path):
        self.library = C.CDLL(path)
        size = self.library.hunch_params_size()
        assert size == C.sizeof(Params), f"AttentionParams has {size} bytes there and {C.sizeof(Params)} here"

    def params(self, q, k, v, out, lse=None, mask=None, causal=False, scale=None, splits=None,
               window=0, softcap=0.0):
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
        p.causal, p.window, p.softcap = int(causal), window, softcap
        p.aligned = int(all(
            t.data_ptr() % 16 == 0 and all(s * t.element_size() % 16 == 0 for s in (t.shape[3], *t.stride()[:3]))
            for t in (q, k, v, out)))
        p.splits = splits or self.chosen_parts(p)[0]
        return p

    def chosen_parts(self, params):
        """Count and cluster."""
        parts = (C.c_int * 2)()
        self.library.hunch_flash_parts(C.byref(params), parts)
        return parts[0], parts[1]

    def clusters(self):
        """Of 2, 4, 8 and 16 blocks, that the device runs at once."""
        at_once = (C.c_int * 4)()
        self.library.hunch_flash_clusters(at_once)
        return list(at_once)

    def run(self, backend, params, dtype):
        stream = C.c_void_p(torch.cuda.current_stream().cuda_stream)
        error = getattr(self.library, f"hunch_{backend}_forward")(C.byref(params), ELEMENT_TYPES[dtype], stream)
        assert error == 0, f"the launch failed with CUDA error {error}"


def plain(q, k, v, mask, causal, scale, window=0, softcap=0.0):
    """Attention step by step in the dtype of q; LSE beside it."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    s = (q @ k.transpose(-1, -2)) * scale
    if softcap:
        s = torch.tanh(s / softcap) * softcap
    if causal:
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril()
        s = s.masked_fill(~(seen.triu(1 - window) if window else seen), -math.inf)
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


def random_problem(rng, few_rows, small):
    """few_rows: as decoding has them, one to 64 that share their keys."""
    d = rng.choice([rng.randint(1, 256), 8 * rng.randint(1, 32), 64, 128, 256])
    problem = {"batch": rng.randint(1, 3), "kv_heads": rng.randint(1, 3), "group": rng.choice([1, 1, 2, 4]),
            "length": rng.choice([1, 2, rng.randint(1, 130), rng.randint(1, 400), rng.randint(64, 1500)]),
            "kv_length": rng.choice([rng.randint(1, 400), rng.randint(1, 400), rng.randint(1, 3000)]),
            "head_dim": d, "value_dim": d if rng.random() < 0.8 else rng.randint(1, 256),
            "backend": rng.choice(["flash", "flash", "flash_sm80", "flash_counted", "efficient", "efficient"]),
            "dtype": rng.choice([torch.bfloat16, torch.float16, torch.float32]), "layout": rng.choice(["bhsd", "bshd"]),
            "mask": rng.choice(["none", "none", "causal", "bool", "rows", "f32", "own"]),
            "scale": rng.choice([None, None, None, 0.0, -0.1, 0.5]), "splits": rng.choice([None, None, 1, 2, 5]),
            "window": rng.choice([0, 0, 1, rng.randint(1, 100), rng.randint(1, 600)]), "softcap": rng.choice([0.0] * 6 + [5.0, 30.0])}
    if few_rows or rng.random() < 0.25:
        group = rng.choice([1, 2, 3, 4, 7, 8, 16, 32])
        problem |= {"group": group, "length": rng.randint(1, max(1, rng.choice([16, 64]) // group)), "kv_heads": rng.choice([1, 2, 8]),
                    "kv_length": rng.choice([rng.randint(1, 300), rng.randint(1, 3000), rng.randint(1, 9000)]),
                    "batch": rng.choice([1, 2, 3, 20, 60]), "backend": rng.choice(["flash", "flash", "flash_counted"]),
                    "mask": rng.choice(["none"] * 6 + ["causal", "bool", "f32", "own"]),
                    "splits": rng.choice([None, None, None, 1, 2, 3, 5, 8, 13, 16, 17, 33, 64])}
        if problem["batch"] == 60:  # many tiles, so fewer keys
            problem |= {"kv_heads": rng.choice([3, 8, 11]), "kv_length": rng.randint(1, 600)}
    if small:
        problem |= {"length": min(problem["length"], 100), "kv_length": min(problem["kv_length"], 400)}
        if problem["batch"] * problem["kv_heads"] > 100:  # of these, what makes many blocks
            problem |= {"kv_length": min(problem["kv_length"], 80), "group": 1, "length": min(problem["length"], 2)}
    return problem


def judge(kernel, problem, reference):
    """Returns the error over its bound; more than 1, or NaN, is wrong. `reference` is the device that the truth is from."""
    r = problem
    if r["backend"] != "efficient" and r["dtype"] == torch.float32:
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
    extras = {"window": r["window"] if causal and r["backend"] != "efficient" else 0,
              "softcap": r["softcap"] if r["backend"] != "efficient" else 0.0}
    outs = []
    for _ in range(2):
        out = torch.full((*q.shape[:3], r["value_dim"]), math.nan, device="cuda", dtype=r["dtype"])
        lse = torch.full(q.shape[:3], math.nan, device="cuda")
        params = kernel.params(q, k, v, out, lse, mask, causal, scale, 1 if causal or r["backend"] == "efficient" else r["splits"], **extras)
        kernel.run(r["backend"], params, r["dtype"])
        torch.cuda.synchronize()
        outs.append((out, lse))
    (out, lse), again = outs
    (out, lse), again = (out.to(reference), lse.to(reference)), [each.to(reference) for each in again]
    q, k, v, mask = (each.to(reference) if each is not None else None for each in (q, k, v, mask))
    if not (torch.equal(out.view(torch.uint8), again[0].view(torch.uint8)) and torch.equal(lse, again[1])):
        return math.inf
    true, true_lse = plain(q.double(), k.double(), v.double(), mask.double() if mask is not None and mask.dtype != torch.bool else mask, causal, scale, **extras)
    bound = 2 * (plain(q, k, v, mask, causal, scale, **extras)[0].double() - true).abs().max().item() + 1e-5
    empty = true_lse == -math.inf
    if not torch.equal(lse == -math.inf, empty) or bool((out[empty] != 0).any()):
        return math.inf
    seen = ~empty
    if seen.any() and not (lse.double() - true_lse)[seen].abs().max().item() <= 1e-3 * max(1.0, true_lse[seen].abs().max().item()):
        return math.inf
    return (out.double() - true).abs().max().item() / bound


def round_ms(function, repeats):
    """Median device time of a call, of `repeats` in a row that the GPU finds queued."""
    spans = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    torch.cuda._sleep(2_500_000)
    for i, (start, end) in enumerate(spans):
        start.record()
        function(i)
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in spans)


def take_turns(functions, rounds=5, repeats=8):
    """name: median over rounds, each kernel once a round: what the clock does in a run falls on all alike."""
    for function in functions.values():
        for i in range(2):
            function(i)
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(round_ms(function, repeats))
    return {name: statistics.median(each) for name, each in times.items()}


def pytorch_step(backend, calls, **options):
    def step(i):
        with sdpa_kernel(backend):
            F.scaled_dot_product_attention(*calls[i % len(calls)], **options)
    return step


def takes(step):
    try:
        step(0)
    except RuntimeError:
        return False
    return True


def time_shape(kernel, shape, causal, dtype):
    """name: TFLOP/s."""
    b, h, s, d = shape
    inputs = [[torch.randn(shape, device="cuda", dtype=dtype) for _ in range(3)] for _ in range(3)]
    out = torch.empty(shape, device="cuda", dtype=dtype)
    calls = [kernel.params(*x, out, causal=causal, splits=1) for x in inputs]
    functions = {}
    for name, backend in BACKENDS:
        if dtype != torch.float32 or name == "efficient":
            functions[name] = pytorch_step(backend, inputs, is_causal=causal)
    for name in ("efficient", "flash_sm80", "flash") if dtype != torch.float32 else ("efficient",):
        functions["our " + name] = lambda i, name=name: kernel.run(name, calls[i % 3], dtype)
    flop = 4 * b * h * s * s * d * (0.5 if causal else 1)
    return {name: flop / ms / 1e9 for name, ms in take_turns(functions, *((5, 8) if dtype != torch.float32 else (3, 3))).items()}


def time_decode(kernel, batch, heads, kv_heads, keys, dim, dtype,
                names=("efficient", "flash", "cudnn", "our flash", "our counted")):
    """One query against many keys. Parts, and name: GB/s of K and V read."""
    q = torch.randn(batch, heads, 1, dim, device="cuda", dtype=dtype)
    size = 2 * 2 * batch * kv_heads * keys * dim
    sets = [[torch.randn(batch, kv_heads, keys, dim, device="cuda", dtype=dtype) for _ in "kv"]
            for _ in range(3 if size > 5e7 else 8)]
    out = torch.empty_like(q)
    calls = [kernel.params(q, k, v, out) for k, v in sets]
    functions = {}
    for name, backend in BACKENDS:
        step = pytorch_step(backend, [(q, *each) for each in sets], enable_gqa=heads != kv_heads)
        if name in names and takes(step):
            functions[name] = step
    # With its parts as clusters where there are such, and never: the last block puts them together.
    functions["our flash"] = lambda i: kernel.run("flash", calls[i % len(sets)], dtype)
    if "our counted" in names:
        functions["our counted"] = lambda i: kernel.run("flash_counted", calls[i % len(sets)], dtype)
    return calls[0].splits, {name: size / ms / 1e6 for name, ms in take_turns(functions).items()}


GRID_TILES = [(1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (8, 8), (11, 8), (16, 8), (20, 8), (30, 8), (50, 8), (128, 8)]
GRID_KEYS = [256, 512, 1024, 2048, 4096, 8192, 32768]


def print_grid(kernel, dtype):
    """Decoding over batches and keys: our flash over cuDNN, which has a key head's queries in one tile as well."""
    ratios = []
    for dim in (64, 128, 256):
        for group in (4, 16, 32):
            print(f"\n{DTYPE_NAMES[dtype]}, head_dim {dim}, {group} heads a key head: batch x key heads, keys: of cuDNN")
            print(f"{'':>8}", *(f"{keys:>6}" for keys in GRID_KEYS))
            for batch, kv_heads in GRID_TILES:
                line = []
                for keys in GRID_KEYS:
                    if batch * kv_heads * keys * dim > 2**28:
                        continue
                    _, t = time_decode(kernel, batch, group * kv_heads, kv_heads, keys, dim, dtype,
                                       ("cudnn", "our flash"))
                    line.append(t["our flash"] / t["cudnn"] if "cudnn" in t else math.nan)
                ratios += [ratio for ratio in line if not math.isnan(ratio)]
                print(f"{f'{batch}x{kv_heads}':>8}", *(f"{ratio:6.2f}" for ratio in line), flush=True)
    ahead = sum(ratio >= 1 for ratio in ratios)
    print(f"\n{len(ratios)} shapes: {ahead} at or ahead of cuDNN, least {min(ratios):.2f}, "
          f"geometric mean {geometric_mean(ratios):.3f}")


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values))


def print_shapes(kernel, shapes, types):
    """Prints a table; returns our flash's ratios to cuDNN's by type."""
    names = ("efficient", "flash", "cudnn", "our efficient", "our flash_sm80", "our flash")
    print(f"\n{'B,H,S,D':>16} {'':>6} {'type':>5}", *(f"{name:>14}" for name in names),
          " of: efficient  flash (sm_80)  flash  cudnn")
    ratios = {}
    for dtype in types:
        for shape in shapes:
            for causal in (True, False):
                t = time_shape(kernel, shape, causal, dtype)
                pairs = (("our efficient", "efficient"), ("our flash_sm80", "flash"), ("our flash", "flash"), ("our flash", "cudnn"))
                over = [t[ours] / t[n] if ours in t and n in t else math.nan for ours, n in pairs]
                if "our flash" in t:
                    ratios.setdefault(DTYPE_NAMES[dtype], []).append(over[3])
                print(f"{','.join(map(str, shape)):>16} {'causal' if causal else 'full':>6} {DTYPE_NAMES[dtype]:>5}",
                      *(f"{t.get(name, math.nan):14.0f}" for name in names),
                      f"{over[0]:14.2f} {over[1]:14.2f} {over[2]:6.2f} {over[3]:6.3f}", flush=True)
    for name, values in ratios.items():
        print(f"{name}: our flash over cuDNN at least {min(values):.3f}, geometric mean {geometric_mean(values):.3f}, {len(values)} shapes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--few-rows", action="store_true", help="problems as decoding has them alone")
    parser.add_argument("--small", action="store_true", help="problems of few keys, as racecheck is slow")
    parser.add_argument("--reference", choices=("cuda", "cpu"), default="cuda", help="where the truth is computed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-times", action="store_true")
    parser.add_argument("--decode-only", action="store_true", help="times of decoding alone")
    parser.add_argument("--decode-grid", action="store_true", help="times of decoding over batches and keys alone")
    parser.add_argument("--types", default="bf16,f16,f32")
    options = parser.parse_args()
    kernel = Kernel(options.library)
    warnings.filterwarnings("ignore", category=UserWarning)  # PyTorch's words on backends that refuse a call
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}")

    rng = random.Random(options.seed)
    torch.manual_seed(options.seed)
    worst, wrong = 0.0, 0
    for _ in range(options.problems):
        problem = random_problem(rng, options.few_rows, options.small)
        ratio = judge(kernel, problem, options.reference)
        if not ratio <= 1:
            wrong += 1
            print("WRONG", problem, f"error/bound {ratio}")
        else:
            worst = max(worst, ratio)
    print(f"{options.problems} random problems, seed {options.seed}: {wrong} wrong, worst error/bound {worst:.2f}")
    if options.no_times:
        return 1 if wrong else 0

    types = [dtype for dtype, name in DTYPE_NAMES.items() if name in options.types.split(",")]
    half = [dtype for dtype in types if dtype != torch.float32]
    if options.decode_grid:
        print_grid(kernel, half[0])
        return 1 if wrong else 0
    if not options.decode_only:
        print_shapes(kernel, SHAPES, types)
        print_shapes(kernel, ODD_SHAPES, half)
    print("\none query: batch, heads, kv_heads, keys, head_dim, type: parts, GB/s of K and V, our flash over each")
    for dtype in half:
        for batch, heads, kv_heads, keys, dim in DECODING:
            parts, t = time_decode(kernel, batch, heads, kv_heads, keys, dim, dtype)
            others = "  ".join(f"{name} {rate:5.0f} ({t['our flash'] / rate:5.2f}x)" for name, rate in t.items() if name != "our flash")
            print(f"{batch:>3} {heads:>4} {kv_heads:>4} {keys:>6} {dim:>4} {DTYPE_NAMES[dtype]:>5}: {parts:>3} parts {t['our flash']:6.0f}  {others}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
