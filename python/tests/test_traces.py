"""The package on trace files: no PyTorch, no GPU."""

import os
import subprocess
from pathlib import Path

import pytest

import hunch

TRACES = Path(__file__).resolve().parents[2] / "tests" / "data" / "traces"


def trace(name):
    return TRACES / f"{name}.json.gz"


def test_explain_counts_what_the_trace_holds():
    report = hunch.explain(trace("naive"))
    forward = report.forward("attn_fwd")
    assert (forward.kernels.median, forward.memcpy.median) == (5, 1)
    assert forward.backend == "naive"
    assert [work.family for work in forward.sequence if work.kind == "kernel"][0] == "matmul"
    assert sum(forward.accounting.parts.values()) == forward.accounting.wall_ns
    copies = [finding for finding in report.findings if finding.rule == "hidden_copy"]
    assert len(copies) == 1 and "masked_fill" in copies[0].cause and copies[0].events


def test_kernels_have_their_occupancy():
    kernel = hunch.explain(trace("sdpa_flash")).kernels[0]
    assert kernel.occupancy_pct == 12.5 and kernel.limited_by == "registers"


def test_report_shows_itself():
    report = hunch.explain(trace("naive"))
    assert "hidden_copy" in str(report)
    table = report._repr_html_()
    assert "<td style='text-align:left'>attn_fwd</td>" in table and "&gt;" in table
    with pytest.raises(KeyError, match="attn_fwd"):
        report.forward("nonsense")


def test_check_holds_and_misses():
    assert hunch.check(trace("naive_inplace"), kernels=5, memcpy=0).holds
    result = hunch.check(trace("naive"), kernels=5, memcpy=0, range="attn_fwd")
    assert [verdict.metric for verdict in result.misses] == ["memcpy"]
    assert result.misses[0].seen == "1"
    with pytest.raises(hunch.GuessMissed, match="hidden_copy") as raised:
        result.raise_if_missed()
    assert isinstance(raised.value, AssertionError) and raised.value.check is result
    assert "memcpy" in result._repr_html_()


def test_check_takes_every_kind_of_value():
    result = hunch.check(trace("naive"), kernels="5..6", tensor_cores=True, device_time="< 1 s",
                         sequence=["matmul", "mul", "memcpy", "masked_fill", "softmax", "matmul"])
    assert result.holds, str(result)


def test_check_takes_a_file(tmp_path):
    file = tmp_path / "guess.toml"
    file.write_text("[forward]\nkernels = 4\n")
    assert not hunch.check(trace("naive"), file).holds


def test_what_a_trace_does_not_tell_is_no_pass():
    # The trace was recorded without memory events.
    result = hunch.check(trace("naive"), peak_memory="< 1 GB")
    assert [verdict.metric for verdict in result.unknown] == ["peak_memory"]
    with pytest.raises(hunch.GuessNotJudged, match="peak_memory"):
        result.raise_if_missed()
    result.raise_if_missed(allow_unknown=True)


@pytest.mark.parametrize("call, words", [
    (lambda: hunch.explain("no_such_file.json"), "no_such_file.json"),
    (lambda: hunch.explain(trace("naive"), range="attn"), "attn_fwd"),
    (lambda: hunch.check(trace("naive"), kernals=5), "kernels"),
    (lambda: hunch.check(trace("naive"), kernels="many"), "many"),
])
def test_errors_are_the_engines_words(call, words):
    with pytest.raises(hunch.HunchError, match=words):
        call()


def test_a_guess_is_needed():
    with pytest.raises(ValueError):
        hunch.check(trace("naive"))
    with pytest.raises(ValueError):
        hunch.check(trace("naive"), hunch.Guess({"kernels": 5}), kernels=5)
    with pytest.raises(TypeError, match="kernels"):
        hunch.check(trace("naive"), kernels=object())
    with pytest.raises(ValueError, match="ker nels"):
        hunch.check(trace("naive"), hunch.Guess({"ker nels": 5}))


def test_ranges_with_any_name_are_quoted():
    assert hunch.Guess({"backend": 'a"b'}, 'x "y" \n').toml() == '[forward."x \\"y\\" \\n"]\nbackend = "a\\"b"\n'


def test_the_engine_is_named_when_missing(monkeypatch):
    monkeypatch.setenv("HUNCH", "/no/such/hunch")
    with pytest.raises(hunch.HunchError, match="HUNCH=/no/such/hunch"):
        hunch.explain(trace("naive"))
    monkeypatch.delenv("HUNCH")
    monkeypatch.setenv("PATH", "/no/such/folder")
    with pytest.raises(hunch.HunchError, match="put it on PATH"):
        hunch.explain(trace("naive"))


def test_an_engine_of_another_schema_is_refused(monkeypatch, tmp_path):
    other = tmp_path / "hunch"
    other.write_text("#!/bin/sh\necho '{\"schema_version\": 2}'\n")
    os.chmod(other, 0o755)
    monkeypatch.setenv("HUNCH", str(other))
    with pytest.raises(hunch.HunchError, match="schema 2"):
        hunch.explain(trace("naive"))


def test_it_is_importable_without_torch():
    code = "import sys; sys.modules['torch'] = None; import hunch\ntry:\n  hunch.profile().__enter__()\nexcept hunch.HunchError as e:\n  print(e)"
    done = subprocess.run([os.sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          cwd=Path(__file__).parents[1])
    assert "needs PyTorch" in done.stdout
