"""hunch from Python: guess what a block of PyTorch runs on the device, and see where the trace differs.

    import hunch

    with hunch.profile("forward") as recorded:      # needs PyTorch
        model(batch)
    recorded.report                                 # a table in a notebook, text elsewhere

    with hunch.expect(kernels=1, memcpy=0, backend="flash"):
        attention(q, k, v)                          # raises hunch.GuessMissed with the evidence

    hunch.explain("trace.json.gz").findings         # a file alone; no PyTorch needed

The reading, counting and explaining is the program `hunch`'s; see hunch.engine for where it is looked for.
"""

from hunch.engine import HunchError, find_engine
from hunch.guess import Guess
from hunch.recording import Recorded, expect, measure, profile
from hunch.report import (Accounting, Check, Finding, Forward, GuessMissed, GuessNotJudged, Kernel, Report, Spread,
                          Verdict)
from hunch.traces import check, explain

__version__ = "0.1.0"
__all__ = ["Accounting", "Check", "Finding", "Forward", "Guess", "GuessMissed", "GuessNotJudged", "HunchError", "Kernel",
           "Recorded", "Report", "Spread", "Verdict", "check", "expect", "explain", "find_engine", "measure", "profile"]
