#!/usr/bin/env python3
"""Writes docs/traces.md, the table of the real traces with what hunch finds in each; or checks that it is still true.

usage: tools/trace_table.py --update|--check [--hunch PROGRAM]
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs/traces.md"
HEAD = """# What hunch finds in the real traces

`tests/data/traces`: recorded by PyTorch 2.11's profiler on one NVIDIA H200, three forwards each. Counts are kernels, copies and memsets of
one forward; device time is the median. Each finding has its page under [rules](rules). Written by `tools/trace_table.py --update`; a test runs
`--check`.

| trace | range | kernels + copies (+ memsets) | device time | attention | findings |
|---|---|---|---|---|---|
"""


def number(value):
    """A per-forward field: a number, or min..max where runs differ."""
    if isinstance(value, dict):
        return f"{value['min']}..{value['max']}"
    return str(value)


def median(value):
    return value["median"] if isinstance(value, dict) else value


def counts(forward):
    text = number(forward["kernels"])
    if forward["memcpy"] != 0:
        text += f" + {number(forward['memcpy'])}"
    if forward["memset"] != 0:
        text += f" (+ {number(forward['memset'])})"
    return text


def rows(program, trace):
    result = subprocess.run([program, "explain", "--format", "json", str(trace)], capture_output=True, text=True, check=True)
    report = json.loads(result.stdout)
    for forward in report["forwards"]:
        rules = {}
        for finding in report["findings"]:
            if finding["range"] == forward["range"]:
                rules[finding["rule"]] = rules.get(finding["rule"], 0) + 1
        found = ", ".join(f"{rule} x{n}" if n > 1 else rule for rule, n in rules.items())
        yield (f"| {trace.name.removesuffix('.json.gz')} | {forward['range']} | {counts(forward)} | "
               f"{median(forward['device_ns']) / 1e3:,.1f} us | {forward['backend'] or '-'} | {found or '-'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--update", action="store_true")
    mode.add_argument("--check", action="store_true")
    parser.add_argument("--hunch", default=str(ROOT / "build/release/hunch/cli/hunch"))
    options = parser.parse_args()
    traces = sorted((ROOT / "tests/data/traces").glob("*.json.gz"))
    text = HEAD + "\n".join(row for trace in traces for row in rows(options.hunch, trace)) + "\n"
    if options.update:
        TARGET.write_text(text)
        return 0
    if TARGET.read_text() != text:
        print("docs/traces.md is no longer what hunch says; run tools/trace_table.py --update and read the difference")
        return 1
    print(f"{len(traces)} traces, as docs/traces.md says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
