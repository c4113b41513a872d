"""`words compare`: how corpora, or the periods of one corpus, value actions differently.

Returns run records. What was too rare to be compared is always named, never replaced.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Report
from moralscope.core.records import NOT_ADVICE, RunRecord, Statistics
from moralscope.io.actions import read_actions
from moralscope.words.comparison import (
    MIN_SPREAD,
    CorpusAgreement,
    CorpusComparison,
    Ground,
    common_ground,
    everyday_actions,
)
from moralscope.words.corpora import TextCorpus, corpus_files, dated_files, periods, read_files
from moralscope.words.options import CorporaOptions
from moralscope.words.paper import load_paper
from moralscope.words.spaces import TrainingSettings, train_runs
from moralscope.words.trajectories import PeriodGround, period_ground, trajectories
from moralscope.words.word_sets import load_word_sets

JOB = "words compare"
MIN_CORPUS = 5_000  # words: below this, vectors are noise
SMALL_CORPUS = 100_000
_NAMED = 12  # words that a warning names
_INTERVAL = "95 %: mean ± t·sd over runs, each on a bootstrap draw of the text with its own seed"
_CHANCE = "one action in twenty leaves its 95 % interval by chance"


@dataclass(frozen=True, slots=True)
class PaperPercentiles(Statistics):
    """The mean percentile of the papers' dos and don'ts in a corpus: a check of its space."""

    dos: float | None
    donts: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CorporaStatistics(Statistics):
    """What corpora share and where they part."""

    agreement: CorpusAgreement
    paper_percentiles: Mapping[str, PaperPercentiles]  # by corpus
    changed: int  # differences whose interval leaves out zero
    compared: int
    dropped_actions: Sequence[str]  # too rare to be compared
    dropped_set_words: Sequence[str]


@dataclass(frozen=True, slots=True)
class PeriodsStatistics(Statistics):
    """What was too rare to be followed over time."""

    dropped_actions: Sequence[str]
    dropped_set_words: Sequence[str]


def compare_corpora(
    corpora: Sequence[tuple[str, Path]],
    options: CorporaOptions | None = None,
    *,
    report: Report | None = None,
    **fields: Any,
) -> RunRecord:
    """Compare how two or more corpora value actions.

    Parameters
    ----------
    corpora
        A name and a text file or folder for each.
    options
        What is compared, and with how much work; or the fields of `CorporaOptions` as keywords.
        The seed is that of the draws of text and of the training of vectors.
    report
        Called with (done, total) trainings as the work goes on.

    Returns
    -------
    RunRecord
        `results` holds an `ActionDifference` for every action and pair of corpora, per pair the
        biggest mover first; `statistics` the shared and divergent dos and don'ts.
    """
    chosen = chosen_options(CorporaOptions, options, fields)
    if len(corpora) < 2:
        raise InputError("only one corpus was given", "give two or more, each as NAME=PATH")
    names = [name for name, _ in corpora]
    for index, name in enumerate(names):
        if not re.fullmatch(r"[\w .-]{1,40}", name):
            raise InputError(
                f"'{name[:60]}' cannot name a corpus",
                "use letters, digits, dots and hyphens, at most 40",
            )
        if name in names[:index]:
            raise InputError(f"two corpora are called '{name}'", "give each a name of its own")
    actions, notes = _actions(chosen.words)
    sets = load_word_sets(chosen.sets).lowered()
    files = [corpus_files(path) for _, path in corpora]  # every path is looked at before any work
    texts = [read_files(paths, name) for name, paths in zip(names, files, strict=True)]
    notes += _check_sizes(texts)
    ground = common_ground(texts, actions, sets, chosen.min_count)
    settings = _settings(chosen)
    spaces = train_runs(texts, settings, runs=chosen.runs, seed=chosen.seed, report=report)
    comparison = CorpusComparison(texts, spaces, ground)
    pairs = combinations(range(len(texts)), 2)
    results = [row for pair in pairs for row in comparison.differences(*pair)]
    paper, paper_percentiles = load_paper(), {}
    for index, name in enumerate(names):
        values = comparison.values(index)
        sides = (
            [values[word].percentile for word in words if word in values]
            for words in (paper.dos, paper.donts)
        )
        paper_percentiles[name] = PaperPercentiles(
            *(float(np.mean(ranks)) if ranks else None for ranks in sides)
        )
    return RunRecord(
        JOB,
        seed=chosen.seed,
        config={
            **_config(chosen, settings, texts, ground),
            "mode": "corpora",
            "shared_words": len(ground.words),
        },
        results=results,
        statistics=CorporaStatistics(
            agreement=comparison.agreement(),
            paper_percentiles=paper_percentiles,
            changed=sum(row.low > 0 or row.high < 0 for row in results),
            compared=len(results),
            dropped_actions=ground.dropped_actions,
            dropped_set_words=ground.dropped_set_words,
        ),
        warnings=[NOT_ADVICE, _CHANCE, *notes, *_dropped(ground)],
    )


def compare_over_time(
    path: Path,
    options: CorporaOptions | None = None,
    *,
    report: Report | None = None,
    **fields: Any,
) -> RunRecord:
    """Follow how a corpus values actions over time.

    Parameters
    ----------
    path
        A folder of text files with a year in their names.
    options, report
        As in `compare_corpora`. `index` is a two-column file (file, year), for names without a
        year; `width` the years a period spans, wide enough for 100,000 words or more in each, if
        possible.

    Returns
    -------
    RunRecord
        `results` holds a `Trajectory` for every action, the biggest mover first.
    """
    chosen = chosen_options(CorporaOptions, options, fields)
    actions, notes = _actions(chosen.words)
    sets = load_word_sets(chosen.sets).lowered()
    dated = dated_files(path, chosen.index)
    every = [read_files(part.files, part.name) for part in periods(dated, chosen.width)]
    texts = [text for text in every if text.size >= MIN_CORPUS]
    if len(texts) < 2:
        raise InputError(
            f"{len(texts)} of {len(every)} periods have {MIN_CORPUS:,} words or more",
            "take another --bin, so that two or more periods have enough text",
        )
    whole = read_files(list(dated), path.name)
    notes += [
        f"{text.name} was left out: it has only {text.size:,} words"
        for text in every
        if text.size < MIN_CORPUS
    ]
    notes += _check_sizes(texts)
    ground = period_ground(whole, texts, actions, sets, chosen.min_count)
    settings = _settings(chosen)
    spaces = train_runs(
        [whole, *texts], settings, runs=chosen.runs, seed=chosen.seed, report=report
    )
    return RunRecord(
        JOB,
        seed=chosen.seed,
        config={
            **_config(chosen, settings, texts, ground),
            "mode": "over time",
            "bin": chosen.width,
            "periods": [text.name for text in texts],
        },
        results=trajectories(texts, spaces, ground),
        statistics=PeriodsStatistics(ground.dropped_actions, ground.dropped_set_words),
        warnings=[NOT_ADVICE, _CHANCE, *notes, *_dropped(ground)],
    )


def _actions(path: Path | None) -> tuple[tuple[str, ...], list[str]]:
    if path is None:
        paper = load_paper()
        return tuple(dict.fromkeys((*everyday_actions(), *paper.dos, *paper.donts))), []
    words = [action.lower() for action in read_actions(path).actions]
    phrase = next((action for action in words if not re.fullmatch(r"[^\W\d_]+", action)), None)
    if phrase is not None:
        raise InputError(
            f"{path} holds '{phrase[:40]}', which is not a single word",
            "give one word per line, e.g. steal",
        )
    actions = tuple(dict.fromkeys(words))
    twice = len(words) - len(actions)
    return actions, [f"{path} holds {twice} words twice: each was used once"] if twice else []


def _check_sizes(texts: Sequence[TextCorpus]) -> list[str]:
    """Refuse what is too small for vectors; return warnings about what is small or the same."""
    for text in texts:
        if text.size < MIN_CORPUS:
            raise InputError(
                f"{text.name} has {text.size:,} words",
                f"word vectors need at least {MIN_CORPUS:,}, better {SMALL_CORPUS:,}: add text",
            )
    small = [
        f"{text.name} has only {text.size:,} words: its values are noisy, see their intervals"
        for text in texts
        if text.size < SMALL_CORPUS
    ]
    return small + [
        f"{a.name} and {b.name} hold the same text: what differs between them is noise"
        for a, b in combinations(texts, 2)
        if a.sha256 == b.sha256
    ]


def _settings(options: CorporaOptions) -> TrainingSettings:
    least = min(TrainingSettings().min_count, options.min_count)
    return TrainingSettings(dimensions=options.dimensions, min_count=least)


def _config(
    options: CorporaOptions,
    settings: TrainingSettings,
    texts: Sequence[TextCorpus],
    ground: Ground | PeriodGround,
) -> dict[str, Any]:
    return {
        "corpora": [
            {
                "name": text.name,
                "words": text.size,
                "files": text.files,
                "sha256": text.sha256,
                "epochs": settings.epochs_for(text),
                "sample": settings.sample_for(text),
            }
            for text in texts
        ],
        "sets": ground.sets.name,
        "positive": ground.sets.positive,
        "negative": ground.sets.negative,
        "actions": len(ground.actions),
        "runs": options.runs,
        "training": settings,
        "min_count": options.min_count,
        "min_spread": MIN_SPREAD,
        "interval": _INTERVAL,
        "options": plain_options(options),
    }


def _dropped(ground: Ground | PeriodGround) -> list[str]:
    return [
        f"{len(words)} {what} are too rare and were left out: {', '.join(words[:_NAMED])}"
        + (" …" if len(words) > _NAMED else "")
        for what, words in (
            ("actions", ground.dropped_actions),
            ("association words", ground.dropped_set_words),
        )
        if words
    ]
