"""Recording blocks of PyTorch: on the CPU where PyTorch is, with device work where a GPU is."""

import subprocess

import pytest

import hunch

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU")


def inputs(device, dtype):
    return [torch.randn(1, 4, 128, 64, device=device, dtype=dtype) for _ in range(3)]


def test_profile_reports_the_block():
    with hunch.profile("my block") as recorded:
        F.scaled_dot_product_attention(*inputs("cpu", torch.float32), is_causal=True)
    assert recorded.forward.range == "my block" and recorded.forward.runs == 1
    assert recorded.forward.backend == "flash"  # PyTorch's flash attention for the CPU
    assert recorded.trace.exists()


def test_the_trace_goes_with_the_recording_unless_kept(tmp_path):
    with hunch.profile() as recorded:
        torch.ones(3).sum()
    file = recorded.trace
    assert recorded.report and file.exists()
    del recorded
    assert not file.exists()
    with hunch.profile(trace=tmp_path / "kept.json.gz"):
        torch.ones(3).sum()
    assert (tmp_path / "kept.json.gz").exists()


def test_a_recording_is_read_after_the_block():
    with hunch.profile() as recorded:
        with pytest.raises(hunch.HunchError, match="after the with block"):
            recorded.report


def test_the_blocks_own_error_passes_on():
    with pytest.raises(ZeroDivisionError):
        with hunch.expect(backend="flash"):
            1 / 0


def test_expect_judges_the_backend_without_a_gpu():
    query, key, value = inputs("cpu", torch.float32)
    with hunch.expect(backend="flash"):
        F.scaled_dot_product_attention(query, key, value, is_causal=True)
    # Without device work attention by hand is not seen for what it is; a test must not pass for that.
    with pytest.raises((hunch.GuessMissed, hunch.GuessNotJudged), match="backend"):
        with hunch.expect(backend="flash"):
            (query @ key.transpose(-2, -1)).softmax(-1) @ value


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_device_metrics_need_device_work():
    with pytest.raises(hunch.HunchError, match="device work"):
        with hunch.expect(memcpy=0):
            torch.ones(3).sum()


def test_a_check_runs_the_engine_once_and_brings_the_report(monkeypatch):
    runs = []
    run = subprocess.run
    with hunch.profile() as recorded:
        F.scaled_dot_product_attention(*inputs("cpu", torch.float32), is_causal=True)
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: runs.append(a) or run(*a, **k))
    checked = recorded.check(backend="flash")
    assert checked.holds and "backend" in str(checked) and "hunch-" not in str(checked)
    assert recorded.forward.backend == "flash" and "flash" in str(recorded)
    assert len(runs) == 1


def test_a_miss_says_why_pytorch_took_another_backend():
    query, key, value = inputs("cpu", torch.float32)
    with pytest.raises(hunch.GuessMissed) as raised:
        with hunch.expect(backend="flash"):
            F.scaled_dot_product_attention(query, key, value, attn_mask=torch.zeros(4, 128, 128))
    message = " ".join(str(raised.value).split())
    assert "flash cannot take 1 x 4 x 128 x 64, f32, float mask [4, 128, 128]" in message
    assert "the mask has 3 dimensions (change: unsqueeze(0)" in message
    assert "the recording" in message and "the trace does not tell" not in message


def test_measure_counts_per_call():
    recorded = hunch.measure(lambda x: x.sum(), torch.ones(3), active=4, range="sum")
    assert recorded.forward.runs == 4
    with pytest.raises(ValueError):
        hunch.measure(lambda: None, active=0)


@gpu
def test_expect_counts_kernels_on_a_gpu():
    query, key, value = inputs("cuda", torch.bfloat16)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
        with hunch.expect(kernels=1, memcpy=0, backend="flash", tensor_cores=True):
            F.scaled_dot_product_attention(query, key, value, is_causal=True)
    with pytest.raises(hunch.GuessMissed, match="hidden_copy"):
        with hunch.expect(memcpy=0):
            scores = query @ key.transpose(-2, -1)
            scores.masked_fill(torch.ones(128, 128, dtype=torch.bool, device="cuda").triu(1), float("-inf"))
