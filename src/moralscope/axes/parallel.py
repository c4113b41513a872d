"""The same actions in several languages: ours, or a table of the user's with a column a language.

Ours are 32 plain actions (12 good, 12 bad, 8 neither), written by us in all languages of
`LANGUAGES` and reviewed by no native speaker.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from moralscope.axes.options import LANGUAGES
from moralscope.core.errors import InputError
from moralscope.io.actions import MAX_ACTIONS, check_text
from moralscope.io.documents import shipped_text
from moralscope.io.tables import Layout, Limits, TableFile

SIDES = ("good", "bad", "neutral")
_LABEL = "label"
_REMEDY = f"give CSV with a column for each language ({', '.join(LANGUAGES)})"


@dataclass(frozen=True, slots=True)
class ParallelActions:
    """Actions by language, all in the same order; `labels` say good, bad, neutral or nothing."""

    source: str
    texts: Mapping[str, tuple[str, ...]]
    labels: tuple[str, ...]
    unreviewed: bool = False

    def labelled(self, language: str, side: str) -> tuple[str, ...]:
        """Return the actions of one side."""
        pairs = zip(self.texts[language], self.labels, strict=True)
        return tuple(text for text, label in pairs if label == side)

    def in_languages(self, languages: Sequence[str]) -> "ParallelActions":
        """Keep some languages; one that is not there is refused."""
        missing = [code for code in languages if code not in self.texts]
        if missing:
            problem = f"{self.source} has no actions in {LANGUAGES[missing[0]]}"
            raise InputError(problem, f"add a column '{missing[0]}'")
        chosen = {code: self.texts[code] for code in languages}
        return ParallelActions(self.source, chosen, self.labels, self.unreviewed)


@cache
def load_parallel() -> ParallelActions:
    """Return our own actions."""
    text = shipped_text("moralscope.axes", "parallel_actions.csv")
    return _parallel(TableFile(text, name="our parallel actions", kind=".csv"), unreviewed=True)


def read_parallel(path: Path) -> ParallelActions:
    """Read a table with a column for each language and, where there is one, a `label`.

    Every row needs a text in each of the file's languages: an action that one language lacks cannot
    be compared.
    """
    layout, limits = Layout(lower=True, remedy=_REMEDY), Limits(rows=MAX_ACTIONS)
    return _parallel(TableFile(path.expanduser(), layout=layout, limits=limits))


def _parallel(table: TableFile, *, unreviewed: bool = False) -> ParallelActions:
    texts: dict[str, list[str]] = {}
    labels: list[str] = []
    for line, cells in table.strict_rows(remedy=_REMEDY):
        if not labels:
            texts = {name: [] for name in cells if name in LANGUAGES}
            if len(texts) < 2:
                raise InputError(f"{table.name} does not have two languages", _REMEDY)
        for code, listed in texts.items():
            text = str(cells.get(code) or "").strip()
            if not text:
                raise table.wrong(
                    line, f"has no action under '{code}'", "write it in all languages"
                )
            check_text(text, table.name, "line", line)
            listed.append(text)
        label = str(cells.get(_LABEL) or "").strip()
        if label and label not in SIDES:
            raise table.wrong(line, f"says label '{label[:40]}'", f"say {', '.join(SIDES)}")
        labels.append(label)
    if not labels:
        raise InputError(f"{table.name} holds no actions", _REMEDY)
    actions = {code: tuple(listed) for code, listed in texts.items()}
    return ParallelActions(table.name, actions, tuple(labels), unreviewed)
