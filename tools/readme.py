#!/usr/bin/env python3
"""Pastes real output into README.md, or checks that it is still real.

usage: tools/readme.py --update|--check [--hunch PROGRAM]

A block in a Markdown file looks like this; the command runs from the repository's root, with `hunch` being PROGRAM:

    <!-- output: hunch explain tests/data/traces/naive.json.gz -->
    ```text
    ...
    ```

--check compares to the letter. A block headed `output varies:` holds times and this machine's name: there, the rows of the table with
their counts and the sections below must be the same. Exit 1 where a block differs.
"""
import argparse
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- output( varies)?: (.*?) -->\n```(\w*)\n(.*?)^```$", re.S | re.M)


def run(command, program):
    env = dict(os.environ, COLUMNS="110", NO_COLOR="1", PATH=f"{program.parent}:{os.environ['PATH']}")
    words = shlex.split(command)
    assert words[0] == "hunch", f"a README block runs hunch, not {words[0]}"
    result = subprocess.run([str(program)] + words[1:], cwd=ROOT, env=env, capture_output=True, text=True)
    # Errors are output too: a block may show one.
    return result.stdout + result.stderr


def skeleton(text):
    """What of a varying block must stay: the rows of its table with their counts, and the sections below."""
    rows = re.findall(r"^(\w+)  +(\d+(?: \+ \d+ cop(?:y|ies))?|-) ", text, re.M)
    sections = re.findall(r"^(\w+): the guess", text, re.M)
    return [f"{name}: {count}" for name, count in rows] + sections


def differs(old, new, varies):
    if not varies:
        return old != new
    return not skeleton(new) or skeleton(old) != skeleton(new)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--update", action="store_true")
    mode.add_argument("--check", action="store_true")
    parser.add_argument("--hunch", default=str(ROOT / "build/release/hunch/cli/hunch"))
    parser.add_argument("files", nargs="*", default=["README.md"])
    options = parser.parse_args()
    program = pathlib.Path(options.hunch).resolve()
    wrong = blocks = 0

    for name in options.files:
        path = ROOT / name
        text = path.read_text()

        def paste(match):
            nonlocal wrong, blocks
            blocks += 1
            varies, command, language, old = match.groups()
            new = run(command, program)
            if options.check and differs(old, new, bool(varies)):
                wrong += 1
                print(f"{name}: output of `{command}` is no longer what it says:")
                before, after = (old, new) if not varies else ("\n".join(skeleton(old)), "\n".join(skeleton(new)))
                print("\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), "README", "now", lineterm="", n=1)))
            return f"<!-- output{varies or ''}: {command} -->\n```{language}\n{new}```"

        updated = BLOCK.sub(paste, text)
        if options.update and updated != text:
            path.write_text(updated)
    if blocks == 0:
        print("no output block was found")
        return 1
    print(f"{blocks} blocks, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
