"""`moralscope stories metrics`: generated texts measured, compared, and beside the paper's."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli.options import Json, Out, Seed

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord

_SHOWN = ("bleu", "rougeL", "diversity", "perplexity", "length")
_TITLES = {"bleu": "BLEU", "rougeL": "ROUGE-L"}


def score_texts(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="Records of 'stories generate' or 'stories chain'."),
    ],
    stories: Annotated[
        Path | None,
        typer.Option("--stories", metavar="FILE", help="The stories; else the records' copies."),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge", help="Experts that did not rank: minilm, mpnet, scripted, or a folder."
        ),
    ] = None,
    stem: Annotated[
        bool, typer.Option("--stem/--no-stem", help="ROUGE on stems, as in the paper.")
    ] = True,
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Measure generated texts: BLEU, ROUGE, diversity, perplexity, and a held-out judge.

    Several runs are compared with paired tests. A judge that ranked one of them is refused.

    Example: moralscope stories metrics sample.json ranking.json --judge minilm
    """
    from moralscope.cli.output import emit, fetching
    from moralscope.stories import text_metrics as stories_score_texts
    from moralscope.stories.data_files import load_stories
    from moralscope.stories.experts import prepare_experts

    given = load_stories(stories).stories if stories else None
    experts = None
    if judge is not None:
        with fetching() as progress:
            experts = prepare_experts(judge, progress=progress)
    record = stories_score_texts.score_texts(runs, given, judge=experts, stem=stem, seed=seed)
    emit(record, json=json, path=out, show=_show)


def _show(record: "RunRecord") -> None:
    from rich.markup import escape

    from moralscope.cli.output import note, out, plain_table, print_warnings
    from moralscope.cli.stories_people import show_comparisons

    for row in record.results:
        sides = list(row.metrics["bleu"])[1:]
        title = f"{row.strategy}: {row.n:,} {row.kind}s"
        table = plain_table(
            "metric", "value", "95 % interval", *sides, "paper", title=escape(title)
        )
        for name in _names(row):
            total, *parts = (_number(name, found.value) for found in row.metrics[name].values())
            span = row.metrics[name]["total"]
            ends = f"{_number(name, span.low)} … {_number(name, span.high)}"
            table.add_row(_title(name), total, ends, *parts, _paper(row, name))
        out.print(table)
        out.print()
    shown = {name for row in record.results for name in _names(row)}
    show_comparisons([row for row in record.statistics["comparisons"] if row.metric in shown])
    for name in ("bleu", "rouge", "diversity"):
        note(f"{name}: {record.config[name]}")
    print_warnings(record)


def _names(row: Any) -> list[str]:
    """Return the lines: the paper's metrics first, then what the judge says."""
    judged = [name.removesuffix("_share") for name in row.metrics if name.endswith("_share")]
    said = [name for name in row.metrics if name.removesuffix("_share") in judged]
    return [*(name for name in _SHOWN if name in row.metrics), *said]


def _title(name: str) -> str:
    return _TITLES.get(name, name.replace("_share", ", share").replace("_", " "))


def _number(name: str, value: float) -> str:
    return f"{value:.3f}" if name == "diversity" else f"{value:.2f}"


def _paper(row: Any, name: str) -> str:
    """Return what the paper prints for the setting, best model first."""
    column = {"bleu": "bleu", "rougeL": "rouge_l", "diversity": "diversity"}.get(name)
    values = [(found.model, getattr(found, column)) for found in row.paper] if column else []
    return ", ".join(f"{value:g} {model}".strip() for model, value in values if value is not None)
