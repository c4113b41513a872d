"""The card of a trained model: on what, from what, how well, and by which command."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_TEXT = """# {title} on {base}

Trained by moralscope on `{base}`: {what}.

- **Base:** {base}. An adapter works on these weights only (`expert.json` has their sha256).
- **Data:** {data}.
  {chosen}.
- **Licence:** Apache-2.0 (the base and the data keep theirs).
- **Made by:** `{command}`{started}
- **Figures** ({figures}):

{table}
{beside}
{limits}
"""


@dataclass(frozen=True, slots=True)
class CardText:
    """What a subject says on a card; the trainer adds base, command and figures.

    Parameters
    ----------
    title, what
        The heading, and what was trained.
    data
        A line a source, with its licence.
    chosen
        Which part was learnt from, and what chose the epoch.
    figures
        How the figures are to be read.
    limits
        What the model must not be taken for.
    table, beside
        The figures, where not a row a group; and what stands below them.
    facts
        More for `expert.json`.
    """

    title: str
    what: str
    data: Sequence[str]
    chosen: str
    figures: str
    limits: str
    table: str = ""
    beside: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Card:
    """A card as facts (for `expert.json`) and as text (for README.md)."""

    facts: Mapping[str, Any]
    text: str


def write_card(
    said: CardText,
    base: str,
    command: str,
    start: Sequence[Path],
    figures: Mapping[str, Mapping[str, float]],
    settings: Mapping[str, Any],
) -> Card:
    """Put a card together; folders and files of this machine are named without their place."""
    cards = [_card_of(folder) for folder in start]
    data = list(said.data)
    data += sorted({row for card in cards for row in card.get("data", ())} - set(data))
    made = {row for card in cards for row in (*card.get("started", ()), card.get("command"))}
    started = sorted(row for row in made if row)
    facts = {
        "base": base,
        "data": data,
        "trained_on": {"part": "train", "limit": settings["limit"]},
        "licence": "Apache-2.0",
        "epochs": figures["dev"]["epoch"],
        "seed": settings["seed"],
        "metrics": {
            part: {name: round(float(value), 4) for name, value in rows.items() if name != "epoch"}
            for part, rows in figures.items()
        },
        "command": command,
        **({"started": started} if started else {}),
        **said.facts,
    }
    text = _TEXT.format(
        title=said.title,
        base=base,
        what=said.what,
        data=" and ".join(data),
        chosen=said.chosen,
        command=command,
        started="".join(f"\n  from what `{row}` made" for row in started),
        figures=said.figures,
        table=said.table or _table(figures),
        beside=said.beside,
        limits=said.limits,
    )
    return Card(facts, text)


def _card_of(folder: Path) -> Mapping[str, Any]:
    """Return the facts of an adapter that was started from; none when it has no card."""
    try:
        found: Mapping[str, Any] = json.loads((folder / "expert.json").read_text("utf-8"))["card"]
        return found
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _table(figures: Mapping[str, Mapping[str, float]]) -> str:
    """Return a table in Markdown: a row a group, a column a part."""
    parts = list(figures)
    groups = [name for name in figures["dev"] if name not in {"epoch", "loss", "score"}]
    lines = [f"| task | {' | '.join(parts)} |", "|---" * (len(parts) + 1) + "|"]
    for group in groups:
        values = (figures[part].get(group) for part in parts)
        cells = " | ".join("—" if value is None else f"{value:.3f}" for value in values)
        lines.append(f"| {group} | {cells} |")
    return "\n".join(lines)
