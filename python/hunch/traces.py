"""A trace file: explained, or held against a guess. Needs no PyTorch."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Callable, Optional, Sequence, Union

from hunch.engine import ask_json, parse
from hunch.guess import Guess, Value
from hunch.report import Check, Report

Trace = Union[str, "os.PathLike[str]"]


def explain(trace: Trace, *, range: str | None = None, salvage: bool = False) -> Report:
    """What each forward of the trace ran and what is surprising; of one range where it is named.

    Raises HunchError: no such file, no trace, no such range.
    """
    arguments = ["explain", os.fspath(trace)]
    if range is not None:
        arguments += ["--range", range]
    if salvage:
        arguments.append("--salvage")
    with tempfile.TemporaryDirectory(prefix="hunch-") as folder:
        text = Path(folder) / "report"
        answer = ask_json([*arguments, "--also", f"text={text}"])
        return Report.from_json(answer, text.read_text(encoding="utf-8"))


def check(trace: Trace, guess: Guess | Trace | None = None, *, range: str | None = None, salvage: bool = False,
          **expected: Value) -> Check:
    """Holds a guess against the trace: a Guess, a guess file, or metrics as keywords (check(t, kernels=5)).

    Returns the verdicts; Check.raise_if_missed() raises. Raises HunchError as explain does, and for a guess that
    the engine does not understand.
    """
    if (guess is None) == (not expected):
        raise ValueError("give one guess: a Guess, a file, or metrics as keywords")
    flags = ["--salvage"] if salvage else []
    if guess is None:
        guess = Guess(expected, range)
    return _judge(trace, guess, flags, lambda folder: ())[0]


def judge(trace: Trace, guess: Guess, shown: Optional[str] = None) -> tuple[Check, Report]:
    """The verdicts and the whole trace's report, of one run of the engine; the text calls the trace `shown`."""
    check, report = _judge(trace, guess, (), lambda folder: (f"json={folder / 'report.json'}", f"text={folder / 'report'}"))
    assert report is not None
    return (check if shown is None else replace(check, text=check.text.replace(os.fspath(trace), shown))), report


def _judge(trace: Trace, guess: Guess | Trace, flags: Sequence[str],
           explain: Callable[[Path], Sequence[str]]) -> tuple[Check, Optional[Report]]:
    with tempfile.TemporaryDirectory(prefix="hunch-") as name:
        folder = Path(name)
        file = os.fspath(guess) if not isinstance(guess, Guess) else str(folder / "guess.toml")
        if isinstance(guess, Guess):
            Path(file).write_text(guess.toml(), encoding="utf-8")
        wanted = explain(folder)
        also = [word for each in wanted for word in ("--explain", each)]
        answer = ask_json(["check", file, os.fspath(trace), *flags, "--also", f"text={folder / 'table'}", *also], (0, 1))
        table = (folder / "table").read_text(encoding="utf-8")
        if isinstance(guess, Guess):  # a file of ours: nobody knows its name
            table = table.replace(file, "the guess")
        report = None
        if wanted:
            report = Report.from_json(parse((folder / "report.json").read_text(encoding="utf-8")),
                                      (folder / "report").read_text(encoding="utf-8"))
        return Check.from_json(answer, table), report
