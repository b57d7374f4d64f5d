#!/usr/bin/env python3
"""Holds `hunch why` against the PyTorch that is installed: the same random problems put to both.

For each problem PyTorch is asked torch.backends.cuda.can_use_{flash,efficient,cudnn}_attention and which backend
_fused_sdp_choice takes; for --profile of them the call is made, and the backend read from its ops. --trace calls go into one
trace, of which `hunch why --from-trace` is to tell backend, scalars and gradients as they were. hunch answers all problems
in one process (`hunch why --problems - --format json`). Prints the first disagreements with their problems, and a table of
the agreement last, with how many calls were made, refused by PyTorch, and broke it; exit status 1 where something disagrees
or calls could not be tried. On a CPU (--device cpu) there is a choice and no can_use_*.

Calls are made in child processes, since PyTorch itself breaks on some: after "CUDA error: misaligned address" every later
call of the process fails. Such a call is found (CUDA_LAUNCH_BLOCKING=1, a synchronize behind each), told as "PyTorch itself
broke" and left out, and a new child goes on behind it: at most --restarts of them. A trace stays one trace: it is recorded
again without the calls that broke, and in halves only where none breaks outside of a recording. CHECK_WHY_BREAK stands in for
such a GPU, to try this without one: PART:NUMBER=HOW,... with PART profile or trace, HOW one of the words under class Device.

Takes: measured on a CPU with two cores 11 s with the usual numbers, and 2 to 5 s for each restart; a break costs one restart
in the recordings (--profile), in a trace one and two more for the first. On a GPU a restart is longer, since PyTorch loads its
CUDA libraries: without a break plan for two minutes, not measured; and a call that hangs costs 180 s.

usage: check_why.py --hunch PATH [--device cuda] [--count 2000] [--seed 1] [--profile 100] [--trace 200] [--restarts 60]
"""
import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings

DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16", "f64": "float64"}
HEAD_DIMS = [1, 4, 7, 8, 12, 16, 20, 32, 40, 60, 64, 72, 80, 96, 100, 128, 136, 160, 192, 200, 224, 256, 257, 264, 512]
LENGTHS = [1, 2, 7, 16, 63, 64, 100, 128, 129, 256, 512, 1000]
FUSED = ("flash", "efficient", "cudnn")
OPS = {"_flash_attention_forward": "flash", "_efficient_attention_forward": "efficient",
       "_cudnn_attention_forward": "cudnn", "_scaled_dot_product_flash_attention": "flash",
       "_scaled_dot_product_efficient_attention": "efficient", "_scaled_dot_product_cudnn_attention": "cudnn",
       "_scaled_dot_product_flash_attention_for_cpu": "flash", "_scaled_dot_product_attention_math": "math"}


def strides_of(shape, layout):
    """Strides of [batch, heads, length, head_dim] that lies in memory in `layout`."""
    if layout == "expand":  # one head for all
        batch, _, length, dim = shape
        return [length * dim, 0, dim, 1]
    if layout == "packed":  # query, key and value of one token beside each other
        batch, heads, length, dim = shape
        return [length * 3 * heads * dim, dim, 3 * heads * dim, 1]
    strides, at = [0] * 4, 1
    for letter in reversed(layout):
        dim = "bhsd".index(letter)
        strides[dim] = at
        at *= max(shape[dim], 1)
    return strides


def random_problem(rng):
    def often(usual, values, share=0.75):
        return usual if rng.random() < share else rng.choice(values)
    heads = rng.choice([1, 2, 3, 4, 6, 8, 12])
    length = often(rng.choice(LENGTHS), [0, 1, 64])
    dim = rng.choice(HEAD_DIMS)
    p = {"batch": often(rng.choice([1, 2, 3]), [0, 1, 2], 0.9), "heads": heads,
         "kv_heads": often(heads, [1, 2, 3, heads, 2 * heads], 0.6), "length": length,
         "kv_length": often(length, LENGTHS + [0], 0.6), "head_dim": dim,
         "value_dim": often(dim, HEAD_DIMS, 0.85),
         "dtype": rng.choices(["bf16", "f16", "f32", "f64"], [4, 4, 3, 1])[0],
         "mask": rng.choices(["none", "causal", "bool", "float"], [4, 4, 2, 2])[0],
         "gqa": rng.random() < 0.4, "grad": rng.random() < 0.35,
         "dropout": often(0.0, [0.1, 0.125, 0.5], 0.8), "deterministic": rng.random() < 0.1}
    if rng.random() < 0.1:
        p["enable"] = rng.sample(["flash", "efficient", "math", "cudnn"], rng.choice([1, 2, 3]))
    if rng.random() < 0.35:
        for name in ("query", "key", "value"):
            h, s = (heads, length) if name == "query" else (p["kv_heads"], p["kv_length"])
            d = p["value_dim"] if name == "value" else dim
            layout = rng.choice(["bshd", "bshd", "sbhd", "packed", "bhds", "expand"])
            p[name + "_strides"] = strides_of([p["batch"], h, s, d], layout)
    if p["mask"] in ("bool", "float"):
        shape = [often(1, [p["batch"]], 0.5), often(1, [heads], 0.5), often(length, [1], 0.8),
                 often(p["kv_length"], [1], 0.85)]
        kind = rng.random()
        if kind < 0.3:
            shape = shape[2:]
        elif kind < 0.4:
            shape = shape[1:]
        p["mask_shape"] = shape
        p["mask_grad"] = p["mask"] == "float" and rng.random() < 0.2
        if rng.random() < 0.25:  # broadcast by expand(), or lying the other way
            strides, at = [0] * len(shape), 1
            order = list(range(len(shape)))
            if rng.random() < 0.5:
                order[-1], order[-2] = order[-2], order[-1]
            for dim_ in reversed(order):
                strides[dim_] = at
                at *= max(shape[dim_], 1)
            if rng.random() < 0.3:
                strides[-1] = 0
            p["mask_strides"] = strides
    return p


def tensors_of(torch, p, device):
    dtype = getattr(torch, DTYPES[p["dtype"]])

    def make(shape, strides, kind, grad):
        if strides is None:
            tensor = torch.empty(shape, dtype=kind, device=device)
        else:
            tensor = torch.empty_strided(shape, strides, dtype=kind, device=device)
        return tensor.requires_grad_() if grad else tensor
    query = make([p["batch"], p["heads"], p["length"], p["head_dim"]], p.get("query_strides"), dtype, p["grad"])
    key = make([p["batch"], p["kv_heads"], p["kv_length"], p["head_dim"]], p.get("key_strides"), dtype, p["grad"])
    value = make([p["batch"], p["kv_heads"], p["kv_length"], p["value_dim"]], p.get("value_strides"), dtype,
                 p["grad"])
    mask = None
    if p["mask"] in ("bool", "float"):
        mask = make(p["mask_shape"], p.get("mask_strides"), torch.bool if p["mask"] == "bool" else dtype,
                    p.get("mask_grad", False))
    return query, key, value, mask


class Settings:
    """PyTorch's switches as the problem has them."""

    def __init__(self, torch, p):
        self.torch, self.enable = torch, p.get("enable", ["flash", "efficient", "math", "cudnn"])
        self.deterministic = p["deterministic"]

    def set(self, enable, deterministic):
        cuda = self.torch.backends.cuda
        cuda.enable_flash_sdp("flash" in enable)
        cuda.enable_mem_efficient_sdp("efficient" in enable)
        cuda.enable_math_sdp("math" in enable)
        cuda.enable_cudnn_sdp("cudnn" in enable)
        self.torch.use_deterministic_algorithms(deterministic)

    def __enter__(self):
        self.set(self.enable, self.deterministic)

    def __exit__(self, *_):
        self.set(["flash", "efficient", "math", "cudnn"], False)


def ask_torch(torch, p, device="cuda", choice=True):
    cuda = torch.backends.cuda
    query, key, value, mask = tensors_of(torch, p, device)
    causal = p["mask"] == "causal"
    answer = {}
    with Settings(torch, p), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            params = cuda.SDPAParams(query, key, value, mask, p["dropout"], causal, p["gqa"])
        except TypeError:  # before grouped heads
            params = cuda.SDPAParams(query, key, value, mask, p["dropout"], causal)
        for name in FUSED if device == "cuda" else ():
            if hasattr(cuda, f"can_use_{name}_attention"):
                try:
                    answer[name] = getattr(cuda, f"can_use_{name}_attention")(params, False)
                except RuntimeError as error:
                    answer[name] = "error: " + str(error).split("\n")[0]
        if choice:
            names = {int(torch.nn.attention.SDPBackend.MATH): "math",
                     int(torch.nn.attention.SDPBackend.FLASH_ATTENTION): "flash",
                     int(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION): "efficient",
                     int(torch.nn.attention.SDPBackend.CUDNN_ATTENTION): "cudnn"}
            try:
                answer["takes"] = names.get(torch._fused_sdp_choice(query, key, value, mask, p["dropout"], causal,
                                                                    enable_gqa=p["gqa"]), "error")
            except RuntimeError as error:
                answer["takes"] = "error"
                answer["message"] = str(error).split("\n")[0]
    return answer


def first_line(error):
    return str(error).split("\n")[0]


class Device:
    """Where a child makes its calls; CHECK_WHY_BREAK makes it break at given ones.

    sticky: the call fails, and everything behind it; late: the same, but a trace sees it only behind the call, as kernels
    run on their own; traced: breaks in a trace alone, and not where it is looked for; kill: the process ends; hang: it
    never ends; once: the call fails, and nothing else (a refusal)."""

    def __init__(self, torch, name, mode):
        self.torch, self.name, self.mode, self.error, self.breaks = torch, name, mode, "", {}
        part = "profile" if mode == "profile" else "trace"
        for item in filter(None, os.environ.get("CHECK_WHY_BREAK", "").split(",")):
            place, how = item.split("=")
            if how not in ("sticky", "late", "traced", "kill", "hang", "once"):
                raise ValueError(f"CHECK_WHY_BREAK: '{how}' in '{item}' is none of sticky, late, traced, kill, hang, once")
            if place.split(":")[0] == part:
                self.breaks[int(place.split(":")[1])] = how

    def begin(self, number):
        """Where call `number` begins."""
        how = self.breaks.get(number)
        if self.error:
            raise RuntimeError(self.error)
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        while how == "hang":
            time.sleep(1)
        if how == "once":
            raise RuntimeError(f"CUDA error: stand-in, once ({number})")
        if how in ("sticky", "late") or (how == "traced" and self.mode == "trace"):
            self.error = f"CUDA error: stand-in, {how} ({number})"
            if how != "late" or self.mode != "trace":
                raise RuntimeError(self.error)

    def synchronize(self):
        """Raises RuntimeError where a call broke the device: then this fails as all else does."""
        if self.error:
            raise RuntimeError(self.error)
        if self.name == "cuda":
            self.torch.cuda.synchronize()


def profiled(torch, p, device, number):
    """The backend of a call that was made, or why it could not be."""
    from torch.profiler import ProfilerActivity, profile
    with Settings(torch, p), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            query, key, value, mask = tensors_of(torch, p, device.name)
            with profile(activities=[ProfilerActivity.CPU]) as recorded:
                device.begin(number)
                torch.nn.functional.scaled_dot_product_attention(
                    query, key, value, mask, p["dropout"], p["mask"] == "causal", enable_gqa=p["gqa"])
                device.synchronize()
        except RuntimeError as error:
            return "error", first_line(error)
    found = {OPS[e.key.split("::")[-1]] for e in recorded.key_averages() if e.key.split("::")[-1] in OPS}
    return (found.pop() if len(found) == 1 else "+".join(sorted(found)) or "none"), ""


BROKE = 3  # a child's exit status where a call broke the device
SILENT = 180  # seconds without a word after which a child hangs


def child(path):
    """Makes the calls of a job, and tells of each in a line of JSON before it makes it and after.

    Ends by os._exit: nothing may be cleaned up on a broken device, which fails or hangs."""
    import torch
    with open(path) as file:
        job = json.load(file)
    mode, calls, device = job["mode"], job["calls"], Device(torch, job["device"], job["mode"])
    with open(job["report"], "w", buffering=1) as report, warnings.catch_warnings():
        warnings.simplefilter("ignore")

        def tell(*words):
            report.write(json.dumps(words) + "\n")

        def hold(number, message=""):
            """Ends the process where the device is broken."""
            try:
                device.synchronize()
            except RuntimeError as error:
                tell("broke", number, message or first_line(error))
                os._exit(BROKE)

        if mode == "profile":
            for number, p in calls:
                tell("at", number)
                backend, message = profiled(torch, p, device, number)
                hold(number, message)
                tell("refused" if backend == "error" else "made", number, message or backend)
        else:
            make_calls(torch, job, device, tell, hold)
        tell("done")
    os._exit(0)


def make_calls(torch, job, device, tell, hold):
    """Calls in one trace, or without one to find which breaks. Switches are as PyTorch has them."""
    from torch.profiler import ProfilerActivity, profile, record_function
    finding = job["mode"] == "find"
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device.name == "cuda" else [])
    tensors = [tensors_of(torch, p, device.name) for _, p in job["calls"]]
    with contextlib.nullcontext() if finding else profile(activities=activities, record_shapes=True) as recorded:
        for (number, p), (query, key, value, mask) in zip(job["calls"], tensors):
            tell("at", number)
            message = ""
            try:
                with record_function(f"call {number}"):
                    device.begin(number)
                    out = torch.nn.functional.scaled_dot_product_attention(
                        query, key, value, mask, p["dropout"], p["mask"] == "causal", enable_gqa=p["gqa"])
                    if out is None:  # without any element, some backends give back no tensor
                        raise RuntimeError("it gave back None")
                    if number % 3 == 0 and out.requires_grad:
                        out.sum().backward()
                    elif number % 3 == 1:
                        out + 1
            except RuntimeError as error:
                message = first_line(error)
            if finding:
                hold(number, message)
            tell("refused" if message else "made", number, message)
        hold(None)
    if not finding:
        recorded.export_chrome_trace(job["trace"])


class ChildFailed(Exception):
    """A child ended for a reason that is not a call's."""


class Children:
    """Starts them, and counts their restarts: the first of a part is none."""

    def __init__(self, device, restarts):
        self.device, self.allowed, self.left = device, restarts, restarts

    def run(self, mode, calls, folder, again=True):
        """Reports of the calls, and what broke: None, or (number, error)."""
        if again:
            self.left -= 1
        job = {"mode": mode, "device": self.device, "calls": calls, "report": f"{folder}/report.jsonl",
               "trace": f"{folder}/trace.json"}
        with open(f"{folder}/job.json", "w") as file:
            json.dump(job, file)
        open(job["report"], "w").close()
        environment = {**os.environ} if mode == "trace" else {**os.environ, "CUDA_LAUNCH_BLOCKING": "1"}
        with open(f"{folder}/said", "w+") as said:
            process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--child", f"{folder}/job.json"],
                                       stdout=said, stderr=said, env=environment)
            try:
                status = self.wait(process, job["report"])
            finally:
                process.kill()
                process.wait()
            said.seek(0)
            words = said.read().strip()
        with open(job["report"]) as file:
            reports = [json.loads(line) for line in file.read().split("\n")[:-1]]  # without a line cut off
        if status == 0 and reports and reports[-1][0] == "done":
            return reports, None
        if status == BROKE and reports and reports[-1][0] == "broke":
            return reports, tuple(reports[-1][1:])
        begun = [line[1] for line in reports if line[0] == "at"]
        if begun and status is None:
            return reports, (begun[-1], f"it hangs: nothing for {SILENT} s")
        if begun and status < 0:
            return reports, (begun[-1], f"the process died of {signal.Signals(-status).name}")
        raise ChildFailed(f"the process that makes the calls ({mode}) ended with status {status}: {words[-1500:]}")

    @staticmethod
    def wait(process, report):
        """Its exit status; None where it says nothing any more."""
        size, since = 0, time.monotonic()
        while True:
            try:
                return process.wait(timeout=1)
            except subprocess.TimeoutExpired:
                pass
            if os.path.getsize(report) != size:
                size, since = os.path.getsize(report), time.monotonic()
            elif time.monotonic() - since > SILENT:
                return None


class Calls:
    """What became of the calls of each part."""

    def __init__(self):
        self.parts, self.broken, self.refused = {}, {}, {}

    def begin(self, part, calls):
        """Those of `calls` that have not broken PyTorch before."""
        self.parts[part] = {"calls": len(calls), "made": 0, "refused": 0, "broke": 0}
        sound = [(number, p) for number, p in calls if json.dumps(p) not in self.broken]
        self.parts[part]["broke"] += len(calls) - len(sound)
        return sound

    def count(self, part, line):
        self.parts[part][line[0]] += 1
        if line[0] == "refused":
            self.refused[line[2][:90]] = self.refused.get(line[2][:90], 0) + 1

    def broke(self, part, p, error):
        self.parts[part]["broke"] += 1
        about = json.dumps(p)
        if about not in self.broken:
            self.broken[about] = error
            print(f"PyTorch itself broke: {error}: {about}", flush=True)

    def table(self, children):
        """Returns how many were not tried."""
        untried = {part: counts["calls"] - sum(counts[k] for k in ("made", "refused", "broke"))
                   for part, counts in self.parts.items()}
        print(f"{'calls of PyTorch':<22}{'made':>8}{'refused':>10}{'broke it':>10}{'not tried':>10}")
        for part, counts in self.parts.items():
            print(f"{part:<22}{counts['made']:>8}{counts['refused']:>10}{counts['broke']:>10}{untried[part]:>10}")
        print(f"PyTorch itself broke on {len(self.broken)} problems; {children.allowed - children.left} restarts of at most "
              f"{children.allowed}{', used up: the rest was not tried' if not children.left and any(untried.values()) else ''}")
        return sum(untried.values())


def ask_hunch(hunch, problems, options):
    text = "".join(json.dumps(p) + "\n" for p in problems)
    done = subprocess.run([*hunch.split(), "why", "--problems", "-", "--format", "json", *options], input=text,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"hunch: status {done.returncode}: {done.stderr}")
    answers = []
    for line in done.stdout.splitlines():
        torch = next(d for d in json.loads(line)["dispatchers"] if d["name"] == "pytorch")
        answer = {b["name"]: b["usable"] for b in torch["backends"]}
        answer["takes"] = (torch["takes"] or "error") if torch["settled"] else None
        answers.append(answer)
    return answers


class Agreement:
    """Rows of the table: how much was compared, and what disagreed."""
    SHOWN = 12  # disagreements of a row that are printed

    def __init__(self):
        self.rows = {}

    def compare(self, row, ours, theirs, about):
        """`ours` None: not told."""
        counts = self.rows.setdefault(row, {"agree": 0, "disagree": 0, "not told": 0})
        if ours is None:
            counts["not told"] += 1
        elif ours == theirs:
            counts["agree"] += 1
        else:
            counts["disagree"] += 1
            if counts["disagree"] <= self.SHOWN:
                print(f"DISAGREE {row}: hunch {ours}, PyTorch {theirs}: {about}", flush=True)

    def table(self):
        print(f"{'':<22}{'agree':>8}{'disagree':>10}{'not told':>10}")
        for row, counts in self.rows.items():
            print(f"{row:<22}{counts['agree']:>8}{counts['disagree']:>10}{counts['not told']:>10}")
        return sum(counts["disagree"] for counts in self.rows.values())


def check_profiled(children, calls, outcomes, answers, agreement):
    """Calls in a recording each: the backend by its ops. A child goes on behind the call that broke the one before it."""
    part, problems, again = "in a recording each", dict(calls), False
    rest = outcomes.begin(part, calls)
    while rest and (not again or children.left):
        with tempfile.TemporaryDirectory() as folder:
            reports, broke = children.run("profile", rest, folder, again)
        for line in reports:
            if line[0] in ("made", "refused"):
                outcomes.count(part, line)
            if line[0] == "made":
                agreement.compare("calls made", answers[line[1]]["takes"], line[2], json.dumps(problems[line[1]]))
        if broke:
            outcomes.broke(part, problems[broke[0]], broke[1])
        rest, again = [call for call in rest if broke and call[0] > broke[0]], True


def check_traced(children, hunch, options, calls, outcomes, agreement):
    """Calls in one trace. Where it breaks, those at fault are found, and the others are recorded again."""
    part, problems, again = "in a trace", dict(calls), False
    batches = [(outcomes.begin(part, calls), False)]
    while batches:
        batch, searched = batches.pop(0)
        if not batch or (again and not children.left):
            continue
        with tempfile.TemporaryDirectory() as folder:
            reports, broke = children.run("trace", batch, folder, again)
            again = True
            if not broke:
                for line in reports:
                    if line[0] in ("made", "refused"):
                        outcomes.count(part, line)
                made = [line[1] for line in reports if line[0] == "made"]
                check_trace(hunch, options, f"{folder}/trace.json", problems, made, agreement)
                continue
            sound, rest, found = [], [] if searched else batch, False
            while rest and children.left > 1:  # one is kept for the trace of the sound
                _, fault = children.run("find", rest, folder)
                if not fault:
                    sound, rest = sound + rest, []
                    break
                found = True
                outcomes.broke(part, problems[fault[0]], fault[1])
                sound += [call for call in rest if call[0] < fault[0]]
                rest = [call for call in rest if call[0] > fault[0]]
        if found or rest:
            batches.insert(0, (sound, False))
        elif len(batch) == 1:
            outcomes.broke(part, batch[0][1], broke[1])
        else:  # it breaks only while it is recorded
            batches[:0] = [(batch[:len(batch) // 2], True), (batch[len(batch) // 2:], True)]


def check_trace(hunch, options, path, problems, made, agreement):
    """What is told of each call of a trace against what was asked."""
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    done = subprocess.run([*hunch.split(), "why", "--from-trace", path, "--format", "json", *options],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"hunch why --from-trace: status {done.returncode}: {done.stderr}")
    ranges = [(e["ts"], e["ts"] + e["dur"], int(e["name"].split()[1])) for e in events
              if e.get("cat") == "user_annotation" and e["name"].startswith("call ")]
    seen = set()
    for call in json.loads(done.stdout)["calls"]:
        for event in call["events"]:
            at = events[event]["ts"]
            number = next(n for start, end, n in ranges if start <= at <= end)
            seen.add(number)
            if number not in made:  # it failed somewhere within
                continue
            p = problems[number]
            about = json.dumps(p)
            told = call["dispatchers"][0]
            # Another one that something untold would explain is not told: a mask's gradient beside the query's.
            settled = told["settled"] and not (call["agrees"] == "no" and call["explanations"])
            agreement.compare("trace: backend", told["takes"] if settled else None, call["took"], about)
            needed = ("needed" if p["grad"] else "of the mask only" if p.get("mask_grad") else "not needed")
            ours = call["gradients"] if call["gradients"] != "not told" else None
            agreement.compare("trace: gradients", ours, needed, f"{call['gradients_because']}: {about}")
            for name, ours, theirs in (("mask", call["problem"]["mask"], p["mask"]),
                                       ("dropout", call["problem"]["dropout"], p["dropout"])):
                agreement.compare(f"trace: {name}", ours, theirs, about)
    for number in set(made) - seen:
        agreement.compare("trace: found", False, True, json.dumps(problems[number]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hunch", required=True, help="the program; words before it may start it")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", type=int, default=100, help="calls that are really made, one recording each")
    parser.add_argument("--trace", type=int, default=200, help="calls in one trace, for --from-trace")
    parser.add_argument("--restarts", type=int, default=60, help="of the process that makes calls, where PyTorch breaks")
    args = parser.parse_args()
    import torch
    started = time.monotonic()
    options = ["--torch", torch.__version__.split("+")[0]]
    if args.device == "cuda":
        major, minor = torch.cuda.get_device_capability()
        options += ["--arch", f"sm_{major}{minor}", "--cudnn", str(torch.backends.cudnn.version()),
                    "--cuda", torch.version.cuda]
    else:
        options += ["--arch", "cpu"]
    rng = random.Random(args.seed)
    problems = [random_problem(rng) for _ in range(args.count)]
    answers = ask_hunch(args.hunch, problems, options)
    name = torch.cuda.get_device_name() if args.device == "cuda" else "CPU"
    print(f"PyTorch {torch.__version__}, {name}, {' '.join(options)}, {len(problems)} problems, seed {args.seed}", flush=True)
    agreement, taken = Agreement(), {}
    outcomes, children = Calls(), Children(args.device, args.restarts)
    for p, ours in zip(problems, answers):
        theirs = ask_torch(torch, p, args.device)
        taken[theirs["takes"]] = taken.get(theirs["takes"], 0) + 1
        for what in (*FUSED, "takes"):
            if what in theirs:
                agreement.compare(what, ours[what], theirs[what], f"{theirs.get('message', '')} {json.dumps(p)}")
    plain = [p for p in problems if "enable" not in p and not p["deterministic"]]
    parts = ((check_profiled, list(enumerate(problems[:args.profile])), outcomes, answers, agreement),
             (check_traced, args.hunch, options, list(enumerate(plain[:args.trace])), outcomes, agreement))
    for part, *what in parts:
        try:
            part(children, *what)
        except ChildFailed as error:
            print(f"FAILED {error}", flush=True)
    for message, count in outcomes.refused.items():
        print(f"  {count} calls refused by PyTorch itself: {message}")
    print(f"taken: {taken}; {time.monotonic() - started:.0f} s")
    disagree = agreement.table()
    untried = outcomes.table(children)
    return 1 if disagree or untried else 0


if __name__ == "__main__":
    sys.exit(child(sys.argv[2]) if sys.argv[1:2] == ["--child"] else main())
