"""What inspect_ai's scorer costs beside a bare audit of the same replies; both models are loaded.

    .ci/tools TOOLS inspect && TOOLS/inspect/bin/python bench/inspect_overhead.py

Each round scores a log of mocked replies with `moralscope/audit` and audits the same replies with
`audit`; the answers that the scorer remembers are forgotten before. Prints the median ratio.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from inspect_ai import Task, eval, score
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.solver import generate

from moralscope.interop.inspect_ai import audit as audit_scorer
from moralscope.interop.replies import audit_options, reply_auditor
from moralscope.rules.audit import audit, prepare_auditor
from moralscope.rules.records import Exchange
from moralscope.rules.training.alignment_examples import written_exchanges


def exchanges(count: int) -> list[Exchange]:
    """Return exchanges that we wrote, as they lie in the package."""
    rows = written_exchanges()[:count]
    return [replace(row.exchange, id=str(place)) for place, row in enumerate(rows)]


def mocked_log(replies: list[Exchange]) -> EvalLog:
    """Return the log of an evaluation in which a mocked model said these replies."""
    said = {each.id: each.reply for each in replies}

    def reply(messages: Any, *_: Any) -> ModelOutput:
        name = messages[-1].text.rpartition("#")[2]
        output = ModelOutput.from_content("mockllm/model", said[name])
        return output.model_copy(update={"usage": ModelUsage()})

    samples = [Sample(input=f"{each.prompt} #{each.id}", id=each.id) for each in replies]
    model = get_model("mockllm/model", custom_outputs=reply)
    return eval(Task(dataset=samples, solver=generate()), model=model, display="none")[0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--replies", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    log = mocked_log(exchanges(given.replies))
    same = [Exchange(each.input, each.output.completion, str(each.id)) for each in log.samples]
    options = audit_options()
    models = prepare_auditor(options)
    score(log, audit_scorer(), display="none")  # loads what it needs
    rounds = []
    for _ in range(given.rounds):
        bare = seconds(lambda: audit(same, options, models=models))
        reply_auditor(options).forget()
        scored = seconds(lambda: score(log, audit_scorer(), display="none"))
        rounds.append([after / before for before, after in zip(bare, scored, strict=True)])
        print(f"bare {bare[0]:.2f} s, scorer {scored[0]:.2f} s: {rounds[-1][0]:.2f} times")
    wall, cpu = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"median of {given.rounds}: {wall:.2f} times by the clock, {cpu:.2f} in processor time")


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return how long something takes, by the clock and in processor time."""
    started = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started[0], time.process_time() - started[1]


if __name__ == "__main__":
    main()
