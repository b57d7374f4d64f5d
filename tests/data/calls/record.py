#!/usr/bin/env python3
"""Records attention_calls_cpu.json.gz: calls of scaled_dot_product_attention on a CPU, each in a range whose name says what is
true of its gradients.

Use: python3 record.py; needs PyTorch."""

import gzip
import json
import pathlib
import tempfile

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, record_function


def tensor(*shape, grad=False):
    return torch.randn(*(shape or (2, 4, 64, 32)), requires_grad=grad)


q, k, v = tensor(), tensor(), tensor()
qg, kg, vg = tensor(grad=True), tensor(grad=True), tensor(grad=True)
few = tensor(2, 2, 64, 32)
bias, bias_grad = tensor(64, 64), tensor(64, 64, grad=True)
keep = torch.ones(64, 64, dtype=torch.bool).tril()
transposed = tensor(2, 64, 4, 32).transpose(1, 2)


def no_grad():
    with torch.no_grad():
        F.scaled_dot_product_attention(q, k, v, is_causal=True)


CALLS = {
    "not needed: no_grad": no_grad,
    "not needed: plain inputs": lambda: (F.scaled_dot_product_attention(q, k, v, is_causal=True) * qg).sum().backward(),
    "not needed: heads": lambda: F.scaled_dot_product_attention(q, few, few, enable_gqa=True) + 1,
    "not needed: strides": lambda: F.scaled_dot_product_attention(transposed, transposed, transposed, attn_mask=keep) + 1,
    "needed: flash": lambda: F.scaled_dot_product_attention(qg, kg, vg, is_causal=True).sum().backward(),
    "needed: no backward": lambda: F.scaled_dot_product_attention(qg, kg, vg, scale=0.5) + 1,
    "needed: math": lambda: F.scaled_dot_product_attention(qg, kg, vg, attn_mask=tensor(4, 64, 64)).sum().backward(),
    "needed: dropout": lambda: F.scaled_dot_product_attention(qg, kg, vg, dropout_p=0.25).sum().backward(),
    "needed: value alone": lambda: F.scaled_dot_product_attention(q, k, vg, attn_mask=bias_grad.detach()[None]).sum().backward(),
    "of the mask only: math": lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=bias_grad).sum().backward(),
    "not told: last": lambda: F.scaled_dot_product_attention(qg, kg, vg),
}

for call in CALLS.values():
    call()
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
    for name, call in CALLS.items():
        with record_function(name):
            call()
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "trace.json"
    profiler.export_chrome_trace(str(path))
    recorded = json.loads(path.read_text())
recorded = {name: recorded[name] for name in ("schemaVersion", "record_shapes", "displayTimeUnit", "traceEvents")}
target = pathlib.Path(__file__).with_name("attention_calls_cpu.json.gz")
target.write_bytes(gzip.compress(json.dumps(recorded, separators=(",", ":")).encode(), mtime=0))
