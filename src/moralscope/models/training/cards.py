"""The card of a trained model: on what, from what, how well, and by which command."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
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
    """What a subject says on a card; the trainer adds base, command and figures."""

    title: str
    what: str  # was trained
    data: Sequence[str]  # a line a source, with its licence
    chosen: str  # which part was learnt from, and what chose the epoch
    figures: str  # how the figures are to be read
    limits: str  # what the model must not be taken for
    table: str = ""  # the figures, where not a row a group
    beside: str = ""  # what stands below them
    facts: Mapping[str, Any] = field(default_factory=dict)  # more for `expert.json`


@dataclass(frozen=True, slots=True)
class Card:
    """A card as facts (for `expert.json`) and as text (for README.md)."""

    facts: Mapping[str, Any]
    text: str


def write_card(
    text: CardText,
    base: str,
    command: str,
    start: Sequence[Path],
    figures: Mapping[str, Mapping[str, float]],
    settings: Mapping[str, Any],
) -> Card:
    """Put a card together; folders and files of this machine are named without their path."""
    cards = []
    for folder in start:  # an adapter that was started from may have no card
        with suppress(OSError, ValueError, KeyError, TypeError):
            cards.append(json.loads((folder / "expert.json").read_text("utf-8"))["card"])
    data = list(text.data)
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
        **text.facts,
    }
    table = [f"| task | {' | '.join(figures)} |", "|---" * (len(figures) + 1) + "|"]
    for group in figures["dev"]:
        if group not in {"epoch", "loss", "score"}:
            values = (figures[part].get(group) for part in figures)
            cells = " | ".join("—" if value is None else f"{value:.3f}" for value in values)
            table.append(f"| {group} | {cells} |")
    readme = _TEXT.format(
        title=text.title,
        base=base,
        what=text.what,
        data=" and ".join(data),
        chosen=text.chosen,
        command=command,
        started="".join(f"\n  from what `{row}` made" for row in started),
        figures=text.figures,
        table=text.table or "\n".join(table),
        beside=text.beside,
        limits=text.limits,
    )
    return Card(facts, readme)
