"""What `stories chain` and `stories generate` share: options, loading, tables and trees."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

    from moralscope.core.records import Decoding, RunRecord
    from moralscope.stories.chains.run import ChainModels

_SHOWN = 20
_NOTHING = "\N{EN DASH}"
MAX_COUNT = 1000

Generator = Annotated[
    str,
    typer.Option(
        "--generator",
        "-g",
        help="stories (smollm2 with the shipped adapter), smollm2, gemma3-270m, scripted, a local "
        "folder, a hub id, or openai:MODEL (served at $OPENAI_BASE_URL).",
    ),
]
Target = Annotated[str, typer.Option("--target", help="moral, immoral or both.")]
Nucleus = Annotated[float, typer.Option("--p", help="Nucleus sampling: mass of the tokens kept.")]
Temperature = Annotated[float, typer.Option("--temperature", help="Below 1: likelier tokens.")]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="The first N stories that can be run.")
]
Split = Annotated[
    str, typer.Option("--split", help="norm_distance, lexical_bias or minimal_pairs.")
]
Part = Annotated[
    str | None, typer.Option("--part", help="Only the split's train, dev or test stories.")
]
Show = Annotated[
    str | None,
    typer.Option(
        "--show",
        metavar="ID",
        help="Print this story's whole path as a tree. Without --out only this story is run.",
    ),
]
Beside = Annotated[
    list[Path] | None,
    typer.Option(
        "--beside", metavar="RUN.json", help="Other runs to set beside this one in the report."
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume/--no-resume", help="Go on where a run that was killed stopped, or start anew."
    ),
]


def decoding(strategy: str, count: int, p: float, temperature: float) -> "Decoding":
    """Return how to sample, or refuse."""
    from moralscope.core.records import Decoding

    if not 0 < p <= 1:
        raise typer.BadParameter(f"--p {p} is not above 0 and at most 1")
    if not 0 < temperature <= 10:
        raise typer.BadParameter(f"--temperature {temperature} is not above 0 and at most 10")
    return Decoding(strategy=strategy, count=count, p=p, temperature=temperature)


def load_models(generator: str, experts: str | None) -> "ChainModels":
    """Load a generator and, where asked for, experts."""
    from moralscope.cli.output import fetching
    from moralscope.models.language import load_generator
    from moralscope.stories.chains.run import ChainModels
    from moralscope.stories.experts import prepare_experts

    with fetching() as progress:
        shelf = prepare_experts(experts, progress=progress) if experts else None
        return ChainModels(load_generator(generator, progress=progress), shelf)


def show_run(record: "RunRecord") -> None:
    """Print what was chosen, what each step cost, and the notes."""
    from moralscope.cli.output import clean, out, plain_table, print_warnings

    config, found = record.config, record.statistics
    by = ", ".join(str(model.name) for model in record.models)
    out.print(clean(f"{config['recipe']}: {found['results']:,} results, {by}"), style="bold")
    out.print(_choices(record))
    steps = plain_table("step", "stories", "candidates", "seconds")
    for step in found["steps"]:
        counts = (f"{step['stories']:,}", f"{step['candidates']:,}", f"{step['seconds']:.1f}")
        steps.add_row(clean(f"{step['step']} ({step['do']})"), *counts)
    out.print()
    out.print(steps)
    print_warnings(record)


def show_path(record: "RunRecord", story: str) -> None:
    """Print one story's whole path as a tree, a tree for each target."""
    from moralscope.cli.output import out, print_warnings
    from moralscope.stories.chains.run import find_path

    for row in find_path(record, story):
        out.print(_tree(row))
    print_warnings(record)


def _choices(record: "RunRecord") -> "Table":
    from rich.table import Table

    from moralscope.cli.output import clean

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
    return table


def _tree(row: "Mapping[str, Any]") -> "Tree":
    from rich.text import Text
    from rich.tree import Tree

    from moralscope.cli.output import clean

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


def _heading(step: "Mapping[str, Any]") -> "Text":
    from rich.text import Text

    from moralscope.cli.output import clean

    model = [str(step[key]) for key in ("task", "expert", "field") if key in step]
    label = [f"P({step['label']})"] if step["do"] == "rank" else []
    if step["do"] == "refine":
        label = [f"draft is {step['label']}, {step['probability']:.3f}"]
    told = ", ".join([*model, *label])
    return Text.assemble((f"{step['do']} ", "bold"), clean(step["step"]), (f"  {told}", "dim"))


def _leaf(candidate: "Mapping[str, Any]", best: bool) -> "Text":
    from rich.text import Text

    from moralscope.cli.output import GOOD, clean

    score = "" if candidate["score"] is None else f"{candidate['score']:.3f}  "
    return Text.assemble(
        ("● " if best else "  "),
        (score, "dim"),
        clean(candidate["text"]),
        style=GOOD if best else "",
    )
