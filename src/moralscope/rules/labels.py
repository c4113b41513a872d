"""Labels of replies by rules of one's own: whether a reply breaks a rule.

A table with prompt, reply, rule (its text or id) and broken (yes or no), or one in the columns of
MIC.csv: what annotation projects export, and what the page saves where somebody agrees or disagrees
with a verdict. Labels of rules that the rulebook does not have are left out and counted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.io.tables import Layout, TableFile, is_table, read_header
from moralscope.rules.annotations.reading import MIC_COLUMNS, read_annotations
from moralscope.rules.judgments import words_of
from moralscope.rules.records import Exchange
from moralscope.rules.rulebook import Rulebook
from moralscope.rules.texts.exchanges import MAX_CHARACTERS

COLUMNS = ("prompt", "reply", "rule", "broken")
_REMEDY = "give CSV, JSONL or Parquet with the columns prompt, reply, rule and broken"
BROKEN = {
    **dict.fromkeys(("yes", "true", "1", "broken", "disagree"), True),
    **dict.fromkeys(("no", "false", "0", "kept", "agree", "neither"), False),
}
LabelRow = tuple[Exchange, str, bool]  # a rule's text or id, and whether it is broken


@dataclass(frozen=True, slots=True)
class BreachLabel:
    """What somebody says of a reply and a rule, by the rule's text."""

    exchange: Exchange
    rule: str
    broken: bool

    @property
    def group(self) -> str:
        """What must not stand in two parts of a split: replies to one prompt are alike."""
        return " ".join((self.exchange.prompt or self.exchange.reply).casefold().split())


@dataclass(frozen=True, slots=True)
class LabelFile:
    """The labels of a file, and how many spoke of rules that the rulebook does not have."""

    labels: tuple[BreachLabel, ...]
    foreign: int = 0


def read_labels(path: Path, book: Rulebook) -> LabelFile:
    """Read labels of the rules of a book; malformed lines are refused by number."""
    return match_labels(read_rows(path), book, str(path))


def read_rows(path: Path) -> list[LabelRow]:
    """Read labels of any rules."""
    if not is_table(path):
        raise InputError(f"{path} is not a file of labels", _REMEDY)
    if path.suffix.lower() == ".csv" and MIC_COLUMNS["rule"] in read_header(path):
        annotated = read_annotations(path, kind="mic").annotations
        aligned = [row for row in annotated if row.alignment is not None]
        return [(row.exchange, row.rule, row.alignment == "disagree") for row in aligned]
    return list(_table(path))


def match_labels(rows: Iterable[LabelRow], book: Rulebook, source: str) -> LabelFile:
    """Return the labels that speak of the rules of a book, by their texts or ids."""
    names = {rule.id: rule.text for rule in book.rules if rule.id}
    texts = {" ".join(words_of(rule.text)): rule.text for rule in book.rules}
    labels, foreign = [], 0
    for exchange, rule, broken in rows:
        text = names.get(rule) or texts.get(" ".join(words_of(rule)))
        if text is None:
            foreign += 1
        else:
            labels.append(BreachLabel(exchange, text, broken))
    if not labels:
        problem = f"{source} has no label of a rule in {book.name}"
        raise InputError(problem, "name rules by their text or id" if foreign else _REMEDY)
    return LabelFile(tuple(dict.fromkeys(labels)), foreign)


def _table(path: Path) -> Iterator[LabelRow]:
    table = TableFile(path, layout=Layout(remedy=_REMEDY))
    for number, (line, cells) in enumerate(table.good_rows(COLUMNS[1:]), 1):
        said = str(cells.get("broken")).strip().casefold()
        texts = [cells.get(name) or "" for name in COLUMNS[:3]]
        if said not in BROKEN:
            table.note(line, f"has '{said[:20]}' under 'broken', not yes or no")
        elif not all(isinstance(text, str) and len(text) <= MAX_CHARACTERS for text in texts):
            table.note(line, "has no text, or too long a one, under prompt, reply or rule")
        else:
            prompt, reply, rule = texts
            yield Exchange(prompt, reply, str(number)), rule.strip(), BROKEN[said]
    table.check()
