"""Language models as subjects: likelihoods and time beside lm-eval, memory, and what models answer.

    python bench/survey.py likelihoods --lm-eval FOLDER [--limit 20] [--model smollm2]
    python bench/survey.py memory [--limit 10000]
    python bench/survey.py figures [--limit 40] [--model smollm2] [--parts choice direction survey]

`likelihoods` asks both about the same dilemmas in all forms, one after the other in one run: only
the ratio means anything, and the largest difference of a log-likelihood. On a machine that others
use, take the ratio of processor time: a thread that waits for another counts as time, so lm-eval is
also run on one thread. It runs in an environment of its own. Data is found through MORALSCOPE_DATA
(MoralChoice, people's yes rates).
"""

import argparse
import itertools
import json
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.axes.language import Asking
from moralscope.axes.ratings import read_ratings
from moralscope.axes.score import score
from moralscope.core.protocols import LanguageModel
from moralscope.core.records import RunRecord
from moralscope.models.language import load_language_model
from moralscope.models.language.conversion import resolve_base
from moralscope.models.language.hidden import HiddenStates
from moralscope.surveys.asking import dilemma_cells
from moralscope.surveys.items import read_items, spread
from moralscope.surveys.options import SurveyOptions
from moralscope.surveys.survey import survey

DATA = Path(os.environ.get("MORALSCOPE_DATA", "data"))
LOW = DATA / "moralchoice" / "scenarios" / "moralchoice_low_ambiguity.csv"
PEOPLE = DATA / "human" / "yes_no_visible_half.csv"
THEIRS = """
import json, sys, time
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
folder, place, size = sys.argv[1:]
pairs = json.load(open(place))
lm = HFLM(pretrained=folder, dtype="float32", batch_size=int(size), device="cpu")
requests = [Instance("loglikelihood", {}, tuple(pair), n) for n, pair in enumerate(pairs)]
lm.loglikelihood(requests[:4], disable_tqdm=True)
started, worked = time.perf_counter(), time.process_time()
found = lm.loglikelihood(requests, disable_tqdm=True)
seconds, work = time.perf_counter() - started, time.process_time() - worked
values = [value for value, _ in found]
json.dump({"seconds": seconds, "work": work, "values": values}, open(place, "w"))
"""


def likelihoods(arguments: argparse.Namespace) -> None:
    """Compare log-likelihoods and time with lm-eval."""
    if not arguments.lm_eval:
        raise SystemExit("give --lm-eval FOLDER, a virtual environment with lm-eval[hf]")
    model = load_language_model(arguments.model)
    asking = Asking.of(model, "auto")
    items = spread(read_items(LOW), arguments.limit)
    forms = SurveyOptions().forms
    cells = [cell for n, item in enumerate(items) for cell in dilemma_cells(n, item, forms, 1)]
    # lm-eval counts blanks that end a prompt (a chat template's last line break) to the answer.
    whole = [asking.text(cell.question) for cell in cells]
    prompts = [text.rstrip() for text in whole]
    answers = [
        [text[len(prompt) :] + asking.answer(t) for some in cell.answers for t in some]
        for text, prompt, cell in zip(whole, prompts, cells, strict=True)
    ]
    pairs = [(p, text) for p, some in zip(prompts, answers, strict=True) for text in some]
    print(f"{len(items)} dilemmas, {len(cells)} questions, {len(pairs)} answers, {model.name}")
    model.log_probabilities(prompts[:1], answers[:1])
    started, worked = time.perf_counter(), time.process_time()
    found = model.log_probabilities(prompts, answers)
    ours, work = time.perf_counter() - started, time.process_time() - worked
    values = np.array([each.total for some in found for each in some])
    best = least = float("inf")
    for size, threads in itertools.product(arguments.batch, arguments.threads):
        theirs = _theirs(arguments, pairs, size, threads)
        gap = float(np.abs(values - np.array(theirs["values"])).max())
        best, least = min(theirs["seconds"], best), min(theirs["work"], least)
        spent = f"{theirs['seconds']:.1f} s ({theirs['work']:.1f} s of processor time)"
        how = f"batch {size}, threads {threads}"
        print(f"lm-eval, {how}: {spent}; largest difference {gap:.2g}", flush=True)
    print(f"ours: {ours:.1f} s ({work:.1f} s of processor time)")
    print(f"ours / lm-eval's best: {ours / best:.2f} of time, {work / least:.2f} of processor time")


def _theirs(
    arguments: argparse.Namespace, pairs: list[tuple[str, str]], size: int, threads: int
) -> dict[str, Any]:
    """Let lm-eval score the same pairs, in batches of a size."""
    with tempfile.NamedTemporaryFile("w+", suffix=".json") as file:
        json.dump(pairs, file)
        file.flush()
        python = Path(arguments.lm_eval) / "bin" / "python"
        folder = str(resolve_base(arguments.model)[0])
        command = [str(python), "-c", THEIRS, folder, file.name, str(size)]
        own = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": str(threads)}
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        subprocess.run(command, check=True, env={**clean, **own})
        found: dict[str, Any] = json.loads(Path(file.name).read_text("utf-8"))
    return found


def memory(arguments: argparse.Namespace) -> None:
    """Stream hidden states to disk and say what that took."""
    model = load_language_model(arguments.model)
    texts = [f"Should I share {n}" for n in range(arguments.limit)]
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        table = HiddenStates(model, cached=False).write(texts, Path(folder) / "states.npy")
        size = table.nbytes / 1e9
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    told = f"{model.name}: {len(texts):,} short texts, {size:.2f} GB on disk"
    print(f"{told}, {seconds:.0f} s, peak {peak:.2f} GB")


def figures(arguments: argparse.Namespace) -> None:
    """Print what a model answers: beside people, and to clear dilemmas."""
    model = load_language_model(arguments.model)
    for axis in ("choice", "direction"):
        if axis in arguments.parts:
            told(_beside_people(model, axis, arguments.actions), axis)
    if "survey" not in arguments.parts:
        return
    items = spread(read_items(LOW), arguments.limit)
    found = survey(items, speakers=[model], wordings=arguments.wordings)
    each = found.statistics["models"][model.name]
    print(f"{model.name}: {each.items} clear dilemmas, {each.questions} questions")
    for name, span in each.biases.items():
        star = " *" if name in each.flagged else ""
        print(f"  {name} {span.value:+.2f} ({span.low:+.2f} … {span.high:+.2f}){star}")
    rows = ("accuracy", "accuracy_unnormalised", "better", "mass", "flips", "consistency")
    for name in rows:
        span = getattr(each, name)
        print(f"  {name} {span.value:.3f} ({span.low:.3f} … {span.high:.3f})")
    print(f"  noise floor {each.noise_floor:.2f}")


def _beside_people(model: LanguageModel, axis: str, limit: int | None) -> RunRecord:
    actions = spread(list(read_ratings(PEOPLE).counts), limit)
    print(f"{model.name}, {axis}: {len(actions)} actions", flush=True)
    return score(list(actions), model=model, human=PEOPLE, axis=axis)


def told(record: RunRecord, axis: str) -> None:
    """Print r with people."""
    people = record.statistics["human"].populations
    spans = [
        f"{name} {r.r:+.2f} ({r.low:+.2f} … {r.high:+.2f})"
        for name, each in people.items()
        for r in [each.pearson]
    ]
    layer = f", layer {record.config['layer']}" if "layer" in record.config else ""
    print(f"{axis}{layer}: r with people {', '.join(spans)}")
    if "language" in record.statistics:
        mass = record.statistics["language"]["answer_mass"]
        print(f"  answer mass {mass['value']:.2f} ({mass['low']:.2f} … {mass['high']:.2f})")
    if "layers" in record.statistics:
        curve = record.statistics["layers"]
        best = max(curve["people"], key=lambda each: each.r)
        print(f"  best layer by people (told, not chosen): r {best.r:+.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("likelihoods", "memory", "figures"))
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--wordings", type=int, default=2)
    parser.add_argument("--parts", nargs="+", default=["choice", "direction", "survey"])
    parser.add_argument("--actions", type=int, help="of those that people rated; all by default")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, os.cpu_count() or 1])
    parser.add_argument("--lm-eval", help="the folder of lm-eval's own virtual environment")
    arguments = parser.parse_args()
    {"likelihoods": likelihoods, "memory": memory, "figures": figures}[arguments.part](arguments)


if __name__ == "__main__":
    main()
