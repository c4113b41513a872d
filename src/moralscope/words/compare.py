"""`words compare`: how corpora, or the periods of one corpus, value actions differently.

Returns run records. What was too rare to be compared is always named, never replaced.
"""

import re
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import NOT_ADVICE, RunRecord
from moralscope.io.actions import read_actions
from moralscope.words.comparison import (
    MIN_SPREAD,
    CorpusComparison,
    Ground,
    common_ground,
    everyday_actions,
)
from moralscope.words.corpora import (
    Corpus,
    Period,
    corpus_files,
    dated_files,
    periods,
    read_files,
)
from moralscope.words.options import CompareOptions
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

Report = Callable[[int, int], None]


def compare_corpora(
    corpora: Sequence[tuple[str, Path]],
    options: CompareOptions | None = None,
    *,
    report: Report | None = None,
    **given: Any,
) -> RunRecord:
    """Compare how two or more corpora value actions.

    Parameters
    ----------
    corpora
        A name and a text file or folder for each.
    options
        What is compared, and with how much work; or the fields of `CompareOptions` as keywords.
        The seed is that of the draws of text and of the training of vectors.
    report
        Called with (done, total) trainings as the work goes on.

    Returns
    -------
    RunRecord
        `results` holds an `ActionDifference` for every action and pair of corpora, per pair the
        biggest mover first; `statistics` the shared and divergent dos and don'ts.
    """
    chosen = chosen_options(CompareOptions, options, given)
    _check_names(corpora)
    actions, notes = _actions(chosen.words)
    sets = load_word_sets(chosen.sets).lowered()
    files = [corpus_files(path) for _, path in corpora]  # every path is looked at before any work
    texts = [read_files(found, name) for (name, _), found in zip(corpora, files, strict=True)]
    notes += _check_sizes(texts)
    ground = common_ground(texts, actions, sets, chosen.min_count)
    settings = _settings(chosen)
    spaces = train_runs(texts, settings, runs=chosen.runs, seed=chosen.seed, report=report)
    comparison = CorpusComparison(texts, spaces, ground)
    pairs = combinations(range(len(texts)), 2)
    results = [row for pair in pairs for row in comparison.differences(*pair)]
    return RunRecord(
        JOB,
        seed=chosen.seed,
        config={
            **_config(chosen, settings, texts, ground),
            "mode": "corpora",
            "shared_words": len(ground.words),
        },
        models=[],
        results=results,
        statistics={
            "agreement": comparison.agreement(),
            "paper_percentiles": _paper_check(comparison, texts),
            "changed": sum(row.low > 0 or row.high < 0 for row in results),
            "compared": len(results),
            "dropped_actions": ground.dropped_actions,
            "dropped_set_words": ground.dropped_set_words,
        },
        warnings=[NOT_ADVICE, _CHANCE, *notes, *_dropped(ground)],
    )


def compare_over_time(
    path: Path, options: CompareOptions | None = None, *, report: Report | None = None, **given: Any
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
    chosen = chosen_options(CompareOptions, options, given)
    actions, notes = _actions(chosen.words)
    sets = load_word_sets(chosen.sets).lowered()
    dated = dated_files(path, chosen.index)
    texts, left_out = _read_periods(periods(dated, chosen.width))
    whole = read_files(list(dated), path.name)
    notes += left_out + _check_sizes(texts)
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
        models=[],
        results=trajectories(texts, spaces, ground),
        statistics={
            "dropped_actions": ground.dropped_actions,
            "dropped_set_words": ground.dropped_set_words,
        },
        warnings=[NOT_ADVICE, _CHANCE, *notes, *_dropped(ground)],
    )


def _check_names(corpora: Sequence[tuple[str, Path]]) -> None:
    if len(corpora) < 2:
        raise InputError("only one corpus was given", "give two or more, each as NAME=PATH")
    names = [name for name, _ in corpora]
    odd = next((name for name in names if not re.fullmatch(r"[\w .-]{1,40}", name)), None)
    if odd is not None:
        raise InputError(
            f"'{odd[:60]}' cannot name a corpus",
            "use letters, digits, dots and hyphens, at most 40",
        )
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise InputError(f"two corpora are called '{twice}'", "give each a name of its own")


def _actions(path: Path | None) -> tuple[tuple[str, ...], list[str]]:
    if path is None:
        paper = load_paper()
        return tuple(dict.fromkeys((*everyday_actions(), *paper.dos, *paper.donts))), []
    given = [action.lower() for action in read_actions(path).actions]
    phrase = next((action for action in given if not re.fullmatch(r"[^\W\d_]+", action)), None)
    if phrase is not None:
        raise InputError(
            f"{path} holds '{phrase[:40]}', which is not a single word",
            "give one word a line, e.g. steal",
        )
    actions = tuple(dict.fromkeys(given))
    twice = len(given) - len(actions)
    return actions, [f"{path} holds {twice} words twice: each was used once"] if twice else []


def _check_sizes(texts: Sequence[Corpus]) -> list[str]:
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
    same = [
        f"{a.name} and {b.name} hold the same text: what differs between them is noise"
        for a, b in combinations(texts, 2)
        if a.sha256 == b.sha256
    ]
    return small + same


def _read_periods(found: Sequence[Period]) -> tuple[list[Corpus], list[str]]:
    """Read the periods; leave out, and name, those that are too small."""
    texts = [read_files(period.files, period.name) for period in found]
    kept = [text for text in texts if text.size >= MIN_CORPUS]
    if len(kept) < 2:
        raise InputError(
            f"{len(kept)} of {len(texts)} periods have {MIN_CORPUS:,} words or more",
            "take another --bin, so that two or more periods have enough text",
        )
    notes = [
        f"{text.name} was left out: it has only {text.size:,} words"
        for text in texts
        if text.size < MIN_CORPUS
    ]
    return kept, notes


def _settings(options: CompareOptions) -> TrainingSettings:
    least = min(TrainingSettings().min_count, options.min_count)
    return TrainingSettings(dimensions=options.dimensions, min_count=least)


def _config(
    options: CompareOptions,
    settings: TrainingSettings,
    texts: Sequence[Corpus],
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


def _paper_check(comparison: CorpusComparison, texts: Sequence[Corpus]) -> dict[str, Any]:
    """Return the mean percentile of the papers' dos and don'ts: a check of the spaces."""
    paper, found = load_paper(), {}
    for place, text in enumerate(texts):
        values = comparison.values(place)
        found[text.name] = {
            side: float(np.mean(ranks)) if ranks else None
            for side, words in (("dos", paper.dos), ("donts", paper.donts))
            for ranks in [[values[word].percentile for word in words if word in values]]
        }
    return found


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
