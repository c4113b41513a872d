"""`reproduce choice`: the first paper's tables beside ours, per encoder.

Jentzsch et al. 2019: means and t of dos and don'ts, the top ten of each (Table 2), gender bias
of occupations (Table 1), rankings (Table 3) and the correlation with WEAT (Figure 4). Biases are
sums over prompts, as the paper prints them. The words half: Table 2's WEAT column, the lists of dos
and don'ts, and their confirmation by AFINN, with our own vectors. What cannot be had here is left
out and said.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any
from unicodedata import normalize

from moralscope.axes.choice import ChoiceMachine, rank_answers
from moralscope.axes.templates import load_template
from moralscope.core.errors import MissingExtra, MoralscopeError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Encoder, WordVectors
from moralscope.core.records import NOT_ADVICE, ActionScore, RunRecord
from moralscope.io.files import model_refs
from moralscope.models.encoders import load_encoders
from moralscope.models.store import Progress, data_file
from moralscope.papers.options import EncodersOptions
from moralscope.stats.correlation import Correlation, correlate
from moralscope.stats.significance import TTest, t_test
from moralscope.stats.summary import Summary, summarise
from moralscope.words.association import WordAssociation
from moralscope.words.extract import extract
from moralscope.words.paper import ChoicePaper, load_paper
from moralscope.words.valence import validate
from moralscope.words.vectors import load_vectors

log = logging.getLogger(__name__)

VECTORS = "googlenews-26k"
_PUBLISHED = "figures/mcm_dos_donts.json"
_AFINN = "lexicons/AFINN-en-165.txt"


@dataclass(frozen=True, slots=True)
class WordRow:
    """A word's bias (summed, with interval) and WEAT, ours beside the paper's."""

    word: str
    ours: float
    low: float
    high: float
    paper: float | None
    weat_ours: float | None = None
    weat_paper: float | None = None


@dataclass(frozen=True, slots=True)
class RankingRow:
    """A ranking of Table 3: our order and cosines beside the paper's; `same` order or not."""

    question: str
    answers: Sequence[str]
    ours: Sequence[float]
    paper: Sequence[float]
    same: bool


@dataclass(frozen=True, slots=True)
class ChoiceReproduction:
    """Everything `reproduce choice` finds for one encoder."""

    encoder: str
    dos: Summary
    donts: Summary
    all: Summary
    student: TTest
    welch: TTest
    weat_printed: Correlation
    weat_published: Correlation | None
    weat_ours: Correlation | None
    top_dos: Sequence[WordRow]
    top_donts: Sequence[WordRow]
    female: Sequence[WordRow]
    male: Sequence[WordRow]
    female_right: int
    male_right: int
    rankings: Sequence[RankingRow]


def reproduce_choice(
    encoders: Sequence[str] | None = None,
    options: EncodersOptions | None = None,
    *,
    progress: Progress | None = None,
    tell: Callable[[ChoiceReproduction], None] | None = None,
    **given: Any,
) -> RunRecord:
    """Compute the paper's tables for each encoder; one that cannot be fetched is reported.

    `encoders` are those that the options name, if none is given; `tell` gets each encoder's tables
    as soon as they are there.

    Examples
    --------
    >>> record = reproduce_choice(["scripted"])
    >>> record.results[0].dos.n, len(record.results[0].female)
    (50, 10)
    """
    asked = chosen_options(EncodersOptions, options, given)
    names, seed = encoders or asked.encoders, asked.seed
    paper = load_paper()
    problems: list[str] = []
    models = load_encoders(names, progress, problems)
    words, word_problems = reproduce_words(seed=seed, progress=progress)
    weat = words.weat if words else {}
    results = []
    for model in models:
        results.append(_reproduce(model, paper, weat, seed))
        if tell:
            tell(results[-1])
    return RunRecord(
        "reproduce",
        seed=seed,
        config={"paper": "choice", "encoders": list(names), "options": plain_options(asked)},
        models=model_refs(models),
        results=results,
        statistics={
            "paper": {
                "dos": paper.dos_summary,
                "donts": paper.donts_summary,
                "all": paper.all_summary,
                "p_below": paper.p_below,
                "t": paper.t,
                "r": paper.r,
            },
            "words": words,
        },
        warnings=[NOT_ADVICE, *problems, *word_problems],
    )


def _reproduce(
    encoder: Encoder, paper: ChoicePaper, weat: Mapping[str, float], seed: int
) -> ChoiceReproduction:
    machine = ChoiceMachine(encoder, load_template("moral"), seed=seed)
    dos, donts = machine.score(paper.dos), machine.score(paper.donts)
    do_sums, dont_sums = [_sum(s) for s in dos], [_sum(s) for s in donts]
    published = published_weat([score.action for score in [*dos, *donts]])
    by_bias = sorted([*dos, *donts], key=_sum, reverse=True)
    female, male = _occupations(encoder, paper, seed)
    return ChoiceReproduction(
        encoder=encoder.name,
        dos=summarise(do_sums),
        donts=summarise(dont_sums),
        all=summarise([*do_sums, *dont_sums]),
        student=t_test(do_sums, dont_sums, equal_variance=True),
        welch=t_test(do_sums, dont_sums, equal_variance=False),
        weat_printed=_weat_correlation(dos, donts, paper.weat, seed),
        weat_published=_weat_correlation(dos, donts, published, seed) if published else None,
        weat_ours=_weat_correlation(dos, donts, weat, seed) if weat else None,
        top_dos=[_row(s, paper, weat) for s in by_bias if s.action in paper.dos][:10],
        top_donts=[_row(s, paper, weat) for s in reversed(by_bias) if s.action in paper.donts][:10],
        female=female,
        male=male,
        female_right=sum(row.ours > 0 for row in female),
        male_right=sum(row.ours < 0 for row in male),
        rankings=[_ranking(encoder, r.question, r.answers, r.cosines) for r in paper.rankings],
    )


def _sum(score: ActionScore) -> float:
    return score.sum or 0.0


def _row(score: ActionScore, paper: ChoicePaper, weat: Mapping[str, float]) -> WordRow:
    word, times = score.action, len(score.prompts)
    ends = score.low * times, score.high * times
    values = paper.bias_sums.get(word), weat.get(word), paper.weat.get(word)
    return WordRow(word, _sum(score), *ends, *values)


def _weat_correlation(
    dos: Sequence[ActionScore], donts: Sequence[ActionScore], weat: Mapping[str, float], seed: int
) -> Correlation:
    rows = [(s, "dos") for s in dos] + [(s, "don'ts") for s in donts]
    known = [(s, group) for s, group in rows if s.action in weat]
    return correlate(
        [weat[s.action] for s, _ in known],
        [_sum(s) for s, _ in known],
        [group for _, group in known],
        seed=seed,
    )


def _occupations(
    encoder: Encoder, paper: ChoicePaper, seed: int
) -> tuple[list[WordRow], list[WordRow]]:
    machine = ChoiceMachine(encoder, load_template("gender"), seed=seed)

    def rows(printed: dict[str, float]) -> list[WordRow]:
        # "referee/umpire" is one row of the paper: two wordings of one occupation.
        forms = [label.split("/") for label in printed]
        scores = machine.score([first for first, *_ in forms], [rest for _, *rest in forms])
        return [
            WordRow(label, _sum(s), s.low * len(s.prompts), s.high * len(s.prompts), value)
            for s, (label, value) in zip(scores, printed.items(), strict=True)
        ]

    return rows(paper.female), rows(paper.male)


def _ranking(
    encoder: Encoder, question: str, answers: Sequence[str], cosines: Sequence[float]
) -> RankingRow:
    ranked = rank_answers(encoder, question, answers)
    printed = dict(zip(answers, cosines, strict=True))
    order = [row.answer for row in ranked]
    ours, theirs = [row.score for row in ranked], [printed[answer] for answer in order]
    return RankingRow(question, order, ours, theirs, same=order == list(answers))


@dataclass(frozen=True, slots=True)
class WordsReproduction:
    """WEAT values by our vectors, their agreement with the papers', extraction, validation."""

    vectors: str
    weat: Mapping[str, float]
    missing: Sequence[str]
    agreement: Correlation
    agreement_published: Correlation | None
    extraction: Mapping[str, Any] | None
    extracted: Sequence[Any]
    validation: Mapping[str, Any] | None


def reproduce_words(
    *, seed: int = 0, progress: Progress | None = None
) -> tuple[WordsReproduction | None, list[str]]:
    """Return the words part, or None, and a line for each thing that had to be left out."""
    problems: list[str] = []
    try:
        vectors = load_vectors(VECTORS, progress=progress)
    except MoralscopeError as error:
        return None, [_left_out("the words part", error)]
    paper = load_paper()
    words = [*paper.dos, *paper.donts]
    weat = our_weat(vectors, words)
    extraction: RunRecord | None = None
    try:
        extraction = extract(vectors, progress=progress, seed=seed)
    except MoralscopeError as error:
        problems.append(_left_out("the extraction", error))
    validation: RunRecord | None = None
    try:
        validation = validate(valence=data_file(_AFINN), seed=seed)
    except MissingExtra as error:
        problems.append(_left_out("the AFINN validation", error))
    published = published_weat(words)
    return (
        WordsReproduction(
            vectors=vectors.name,
            weat=weat,
            missing=[word for word in words if word not in weat],
            agreement=_agreement(weat, paper.weat, seed),
            agreement_published=_agreement(weat, published, seed) if published else None,
            extraction=extraction.statistics if extraction else None,
            extracted=extraction.results if extraction else (),
            validation=validation.statistics if validation else None,
        ),
        problems,
    )


def our_weat(vectors: WordVectors, words: Sequence[str]) -> dict[str, float]:
    """Return Eq. 1 with the papers' sets for every word that the vectors hold."""
    paper = load_paper()
    values = WordAssociation(vectors, paper.positive_words, paper.negative_words).scores(words)
    pairs = zip(words, values.tolist(), strict=True)
    return {word: value for word, value in pairs if not isnan(value)}


def published_weat(words: Sequence[str]) -> dict[str, float]:
    """Return the authors' own WEAT of all words, where the user has that file; else nothing."""
    path = data_file(_PUBLISHED)
    if path is None:
        return {}
    data = json.loads(path.read_text("utf-8"))
    known = {row["word"]: row["weat"] for row in [*data["dos_50"], *data["donts_50"]]}
    # The file writes fête without its accent.
    plain = {w: normalize("NFKD", w).encode("ascii", "ignore").decode() for w in words}
    return {word: known[key] for word, key in plain.items() if key in known}


def _agreement(ours: Mapping[str, float], theirs: Mapping[str, float], seed: int) -> Correlation:
    dos = set(load_paper().dos)
    shared = [word for word in theirs if word in ours]
    return correlate(
        [theirs[word] for word in shared],
        [ours[word] for word in shared],
        ["dos" if word in dos else "don'ts" for word in shared],
        seed=seed,
    )


def _left_out(what: str, error: MoralscopeError) -> str:
    line = f"{what} was left out: {error}"
    log.warning(line)
    return line
