"""Blocks of PyTorch, recorded by its own profiler, and explained or judged. Needs PyTorch, imported when used.

A block is one forward, in a range of its own; ranges that the block opens itself (record_function) are there
too. The device is waited for before and after, so that the recording has the block's work and no other's.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator, Optional, Union

from hunch.engine import HunchError, find_engine
from hunch.guess import Guess, Value
from hunch.report import Check, Forward, Report
from hunch.traces import explain, judge


class Recorded:
    """A finished recording. `trace` is its file, which lives as long as this object unless a path was given."""

    def __init__(self, range: str, trace: Optional[Union[str, os.PathLike[str]]] = None):
        self.range = range
        self._report: Optional[Report] = None
        self._finished = False
        self._shown = "the recording" if trace is None else None  # a file of ours: nobody knows its name
        if trace is None:
            folder = tempfile.TemporaryDirectory(prefix="hunch-")
            weakref.finalize(self, folder.cleanup)
            self.trace = Path(folder.name) / "trace.json.gz"
        else:
            self.trace = Path(trace)

    @property
    def report(self) -> Report:
        """The whole recording, explained."""
        self._must_be_finished()
        if self._report is None:
            self._report = explain(self.trace)
        return self._report

    @property
    def forward(self) -> Forward:
        """The recorded block."""
        return self.report.forward(self.range)

    def check(self, guess: Optional[Guess] = None, **expected: Value) -> Check:
        """Holds a guess against the block."""
        self._must_be_finished()
        if guess is None:
            guess = Guess(expected, self.range)
        answer, report = judge(self.trace, guess, self._shown)  # one run of the engine for both
        self._report = self._report or report
        _refuse_without_device(self, guess)
        return answer

    def _must_be_finished(self) -> None:
        if not self._finished:
            raise HunchError("the recording is not finished: look at it after the with block")

    def __str__(self) -> str:
        return str(self.report)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


@contextmanager
def profile(range: str = "forward", *, trace: Optional[Union[str, os.PathLike[str]]] = None, record_shapes: bool = True,
            profile_memory: bool = False) -> Iterator[Recorded]:
    """Records the block as one forward named `range`; what it yields has .report after the block.

    `trace` keeps the file there (".json" or ".json.gz"). An exception of the block passes on, and nothing is
    reported. The first recording of a process pays for starting the profiler; what the block does for the first
    time (loading kernels, choosing plans) is in it, and told as finding `first_call`: warm up for steady numbers.
    """
    torch, profiler = _torch()
    find_engine()  # missing? say so before the block runs
    recorded = Recorded(range, trace)
    _synchronize(torch)
    with profiler.profile(activities=_activities(torch, profiler), record_shapes=record_shapes,
                          profile_memory=profile_memory) as session:
        _tell_versions(torch, session)
        with profiler.record_function(range):
            yield recorded
        _synchronize(torch)
    _export(session, recorded)


def measure(function: Callable[..., Any], *arguments: Any, range: str = "forward", wait: int = 1, warmup: int = 1,
            active: int = 3, trace: Optional[Union[str, os.PathLike[str]]] = None, **keywords: Any) -> Recorded:
    """Calls function(*arguments, **keywords) wait + warmup + active times and records the last `active` calls.

    So counts are per call, and times have a spread.
    """
    if min(wait, warmup) < 0 or active < 1:
        raise ValueError("wait and warmup are at least 0, active at least 1")
    torch, profiler = _torch()
    find_engine()
    recorded = Recorded(range, trace)
    for _ in _range(wait + warmup):
        function(*arguments, **keywords)
    _synchronize(torch)
    with profiler.profile(activities=_activities(torch, profiler), record_shapes=True) as session:
        _tell_versions(torch, session)
        for _ in _range(active):
            with profiler.record_function(range):
                function(*arguments, **keywords)
            _synchronize(torch)
    _export(session, recorded)
    return recorded


@contextmanager
def expect(*, range: str = "expected", allow_unknown: bool = False,
           trace: Optional[Union[str, os.PathLike[str]]] = None, **expected: Value) -> Iterator[Recorded]:
    """Records the block and holds the guess against it.

        with hunch.expect(kernels=1, memcpy=0, backend="flash"):
            F.scaled_dot_product_attention(q, k, v, is_causal=True)

    Raises GuessMissed where it misses, with the evidence: what was seen, which op launched it, and why; and
    GuessNotJudged where the recording cannot tell (unless allow_unknown). An exception of the block passes on.
    """
    guess = Guess(expected, range)
    with profile(range, trace=trace) as recorded:
        yield recorded
    recorded.check(guess).raise_if_missed(allow_unknown)


_range = range  # the builtin: the functions above have a parameter of that name


def _torch() -> tuple[Any, Any]:
    try:
        import torch
        import torch.profiler
    except ImportError as error:
        raise HunchError(f"recording needs PyTorch ({error}); a trace file can be read without: hunch.explain(file)") from error
    return torch, torch.profiler


def _activities(torch: Any, profiler: Any) -> list[Any]:
    activities = [profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(profiler.ProfilerActivity.CUDA)
    return activities


def _tell_versions(torch: Any, session: Any) -> None:
    # A trace has no versions of its own; with them the engine tells why PyTorch chose a backend.
    session.add_metadata("pytorch_version", str(torch.__version__))
    if torch.backends.cudnn.is_available():
        session.add_metadata("cudnn_version", str(torch.backends.cudnn.version()))


def _synchronize(torch: Any) -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _export(session: Any, recorded: Recorded) -> None:
    try:
        session.export_chrome_trace(str(recorded.trace))
    except OSError as error:
        raise HunchError(f"{recorded.trace}: cannot write the trace: {error.strerror}") from error
    recorded._finished = True


def _refuse_without_device(recorded: Recorded, guess: Guess) -> None:
    if guess.needs_device() and recorded.report.statistics.get("device_events") == 0:
        raise HunchError(f"{guess!r} speaks of device work, and the recording has none: are the tensors on a GPU, and "
                         "does PyTorch see it (torch.cuda.is_available())?")
