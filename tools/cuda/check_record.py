#!/usr/bin/env python3
"""Holds `hunch record` to PyTorch's own profiler on a GPU, and measures what both cost.

usage: check_record.py HUNCH FOLDER [--turns N] [--only-cost]

HUNCH is a command that starts hunch (several words are fine). Small PyTorch programs run under `hunch record`: with
emit_nvtx, with ranges of their own, with none, as two processes, ending by an exit status, by faults and by signals.
Each trace is read by `hunch explain`; kernels and copies are held against torch.profiler's for the same program. Then
host time of a launch and device time of a forward: plain, under `hunch record` and under torch.profiler, in turns.
Traces and programs go to FOLDER. Prints what fails, and short tables last; exit status 1 where something fails.
"""
import argparse
import json
import os
import shlex
import signal
import statistics
import subprocess
import sys
import time

PROGRAM = r'''
import ctypes, json, math, os, signal, sys, time
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

MODE, ARGUMENT = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
RUNS = 5

def inputs(shape):
    torch.manual_seed(1)
    q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    return q, k, v, torch.ones(shape[2], shape[2], device="cuda", dtype=torch.bool).triu(1)

def naive(q, k, v, mask):
    scores = torch.matmul(q, k.transpose(-2, -1)) * (1 / math.sqrt(q.shape[-1]))
    return torch.matmul(torch.softmax(scores.masked_fill(mask, -math.inf), -1), v)

def fused(backend):
    def run(q, k, v, mask):
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return run

FORWARDS = {"naive": naive, "flash": fused(SDPBackend.FLASH_ATTENTION), "cudnn": fused(SDPBackend.CUDNN_ATTENTION)}

def forwards(mark, runs=RUNS, shape=(2, 8, 256, 64)):
    data = inputs(shape)
    naive(*data)  # loads libraries
    torch.cuda.synchronize()
    for _ in range(runs):
        with mark("attn_fwd"):
            naive(*data)
    torch.cuda.synchronize()

class Unmarked:
    def __init__(self, name): pass
    def __enter__(self): pass
    def __exit__(self, *what): pass

nvtx = torch.cuda.nvtx.range

def worker(rank):
    forwards(nvtx, RUNS + rank)

def median_of(times):
    times.sort()
    return times[len(times) // 2]

def measure():
    """Host time of a launch: a tiny kernel, nothing waited for, on a core that is this thread's alone, on four cores
    one after the other: the median of their batches, and of the core and moment that nothing disturbed the least.
    Device time of a forward: by events around 20, launched while the device waits, so that no host time is in it."""
    out = {}
    x = torch.zeros(16, device="cuda")
    a = torch.zeros(64, 64, device="cuda", dtype=torch.bfloat16)
    launches = {"launch": lambda: x.add_(1), "matmul": lambda: torch.mm(a, a)}
    for launch in launches.values():
        for _ in range(3000): launch()
    torch.cuda.synchronize()
    cores = os.sched_getaffinity(0)
    for name, launch in launches.items():
        times = []
        for core in sorted(cores)[::max(1, len(cores) // 4)][:4]:
            os.sched_setaffinity(0, {core})
            for _ in range(120):
                torch.cuda.synchronize()
                start = time.perf_counter_ns()
                for _ in range(60): launch()
                times.append((time.perf_counter_ns() - start) / 60)
        out[name], out[name + ", least"] = median_of(times), times[0]
    os.sched_setaffinity(0, cores)
    data = inputs((8, 16, 1024, 64))
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for name, forward in FORWARDS.items():
        for _ in range(10): forward(*data)
        times = []
        for _ in range(25):
            torch.cuda.synchronize()
            torch.cuda._sleep(20_000_000)
            begin.record()
            for _ in range(20): forward(*data)
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) / 20 * 1e6)
        out[name] = median_of(times)
    print("MEASURED " + json.dumps(out), flush=True)

if __name__ == "__main__":
    if MODE == "profiled":  # everything, from before the first use of CUDA
        from torch.profiler import ProfilerActivity, profile, record_function
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as profiler:
            forwards(record_function)
        profiler.export_chrome_trace(ARGUMENT)
    elif MODE == "emit_nvtx":
        with torch.autograd.profiler.emit_nvtx(record_shapes=True):
            forwards(nvtx)
    elif MODE == "ranges": forwards(nvtx)
    elif MODE == "unmarked": forwards(Unmarked)
    elif MODE == "unmarked_profiled":
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler: forwards(Unmarked)
        profiler.export_chrome_trace(ARGUMENT)
    elif MODE == "two":
        import torch.multiprocessing as processes
        processes.spawn(worker, nprocs=2)
    elif MODE == "train":  # a backward pass launches from a thread of its own
        with torch.autograd.profiler.emit_nvtx(record_shapes=True):
            q, k, v, mask = inputs((2, 8, 256, 64))
            q.requires_grad_()
            for _ in range(RUNS):
                with nvtx("step"):
                    naive(q, k, v, mask).sum().backward()
            torch.cuda.synchronize()
    elif MODE == "exit": forwards(nvtx); sys.exit(3)
    elif MODE == "no_wait":  # ends while the device still works
        data = inputs((8, 16, 1024, 64))
        torch.cuda.synchronize()
        with nvtx("attn_fwd"):
            for _ in range(50): naive(*data)
    elif MODE == "_exit": forwards(nvtx); time.sleep(1); os._exit(4)
    elif MODE == "segv": forwards(nvtx); ctypes.string_at(0)
    elif MODE == "abort": forwards(nvtx); os.abort()
    elif MODE == "wait":  # for a signal
        forwards(nvtx)
        print("ready", flush=True)
        time.sleep(1)
        while True: time.sleep(0.05)
    elif MODE == "graph":
        data = inputs((2, 8, 256, 64))
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3): naive(*data)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph): naive(*data)
        for _ in range(RUNS):
            with nvtx("replay"): graph.replay()
        torch.cuda.synchronize()
    elif MODE == "self":  # profiles itself while it is recorded
        from torch.profiler import ProfilerActivity, profile
        data = inputs((2, 8, 256, 64))
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            with nvtx("attn_fwd"): naive(*data)
            torch.cuda.synchronize()
        profiler.export_chrome_trace(ARGUMENT)
    elif MODE == "no_cuda": print("nothing of CUDA here")
    elif MODE == "measure":
        if ARGUMENT == "": measure()
        else:
            from torch.profiler import ProfilerActivity, profile
            activities = [ProfilerActivity.CUDA] + ([ProfilerActivity.CPU] if ARGUMENT == "both" else [])
            with profile(activities=activities): measure()
    else: sys.exit(f"no mode {MODE}")
'''

failures = []


def check(holds, what):
    what = what if len(what) < 800 else what[:800] + " ..."
    if not holds:
        failures.append(what)
        print(f"FAILED {what}", flush=True)
    return holds


def median(value):
    return value["median"] if isinstance(value, dict) else value


class Runner:
    def __init__(self, hunch, folder):
        self.hunch, self.folder = hunch, os.path.abspath(folder)
        self.program = os.path.join(self.folder, "program.py")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)

    def path(self, name):
        return os.path.join(self.folder, name)

    def plain(self, *words):
        return subprocess.run([sys.executable, self.program, *words], capture_output=True, text=True)

    def record(self, name, *words, expect=0):
        for old in os.listdir(self.folder):
            if old.startswith(name + ".") and ".json" in old:
                os.remove(self.path(old))
        done = subprocess.run([*self.hunch, "record", "-o", self.path(name + ".json.gz"), "--", sys.executable,
                               self.program, *words], capture_output=True, text=True)
        check(done.returncode == expect, f"{name}: status {done.returncode}, not {expect}: {done.stderr.strip()}")
        print(f"-- {name}: {done.stderr.strip()}", flush=True)
        return done

    def traces(self, name):
        return sorted(self.path(each) for each in os.listdir(self.folder)
                      if each.startswith(name + ".") and each.endswith(".json.gz"))

    def explain(self, path):
        done = subprocess.run([*self.hunch, "explain", path, "--format", "json"], capture_output=True, text=True)
        if not check(done.returncode == 0, f"explain {path}: {done.stderr.strip()}"):
            return {"forwards": [], "statistics": {}, "kernels": [], "trace": {}}
        return json.loads(done.stdout)

    def forward(self, path, name):
        report = self.explain(path)
        found = [each for each in report["forwards"] if each["range"] == name]
        check(len(found) == 1, f"{path}: forwards {[each['range'] for each in report['forwards']]}, and {name} is wanted")
        return found[0] if found else None


def counts(forward):
    return tuple(median(forward[key]) for key in ("kernels", "memcpy", "memset"))


def work_in(path):
    import gzip
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")) as file:
        events = json.load(file)["traceEvents"]
    kinds = ("kernel", "gpu_memcpy", "gpu_memset")
    return tuple(sum(event.get("cat") == kind for event in events) for kind in kinds)


def names_in(path):
    import gzip
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")) as file:
        events = json.load(file)["traceEvents"]
    return sorted(event["name"] for event in events if event.get("cat") == "kernel")


def check_counts(runner, rows):
    reference = runner.path("profiled_by_torch.json.gz")
    done = runner.plain("profiled", reference)
    if not check(done.returncode == 0, f"torch.profiler: {done.stderr.strip()[-600:]}"):
        return
    profiled = counts(runner.forward(reference, "attn_fwd"))
    total = work_in(reference)
    rows.append(("torch.profiler", str(profiled), str(total), ""))
    for mode in ("emit_nvtx", "ranges"):
        runner.record(mode, mode)
        path = runner.path(mode + ".json.gz")
        if not check(os.path.exists(path), f"{mode}: no trace"):
            continue
        forward = runner.forward(path, "attn_fwd")
        if forward is None:
            continue
        check(forward["runs"] == 5, f"{mode}: {forward['runs']} forwards")
        check(counts(forward) == profiled, f"{mode}: {counts(forward)} a forward, PyTorch's profiler {profiled}")
        whole = work_in(path)
        check(whole[:2] == total[:2], f"{mode}: {whole} in all, PyTorch's profiler {total}")
        check(names_in(path) == names_in(reference), f"{mode}: kernels have other names than PyTorch's profiler's")
        ops = [step["op"] for step in forward["sequence"]]
        if mode == "emit_nvtx":
            check(all(op and op.startswith("aten::") for op in ops), f"{mode}: ops {ops}")
        report = runner.explain(path)
        check(report["statistics"]["unlinked_device_events"] == 0, f"{mode}: {report['statistics']}")
        check("sm_" in str(report["trace"].get("device")), f"{mode}: device {report['trace'].get('device')}")
        rows.append((mode, str(counts(forward)), str(whole), f"{median(forward['host_ns']) / 1e3:.0f} us host"))
    reference = runner.path("unmarked_by_torch.json.gz")
    runner.plain("unmarked_profiled", reference)
    runner.record("unmarked", "unmarked")
    path = runner.path("unmarked.json.gz")
    if check(os.path.exists(path), "unmarked: no trace"):
        whole, total = work_in(path), work_in(reference)
        check(whole[:2] == total[:2], f"unmarked: {whole} in all, PyTorch's profiler {total}")
        forwards = runner.explain(path)["forwards"]
        check(any(counts(each)[:2] == profiled[:2] for each in forwards),
              f"unmarked: {[(each['range'], counts(each)) for each in forwards]}, and {profiled} repeats")
        rows.append(("unmarked", str([counts(each) for each in forwards]), str(whole), forwards[0]["range"] if forwards else ""))
    runner.record("train", "train")
    path = runner.path("train.json.gz")
    if check(os.path.exists(path), "train: no trace"):
        step = runner.forward(path, "step")
        if step:
            check(step["runs"] == 5 and median(step["kernels"]) > profiled[0], f"train: {step['runs']} x {counts(step)}")
            rows.append(("train", str(counts(step)), str(work_in(path)), ""))
    runner.record("graph", "graph")
    path = runner.path("graph.json.gz")
    if check(os.path.exists(path), "graph: no trace"):
        replay = runner.forward(path, "replay")
        if replay:
            check(counts(replay)[0] == profiled[0], f"graph: {counts(replay)} a replay, a forward has {profiled}")
            rows.append(("graph", str(counts(replay)), str(work_in(path)), ""))
    runner.record("two", "two")
    paths = runner.traces("two")
    if check(len(paths) == 2, f"two processes: {paths}"):
        both = [runner.forward(each, "attn_fwd") for each in paths]
        check(sorted(each["runs"] for each in both if each) == [5, 6], f"two: {[each['runs'] for each in both if each]}")
        check(all(counts(each) == profiled for each in both if each), f"two: {[counts(each) for each in both if each]}")
        rows.append(("two", " ".join(str(counts(each)) for each in both if each), "", "a trace each"))


def check_ends(runner, rows):
    for mode, expect in (("exit", 3), ("_exit", 4), ("segv", 128 + signal.SIGSEGV), ("abort", 128 + signal.SIGABRT)):
        runner.record(mode, mode, expect=expect)
        check_end(runner, rows, mode, expect)
    done = runner.record("no_wait", "no_wait")
    path = runner.path("no_wait.json.gz")
    if check(os.path.exists(path), f"no_wait: no trace: {done.stderr}"):
        forward = runner.forward(path, "attn_fwd")
        if forward:
            check(counts(forward)[:2] == (250, 50), f"no_wait: {counts(forward)}, not (250, 50)")
            rows.append(("no_wait", str(counts(forward)), "", "0"))
    for name, sent in (("interrupt", signal.SIGINT), ("term", signal.SIGTERM), ("kill", signal.SIGKILL)):
        process = subprocess.Popen([*runner.hunch, "record", "-o", runner.path(name + ".json.gz"), "--", sys.executable,
                                    runner.program, "wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = process.stdout.readline()
        check(line.strip() == "ready", f"{name}: {line!r}")
        time.sleep(0.7)  # two of the recorder's periods
        if sent == signal.SIGKILL:  # hunch could not pass this one on: the program itself
            children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
            for child in children:
                os.kill(int(child), sent)
        else:
            process.send_signal(sent)
        try:
            _, told = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            check(False, f"{name}: does not end")
            continue
        print(f"-- {name}: {told.strip()[-700:]}", flush=True)
        check(process.returncode == 128 + sent, f"{name}: status {process.returncode}: {told.strip()[-600:]}")
        check_end(runner, rows, name, 128 + sent)
    done = runner.record("no_cuda", "no_cuda", expect=2)
    check("no process of it used CUDA" in done.stderr, f"no_cuda: {done.stderr}")
    check("nothing of CUDA here" in done.stdout, f"no_cuda: {done.stdout}")


def check_self(runner, rows):
    """CUPTI serves one client: what both sides of a program that profiles itself get is told, and must not harm it."""
    own = runner.path("self_by_torch.json")
    done = subprocess.run([*runner.hunch, "record", "-o", runner.path("self.json.gz"), "--", sys.executable, runner.program,
                           "self", own], capture_output=True, text=True)
    print(f"-- self: {done.stderr.strip()[-1500:]}", flush=True)
    check(done.returncode in (0, 2), f"self: status {done.returncode}")
    path = runner.path("self.json.gz")
    rows.append(("profiles itself", f"hunch {work_in(path) if os.path.exists(path) else 'none'}",
                 f"its own {work_in(own) if os.path.exists(own) else 'none'}", f"status {done.returncode}"))


def check_end(runner, rows, name, status):
    path = runner.path(name + ".json.gz")
    if not check(os.path.exists(path), f"{name}: no trace"):
        return
    forward = runner.forward(path, "attn_fwd")
    if forward:
        check(forward["runs"] == 5, f"{name}: {forward['runs']} forwards")
        check(counts(forward)[:2] == (5, 1), f"{name}: {counts(forward)} a forward")
        rows.append((name, str(counts(forward)), str(work_in(path)), f"status {status}"))


def measure(runner, turns, more=()):
    """The ways in turns, a process each; `more` are others: (name, how to run "measure" that way)."""
    ways = {"plain": lambda: runner.plain("measure"),
            "hunch record": lambda: runner.record("measured", "measure"),
            "torch.profiler, CUDA": lambda: runner.plain("measure", "cuda"),
            "torch.profiler, both": lambda: runner.plain("measure", "both"), **dict(more)}
    seen = {way: [] for way in ways}
    for _ in range(turns):
        for way, run in ways.items():
            done = run()
            lines = [line for line in done.stdout.splitlines() if line.startswith("MEASURED ")]
            if check(len(lines) == 1, f"{way}: no measurement: {done.stderr.strip()[-600:]}"):
                seen[way].append(json.loads(lines[0][len("MEASURED "):]))
    print(f"\nCost, us: medians of {turns} turns (least to most of the turns), and more than plain. Host time of a launch and of a"
          "\nmatmul, median and least of a process; device time of a forward of 8x16x1024x64, bf16, causal, launched ahead")
    names = ["launch", "launch, least", "matmul", "matmul, least", "naive", "flash", "cudnn"]
    print(f"{'':22}" + "".join(f"{name:>34}" for name in names))
    base = None
    for way, all_of in seen.items():
        if not all_of:
            continue
        medians = {name: statistics.median(each[name] for each in all_of) for name in names}
        base = base or medians
        line = f"{way:22}"
        for name in names:
            values = [each[name] / 1e3 for each in all_of]
            more_text = ("" if way == "plain" else f"{(medians[name] - base[name]) / 1e3:+.2f}" if name.startswith(("launch", "matmul"))
                         else f"{100 * (medians[name] / base[name] - 1):+.2f} %")
            line += f"{f'{medians[name] / 1e3:.2f} ({min(values):.2f} to {max(values):.2f})':>25}{more_text:>9}"
        print(line)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("hunch")
    options.add_argument("folder")
    options.add_argument("--turns", type=int, default=3, help="of the measurement (3)")
    options.add_argument("--only-cost", action="store_true", help="the measurement alone")
    given = options.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    runner = Runner(shlex.split(given.hunch), given.folder)
    rows = []
    if not given.only_cost:
        check_counts(runner, rows)
        check_ends(runner, rows)
        check_self(runner, rows)
    measure(runner, given.turns)
    if rows:
        print("\nprogram          kernels, copies, memsets a forward   in all")
    for name, each, whole, note in rows:
        print(f"{name:16} {each:36} {whole:20} {note}")
    print(f"\n{'all holds' if not failures else f'{len(failures)} FAILED'}")
    for failure in failures:
        print(f"FAILED {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
