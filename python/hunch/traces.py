"""A trace file: explained, or held against a guess. Needs no PyTorch."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Callable, Sequence, Union

from hunch.engine import ask, ask_json
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
    return Report.from_json(ask_json(arguments), _explain_text(arguments))


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
    if isinstance(guess, Guess):
        with tempfile.TemporaryDirectory(prefix="hunch-") as folder:
            file = Path(folder) / "guess.toml"
            file.write_text(guess.toml(), encoding="utf-8")
            return _check(["check", str(file), os.fspath(trace), *flags], str(file))
    return _check(["check", os.fspath(guess), os.fspath(trace), *flags])


def _check(arguments: Sequence[str], hidden: str = "") -> Check:
    answer = ask_json(arguments, (0, 1))
    text = ask([*arguments, "--color", "never"], (0, 1))
    if hidden:  # a file of ours: nobody knows its name
        text = text.replace(hidden, "the guess")
    return Check.from_json(answer, text)


def _explain_text(arguments: Sequence[str]) -> Callable[[], str]:
    # Made when somebody looks: the JSON answers most questions, and a recording's file may be gone by then.
    return lambda: ask([*arguments, "--color", "never"])
