"""pytest: a marker that holds a guess against what a test runs, and a fixture for more than one block.

    @pytest.mark.hunch(kernels=1, memcpy=0, backend="flash")
    def test_attention(q, k, v):
        attention(q, k, v)

    def test_model(hunch_profile, model, batch):
        model(batch)                                  # warm up
        with hunch_profile("forward") as recorded:
            model(batch)
        assert recorded.forward.memcpy.max == 0

A test that misses its guess fails with the evidence. Marked tests need PyTorch, and a GPU where their guess speaks of
device work (a guess of the backend alone does not): without, they are skipped, or fail with --hunch-require, so that a CI
of GPUs cannot pass by skipping. --hunch-traces=DIR keeps each test's trace there.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

from hunch.guess import Guess

_MARKER = "hunch(range='expected', allow_unknown=False, **guess): hold the guess against what the test runs on the device"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("hunch")
    group.addoption("--hunch-require", action="store_true",
                    help="tests with a guess fail without a GPU, instead of being skipped or judged on the CPU")
    group.addoption("--hunch-traces", metavar="DIR", help="keep the trace of each test with a guess in this folder")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    marker = pyfuncitem.get_closest_marker("hunch")
    if marker is None:
        return
    if marker.args or not set(marker.kwargs) - {"range", "allow_unknown"}:
        pytest.fail("@pytest.mark.hunch takes metrics as keywords, such as kernels=1", pytrace=False)
    guess = {name: value for name, value in marker.kwargs.items() if name not in ("range", "allow_unknown")}
    _need(pyfuncitem.config, gpu=Guess(guess).needs_device())
    test = getattr(pyfuncitem.obj, "_hunch_test", pyfuncitem.obj)  # a plug-in may run a test again

    @functools.wraps(test)
    def judged(*arguments: Any, **keywords: Any) -> None:
        import hunch

        words: Optional[str] = None  # said outside of the handler, so that they are shown once
        try:
            with hunch.expect(**marker.kwargs, trace=_trace_file(pyfuncitem)):
                test(*arguments, **keywords)
        except (hunch.GuessMissed, hunch.GuessNotJudged, hunch.HunchError) as missed:
            words = str(missed)
        if words is not None:
            pytest.fail(words, pytrace=False)

    judged._hunch_test = test  # type: ignore[attr-defined]
    pyfuncitem.obj = judged


@pytest.fixture
def hunch_profile(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """hunch.profile, with the test's trace kept where --hunch-traces says."""
    _need(request.config, gpu=True)
    import hunch

    def start(range: str = "forward", **options: Any) -> Any:
        options.setdefault("trace", _trace_file(request.node))
        return hunch.profile(range, **options)

    return start


def _need(config: pytest.Config, gpu: bool) -> None:
    missing = _missing(gpu or bool(config.getoption("--hunch-require")))
    if missing is None:
        return
    if config.getoption("--hunch-require"):
        pytest.fail(f"--hunch-require: {missing}", pytrace=False)
    pytest.skip(f"hunch cannot judge a guess here: {missing}")


def _missing(gpu: bool) -> Optional[str]:
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    return None if not gpu or torch.cuda.is_available() else "PyTorch sees no GPU"


def _trace_file(item: pytest.Item) -> Optional[Path]:
    folder = item.config.getoption("--hunch-traces")
    if folder is None:
        return None
    Path(folder).mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", item.nodeid)
    return Path(folder) / f"{name}.json.gz"
