"""`moralscope stories generate`, `chain` and `metrics`: texts written, chosen and measured."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput, ReportOutput
from moralscope.cli.output import (
    GOOD,
    clean,
    counting,
    emit_to,
    fetching,
    note,
    out,
    plain_table,
    print_warnings,
    starting,
)
from moralscope.stories.options import (
    ChainInput,
    ChainOptions,
    GenerateInput,
    GenerateOptions,
    MetricsInput,
    MetricsOptions,
    TextsInput,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moralscope.core.records import RunRecord
    from moralscope.stories.chains.run import ChainModels

_SHOWN = 20
_NOTHING = "\N{EN DASH}"
_METRICS = ("bleu", "rougeL", "diversity", "perplexity", "length")
_TITLES = {"bleu": "BLEU", "rougeL": "ROUGE-L"}


@takes
def generate(given: GenerateInput, options: GenerateOptions, output: ReportOutput) -> None:
    """Generate actions, consequences or norms for stories, without experts.

    With several candidates the choice is the first; 'stories chain' lets experts choose.

    Example: moralscope stories generate "action|context" --stories stories.jsonl --count 3
    """
    from moralscope.stories.chains import run as job
    from moralscope.stories.generate import generate, single_step
    from moralscope.stories.reading import load_stories
    from moralscope.stories.text_runs import read_beside, set_beside

    recipe = single_step(given.task)  # refuses a task that is not there before anything is loaded
    others = read_beside(given.beside)
    starting(given.generator, reading=given.stories or "Moral Stories", quiet=output.json)
    found = job.choose_part(load_stories(given.stories), given.split, given.part, recipe)
    models = _load_models(given, None)
    with counting("stories") as step:
        settings = replace(options, out=output.out)
        record = generate(given.task, found, models, settings, report=step)
    record = set_beside(record, others)
    emit_to(output, record, _show_run)
    job.finish(record)


@takes
def chain(given: ChainInput, options: ChainOptions, output: ReportOutput) -> None:
    """Run a chain of experts over stories: propose, rank, condition, refine.

    Every candidate, score and choice is in the run record. With --out a run can be killed at any
    moment: the same command goes on where it stopped.

    Example: moralscope stories chain action-ranking --stories stories.jsonl --out run.json
    """
    from moralscope.stories.chains import run as job
    from moralscope.stories.reading import load_stories
    from moralscope.stories.text_runs import read_beside, set_beside

    recipe, show = given.recipe, given.show
    options = replace(options, out=output.out, only=show if output.out is None else None)
    lines = job.explain_recipe(recipe, options)  # refuses a bad recipe before anything is loaded
    if given.explain:
        typer.echo("\n".join(lines))
        return
    others = read_beside(given.beside)
    record = job.finished_run(output.out, recipe) if show is not None else None
    if record is None:
        stories = given.stories or "Moral Stories"
        starting(given.generator, given.experts, reading=stories, quiet=output.json)
        found = job.choose_part(load_stories(given.stories), given.split, given.part, recipe)
        models = _load_models(given, given.experts)
        with counting("stories") as step:
            record = job.chain(recipe, found, models, options, report=step)
    record = set_beside(record, others)
    emit_to(output, record, _show_run if show is None else lambda each: _show_path(each, show))
    job.finish(record)


@takes
def metrics(given: MetricsInput, options: MetricsOptions, output: RecordOutput) -> None:
    """Measure generated texts: BLEU, ROUGE, diversity, perplexity, and a held-out judge.

    Several runs are compared with paired tests. A judge that ranked one of them is refused.

    Example: moralscope stories metrics sample.json ranking.json --judge minilm
    """
    from moralscope.stories.experts import prepare_experts
    from moralscope.stories.reading import load_stories
    from moralscope.stories.text_metrics import score_texts

    stories = load_stories(given.stories).stories if given.stories else None
    judge = None
    if given.judge is not None:
        starting(given.judge, quiet=output.json)
        with fetching() as progress:
            judge = prepare_experts(given.judge, progress=progress)
    emit_to(output, score_texts(given.runs, stories, options, judge=judge), _show_metrics)


def _load_models(given: TextsInput, experts: str | None) -> "ChainModels":
    """Load a generator and, where asked for, experts."""
    from moralscope.models.language import load_steered
    from moralscope.stories.chains.run import ChainModels
    from moralscope.stories.experts import prepare_experts

    with fetching() as progress:
        found = prepare_experts(experts, progress=progress) if experts else None
        return ChainModels(load_steered(given.generator, given.steer, progress=progress), found)


def _show_run(record: "RunRecord") -> None:
    """Print what was chosen, what each step cost, and the notes."""
    config, found = record.config, record.statistics
    by = ", ".join(str(model.name) for model in record.models)
    out.print(clean(f"{config['recipe']}: {found['results']:,} results, {by}"), style="bold")
    table = Table(box=None, pad_edge=False)
    table.add_column("story", max_width=24, overflow="fold")
    table.add_column("target")
    table.add_column("choice", overflow="fold")
    table.add_column("score", justify="right")
    for row in record.results[:_SHOWN]:
        score = row["candidates"][0]["score"] if row["candidates"] else None
        told = "" if score is None else f"{score:.3f}"
        table.add_row(clean(row["id"]), row["target"] or "", clean(row["choice"] or _NOTHING), told)
    hidden = len(record.results) - _SHOWN
    if hidden > 0:
        table.add_row(f"… {hidden:,} more", "", "--json or --out", "")
    out.print(table)
    steps = plain_table("step", "stories", "candidates", "seconds")
    for step in found["steps"]:
        counts = (f"{step['stories']:,}", f"{step['candidates']:,}", f"{step['seconds']:.1f}")
        steps.add_row(clean(f"{step['step']} ({step['do']})"), *counts)
    out.print()
    out.print(steps)
    print_warnings(record)


def _show_path(record: "RunRecord", story: str) -> None:
    """Print one story's whole path as a tree, a tree for each target."""
    for row in [row for row in record.results if row["id"] == story]:
        out.print(_tree(row))
    print_warnings(record)


def _tree(row: "Mapping[str, Any]") -> Tree:
    tree = Tree(clean(f"{row['id']} {row['target'] or ''}".strip()), style="bold")
    story = tree.add(Text("story", style="bold"))
    for name, sentence in row["story"].items():
        story.add(Text.assemble((f"{name}: ", "dim"), clean(sentence)))
    ranked = {step.get("from") for step in row["path"] if step["do"] == "rank"}
    for step in row["path"]:
        branch = tree.add(_heading(step))
        # Texts that a later step ranks are not chosen here, though the first stands in for them.
        chosen = step["step"] in ranked
        for candidate in step["candidates"]:
            best = not chosen and candidate["text"] == step["choice"]
            chosen = chosen or best
            branch.add(_leaf(candidate, best))
        if not step["candidates"]:
            branch.add(_leaf({"text": step["choice"] or _NOTHING, "score": None}, True))
    tree.add(
        Text.assemble(("choice: ", "dim"), clean(row["choice"] or row.get("failed", _NOTHING)))
    )
    return tree


def _heading(step: "Mapping[str, Any]") -> Text:
    model = [str(step[key]) for key in ("task", "expert", "field") if key in step]
    label = [f"P({step['label']})"] if step["do"] == "rank" else []
    if step["do"] == "refine":
        label = [f"draft is {step['label']}, {step['probability']:.3f}"]
    told = ", ".join([*model, *label])
    return Text.assemble((f"{step['do']} ", "bold"), clean(step["step"]), (f"  {told}", "dim"))


def _leaf(candidate: "Mapping[str, Any]", best: bool) -> Text:
    score = "" if candidate["score"] is None else f"{candidate['score']:.3f}  "
    return Text.assemble(
        ("● " if best else "  "),
        (score, "dim"),
        clean(candidate["text"]),
        style=GOOD if best else "",
    )


def _show_metrics(record: "RunRecord") -> None:
    from rich.markup import escape

    from moralscope.cli.stories_evaluate import show_comparisons

    for row in record.results:
        sides = list(row.metrics["bleu"])[1:]
        title = f"{row.strategy}: {row.n:,} {row.kind}s"
        table = plain_table(
            "metric", "value", "95 % interval", *sides, "paper", title=escape(title)
        )
        for name in _metric_names(row):
            total, *parts = (_number(name, found.value) for found in row.metrics[name].values())
            span = row.metrics[name]["total"]
            ends = f"{_number(name, span.low)} … {_number(name, span.high)}"
            label = _TITLES.get(name, name.replace("_share", ", share").replace("_", " "))
            table.add_row(label, total, ends, *parts, _paper(row, name))
        out.print(table)
        out.print()
    shown = {name for row in record.results for name in _metric_names(row)}
    show_comparisons([row for row in record.statistics["comparisons"] if row.metric in shown])
    for name in ("bleu", "rouge", "diversity"):
        note(f"{name}: {record.config[name]}")
    print_warnings(record)


def _metric_names(row: Any) -> list[str]:
    """Return the lines: the paper's metrics first, then what the judge says."""
    judged = [name.removesuffix("_share") for name in row.metrics if name.endswith("_share")]
    said = [name for name in row.metrics if name.removesuffix("_share") in judged]
    return [*(name for name in _METRICS if name in row.metrics), *said]


def _number(name: str, value: float) -> str:
    return f"{value:.3f}" if name == "diversity" else f"{value:.2f}"


def _paper(row: Any, name: str) -> str:
    """Return what the paper prints for the setting, best model first."""
    column = {"bleu": "bleu", "rougeL": "rouge_l", "diversity": "diversity"}.get(name)
    values = [(found.model, getattr(found, column)) for found in row.paper] if column else []
    return ", ".join(f"{value:g} {model}".strip() for model, value in values if value is not None)
