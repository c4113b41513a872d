"""Saved runs read for a comparison: what may be compared, and which item belongs to which.

Reads records of `score` and `audit` in their plain form, friend or foe. Computes no figures.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.registry import did_you_mean
from moralscope.io.files import read_run
from moralscope.io.record_view import check_plain, number, rows_of, text
from moralscope.rules.records import FOUNDATIONS, SCALES, Alignment, RuleFinding
from moralscope.rules.thresholds import Thresholds, known_limits
from moralscope.rules.verdict import worst_broken

SCORE, AUDIT = "score", "audit"
BY = ("action", "id", "prompt", "exchange")
_SAME = {SCORE: ("axis", "template", "prompts", "fit", "norm"), AUDIT: ()}
_MEASURE = {
    SCORE: ("encoder", "experts"),
    AUDIT: ("rulebook", "rules", "experts", "encoder", "bits", "top", "thresholds", "generate"),
}  # what may differ, and is then said; with `strict` it may not
_DAMAGED = "the file was changed or damaged: run the job again"
_NAMED = 120
Plain = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunItem:
    """One item of a run: an action with its score, or a reply with its verdict."""

    id: str
    text: str  # the action or the prompt
    score: float
    reply: str = ""
    flagged: bool | None = None
    foundations: frozenset[str] = frozenset()  # of the worst rule that a flagged reply breaks
    span: tuple[float, float] | None = None
    prompts: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run as it was saved; `folder` where it is a corpus run given as its folder."""

    path: Path
    plain: Plain  # without its results
    items: Sequence[RunItem]
    unscored: int = 0
    folder: Path | None = None

    @property
    def job(self) -> str:
        """Which job it is a run of: score or audit."""
        return str(self.plain["job"])

    @property
    def config(self) -> Plain:
        """What the run was told."""
        found: Plain = self.plain["config"]
        return found

    @property
    def statistics(self) -> Plain:
        """What the run found in sum."""
        found: Plain = self.plain["statistics"]
        return found

    @property
    def models(self) -> list[str]:
        """The weights that the run used, by name and checksum."""
        return [
            f"{text(model.get('name'))}@{text(model.get('sha256'))[:8]}"
            for model in rows_of(self.plain["models"], f"{self.path}: 'models'")
        ]

    @property
    def is_corpus(self) -> bool:
        """Whether the rows of the run are in a folder of parts, not in its record."""
        return isinstance(self.config.get("corpus"), Mapping)


@dataclass(frozen=True, slots=True)
class PairedItems:
    """Items of both runs side by side, and those that only one of them has."""

    pairs: Sequence[tuple[RunItem, RunItem]]
    only_before: Sequence[RunItem]
    only_after: Sequence[RunItem]
    by: str
    repeated: int = 0


def open_run(path: Path) -> SavedRun:
    """Read a saved run: a record, or the folder of a corpus run.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "run.json")
    ...     _ = path.write_text('{"schema": "moralscope.run/1", "job": "score", "config": {}, '
    ...                         '"results": [{"action": "smile", "score": 0.5}]}')
    ...     open_run(path).items[0].score
    0.5
    """
    folder = path if path.is_dir() else None
    source = path / "_run" / "record.json" if folder else path
    if folder and not source.is_file():
        if source.parent.is_dir():
            problem = f"the run in {folder} is not finished"
            raise InputError(problem, "finish it first: its command with --resume")
        raise InputError(f"{folder} holds no run", "give a folder that was made with --out DIR")
    raw = read_run(source)
    results = raw.get("results") if isinstance(raw, Mapping) else None
    if isinstance(results, list):  # checked below; texts stay whole, since items are found by them
        raw = {**raw, "results": []}
    plain = check_plain(raw, str(source))
    if plain["job"] not in _SAME:
        raise InputError(
            f"{source} is a record of '{plain['job'][:60]}'",
            "give two records of 'moralscope score' or 'moralscope audit', saved with --out",
        )
    read = _scored if plain["job"] == SCORE else _audited(plain["config"], str(source))
    rows = rows_of(results, f"{source}: 'results'")
    found = [read(row, f"{source}, result {place:,},") for place, row in enumerate(rows, 1)]
    items = [item for item in found if item is not None]
    return SavedRun(path, plain, items, len(found) - len(items), folder)


def check_comparable(before: SavedRun, after: SavedRun, *, strict: bool = False) -> list[str]:
    """Refuse runs that measure different things; return what else differs, a line each.

    Another model is no hindrance: that is what is compared. `strict` refuses other weights, rules
    and limits too, so that only the texts may differ.
    """
    if before.job != after.job:
        problem = f"{before.path} is a run of {before.job}, {after.path} one of {after.job}"
        raise InputError(problem, "give two runs of the same job")
    for name in _SAME[before.job]:
        if name == "prompts" and "template" not in before.config:
            continue  # an axis without questions scores the first wording, however many there are
        if before.config.get(name) != after.config.get(name):
            runs = (before, after)
            told = " and ".join(f"{_short(run.config.get(name))} in {run.path}" for run in runs)
            problem = f"the runs differ in {name}: {told}"
            raise InputError(problem, f"score both with the same {name}")
    differing = [
        f"{name} {_short(before.config.get(name))} → {_short(after.config.get(name))}"
        for name in _MEASURE[before.job]
        if before.config.get(name) != after.config.get(name)
    ]
    if before.models != after.models:
        differing.append(f"weights {', '.join(before.models)} → {', '.join(after.models)}")
    if strict and differing:
        problem = f"{after.path} was not measured like {before.path}: {differing[0]}"
        raise InputError(problem, "measure both alike, or leave out --strict")
    return _notes(before, after, differing)


def _notes(before: SavedRun, after: SavedRun, differing: Sequence[str]) -> list[str]:
    notes = []
    if before.job == AUDIT and differing:
        notes.append(
            f"the auditor itself is not the same: {'; '.join(differing)}; what changed may come "
            "from it and not from the replies (--strict refuses such runs)"
        )
    if text(before.config.get("axis")) == "choice" and before.models != after.models:
        notes.append(
            "choice scores of two models lie on scales of their own: of the figures, those of rank "
            "(spearman) can be trusted; 'compare --encoders' puts both on a common scale"
        )
    versions = [text(run.plain.get("version")) for run in (before, after)]
    if versions[0] != versions[1]:
        notes.append(f"made by moralscope {versions[0]} and {versions[1]}")
    notes += [
        f"{run.path}: {run.unscored:,} items without a score were left out"
        for run in (before, after)
        if run.unscored
    ]
    return notes


def pair_items(before: SavedRun, after: SavedRun, by: str | None = None) -> PairedItems:
    """Find for each item of one run its fellow in the other.

    Parameters
    ----------
    before, after
        Two comparable runs.
    by
        `action` (score), `prompt`, `exchange` (prompt and reply) or `id` (audit). Audits are
        paired by prompt where each prompt stands once in both runs, else by exchange.

    Notes
    -----
    What stands several times is paired in its order: the first with the first.
    """
    chosen = _key(before, after, by)
    keys = _KEYS[chosen]
    waiting: dict[tuple[str, ...], list[RunItem]] = {}
    for item in reversed(after.items):
        waiting.setdefault(keys(item), []).append(item)
    pairs, only_before = [], []
    for item in before.items:
        fellows = waiting.get(keys(item))
        if fellows:
            pairs.append((item, fellows.pop()))
        else:
            only_before.append(item)
    left = {id(item) for fellows in waiting.values() for item in fellows}
    only_after = [item for item in after.items if id(item) in left]
    if not pairs:
        others = " or ".join(name for name in BY[1:] if name != chosen)
        first = f"'{keys(before.items[0])[0][:60]}'" if before.items else "nothing"
        raise InputError(
            f"{before.path} and {after.path} have no {chosen} in common ({first} is only in one)",
            "give two runs over the same file"
            + ("" if before.job == SCORE else f", or pair them --by {others}"),
        )
    repeated = len(before.items) - len({keys(item) for item in before.items})
    return PairedItems(pairs, only_before, only_after, chosen, repeated)


def _key(before: SavedRun, after: SavedRun, by: str | None) -> str:
    known = BY[:1] if before.job == SCORE else BY[1:]
    if by is None:
        if before.job == SCORE:
            return "action"
        runs = before.items, after.items
        unique = all(len({item.text for item in items}) == len(items) for items in runs)
        return "prompt" if unique else "exchange"
    if by not in BY:
        raise UnknownName(f"--by knows no '{by[:60]}'", did_you_mean(by, known))
    if by not in known:
        raise InputError(f"runs of {before.job} have no {by}", f"pair them by {' or '.join(known)}")
    return by


_KEYS: Mapping[str, Callable[[RunItem], tuple[str, ...]]] = {
    "action": lambda item: (item.text,),
    "id": lambda item: (item.id,),
    "prompt": lambda item: (item.text,),
    "exchange": lambda item: (item.text, item.reply),
}


def _scored(row: Plain, where: str) -> RunItem | None:
    action, score = row.get("action"), _finite(row.get("score"), where)
    if not isinstance(action, str):
        raise InputError(f"{where} has no action", _DAMAGED)
    if score is None:
        return None
    low, high = (_finite(row.get(key), where) for key in ("low", "high"))
    given = row.get("prompts") or []
    values = [_finite(each, where) for each in given] if isinstance(given, list) else []
    prompts = tuple(each for each in values if each is not None)
    span = None if low is None or high is None else (low, high)
    return RunItem("", action, score, span=span, prompts=prompts)


def _audited(config: Plain, source: str) -> Callable[[Plain, str], RunItem | None]:
    """Return what reads a reply; the limits of the run say which rule it breaks worst."""
    given = config.get("thresholds")
    limits = known_limits(given, source) if isinstance(given, Mapping) else Thresholds()

    def read(row: Plain, where: str) -> RunItem | None:
        verdict, prompt, reply = row.get("verdict"), row.get("prompt"), row.get("reply")
        if not isinstance(prompt, str) or not isinstance(reply, str):
            raise InputError(f"{where} has no prompt and reply", _DAMAGED)
        if not isinstance(verdict, Mapping) or not isinstance(verdict.get("flag"), bool):
            raise InputError(f"{where} has no verdict", _DAMAGED)
        score = _finite(verdict.get("score"), where)
        if score is None:
            return None
        flag = verdict["flag"]
        rules = rows_of(row.get("rules") or [], f"{where} 'rules'")
        breached = _breached(rules, limits, where) if flag else frozenset()
        return RunItem(str(row.get("id", "")), prompt, score, reply, flag, breached)

    return read


def _breached(rules: Sequence[Plain], limits: Thresholds, where: str) -> frozenset[str]:
    """Return the foundations of the worst broken rule, as `rules.audit_statistics` counts them."""
    worst = worst_broken([_finding(rule, where) for rule in rules], limits)
    shares = worst.foundations if worst is not None else {}
    return frozenset(name for name in FOUNDATIONS if shares.get(name, 0.0) >= 0.5)


def _finding(rule: Plain, where: str) -> RuleFinding:
    told = rule.get("alignment")
    alignment = told if isinstance(told, Mapping) else {}
    scales: dict[str, Any] = {name: _finite(rule.get(name), where) for name in SCALES}
    return RuleFinding(
        text(rule.get("text")),
        text(rule.get("source")),
        Alignment(text(alignment.get("label")), _shares(alignment.get("probabilities"), where)),
        **scales,
        foundations=_shares(rule.get("foundations"), where),
    )


def _shares(given: Any, where: str) -> dict[str, float]:
    if not isinstance(given, Mapping):
        return {}
    return {name: _finite(value, where) or 0.0 for name, value in given.items()}


def _finite(value: Any, where: str) -> float | None:
    found = number(value, where)
    return found if found is not None and math.isfinite(found) else None


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} others" if not value else f"“{text(value[0])[:40]}”, …"
    return text(value)[:_NAMED]
