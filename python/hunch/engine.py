"""The program `hunch`: where it is, and how it is asked.

Looked for in this order: the environment's HUNCH (a path), the package's own folder bin/, PATH. What it prints
as JSON is the contract; its errors, one line with what to try, become HunchError.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Sequence


class HunchError(RuntimeError):
    """The engine is missing, or refused: the message says what failed, where, and what to try."""


def find_engine() -> str:
    """The path of the program. Raises HunchError where there is none."""
    named = os.environ.get("HUNCH")
    if named:
        if not os.access(named, os.X_OK) or os.path.isdir(named):
            raise HunchError(f"HUNCH={named}: no program is there; set it to the hunch program's path")
        return named
    packed = Path(__file__).with_name("bin") / "hunch"
    if os.access(packed, os.X_OK):
        return str(packed)
    found = shutil.which("hunch")
    if found is None:
        raise HunchError("the program hunch was not found: put it on PATH, or its path into the environment's HUNCH")
    return found


def ask(arguments: Sequence[str], statuses: tuple[int, ...] = (0,)) -> str:
    """Runs the program and returns its standard output. Raises HunchError for a status not in `statuses`."""
    engine = find_engine()
    try:
        done = subprocess.run([engine, *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise HunchError(f"{engine}: {error.strerror}") from error
    if done.returncode not in statuses:
        words = done.stderr.strip() or f"exit status {done.returncode}"
        raise HunchError(words.removeprefix("hunch: "))
    return done.stdout


def ask_json(arguments: Sequence[str], statuses: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """The same with --format json, parsed."""
    return parse(ask([*arguments, "--format", "json"], statuses))


def parse(text: str) -> dict[str, Any]:
    """What the program wrote as JSON. Raises HunchError where it speaks another schema."""
    answer: dict[str, Any] = json.loads(text)
    version = answer.get("schema_version")
    if version != 1:
        raise HunchError(f"the program hunch speaks schema {version}, and this package reads 1: update one of them")
    return answer
