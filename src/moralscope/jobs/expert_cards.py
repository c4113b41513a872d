"""The card of trained experts: on what, from what, how well, by which command."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from moralscope.engine.training import History, Schedule

if TYPE_CHECKING:
    from moralscope.jobs.stories_train import TrainOptions

DATA = {
    "moral-stories": "Moral Stories (Emelin et al. 2021), MIT, github.com/demelin/moral_stories",
    "ethics": "ETHICS (Hendrycks et al. 2021), MIT, github.com/hendrycks/ethics",
}
_TEXT = """# {title}

Experts of moralscope on `{base}`: {tasks}.

- **Base:** {base}. The adapter works on these weights only (`expert.json` has their sha256).
- **Data:** {data}. Trained on the *train* part of the `{split}` split only; dev chose the epoch and
  the temperature. Situation, intention and consequences are at hand for 6,912 of the 12,000 stories.
- **Licence:** Apache-2.0 (the base and the data keep theirs).
- **Made by:** `{command}`
- **Figures** (accuracy; "reversed": the norm reversed by `moralscope stories reverse`, and the right
  answer with it; "swapped": an unrelated norm, right answer "does not concern"):

{table}

Descriptive, never authoritative: the experts reproduce the judgments of US crowd workers of 2020
about short, everyday stories in English.
"""


@dataclass(frozen=True, slots=True)
class Card:
    """The card as facts (for `expert.json`) and as text (for README.md)."""

    facts: Mapping[str, Any]
    text: str


def expert_card(
    options: "TrainOptions",
    base: str,
    schedule: Schedule,
    history: History,
    figures: Mapping[str, Mapping[str, float]],
) -> Card:
    """Describe what was trained; nothing of this machine goes into the text."""
    data = [DATA["moral-stories"], *([DATA["ethics"]] if options.ethics else [])]
    facts = {
        "base": base,
        "data": data,
        "trained_on": {"split": options.split, "part": "train"},
        "licence": "Apache-2.0",
        "epochs": history.looks[history.best]["epoch"],
        "seed": schedule.seed,
        "metrics": {part: _rounded(rows) for part, rows in figures.items()},
        "command": _command(options, schedule, base),
    }
    text = _TEXT.format(
        title=f"Moral Stories experts on {base}",
        base=base,
        tasks="every classification task" if options.task == "all" else options.task,
        data=" and ".join(data),
        split=options.split,
        command=facts["command"],
        table=_table(figures),
    )
    return Card(facts, text)


def _command(options: "TrainOptions", schedule: Schedule, base: str) -> str:
    words = [f"moralscope stories train {options.task} --split {options.split} --base {base}"]
    if options.paper:
        words.append("--paper")
    else:
        words.append("--full" if options.rank is None else f"--rank {options.rank}")
    words.append(f"--epochs {schedule.epochs} --learning-rate {schedule.learning_rate}")
    words.append(f"--batch {schedule.batch_size} --max-length {options.max_length}")
    words.append(f"--patience {schedule.patience} --seed {schedule.seed}")
    words += ["--no-contrast"] if not options.contrast else []
    words += ["--no-behaviours"] if not options.behaviours else []
    words += ["--ethics"] if options.ethics else []
    return " ".join(words)


def _rounded(rows: Mapping[str, float]) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in rows.items() if name != "epoch"}


def _table(figures: Mapping[str, Mapping[str, float]]) -> str:
    parts = list(figures)
    groups = [name for name in figures["dev"] if name not in {"epoch", "loss", "score"}]
    lines = [f"| task | {' | '.join(parts)} |", "|---" * (len(parts) + 1) + "|"]
    for group in groups:
        values = " | ".join(f"{figures[part][group]:.3f}" for part in parts)
        lines.append(f"| {group} | {values} |")
    return "\n".join(lines)
