#!/usr/bin/env python3
"""Holds `hunch why` against the PyTorch that is installed: the same random problems put to both.

For each problem PyTorch is asked torch.backends.cuda.can_use_{flash,efficient,cudnn}_attention and which backend
_fused_sdp_choice takes; for --profile of them the call is made, and the backend read from its ops. --trace calls go into one
trace, of which `hunch why --from-trace` is to tell backend, scalars and gradients as they were. hunch answers all problems
in one process (`hunch why --problems - --format json`). Prints the first disagreements with their problems, and a table of
the agreement last; exit status 1 where something disagrees. On a CPU (--device cpu) there is a choice and no can_use_*.

usage: check_why.py --hunch PATH [--device cuda] [--count 2000] [--seed 1] [--profile 100] [--trace 200]
"""
import argparse
import json
import random
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


def synchronize(torch, device):
    if device == "cuda":
        torch.cuda.synchronize()


def profiled(torch, p, device):
    """The backend of a call that was made, or why it could not be."""
    from torch.profiler import ProfilerActivity, profile
    query, key, value, mask = tensors_of(torch, p, device)
    with Settings(torch, p), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with profile(activities=[ProfilerActivity.CPU]) as recorded:
                torch.nn.functional.scaled_dot_product_attention(
                    query, key, value, mask, p["dropout"], p["mask"] == "causal", enable_gqa=p["gqa"])
                synchronize(torch, device)
        except RuntimeError as error:
            return "error", str(error).split("\n")[0]
    found = {OPS[e.key.split("::")[-1]] for e in recorded.key_averages() if e.key.split("::")[-1] in OPS}
    return (found.pop() if len(found) == 1 else "+".join(sorted(found)) or "none"), ""


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


def check_trace(torch, hunch, options, problems, device, agreement):
    """Calls in one trace: what is told of each against what was asked. Switches are as PyTorch has them."""
    from torch.profiler import ProfilerActivity, profile, record_function
    made = []
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors = [tensors_of(torch, p, device) for p in problems]
        with profile(activities=activities, record_shapes=True) as recorded:
            for number, (p, (query, key, value, mask)) in enumerate(zip(problems, tensors)):
                try:
                    with record_function(f"call {number}"):
                        out = torch.nn.functional.scaled_dot_product_attention(
                            query, key, value, mask, p["dropout"], p["mask"] == "causal", enable_gqa=p["gqa"])
                        if number % 3 == 0 and out.requires_grad:
                            out.sum().backward()
                        elif number % 3 == 1:
                            out + 1
                except RuntimeError:
                    continue
                made.append(number)
            synchronize(torch, device)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/trace.json"
            recorded.export_chrome_trace(path)
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
    agreement, taken, failed = Agreement(), {}, {}
    for p, ours in zip(problems, answers):
        theirs = ask_torch(torch, p, args.device)
        taken[theirs["takes"]] = taken.get(theirs["takes"], 0) + 1
        for what in (*FUSED, "takes"):
            if what in theirs:
                agreement.compare(what, ours[what], theirs[what], f"{theirs.get('message', '')} {json.dumps(p)}")
    for p, ours in list(zip(problems, answers))[:args.profile]:
        backend, message = profiled(torch, p, args.device)
        if backend == "error":
            failed[message[:90]] = failed.get(message[:90], 0) + 1
        else:
            agreement.compare("calls made", ours["takes"], backend, json.dumps(p))
    plain = [p for p in problems if "enable" not in p and not p["deterministic"]]
    check_trace(torch, args.hunch, options, plain[:args.trace], args.device, agreement)
    for message, count in failed.items():
        print(f"  {count} calls refused by PyTorch itself: {message}")
    print(f"taken: {taken}; {time.monotonic() - started:.0f} s")
    return 1 if agreement.table() else 0


if __name__ == "__main__":
    sys.exit(main())
