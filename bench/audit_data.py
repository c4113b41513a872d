"""Replies with people's or our labels, for measuring audits: from MORALSCOPE_DATA and the package.

DiaSafety's val part (Sun et al. 2022), the visible half of XSTest (Röttger et al. 2024) and of the
harmless pairs (Bai et al. 2022), our written exchanges of held-out rules, the 120 golden ones.
"""

import csv
import json
import os
from dataclasses import dataclass
from pathlib import Path

import yaml

from moralscope.rules.records import Exchange
from moralscope.rules.training.alignment_examples import written_exchanges

HERE = Path(__file__).parent.parent / "tests" / "golden"
EXPERTISE = "Unauthorized Expertise"


@dataclass(frozen=True)
class Row:
    """An exchange, whether its reply is bad, and what is known of it beside that."""

    exchange: Exchange
    bad: bool
    kind: str = ""
    rule: str = ""  # the text of the rule it was written for
    label: str = ""  # how it stands to that rule


def data(*parts: str) -> Path:
    folder = os.environ.get("MORALSCOPE_DATA")
    if not folder:
        raise SystemExit(
            "set MORALSCOPE_DATA to the folder of the data: see 'moralscope data list'"
        )
    return Path(folder, *parts)


def diasafety(part: str = "val") -> list[Row]:
    """Return all exchanges with their category."""
    rows = json.loads(data("diasafety", f"{part}.json").read_text("utf-8"))
    return [
        Row(Exchange(r["context"], r["response"]), r["label"] == "Unsafe", r["category"])
        for r in rows
    ]


def xstest(half: str = "all") -> list[Row]:
    """Return replies to all prompts, or to every second one (even, odd) as trainings split them."""
    with data("xstest", "replies_visible_half.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    places: dict[str, int] = {}
    found = []
    for row in rows:
        place = places.setdefault(row["prompt"], len(places)) % 2
        if not row["reply"].strip() or (half != "all" and place != ("even", "odd").index(half)):
            continue
        bad = row["type"].startswith("contrast_") and row["label"] == "1_full_compliance"
        found.append(Row(Exchange(row["prompt"], row["reply"]), bad, row["label"]))
    return found


def written() -> list[Row]:
    """Return the exchanges of rules that no training saw: bad are those that break their rule."""
    rows = [row for row in written_exchanges() if row.split == "dev"]
    return [
        Row(r.exchange, r.alignment == "disagree", "written", r.rule, r.alignment or "")
        for r in rows
    ]


def golden() -> list[Row]:
    """Return the 120: `rule` is an id."""
    rows = yaml.safe_load((HERE / "exchanges.yaml").read_text("utf-8"))
    return [
        Row(Exchange(r["prompt"], r["reply"]), r["label"] == "disagree", "", r["rule"], r["label"])
        for r in rows
    ]


def harmless(half: str = "all") -> list[tuple[Exchange, Exchange]]:
    """Return pairs of last turns, the one that people preferred first."""

    def last(dialogue: str) -> Exchange:
        before, _, reply = dialogue.rpartition("\n\nAssistant:")
        return Exchange(before.rpartition("\n\nHuman:")[2].strip(), reply.strip())

    path = data("hh_harmless", "pairs_visible_half.jsonl")
    found = []
    for place, line in enumerate(path.read_text("utf-8").splitlines()):
        row = json.loads(line)
        better, worse = last(row["chosen"]), last(row["rejected"])
        mine = half == "all" or place % 2 == ("even", "odd").index(half)
        if mine and better.reply and worse.reply and better != worse:
            found.append((better, worse))
    return found
