#!/usr/bin/env python3
"""Holds the Python package to what is known, on a GPU.

usage: check_python.py HUNCH [--traces FOLDER]

HUNCH is the path of the program; the package is taken from this tree. Recorded are blocks of this Python's PyTorch:
counts, backends, guesses that hold and that miss with their evidence, why PyTorch took another backend, gradients of
a trace, the pytest marker, the example as it stands and with the change of python/README.md, the package's own tests.
Prints a line for each check and a count last; exit status 1 where one fails. Needs PyTorch with CUDA, and pytest.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
PYTHON = TREE / "python"
sys.path[:0] = [str(PYTHON), str(PYTHON / "tests")]

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

import hunch  # noqa: E402

FLASH, MATH, CUDNN, EFFICIENT = (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH, SDPBackend.CUDNN_ATTENTION,
                                 SDPBackend.EFFICIENT_ATTENTION)
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def inputs(batch=4, heads=8, length=1024, dim=64, kv_heads=None, grad=False, device="cuda", dtype=torch.bfloat16):
    """Large enough that flash does not split the keys: that would be two kernels."""
    def make(count):
        return torch.randn(batch, count, length, dim, device=device, dtype=dtype, requires_grad=grad)
    return make(heads), make(kv_heads or heads), make(kv_heads or heads)


def missed(guess, block):
    """The words of the miss that the block gives."""
    try:
        with hunch.expect(**guess):
            block()
    except hunch.GuessMissed as miss:
        return " ".join(str(miss).split()), miss.check
    raise AssertionError(f"{guess} holds, and should miss")


def need(words, *parts):
    for part in parts:
        assert part in words, f"no {part!r} in: {words}"


def pytest_in(folder, source, *options):
    (folder / "test_it.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "hunch.pytest_plugin", "test_it.py", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PYTHONPATH": str(PYTHON), "COLUMNS": "100"})
    return done.returncode, done.stdout + done.stderr


@check
def profile_counts_one_kernel(_):
    qkv = inputs()
    with sdpa_kernel(FLASH), hunch.profile("attention") as recorded:
        F.scaled_dot_product_attention(*qkv, is_causal=True)
    forward = recorded.forward
    assert (forward.kernels.median, forward.memcpy.median, forward.backend) == (1, 0, "flash"), forward
    kernel = recorded.report.kernels[0]
    assert kernel.occupancy_pct and kernel.limited_by, kernel
    assert "attention" in str(recorded) and "<table>" in recorded._repr_html_()
    return f"{forward.device_ns.median / 1000:.1f} us, {kernel.readable}, occupancy {kernel.occupancy_pct} %"


@check
def measure_counts_each_call(_):
    qkv = inputs()
    with sdpa_kernel(FLASH):
        recorded = hunch.measure(F.scaled_dot_product_attention, *qkv, is_causal=True, active=5)
    forward = recorded.forward
    assert forward.runs == 5 and forward.kernels.min == forward.kernels.max == 1, forward
    assert 0 < forward.device_ns.min <= forward.device_ns.median <= forward.device_ns.max
    return f"5 calls, {forward.device_ns.min / 1000:.1f} to {forward.device_ns.max / 1000:.1f} us"


@check
def a_guess_holds(_):
    qkv = inputs()
    with sdpa_kernel(FLASH), hunch.expect(kernels=1, memcpy=0, backend="flash", dtype="bf16", tensor_cores=True,
                                          device_time="< 1 s", sequence=["attention_forward"]):
        F.scaled_dot_product_attention(*qkv, is_causal=True)


@check
def a_miss_has_its_evidence(_):
    query, key, _value = inputs()
    hidden = torch.ones(1024, 1024, dtype=torch.bool, device="cuda").triu(1)
    words, checked = missed({"memcpy": 0}, lambda: (query @ key.transpose(-2, -1)).masked_fill(hidden, float("-inf")))
    need(words, "MISS", "hidden_copy", "masked_fill")
    assert checked.misses[0].events, checked
    return words[words.find("because"):][:90] + " ..."


@check
def a_miss_of_the_backend_says_why(_):
    qkv = inputs()
    bias = torch.zeros(8, 1024, 1024, device="cuda", dtype=torch.bfloat16)
    for guess, allowed, parts in (("flash", [FLASH, MATH], "it takes no mask tensor"),
                                  ("cudnn", [CUDNN, MATH], "a mask of 2 or 4 dimensions")):
        with sdpa_kernel(allowed):
            words, _checked = missed({"backend": guess}, lambda: F.scaled_dot_product_attention(*qkv, attn_mask=bias))
        need(words, f"{guess} cannot take 4 x 8 x 1024 x 64, bf16, float mask [8, 1024, 1024]", parts)
        assert "the trace does not tell" not in words, words
    grouped = inputs(kv_heads=2)
    with sdpa_kernel([EFFICIENT, MATH]):
        words, _checked = missed({"backend": "efficient"},
                                 lambda: F.scaled_dot_product_attention(*grouped, enable_gqa=True))
    need(words, "efficient cannot take", "as many heads")


@check
def what_a_recording_does_not_tell_is_no_pass(_):
    try:
        with hunch.expect(peak_memory="< 1 TiB"):
            torch.ones(8, device="cuda").sum()
    except hunch.GuessNotJudged:
        return
    raise AssertionError("a guess of memory passed without memory events")


@check
def a_trace_tells_gradients_and_the_choice(_):
    def asked(block):
        with hunch.profile() as recorded:
            block()
        done = subprocess.run([hunch.find_engine(), "why", "--from-trace", str(recorded.trace), "--format", "json"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        calls = json.loads(done.stdout)["calls"]
        assert len(calls) == 1, calls
        assert calls[0]["agrees"] == "yes", calls[0]
        return calls[0]
    plain, learned, told = inputs(), inputs(grad=True), []
    for name, wanted, block in (
            ("no_grad", "not needed", lambda: torch.no_grad()(F.scaled_dot_product_attention)(*learned, is_causal=True)),
            ("plain", "not needed", lambda: F.scaled_dot_product_attention(*plain, is_causal=True) + 1),
            ("training", "needed", lambda: F.scaled_dot_product_attention(*learned, is_causal=True).sum().backward()),
            ("dropout", "needed", lambda: F.scaled_dot_product_attention(*learned, dropout_p=0.1) + 1)):
        call = asked(block)
        assert call["gradients"] == wanted, f"{name}: {call['gradients']}: {call['gradients_because']}"
        assert call["problem"]["dropout"] == (0.1 if name == "dropout" else 0), call["problem"]
        told.append(f"{name} {call['took']}")
    return ", ".join(told)


@check
def training_is_recorded_with_its_backward(_):
    qkv = inputs(grad=True)
    with sdpa_kernel(FLASH), hunch.profile("step") as recorded:
        F.scaled_dot_product_attention(*qkv, is_causal=True).sum().backward()
    families = {work.family for work in recorded.forward.sequence}
    assert {"attention_forward", "attention_backward"} <= families, families
    assert recorded.forward.backend == "flash", recorded.forward.backend


@check
def tensors_on_the_cpu_are_judged_for_the_cpu(_):
    qkv = inputs(1, 2, 64, 32, device="cpu", dtype=torch.float32)
    with hunch.expect(backend="flash"):
        F.scaled_dot_product_attention(*qkv, is_causal=True)
    try:
        with hunch.expect(kernels=1):
            F.scaled_dot_product_attention(*qkv, is_causal=True)
    except hunch.HunchError as error:
        need(str(error), "device work")
        return
    raise AssertionError("kernels were counted on a CPU")


@check
def the_marker_passes_and_fails(folder):
    source = """
import pytest, torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

@pytest.fixture
def qkv():
    return [torch.randn(4, 8, 1024, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3)]

@pytest.mark.hunch(kernels=1, memcpy=0, backend="flash")
def test_holds(qkv):
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        F.scaled_dot_product_attention(*qkv, is_causal=True)

@pytest.mark.hunch(kernels=1, backend="flash")
def test_misses(qkv):
    with sdpa_kernel(SDPBackend.MATH):
        F.scaled_dot_product_attention(*qkv, is_causal=True)

def test_fixture(hunch_profile, qkv):
    with hunch_profile("forward") as recorded:
        F.scaled_dot_product_attention(*qkv, is_causal=True)
    assert recorded.forward.kernels.max == 1
"""
    status, out = pytest_in(folder, source, "--hunch-require", "--hunch-traces", "traces")
    assert status == 1 and "1 failed, 2 passed" in out, out
    assert re.search(r"^MISS +expected +backend +flash +math$", out, re.MULTILINE), out
    assert re.search(r"^MISS +expected +kernels +1 +20$", out, re.MULTILINE), out
    assert len(list((folder / "traces").glob("*.json.gz"))) == 3, list((folder / "traces").iterdir())


@check
def the_example_passes_and_its_change_fails(folder):
    import test_example
    status, out = pytest_in(folder, test_example.EXAMPLE.read_text(), "--hunch-require")
    assert status == 0 and "4 passed" in out, out
    status, out = pytest_in(folder, test_example.changed(), "--hunch-require")
    assert status == 1 and "4 failed" in out, out
    words = " ".join(out.split())
    need(words, "flash cannot take 4 x 8 x 1024 x 64, bf16, float mask [8, 1024, 1024]", "it takes no mask tensor")


@check
def the_packages_own_tests_pass(_):
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PYTHON / "tests")],
                          capture_output=True, text=True, timeout=900,
                          env={**os.environ, "PYTHONPATH": str(PYTHON), "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout.strip().splitlines()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("hunch", help="the path of the program")
    parser.add_argument("--traces", type=Path, help="where the traces of a failed check stay; else they go")
    arguments = parser.parse_args()
    os.environ["HUNCH"] = str(Path(arguments.hunch).resolve())
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}, "
          f"{hunch.find_engine()}", flush=True)
    for backend in (FLASH, MATH):  # what happens once: modules, handles
        with sdpa_kernel(backend):
            F.scaled_dot_product_attention(*inputs(), is_causal=True)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="check-python-") as temporary:
        for function in CHECKS:
            folder = (arguments.traces or Path(temporary)) / function.__name__
            folder.mkdir(parents=True, exist_ok=True)
            try:
                detail = function(folder)
            except Exception as error:  # a check that breaks has failed
                failed += 1
                words = str(error) or traceback.format_exc()
                print(f"FAILED {function.__name__}: {type(error).__name__}: {words[-4000:]}", flush=True)
            else:
                print(f"ok     {function.__name__}" + (f": {detail}" if detail else ""), flush=True)
    print(f"{len(CHECKS) - failed} of {len(CHECKS)} checks hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
