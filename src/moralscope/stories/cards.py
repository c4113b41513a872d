"""The card of trained experts: on what, from what, how well, by which command."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moralscope.models.training import Schedule

if TYPE_CHECKING:
    from moralscope.stories.train import TrainOptions

DATA = {
    "moral-stories": "Moral Stories (Emelin et al. 2021), MIT, github.com/demelin/moral_stories",
    "social-chem-101": "SOCIAL-CHEM-101 (Forbes et al. 2020), CC BY-SA 4.0, "
    "github.com/mbforbes/social-chemistry-101",
    "mic": "Moral Integrity Corpus (Ziems et al. 2022), by its authors' data use agreement, "
    "github.com/SALT-NLP/mic",
    "written": "exchanges written for moralscope, Apache-2.0",
    "ethics": "ETHICS (Hendrycks et al. 2021), MIT, github.com/hendrycks/ethics",
}
_ACCURACY = """accuracy; "reversed": the norm reversed as by `moralscope stories reverse`, and
  the right answer with it; "swapped": an unrelated norm, right answer "does not concern\""""
_LOSS = "loss a token of what people wrote; lower is better"
_TEXT = """# Moral Stories {kind} on {base}

Trained by moralscope on `{base}`: {tasks}.

- **Base:** {base}. An adapter works on these weights only (`expert.json` has their sha256).
- **Data:** {data}.
  Trained on the *train* part of the `{split}` split only{limit}; dev chose the epoch.
- **Licence:** Apache-2.0 (the base and the data keep theirs).
- **Made by:** `{command}`{started}
- **Figures** ({figures}):

{table}

Descriptive, never authoritative: Moral Stories holds the judgments of US crowd workers of 2020
about short, everyday stories in English.
"""
_PLURAL = {"all": "every classification task", "texts": "every generation task"}


@dataclass(frozen=True, slots=True)
class Card:
    """The card as facts (for `expert.json`) and as text (for README.md)."""

    facts: Mapping[str, Any]
    text: str


def expert_card(
    options: "TrainOptions",
    base: str,
    schedule: Schedule,
    figures: Mapping[str, Mapping[str, float]],
    own: Path | None = None,
) -> Card:
    """Describe what was trained; `own` is the file of stories that was named instead of the data.

    The text names folders and files of this machine without their place.
    """
    texts = options.task == "texts" or "|" in options.task
    short = Path(base).name if Path(base).is_dir() else base
    data = [f"stories of {own.name}" if own else DATA["moral-stories"]]
    data += [DATA["ethics"]] if options.ethics else []
    cards = [_card_of(path) for path in options.start]
    data += sorted({row for card in cards for row in card.get("data", ())} - set(data))
    started = started_from(options.start)
    command = _command(options, schedule, short, own)
    facts = {
        "base": short,
        "data": data,
        "trained_on": {"split": options.split, "part": "train", "limit": options.limit},
        "licence": "Apache-2.0",
        "epochs": figures["dev"]["epoch"],
        "seed": schedule.seed,
        "metrics": {part: rounded(rows) for part, rows in figures.items()},
        "command": command,
        **({"started": started} if started else {}),
    }
    text = _TEXT.format(
        kind="generator" if texts else "experts",
        base=short,
        tasks=_PLURAL.get(options.task, options.task),
        data=" and ".join(data),
        split=options.split,
        limit=f", its first {options.limit} stories" if options.limit else "",
        command=command,
        started=told_start(started),
        figures=_LOSS if texts else _ACCURACY,
        table=figure_table(figures),
    )
    return Card(facts, text)


def started_from(folders: Sequence[Path]) -> list[str]:
    """Return the commands that made what was started from, and what that was started from."""
    cards = [_card_of(folder) for folder in folders]
    made = {row for card in cards for row in (*card.get("started", ()), card.get("command"))}
    return sorted(row for row in made if row)


def told_start(started: Sequence[str]) -> str:
    """Return those commands as lines of a card."""
    return "".join(f"\n  from what `{row}` made" for row in started)


def _card_of(folder: Path) -> Mapping[str, Any]:
    """Return the facts of an adapter that was started from; none when it has no card."""
    try:
        found: Mapping[str, Any] = json.loads((folder / "expert.json").read_text("utf-8"))["card"]
        return found
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _command(options: "TrainOptions", schedule: Schedule, base: str, own: Path | None) -> str:
    """Return the command that does the same again: what it leaves out is a default."""
    task = f"'{options.task}'" if "|" in options.task else options.task
    words = [f"moralscope stories train {task} --split {options.split} --base {base}"]
    words += [f"--members {options.members}"] if options.members else []
    words += [f"--stories {own.name}"] if own else []
    if options.paper:
        words.append("--paper")
    else:
        words.append("--full" if options.rank is None else f"--rank {options.rank}")
    words.append(f"--epochs {schedule.epochs} --learning-rate {schedule.learning_rate}")
    words.append(f"--batch {schedule.batch_size} --max-length {options.max_length}")
    words.append(f"--patience {schedule.patience} --seed {schedule.seed}")
    for name in ("contrast", "behaviours"):
        value = getattr(options, name)
        if value is not None and value == options.paper:  # not what the other options mean
            words.append(f"--{name}" if value else f"--no-{name}")
    if options.contrast and options.reversed_weight != 1.0:
        words.append(f"--reversed-weight {options.reversed_weight}")
    words += [f"--consistency {options.consistency}"] if options.consistency else []
    words += [f"--limit {options.limit}"] if options.limit else []
    words += [f"--start {path.name}" for path in options.start]
    words += [f"--drafts {options.drafts.name}"] if options.drafts else []
    words += ["--ethics"] if options.ethics else []
    words += ["--test"] if options.test else []
    return " ".join(words)


def rounded(rows: Mapping[str, float]) -> dict[str, float]:
    """Return the figures of a look at dev or test as a card gives them."""
    return {name: round(float(value), 4) for name, value in rows.items() if name != "epoch"}


def figure_table(figures: Mapping[str, Mapping[str, float]]) -> str:
    """Return a table in Markdown: a row a group, a column a part."""
    parts = list(figures)
    groups = [name for name in figures["dev"] if name not in {"epoch", "loss", "score"}]
    lines = [f"| task | {' | '.join(parts)} |", "|---" * (len(parts) + 1) + "|"]
    for group in groups:
        values = (figures[part].get(group) for part in parts)
        cells = " | ".join("—" if value is None else f"{value:.3f}" for value in values)
        lines.append(f"| {group} | {cells} |")
    return "\n".join(lines)
