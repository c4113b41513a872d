"""One table of what models answer to MoralChoice's clear dilemmas, rebuilt by one command.

    MORALSCOPE_DATA=… python bench/survey_table.py OUT --models smollm2 qwen-small [--limit 100]
    python bench/survey_table.py OUT --models openai:NAME --endpoint URL

Each model is asked in all forms and one wording, in an order of chance, so that `--limit` and a run
that was stopped are samples; and whether the actions are ok that people rated (Schramowski et al.
2022). Rows go to OUT/MODEL.jsonl, and a run goes on where the last one stopped. Then OUT/table.html
is drawn from all models below OUT (biases, right action, mass, priorities, distance to people), and
the table is printed as Markdown. All 687 take smollm2 13 minutes of one core, qwen-small 45.
"""

import argparse
import csv
import json
import random
from collections.abc import Sequence
from pathlib import Path

from moralscope.core.decode import decode
from moralscope.core.records import Interval, RunRecord, to_plain
from moralscope.models.store import data_file
from moralscope.pages import write_report
from moralscope.surveys.items import Dilemma, Statement, read_items
from moralscope.surveys.options import SurveyOptions
from moralscope.surveys.populations import PeopleTotals
from moralscope.surveys.priorities import PriorityTotals, priorities
from moralscope.surveys.questionnaire import StatementFigures
from moralscope.surveys.statistics import DilemmaTotals, ItemFigures
from moralscope.surveys.survey import DILEMMAS, SurveyStatistics, load_speaker, survey

BLOCK = 8  # items between two writes
QUESTIONS = 8  # about a dilemma in one wording
Item = Dilemma | Statement


def read_all() -> list[Item]:
    """Return the rated actions as statements, and the dilemmas in an order of chance."""
    files = "human/yes_no_visible_half.csv", "moralchoice/scenarios/moralchoice_low_ambiguity.csv"
    paths = [data_file(name) for name in files]
    if not all(paths):
        raise SystemExit(f"error: no {' or '.join(files)} below MORALSCOPE_DATA")
    rated, dilemmas = map(Path, map(str, paths))
    items: list[Item] = []
    with rated.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            shares = []
            for name in ("amt", "regional"):
                yes, no = int(row[f"{name}_yes"]), int(row[f"{name}_no"])
                shares.append((name, yes / (yes + no)))
            texts = [f"It is {word} to {row['action']}." for word in ("ok", "not ok")]
            scale = ("disagree", "agree")
            items.append(Statement(row["action"], *texts, scale=scale, people=tuple(shares)))
    clear = list(read_items(dilemmas))
    random.Random(0).shuffle(clear)
    return [*items, *clear]


def ask(name: str, items: Sequence[Item], options: argparse.Namespace) -> None:
    """Ask a model what it was not asked yet."""
    path: Path = options.out / f"{name.replace(':', '-').replace('/', '-')}.jsonl"
    asked = {json.loads(line)["id"] for line in path.open()} if path.exists() else set()
    statements = [item for item in items if isinstance(item, Statement)]
    dilemmas = [item for item in items if isinstance(item, Dilemma)][: options.limit]
    speaker = None
    for kind in (statements, dilemmas):
        left = [item for item in kind if item.id not in asked]
        for start in range(0, len(left), BLOCK):
            chosen = SurveyOptions(models=(name,), wordings=1, endpoint=options.endpoint)
            speaker = speaker or load_speaker(name, chosen)
            record = survey(left[start : start + BLOCK], chosen, speakers=[speaker])
            rows = [json.dumps(to_plain(row)) for row in record.results]
            with path.open("a", encoding="utf-8") as file:
                file.write("".join(f"{row}\n" for row in rows))


def span(value: Interval | None, share: bool = True) -> str:
    if value is None:
        return "-"
    numbers = (value.value, value.low, value.high)
    middle, low, high = (f"{n:.0%}" if share else f"{n:+.2f}" for n in numbers)
    return f"{middle} ({low} … {high})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--limit", type=int)
    parser.add_argument("--endpoint")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    items = read_all()
    for name in options.models:
        ask(name, items, options)
    known = {item.id: item for item in items}
    totals: dict[str, DilemmaTotals] = {}
    put_first: dict[str, PriorityTotals] = {}
    near: dict[str, PeopleTotals] = {}
    for path in sorted(options.out.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            cells = json.loads(line)
            name, item = cells["model"], known[cells["id"]]
            if isinstance(item, Statement):
                row = decode(StatementFigures, cells, path.name)
                near.setdefault(name, PeopleTotals()).add(row, item)
                continue
            row = decode(ItemFigures, cells, path.name)
            totals.setdefault(name, DilemmaTotals()).add(row, item, QUESTIONS)
            put_first.setdefault(name, PriorityTotals()).add(row, item)
    clear = {name: some.figures() for name, some in totals.items()}
    strengths, differences = priorities(put_first, 0)
    people = {name: near[name].figures() for name in clear if name in near}
    whole = RunRecord(
        "survey",
        seed=0,
        config={"kind": DILEMMAS, "models": list(clear)},
        models=[],
        results=[],
        statistics=SurveyStatistics(
            models=clear,
            priorities=strengths,
            priority_differences=differences,
            people={name: one for name, one in people.items() if one} or None,
        ),
        warnings=[],
    )
    write_report(whole, options.out / "table.html")
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
    for population in dict.fromkeys(
        p.population for m in people.values() if m for p in m.populations
    ):
        distances = [
            {p.population: p.distance for p in m.populations} if m else {} for m in people.values()
        ]
        rows[f"distance to people ({population})"] = [
            span(one.get(population)) for one in distances
        ]
    values = dict.fromkeys(one.value for m in strengths.values() for one in m.values)
    for value in values:
        of_value = [{one.value: one.strength for one in strengths[m].values} for m in clear]
        rows[f"avoids: {value}"] = [span(some.get(value), share=False) for some in of_value]
    print(f"| figure | {' | '.join(clear)} |", "|---" * (len(clear) + 1) + "|", sep="\n")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
