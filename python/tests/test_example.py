"""The example: it passes as it stands, and fails with the message of the README when a position bias is added."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

PYTHON = Path(__file__).resolve().parents[1]
EXAMPLE = PYTHON / "examples" / "test_transformer.py"
# The change that the README shows, as the lines that it takes away and those that it adds.
CHANGE = [
    ("        self.output = nn.Linear(size, size)\n",
     "        self.output = nn.Linear(size, size)\n"
     "        self.bias = nn.Parameter(torch.zeros(heads, LENGTH, LENGTH))  # one for each head, learned\n"),
    ("        return F.scaled_dot_product_attention(query, key, value, is_causal=True)\n",
     "        future = torch.ones(LENGTH, LENGTH, dtype=torch.bool, device=query.device).triu(1)\n"
     "        bias = self.bias.masked_fill(future, float(\"-inf\"))\n"
     "        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias)\n"),
]


def run(folder, source):
    (folder / "test_transformer.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "hunch.pytest_plugin", "test_transformer.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PYTHONPATH": str(PYTHON), "COLUMNS": "100"})
    return done.returncode, done.stdout


def changed():
    source = EXAMPLE.read_text()
    for before, after in CHANGE:
        assert source.count(before) == 1, before
        source = source.replace(before, after)
    return source


def test_it_passes_as_it_stands(tmp_path):
    status, out = run(tmp_path, EXAMPLE.read_text())
    assert status == 0, out
    assert ("4 passed" if torch.cuda.is_available() else "3 passed, 1 skipped") in out


def test_a_position_bias_is_noticed(tmp_path):
    status, out = run(tmp_path, changed())
    assert status == 1, out
    failed = re.findall(r"^FAILED test_transformer.py::(\w+)", out, re.MULTILINE)
    assert "test_inference_stays_fused" in failed and "test_training_stays_fused" in failed, out
    assert re.search(r"^MISS +expected +backend +flash +math$", out, re.MULTILINE), out


def plain(text):
    """Without what differs from run to run: times, places in the file, and their widths."""
    text = re.sub(r"[\d.,]+ (?:ns|us|ms|s)\b", "TIME", text)
    text = re.sub(r"event \d+", "event N", text)
    return " ".join(text.split())


@pytest.mark.skipif(torch.cuda.is_available(), reason="the README shows what a CPU says")
def test_the_readme_shows_the_change_and_the_message(tmp_path):
    readme = (PYTHON / "README.md").read_text()
    diff = re.search(r"```diff\n(.*?)```", readme, re.DOTALL).group(1).splitlines()
    taken = [line[1:] for line in diff if line.startswith("-")]
    added = [line[1:] for line in diff if line.startswith("+")]
    kept = [line[1:] for line in diff if line.startswith(" ")]
    assert [line for before, _ in CHANGE for line in before.splitlines()] == sorted(kept + taken, key=EXAMPLE.read_text().find)
    assert [line for _, after in CHANGE for line in after.splitlines() if line not in kept] == added
    shown = re.search(r"```text\n(_+ test_inference.*?)```", readme, re.DOTALL).group(1)
    _, out = run(tmp_path, changed())
    assert plain(shown) in plain(out), out
