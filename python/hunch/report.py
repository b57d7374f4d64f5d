"""What the engine says, as plain data: one class for each object of its JSON. Times are in nanoseconds.

Each has from_json, and shows itself as a table in a notebook. What a trace does not tell is None.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence, Union


@dataclass(frozen=True)
class Spread:
    """Over the runs of a forward."""

    min: int
    median: int
    max: int

    @classmethod
    def of(cls, value: Any) -> Optional["Spread"]:
        if value is None:
            return None
        if isinstance(value, Mapping):
            return cls(value["min"], value["median"], value["max"])
        return cls(value, value, value)


@dataclass(frozen=True)
class Work:
    """One piece of device work in a forward's sequence."""

    kind: str  # "kernel", "memcpy", "memset"
    family: str
    name: str
    op: Optional[str]
    device_ns: int
    event: int

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Work":
        return cls(value["kind"], value["family"], value["name"], value.get("op"), value["device_ns"], value["event"])


@dataclass(frozen=True)
class Accounting:
    """Where one forward's wall time went; the parts add up to wall_ns."""

    parts: Mapping[str, int]
    wall_ns: int

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Accounting":
        names = ("kernel", "memcpy", "memset", "busy_other", "wait_host", "wait_sync", "wait_launch", "wait_device",
                 "after_work", "unknown")
        return cls({name: value[f"{name}_ns"] for name in names}, value["wall_ns"])


@dataclass(frozen=True)
class Forward:
    """The forwards of one range."""

    range: str
    runs: int
    kernels: Spread
    memcpy: Spread
    memset: Spread
    device_ns: Spread
    host_ns: Spread
    backend: Optional[str]
    sequence: Sequence[Work]
    peak_bytes: Optional[Spread]
    accounting: Optional[Accounting]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Forward":
        def spread(key: str) -> Spread:
            return Spread.of(value[key]) or Spread(0, 0, 0)

        account = value.get("accounting")
        return cls(value["range"], value["runs"], spread("kernels"), spread("memcpy"), spread("memset"),
                   spread("device_ns"), spread("host_ns"), value.get("backend"),
                   tuple(Work.from_json(each) for each in value["sequence"]), Spread.of(value.get("peak_bytes")),
                   Accounting.from_json(account) if account else None)


@dataclass(frozen=True)
class Kernel:
    """A kernel of one range, over all its calls in a forward."""

    range: str
    name: str
    readable: str
    family: str
    op: Optional[str]
    calls: Spread
    device_ns: Spread
    registers: Optional[int]
    shared_bytes: Optional[int]
    reported_occupancy_pct: Optional[float]
    occupancy_pct: Optional[float]  # worked out anew from registers, shared memory, block and device
    limited_by: Optional[str]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Kernel":
        occupancy = value.get("occupancy") or {}
        return cls(value["range"], value["name"], value["readable"], value["family"], value.get("op"),
                   Spread.of(value["calls"]) or Spread(0, 0, 0), Spread.of(value["device_ns"]) or Spread(0, 0, 0),
                   value.get("registers"), value.get("shared_bytes"), occupancy.get("reported_pct"),
                   occupancy.get("theoretical_pct"), occupancy.get("limited_by"))


@dataclass(frozen=True)
class Finding:
    """What is surprising, with its cause, its cost a forward, and what to do."""

    rule: str
    range: str
    claim: str
    cause: str
    advice: str
    cost_ns: Optional[int]
    cost_bytes: Optional[int]
    events: Sequence[int]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Finding":
        return cls(value["rule"], value["range"], value["claim"], value["cause"], value["advice"], value.get("cost_ns"),
                   value.get("cost_bytes"), tuple(value["events"]))


@dataclass(frozen=True)
class Verdict:
    """One metric of a guess against what was seen: "holds", "misses" or "unknown"."""

    range: str
    metric: str
    expected: str
    seen: Optional[str]  # None: the trace does not tell
    verdict: str
    why: str
    events: Sequence[int]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Verdict":
        return cls(value["range"], value["metric"], value["expected"], value.get("seen"), value["verdict"], value["why"],
                   tuple(value["events"]))


@dataclass(frozen=True)
class Report:
    """A trace, explained."""

    trace: Mapping[str, Any]
    forwards: Sequence[Forward]
    kernels: Sequence[Kernel]
    findings: Sequence[Finding]
    statistics: Mapping[str, Any]
    text: str = field(repr=False, compare=False, default="")  # the engine's, for people

    @classmethod
    def from_json(cls, value: Mapping[str, Any], text: str) -> "Report":
        return cls(value["trace"], tuple(Forward.from_json(each) for each in value["forwards"]),
                   tuple(Kernel.from_json(each) for each in value["kernels"]),
                   tuple(Finding.from_json(each) for each in value["findings"]), value["statistics"], text)

    def forward(self, range: str) -> Forward:
        """The forwards of that range. Raises KeyError with the ranges that there are."""
        for each in self.forwards:
            if each.range == range:
                return each
        raise KeyError(f"no range {range!r}; there are: {', '.join(repr(each.range) for each in self.forwards)}")

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        forwards = _table(
            ("range", "runs", "kernels", "copies", "memsets", "device time", "host time", "attention"),
            ((each.range, each.runs, _count(each.kernels), _count(each.memcpy), _count(each.memset),
              _time(each.device_ns.median), _time(each.host_ns.median), each.backend or "") for each in self.forwards))
        findings = _table(("finding", "range", "what", "why", "what to do"),
                          ((each.rule, each.range, each.claim, each.cause, each.advice) for each in self.findings))
        return forwards + (findings if self.findings else "")


@dataclass(frozen=True)
class Check:
    """A guess held against a trace: misses first."""

    trace: str
    verdicts: Sequence[Verdict]
    text: str = field(repr=False, compare=False, default="")

    @classmethod
    def from_json(cls, value: Mapping[str, Any], text: str) -> "Check":
        return cls(value["trace"], tuple(Verdict.from_json(each) for each in value["verdicts"]), text)

    @property
    def misses(self) -> Sequence[Verdict]:
        return tuple(each for each in self.verdicts if each.verdict == "misses")

    @property
    def unknown(self) -> Sequence[Verdict]:
        return tuple(each for each in self.verdicts if each.verdict == "unknown")

    @property
    def holds(self) -> bool:
        """True where every metric was judged and holds."""
        return not self.misses and not self.unknown

    def raise_if_missed(self, allow_unknown: bool = False) -> None:
        """Raises GuessMissed for a miss; GuessNotJudged for a metric that the trace does not tell."""
        __tracebackhide__ = True  # pytest shows the caller's line
        if self.misses:
            raise GuessMissed(self)
        if self.unknown and not allow_unknown:
            raise GuessNotJudged(self)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _table(("verdict", "range", "metric", "guess", "seen", "because"),
                      ((each.verdict, each.range, each.metric, each.expected, each.seen or "-", each.why)
                       for each in self.verdicts))


class GuessMissed(AssertionError):
    """A guess does not hold; `check` has the verdicts, the message the evidence."""

    def __init__(self, check: Check):
        super().__init__("\n" + check.text.rstrip())
        self.check = check


class GuessNotJudged(AssertionError):
    """A metric that the recording does not tell: a test on it would pass whatever the model does."""

    def __init__(self, check: Check):
        super().__init__("\n" + check.text.rstrip())
        self.check = check


def _count(spread: Spread) -> str:
    return str(spread.median) if spread.min == spread.max else f"{spread.min} to {spread.max}"


def _time(nanoseconds: int) -> str:
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}" if nanoseconds < 1000 * size else f"{nanoseconds / size:.0f} {unit}"
    return f"{nanoseconds} ns"


def _table(head: Sequence[str], rows: Iterable[Sequence[Union[str, int]]]) -> str:
    def row(cells: Iterable[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag} style='text-align:left'>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + row(head, "th") + "".join(row(cells, "td") for cells in rows) + "</table>"
