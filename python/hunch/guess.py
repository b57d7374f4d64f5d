"""A guess: what a forward should run, written before looking.

Values are those of a guess file: kernels=5, kernels=">= 1", kernels="1..3", memcpy=0, backend="flash",
sequence=["matmul", "softmax", "matmul"], tensor_cores=True, device_time="< 2 ms", host_time="< 200 us".
Which metrics there are and what they may say is the engine's to judge; a typo comes back as its error.
"""

from __future__ import annotations

import json
import re
from typing import Mapping, Sequence, Union

Value = Union[bool, int, float, str, Sequence[str]]

# Metrics that speak of device work: on a recording without any they cannot be judged.
_DEVICE_METRICS = {"kernels", "memcpy", "memset", "sequence", "device_time", "busy_time", "occupancy", "tensor_cores"}


class Guess:
    """Metrics and what is expected of them, for one range."""

    def __init__(self, expected: Mapping[str, Value], range: str | None = None):
        if not expected:
            raise ValueError("an empty guess says nothing: name a metric, such as kernels=1")
        self.expected = dict(expected)
        self.range = range

    def needs_device(self) -> bool:
        return any(metric in _DEVICE_METRICS for metric in self.expected)

    def toml(self) -> str:
        """The guess as a file of `hunch check`."""
        table = "[forward]" if self.range is None else f"[forward.{json.dumps(self.range, ensure_ascii=False)}]"
        lines = [table]
        for metric, value in self.expected.items():
            if not re.fullmatch(r"[A-Za-z0-9_-]+", metric):
                raise ValueError(f"{metric!r} is no name of a metric")
            lines.append(f"{metric} = {_toml(metric, value)}")
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        words = ", ".join(f"{metric}={value!r}" for metric, value in self.expected.items())
        return f"Guess({words})" if self.range is None else f"Guess({words}; range={self.range!r})"


def _toml(metric: str, value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Sequence) and all(isinstance(each, str) for each in value):
        return "[" + ", ".join(json.dumps(each, ensure_ascii=False) for each in value) + "]"
    raise TypeError(f"{metric}: expected a number, text, a boolean or a list of texts, not {value!r}")
