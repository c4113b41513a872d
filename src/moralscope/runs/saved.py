"""Saved runs read for a comparison: what may be compared, and which item belongs to which.

Reads records of `score` and `audit`, friend or foe. Computes no figures.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moralscope.core.decode import decode
from moralscope.core.errors import InputError, UnknownName
from moralscope.core.records import ActionScore, ModelRef, grouped
from moralscope.core.registry import did_you_mean
from moralscope.io.files import read_run
from moralscope.io.run_records import check_record, text
from moralscope.rules.records import FOUNDATIONS, AuditedReply
from moralscope.rules.thresholds import known_limits
from moralscope.rules.verdict import worst_broken

SCORE, AUDIT = "score", "audit"
BY = ("action", "id", "prompt", "exchange")
_SAME = {SCORE: ("axis", "template", "prompts", "fit", "norm"), AUDIT: ()}
_MEASURE = {
    SCORE: ("encoder", "experts"),
    AUDIT: ("rulebook", "rules", "experts", "encoder", "bits", "top", "thresholds", "generate"),
}  # what may differ, and is then said; with `strict` it may not
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRun:
    """A run as it was saved."""

    path: Path
    job: str  # score or audit
    config: Plain
    statistics: Plain
    models: Sequence[str]  # the weights that the run used, by name and checksum
    created: str | None
    version: str
    items: Sequence[RunItem]
    unscored: int = 0
    folder: Path | None = None  # where it is a corpus run given as its folder

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
    """Read a saved run: a record, or the folder of a corpus run."""
    folder = path if path.is_dir() else None
    source = path / "_run" / "record.json" if folder else path
    if folder and not source.is_file():
        if source.parent.is_dir():
            problem = f"the run in {folder} is not finished"
            raise InputError(problem, "finish it first: its command with --resume")
        raise InputError(f"{folder} holds no run", "give a folder that was made with --out DIR")
    plain = check_record(read_run(source), str(source), cut=False)
    job, results, where = plain["job"], plain["results"], f"{source}: results"
    if job == SCORE:
        items = []
        for row in decode(list[ActionScore], results, where):
            span = (row.low, row.high) if math.isfinite(row.low + row.high) else None
            prompts = tuple(value for value in row.prompts if math.isfinite(value))
            items.append(RunItem("", row.action, row.score, span=span, prompts=prompts))
    elif job == AUDIT:
        thresholds = plain["config"].get("thresholds")
        limits = known_limits(thresholds if isinstance(thresholds, Mapping) else {}, str(source))
        items = []
        for reply in decode(list[AuditedReply], results, where):
            verdict = reply.verdict
            # The limits of the run say which rule is broken worst; the threshold is that of
            # `rules.audit_statistics`, which counts them in sum.
            worst = worst_broken(reply.rules, limits) if verdict.flag else None
            shares = worst.foundations if worst is not None else {}
            breached = frozenset(name for name in FOUNDATIONS if shares.get(name, 0.0) >= 0.5)
            exchange = (reply.id, reply.prompt, verdict.score, reply.reply)
            items.append(RunItem(*exchange, verdict.flag, breached))
    else:
        raise InputError(
            f"{source} is a record of '{job[:60]}'",
            "give two records of 'moralscope score' or 'moralscope audit', saved with --out",
        )
    scored = [item for item in items if math.isfinite(item.score)]
    models = decode(list[ModelRef], plain["models"], f"{source}: models")
    return SavedRun(
        path=path,
        job=job,
        config=plain["config"],
        statistics=plain["statistics"],
        models=[f"{model.name}@{model.sha256[:8]}" for model in models],
        created=plain.get("created"),
        version=text(plain.get("version")),
        items=scored,
        unscored=len(items) - len(scored),
        folder=folder,
    )


def check_comparable(before: SavedRun, after: SavedRun, *, strict: bool = False) -> list[str]:
    """Refuse runs that measure different things; return what else differs, a line each.

    Another model is no hindrance: that is what is compared. `strict` refuses other weights, rules
    and limits too, so that only the texts may differ.
    """
    if before.job != after.job:
        problem = f"{before.path} is a run of {before.job}, {after.path} one of {after.job}"
        raise InputError(problem, "give two runs of the same job")
    if (before.folder is None) != (after.folder is None):
        problem = f"{before.path} and {after.path} are a folder and a file"
        raise InputError(problem, "give two records, or two folders of corpus runs")
    if before.is_corpus != after.is_corpus:
        corpus = before if before.is_corpus else after
        problem = f"{corpus.path} is the record of a corpus run, the other is not"
        raise InputError(problem, "run both the same way")
    for name in _SAME[before.job]:
        if name == "prompts" and "template" not in before.config:
            continue  # an axis without questions scores the first wording, however many there are
        if before.config.get(name) != after.config.get(name):
            runs = (before, after)
            values = " and ".join(f"{_short(run.config.get(name))} in {run.path}" for run in runs)
            problem = f"the runs differ in {name}: {values}"
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
    notes = []
    if before.job == AUDIT and differing:
        notes.append(
            f"the auditor itself is not the same: {'; '.join(differing)}; what changed may come "
            "from it and not from the replies (--strict refuses such runs)"
        )
    if before.config.get("axis") == "choice" and before.models != after.models:
        notes.append(
            "choice scores of two models lie on scales of their own: of the figures, those of rank "
            "(spearman) can be trusted; 'compare --encoders' puts both on a common scale"
        )
    if before.version != after.version:
        notes.append(f"made by moralscope {before.version} and {after.version}")
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
    known = BY[:1] if before.job == SCORE else BY[1:]
    if by is None:
        runs = before.items, after.items
        unique = all(len({item.text for item in items}) == len(items) for items in runs)
        by = known[0] if before.job == SCORE else "prompt" if unique else "exchange"
    if by not in BY:
        raise UnknownName(f"--by knows no '{by[:60]}'", did_you_mean(by, known))
    if by not in known:
        raise InputError(f"runs of {before.job} have no {by}", f"pair them by {' or '.join(known)}")
    key_of = _KEYS[by]
    waiting = grouped((key_of(item), item) for item in reversed(after.items))
    pairs, only_before = [], []
    for item in before.items:
        fellows = waiting.get(key_of(item))
        if fellows:
            pairs.append((item, fellows.pop()))
        else:
            only_before.append(item)
    left = {id(item) for fellows in waiting.values() for item in fellows}
    only_after = [item for item in after.items if id(item) in left]
    if not pairs:
        others = " or ".join(name for name in BY[1:] if name != by)
        first = f"'{key_of(before.items[0])[0][:60]}'" if before.items else "nothing"
        raise InputError(
            f"{before.path} and {after.path} have no {by} in common ({first} is only in one)",
            "give two runs over the same file"
            + ("" if before.job == SCORE else f", or pair them --by {others}"),
        )
    repeated = len(before.items) - len({key_of(item) for item in before.items})
    return PairedItems(pairs, only_before, only_after, by, repeated)


_KEYS: Mapping[str, Callable[[RunItem], tuple[str, ...]]] = {
    "action": lambda item: (item.text,),
    "id": lambda item: (item.id,),
    "prompt": lambda item: (item.text,),
    "exchange": lambda item: (item.text, item.reply),
}


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} others" if not value else f"“{text(value[0])[:40]}”, …"
    return text(value)[:_NAMED]
