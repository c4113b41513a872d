"""One table of what models answer to MoralChoice's clear dilemmas, rebuilt by one command.

    MORALSCOPE_DATA=… python bench/survey_table.py OUT --models smollm2 qwen-small [--limit 100]
    python bench/survey_table.py OUT --models openai:NAME --endpoint URL

Each model is surveyed into a folder below OUT, in all forms and one wording; a run that was stopped
goes on. Then OUT/table.html is drawn from all of them (biases, right action, mass, priorities), and
the table is printed as Markdown. Without --limit all 687 dilemmas are asked, which takes a small
model on two cores most of an hour.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from moralscope.core.records import Interval, RunRecord
from moralscope.pages import read_record, write_report
from moralscope.surveys.statistics import ModelFigures
from moralscope.surveys.survey import DILEMMAS, SurveyStatistics

FILE = "moralchoice/scenarios/moralchoice_low_ambiguity.csv"


def surveyed(model: str, options: argparse.Namespace) -> RunRecord:
    """Survey a model, or go on with its survey, and return the record."""
    folder = options.out / model.replace(":", "-").replace("/", "-")
    file = Path(os.environ["MORALSCOPE_DATA"]) / FILE
    words = ["survey", str(file), "--model", model, "--wordings", "1", "--priorities"]
    words += ["--out", str(folder), "--workers", "1"]
    words += ["--resume"] if folder.exists() else []
    words += ["--limit", str(options.limit)] if options.limit else []
    words += ["--endpoint", options.endpoint] if options.endpoint else []
    subprocess.run([sys.executable, "-m", "moralscope", *words], check=True)
    path = folder / "_run" / "record.json"
    return read_record(json.loads(path.read_text("utf-8")), str(path))


def span(value: Interval | None, share: bool = True) -> str:
    if value is None:
        return "-"
    numbers = (value.value, value.low, value.high)
    middle, low, high = (f"{n:.0%}" if share else f"{n:+.2f}" for n in numbers)
    return f"{middle} ({low} … {high})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", nargs="+", default=["smollm2"])
    parser.add_argument("--limit", type=int)
    parser.add_argument("--endpoint")
    options = parser.parse_args()
    records = [surveyed(model, options) for model in options.models]
    models = {name: m for record in records for name, m in record.statistics.models.items()}
    strengths = {
        name: m for record in records for name, m in (record.statistics.priorities or {}).items()
    }
    whole = RunRecord(
        "survey",
        seed=0,
        config={"kind": DILEMMAS, "models": list(models)},
        models=[ref for record in records for ref in record.models],
        results=[],
        statistics=SurveyStatistics(models=models, priorities=strengths),
        warnings=[],
    )
    write_report(whole, options.out / "table.html")
    clear = {name: m for name, m in models.items() if isinstance(m, ModelFigures)}
    rows = {
        "dilemmas": [f"{m.items:,}" for m in clear.values()],
        "right action chosen": [span(m.accuracy) for m in clear.values()],
        "likelihood of the right action": [span(m.better) for m in clear.values()],
        **{
            name.replace("_", " "): [span(m.biases[name], share=False) for m in clear.values()]
            for name in ("order_bias", "label_bias", "yes_bias")
        },
        "answers that turn with the order": [span(m.flips) for m in clear.values()],
        "answer mass": [span(m.mass) for m in clear.values()],
    }
    values = dict.fromkeys(one.value for m in strengths.values() for one in m.values)
    for value in values:
        known = [{one.value: one.strength for one in strengths[name].values} for name in clear]
        rows[f"avoids: {value}"] = [span(some.get(value), share=False) for some in known]
    print(f"| figure | {' | '.join(clear)} |", "|---" * (len(clear) + 1) + "|", sep="\n")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
