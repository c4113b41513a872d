"""A causal base in 8 bits on a CPU: how fast, how large, how near to 32 bits; beside llama.cpp.

    python bench/decoder.py drift [qwen]
    python bench/decoder.py speed [--threads 2] [--llama PYTHON]

`drift` asks the base in 32 and in 8 bits about sixty plain actions and lets both read rules of the
shipped rulebook: differences of log-probabilities, and of the log-odds of yes and no. `speed` asks
the shipped experts `large` about a reply of 60 tokens beside six rules: qwen alone, which reads
them as one tree, and with mpnet beside it, as an audit does. `--llama` names the Python of an
environment with the wheel `xllamacpp`, which reads as many tokens of qwen's GGUF file by turns with
us. CPU seconds are told beside the clock: a busy machine slows the clock alone.
"""

import argparse
import gc
import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np

from moralscope.models.fastcpu.linear import quantise, widen
from moralscope.models.language import load_language_model
from moralscope.models.options import LARGE
from moralscope.models.store import Store
from moralscope.rules.experts import JointExperts, prepare_rule_experts
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.rules.verdict import TASK

REPLY = (
    "You should not tell your boss that you were ill when you were at the beach with your friends "
    "all day. Say that you needed a day off, that you are sorry you did not ask for it before, and "
    "offer to make up for the hours next week. She will trust you more for it in the long run."
)
LLAMA = """
import json, sys, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, threads = sys.argv[1], int(sys.argv[2])
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = threads
p.n_ctx = p.n_batch = p.n_ubatch = 1024
p.warmup, p.verbosity, p.cache_prompt, p.n_parallel = True, -1, False, 1
server = xllamacpp.Server(p)
for line in sys.stdin:
    asked = {"prompt": json.loads(line), "n_predict": 1, "cache_prompt": False}
    print(json.dumps(server.handle_completions(asked)["timings"]), flush=True)
"""


def memory(field: str) -> float:
    """Return a field of this process's memory in GB: VmRSS, RssAnon (without mapped files)."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1e6


def drift(name: str) -> None:
    lines = Path(__file__).with_name("plain_actions.txt").read_text("utf-8").splitlines()
    actions = [line.split("\t")[1] for line in lines if "\t" in line]
    rules = [rule.text for rule in shipped_rulebook().rules[:240:8]]
    texts = [" ".join(rules[start : start + 10]) for start in range(0, 30, 10)]
    said = []
    for bits in (32, 8):
        model = load_language_model(name)
        if bits == 8:
            quantise(model._model)
            widen(model._model)
        prompts = [model.prompt(f"Is it okay to {action}?", chat=True) for action in actions]
        answers = model.log_probabilities(prompts, [["Yes", "No"]] * len(prompts))
        odds = np.array([yes.total - no.total for yes, no in answers])
        said.append((odds, np.concatenate(list(model.distributions(texts)))))
        print(f"{name}, {bits} bits: {memory('VmRSS'):.2f} GB", flush=True)
        del model
        gc.collect()
    (exact_odds, exact), (light_odds, light) = said
    kl = (np.exp(exact) * (exact - light)).sum(1)
    best = exact.argmax(1)
    top = np.abs(exact - light)[np.arange(len(best)), best]
    print(f"{len(kl)} tokens: KL mean {kl.mean():.4f}, 99 % {np.quantile(kl, 0.99):.3f}; likeliest")
    print(f"  token the same {np.mean(best == light.argmax(1)):.3f}, its log-probability differs")
    print(f"  by {top.mean():.3f} on average, 99 % {np.quantile(top, 0.99):.3f}")
    gap = np.abs(exact_odds - light_odds)
    sides = np.mean(np.sign(exact_odds) == np.sign(light_odds))
    print(f"{len(gap)} questions, log-odds of yes: differ by {gap.mean():.3f} on average, at most")
    r = np.corrcoef(exact_odds, light_odds)[0, 1]
    print(f"  {gap.max():.2f} (spread {exact_odds.std():.2f}); r {r:.4f}; same side {sides:.3f}")


def cpu_seconds(process: str = "self") -> float:
    """Return what a process has used of all cores."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def speed(threads: int, llama: str | None, rounds: int) -> None:
    import torch

    torch.set_num_threads(threads)
    rules = sorted((rule.text for rule in shipped_rulebook().rules), key=len)[300:306]
    started = time.perf_counter()
    joint = prepare_rule_experts(LARGE, eight_bits=True)
    assert isinstance(joint, JointExperts)
    qwen = joint._second
    print(f"loaded in {time.perf_counter() - started:.0f} s, {qwen.bits} bits", flush=True)
    tokens = qwen._network.tokenizer
    lengths = [len(tokens(text, add_special_tokens=False)["input_ids"]) for text in (REPLY, *rules)]
    print(f"reply of {lengths[0]} tokens, rules of {lengths[1:]}")
    pairs = [(rule, REPLY) for rule in rules]
    read = sum(lengths) + 8 + 6 * 6  # with the words around them
    server = None
    if llama:
        model = Store().pull("qwen") / Store().entry("qwen").weights
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        command = [llama, "-c", LLAMA, str(model), str(threads)]
        server = subprocess.Popen(command, text=True, **pipes)

    def answer(number: int) -> None:
        assert server
        assert server.stdin
        assert server.stdout
        words = [number, *(1000 + 7 * word for word in range(read))]
        server.stdin.write(json.dumps(words) + "\n")
        server.stdin.flush()
        server.stdout.readline()

    asked = {
        "qwen": ("self", lambda number: qwen.expert(TASK).probabilities(pairs)),
        "qwen and mpnet": ("self", lambda number: joint.expert(TASK).probabilities(pairs)),
        **({"llama.cpp": (str(server.pid), answer)} if server else {}),
    }
    times = {name: [] for name in asked}
    for number in range(rounds + 1):  # the first one warms up
        for name, (process, ask) in asked.items():
            start, used = time.perf_counter(), cpu_seconds(process)
            ask(number)
            times[name].append((time.perf_counter() - start, cpu_seconds(process) - used))
    for name, rows in times.items():
        wall, used = np.array(rows[1:]).T
        print(
            f"{name}: median {np.median(wall):.2f} s, best {wall.min():.2f} s "
            f"({read / wall.min():.0f} tokens/s), CPU seconds {np.median(used):.2f}"
        )
    mapped = memory("RssFile")
    print(f"memory {memory('RssAnon'):.2f} GB, and {mapped:.2f} GB of files that it can give back")
    if server:
        server.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("drift", "speed"))
    parser.add_argument("base", nargs="?", default="qwen")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--llama")
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    if args.part == "drift":
        drift(args.base)
    else:
        speed(args.threads, args.llama, args.rounds)


if __name__ == "__main__":
    main()
