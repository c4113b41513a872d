"""Rulebooks: sets of rules of thumb, ours or an organisation's, read from YAML or CSV and layered.

Reading refuses what cannot be used and names the line; what merely reads badly (no judgment, too
general) is kept and told in `warnings`. YAML is read without tags, anchors and aliases, and only as
deep as a rulebook goes. Comparing rules with each other is `lint`'s work.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.records import values_of
from moralscope.io.documents import Document, read_document
from moralscope.io.tables import Layout, TableFile
from moralscope.rules.judgments import broken_checks, unmet_criteria, words_of
from moralscope.rules.options import SHIPPED
from moralscope.rules.records import FOUNDATIONS, SCALE, SCALES, HasScales, ListedRule, RuleOfThumb

MAX_BYTES = 5_000_000
MAX_RULES = 20_000
MAX_LENGTH = 300  # characters of a rule or of an example
MAX_EXAMPLES = 20
NOT_LAW = "rules are opinions that many hold; several, even conflicting ones, may apply at once"
KEYS = frozenset({"id", "text", "foundations", *SCALES, "theme", "scope", "examples"})
_LISTS = frozenset({"foundations", "examples"})
_HEAD = frozenset({"name", "about", "rules"})
_DEPTH = 4  # a mapping of a list of mappings of lists
_FORMS = (".yaml", ".yml", ".csv", ".txt")
_KNOWN = f"a rule may have {', '.join(sorted(KEYS))}"
_REMEDY = (
    "a rule needs text; it may have id, foundations (1-3 of "
    f"{', '.join(FOUNDATIONS)}), {' and '.join(SCALES)} (1-5), theme, scope, examples"
)


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Named rules in order; `themes` gives the theme of a rule by its text."""

    name: str
    rules: tuple[RuleOfThumb, ...]
    themes: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def by_id(self) -> dict[str, RuleOfThumb]:
        """Return the rules that have an id, by it."""
        return {rule.id: rule for rule in self.rules if rule.id}

    def chosen(self, theme: str = "", foundation: str = "") -> "Rulebook":
        """Return the rules with that theme and that foundation; "" is any."""
        kept = tuple(
            rule
            for rule in self.rules
            if (not theme or self.themes.get(rule.text) == theme)
            and (not foundation or foundation in rule.foundations)
        )
        return Rulebook(self.name, kept, self.themes, self.warnings)

    def by_foundation(self) -> dict[str, int]:
        """Return how many rules have each foundation as their first."""
        first = Counter(rule.foundations[0] for rule in self.rules if rule.foundations)
        return {name: first[name] for name in FOUNDATIONS}

    def listed(self, rule: RuleOfThumb, score: float | None = None) -> ListedRule:
        """Return a rule as records list it."""
        return ListedRule(
            rule.id,
            rule.text,
            rule.foundations,
            **rule.scales,
            theme=self.themes.get(rule.text, ""),
            source=rule.source,
            score=None if score is None else round(score, 4),
        )


def load_rulebook(path: Path | str) -> Rulebook:
    """Return the shipped rulebook by its name, or read the user's YAML or CSV file."""
    if str(path) == SHIPPED:
        return shipped_rulebook()
    return parse_rulebook(read_text(Path(path)), str(path))


def read_text(path: Path) -> str:
    """Read a rulebook file within bounds; what is wrong with it is said in one line."""
    remedy = f"give a rulebook as {', '.join(_FORMS)}"
    if path.suffix.lower() not in _FORMS:
        raise InputError(f"rulebook {path} is neither YAML nor CSV nor plain lines", remedy)
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise InputError(f"rulebook {path} is not a file", remedy)
    return read_document(path, "rulebook", remedy, MAX_BYTES).content


@cache
def shipped_rulebook() -> Rulebook:
    """Return the rules that we wrote: everyday and chatbot-specific, over six foundations."""
    folder = resources.files(__package__) / "data" / "rules"
    parts = [
        parse_rulebook((folder / f"{name}.yaml").read_text("utf-8"), f"{name}.yaml")
        for name in FOUNDATIONS
    ]
    return layer_rulebooks(parts, SHIPPED)


def parse_rulebook(text: str, source: str) -> Rulebook:
    """Parse and validate a rulebook; an `InputError` names the line that is wrong."""
    name, rows = _rows(text, source)
    if not rows:
        raise InputError(f"rulebook {source} holds no rules", _REMEDY)
    if len(rows) > MAX_RULES:
        raise InputError(f"rulebook {source} has {len(rows):,} rules", f"at most {MAX_RULES:,}")
    rules, themes, warnings = [], {}, []
    lines: dict[str, int] = {}
    for line, cells in rows:
        where = f"rulebook {source} line {line}"
        entry = decode(RulebookEntry, _plain_cells(cells), where, remedy=_REMEDY)
        rule = RuleOfThumb(
            entry.text,
            entry.foundations,
            **entry.scales,
            scope=entry.scope,
            examples=entry.examples,
            id=entry.id,
        )
        for key in _keys(rule):
            if key in lines:
                problem = f"{where} repeats the rule of line {lines[key]} ({key[:60]!r})"
                raise InputError(problem, _REMEDY)
            lines[key] = line
        rules.append(rule)
        if entry.theme:
            themes[rule.text] = entry.theme
        warnings += [f"{source} line {line} {what}" for what in unmet_criteria(rule.text)]
    return Rulebook(name or Path(source).stem, tuple(rules), themes, tuple(warnings))


def layer_rulebooks(books: Sequence[Rulebook], name: str = "") -> Rulebook:
    """Lay rulebooks over each other: a later rule replaces one with its id or its text."""
    slots: list[RuleOfThumb | None] = []
    index: dict[str, int] = {}  # of the slot that a key's rule is in
    for rule in (rule for book in books for rule in book.rules):
        held = sorted({index[key] for key in _keys(rule) if key in index})
        for old in held:  # its id may be that of one rule and its text that of another
            for key in _keys(slots[old]):
                index.pop(key, None)
            slots[old] = None
        slot = held[0] if held else len(slots)
        slots[slot : slot + 1] = [rule]
        index |= dict.fromkeys(_keys(rule), slot)
    themes = {text: theme for book in books for text, theme in book.themes.items()}
    warnings = tuple(line for book in books for line in book.warnings)
    rules = tuple(rule for rule in slots if rule is not None)
    return Rulebook(name or "+".join(book.name for book in books), rules, themes, warnings)


def load_layers(paths: Iterable[Path | str]) -> Rulebook:
    """Read several rulebooks, the later over the earlier; none is the shipped one."""
    books = [load_rulebook(path) for path in paths] or [shipped_rulebook()]
    return books[0] if len(books) == 1 else layer_rulebooks(books)


def _keys(rule: RuleOfThumb | None) -> list[str]:
    """Return what a rule is known by: its id, and its words however they are written."""
    if rule is None:
        return []
    plain = " ".join(words_of(rule.text)).replace("it's", "it is")
    return [key for key in (rule.id, plain) if key]


@dataclass(frozen=True, slots=True, kw_only=True)
class RulebookEntry(HasScales):
    """A rule as a rulebook writes it."""

    text: str
    id: str = ""
    foundations: tuple[str, ...] = ()
    severity: float | None = None
    consensus: float | None = None
    theme: str = ""
    scope: str = ""
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = ("text", "id", "theme", "scope", "foundations", "examples")
        for name, value in values_of(self, *names).items():
            texts = (value,) if isinstance(value, str) else value
            if len(texts) > MAX_EXAMPLES:
                raise ValueError(f"has more than {MAX_EXAMPLES} items under '{name}'")
            if max(map(len, texts), default=0) > MAX_LENGTH:
                raise ValueError(f"has more than {MAX_LENGTH} characters under '{name}'")
            if not all(map(str.isprintable, texts)):
                raise ValueError(f"has control characters or line breaks under '{name}'")
        for problem in broken_checks(self.text):
            raise ValueError(f"has a rule that {problem}")
        for name in self.foundations:
            if name not in FOUNDATIONS:
                raise ValueError(f"has the unknown foundation {name!r}")
        if len(self.foundations) > 3 or len(set(self.foundations)) < len(self.foundations):
            raise ValueError("has not one to three different foundations")
        for name, number in self.scales.items():
            if number is not None and not SCALE[0] <= number <= SCALE[1]:  # nor is NaN
                raise ValueError(f"has the {name} {number:g}, not {SCALE[0]:g} to {SCALE[1]:g}")


def _plain_cells(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule's cells as `decode` takes them: numbers as such, lists as such, no gaps."""
    plain: dict[str, Any] = {}
    for key, cell in cells.items():
        if key in _LISTS:
            parts = cell if isinstance(cell, list) else [cell]
            texts = [part.strip() if isinstance(part, str) else part for part in parts]
            plain[key] = [text for text in texts if text]
        else:
            plain[key] = cell.strip() if isinstance(cell, str) else cell
        if key in SCALES:
            with suppress(ValueError, TypeError):
                plain[key] = float(plain[key])
        if key == "foundations":
            plain[key] = [str(name).lower() for name in plain[key]]
    return {key: value for key, value in plain.items() if value != ""}


def _rows(text: str, source: str) -> tuple[str, list[tuple[int, dict[str, Any]]]]:
    """Return the name that the file gives itself, or "", and its rules' lines and cells."""
    document = Document(text, f"rulebook {source}", _KNOWN)
    if source.lower().endswith(".csv"):
        table = TableFile(
            document.content, name=document.name, kind=".csv", layout=Layout(lower=True)
        )
        rows = []
        for line, cells in table.strict_rows(("text",), _KNOWN):
            if not set(table.header) <= KEYS:
                raise document.wrong(1, f"has the columns {', '.join(table.header)[:120]}")
            lists = {key: cells[key].split("|") for key in _LISTS & cells.keys()}
            rows.append((line, {**cells, **lists}))
        return "", rows
    if source.lower().endswith(".txt"):
        lines = enumerate(text.split("\n"), 1)
        return "", [(n, {"text": line}) for n, line in lines if line.strip() and line[0] != "#"]
    root = document.yaml_node(_DEPTH)
    head = {"rules": root} if root.is_list else root.fields(_HEAD)
    rules = [
        (node.line, {key: value.plain() for key, value in node.fields(KEYS).items()})
        for node in head.get("rules", root).items("rules under 'rules:'")
    ]
    return head["name"].text() if "name" in head else "", rules
