#!/usr/bin/env python3
"""Holds hunch's recordings of PyTorch on the CPU against PyTorch's own profiler on the same problems.

usage: profiler_agrees.py HUNCH

For each problem and variant, `hunch run --provider torch` records a forward in its process, and
torch.profiler the same program in this one. Both must have the same ops, as deep inside each other, and hunch
as many kernels and copies as the profile has ops that compute. Exit status 77 where there is no PyTorch.
"""
import gzip
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    print("skipped: this Python has no PyTorch")
    sys.exit(77)
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile, record_function

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
# batch, heads, kv_heads, length, kv_length, head_dim, dtype, mask
PROBLEMS = [(2, 4, 4, 48, 48, 32, "bf16", "causal"), (1, 4, 2, 40, 56, 24, "f32", "none"),
            (2, 2, 2, 33, 20, 16, "f16", "bool"), (1, 6, 2, 17, 64, 64, "bf16", "float"),
            (2, 3, 3, 40, 40, 16, "f32", "causal")]
VARIANTS = ["naive", "naive_inplace", "math", "flash"]
SDPA = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION}
# Ops with a kernel of their own on the CPU, and those that fill memory without one. All others are made of these, make
# views, or allocate.
KERNELS = {"aten::" + name for name in
           ("bmm", "mul", "add", "add_", "masked_fill_", "_softmax", "fill_", "zero_", "tril", "where", "eq", "all",
            "isneginf", "_scaled_dot_product_flash_attention_for_cpu")}
FILL = {"aten::copy_", "aten::scalar_tensor"}


def by_hand(query, key, value, hidden, mask, in_place):
    times = query.shape[1] // key.shape[1]
    if times > 1:
        key, value = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
    scores = torch.matmul(query, key.transpose(-2, -1)) * (1 / math.sqrt(query.shape[-1]))
    if hidden is not None:
        scores = scores.masked_fill_(hidden, -math.inf) if in_place else scores.masked_fill(hidden, -math.inf)
    elif mask is not None:
        scores = scores + mask
    return torch.matmul(torch.softmax(scores, -1), value)


def forward_of(variant, problem):
    batch, heads, kv_heads, length, kv_length, dim, dtype, kind = problem
    dtype = DTYPES[dtype]
    query = torch.randn(batch, heads, length, dim, dtype=dtype)
    key, value = (torch.randn(batch, kv_heads, kv_length, dim, dtype=dtype) for _ in range(2))
    mask = None
    if kind == "bool":
        mask = torch.rand(length, kv_length) < 0.75
    elif kind == "float":
        mask = torch.randn(length, kv_length).to(dtype)
    if variant.startswith("naive"):
        hidden = None
        if kind == "causal":
            hidden = torch.ones(length, kv_length, dtype=torch.bool).triu(1)
        elif kind == "bool":
            hidden = ~mask
        return lambda: by_hand(query, key, value, hidden, mask, variant == "naive_inplace")

    def forward():
        with sdpa_kernel(SDPA[variant]):
            return F.scaled_dot_product_attention(query, key, value, mask, is_causal=kind == "causal",
                                                  enable_gqa=heads != kv_heads)
    return forward


def profiled(forward, path):
    """Like hunch's own recording, by PyTorch's profiler."""
    with torch.no_grad():
        forward()
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorder:
            with record_function("attn_fwd"):
                forward()
    recorder.export_chrome_trace(path)


def ops_of(path):
    """The first forward's ops: how deep inside of other ops, name, shapes and types of the inputs."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    first = min((e for e in events if e.get("cat") == "user_annotation" and e["name"] == "attn_fwd"),
                key=lambda e: e["ts"])
    end = first["ts"] + first["dur"]
    ops = [e for e in events if e.get("cat") == "cpu_op" and e["ts"] >= first["ts"] and e["ts"] + e["dur"] <= end]
    ops.sort(key=lambda e: (e["ts"], -e["dur"]))
    found, open_until = [], []
    for op in ops:
        while open_until and open_until[-1] <= op["ts"]:
            open_until.pop()
        found.append((len(open_until), op["name"], op["args"].get("Input Dims"), op["args"].get("Input type")))
        open_until.append(op["ts"] + op["dur"])
    return found


def pieces_of_work(ops):
    """How many ops compute, from their names and what is inside of what."""
    count, path = 0, []  # names of the ops around; of one that only calls its namesake none
    for index, (depth, name, dims, _) in enumerate(ops):
        del path[depth:]
        inside_kernel = any(outer in KERNELS for outer in path)
        # An op of the same name inside is the one that computes: where(mask, 0, -inf), mul by a number.
        later = next((other for other in ops[index + 1:] if other[0] <= depth or other[1] == name), (0, ""))
        wraps = later[0] > depth
        path.append("" if wraps else name)
        if name == "aten::copy_":
            count += not inside_kernel or any(dims)
        elif name in KERNELS | FILL:
            count += not inside_kernel and not wraps
    return count


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.manual_seed(1)
    wrong = 0
    for problem in PROBLEMS:
        batch, heads, kv_heads, length, kv_length, dim, dtype, mask = problem
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.argv[1], "run", "--provider", "torch", "--variant", ",".join(VARIANTS), "--problem",
                 f"{batch}x{heads}x{length}x{dim}", "--kv-heads", str(kv_heads), "--kv-length", str(kv_length),
                 "--dtype", dtype, "--mask", mask, "--steps", "0,1,2", "--trace-dir", folder, "--format", "json"],
                capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"hunch: exit {done.returncode}: {done.stderr}")
            rows = {row["backend"]: row for row in json.loads(done.stdout)["variants"]}
            for variant in VARIANTS:
                row = rows[variant]
                if not row["available"]:
                    print(f"{variant:14} {problem}: refused: {'; '.join(row['reasons'])}")
                    wrong += 1
                    continue
                path = os.path.join(folder, "profiled.json")
                profiled(forward_of(variant, problem), path)
                theirs, ours = ops_of(path), ops_of(os.path.join(folder, f"torch.{variant}.json.gz"))
                computing = pieces_of_work(theirs)
                work = row["kernels"] + row["memcpy"] + row["memset"]
                same = ours == theirs and work == computing and row["error_ok"]
                print(f"{variant:14} {problem}: {len(ours)} ops, {row['kernels']} + {row['memcpy']}, error "
                      f"{row['max_abs_error']:.2g} {'ok' if same else 'WRONG'}")
                if not same:
                    wrong += 1
                    for mine, other in itertools.zip_longest(ours, theirs):
                        if mine != other:
                            print(f"  hunch {mine}\n  torch {other}")
                            break
                    print(f"  work {work}, ops that compute {computing}, error "
                          f"{row['max_abs_error']} of {row['error_bound']}")
    print(f"wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
