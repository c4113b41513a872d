"""The card of experts for attributes of rules: on what, from what, how well, by which command."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moralscope.models.training import Schedule
from moralscope.stories.cards import DATA, Card, figure_table, rounded, started_from, told_start

if TYPE_CHECKING:
    from moralscope.rules.train import AttributeOptions
    from moralscope.rules.training_data import Taught

_TEXT = """# Attributes of rules of thumb on {base}

Trained by moralscope on `{base}`: {tasks}.

- **Base:** {base}. An adapter works on these weights only (`expert.json` has their sha256).
- **Data:** {data}.
  Trained on the *train* part only{limit}; dev chose the epoch{thresholds}.
- **Licence:** Apache-2.0 (the base and the data keep theirs).
- **Made by:** `{command}`{started}
- **Figures** (alignment and foundations: macro-F1, of a foundation F1; scales: r and mean squared
  error; "reversed": the rule's polarity reversed, and the right answer with it; "stances": replies
  of every wording; "exchanges": exchanges written by hand):

{table}
{baselines}
Descriptive, never authoritative: the labels are judgments of US crowd workers about everyday life
in English, and the replies of the alignment lessons were made from templates.
"""


def rule_card(
    options: "AttributeOptions",
    base: str,
    schedule: Schedule,
    figures: Mapping[str, Mapping[str, float]],
    taught: "Taught",
    baselines: Mapping[str, Any],
) -> Card:
    """Describe what was trained; folders and files of this machine come without their place."""
    short = Path(base).name if Path(base).is_dir() else base
    data = [DATA.get(name, f"annotations of {name}") for name in taught.data]
    command = _command(options, schedule, short)
    started = started_from(options.start)
    facts = {
        "base": short,
        "data": data,
        "trained_on": {"part": "train", "limit": options.limit},
        "licence": "Apache-2.0",
        "epochs": figures["dev"]["epoch"],
        "seed": schedule.seed,
        "metrics": {part: rounded(rows) for part, rows in figures.items()},
        "baselines": dict(baselines),
        "command": command,
        **({"started": started} if started else {}),
    }
    text = _TEXT.format(
        base=short,
        tasks=", ".join(taught.labels),
        data=" and ".join(data),
        limit=f", its first {options.limit} stories and rules" if options.limit else "",
        thresholds=" and the thresholds" if "foundations" in taught.labels else "",
        command=command,
        started=told_start(started),
        table=figure_table(figures),
        baselines=_beside(baselines),
    )
    return Card(facts, text)


def _beside(baselines: Mapping[str, Any]) -> str:
    if not baselines:
        return ""
    return (
        f"\nFoundations without a model, macro-F1 on {baselines['part']}: commonest answer "
        f"{baselines['majority']:.3f}, every label always {baselines['always']:.3f}, "
        f"{baselines['words']} words a foundation {baselines['keywords']:.3f}.\n"
    )


def _command(options: "AttributeOptions", schedule: Schedule, base: str) -> str:
    """Return the command that does the same again: what it leaves out is a default."""
    words = [f"moralscope rules train {options.task} --base {base}"]
    words += [f"--data {options.data.name}"] if options.data else []
    words += [f"--stories {options.stories.name}"] if options.stories else []
    words += [f"--exchanges {options.exchanges.name}"] if options.exchanges else []
    words.append(f"--rank {options.adapter.rank}" if options.adapter else "--full")
    if not options.head:
        words += ["--grid"] if options.grid else [f"--learning-rate {schedule.learning_rate}"]
        words.append(f"--epochs {schedule.epochs} --batch {schedule.batch_size}")
        words.append(f"--patience {schedule.patience}")
    words.append(f"--max-length {options.max_length}")
    words.append(f"--seed {schedule.seed}")
    words += [f"--limit {options.limit}"] if options.limit else []
    words += [f"--start {path.name}" for path in options.start]
    words += ["--head"] if options.head else []
    words += ["--test"] if options.test else []
    return " ".join(words)
