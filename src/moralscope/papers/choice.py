"""`reproduce choice`: the first paper's tables beside ours, per encoder.

Jentzsch et al. 2019: means and t of dos and don'ts, the top ten of each (Table 2), gender bias
of occupations (Table 1), rankings (Table 3) and the correlation with WEAT (Figure 4). Biases are
sums over prompts, as the paper prints them. Word vectors are asked in `words`. What cannot be had
here is left out and said.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moralscope.axes.choice import ChoiceMachine, rank_answers
from moralscope.axes.templates import load_template
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Encoder
from moralscope.core.records import NOT_ADVICE, ActionScore, RunRecord
from moralscope.io.files import model_refs
from moralscope.models.encoders import load_encoders
from moralscope.models.store import Progress
from moralscope.papers.options import ChoiceOptions
from moralscope.papers.words import published_weat, reproduce_words
from moralscope.stats.correlation import Correlation, correlate
from moralscope.stats.significance import TTest, t_test
from moralscope.stats.summary import Summary, summarise
from moralscope.words.paper import ChoicePaper, load_paper


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
    """Everything `reproduce choice` finds for one encoder.

    `top_dos` and `top_donts` are our ten; `printed_dos` and `printed_donts` the paper's of Table 2.
    """

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
    printed_dos: Sequence[WordRow]
    printed_donts: Sequence[WordRow]
    female: Sequence[WordRow]
    male: Sequence[WordRow]
    female_right: int
    male_right: int
    rankings: Sequence[RankingRow]


def reproduce_choice(
    encoders: Sequence[str] | None = None,
    options: ChoiceOptions | None = None,
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
    asked = chosen_options(ChoiceOptions, options, given)
    names, seed = encoders or asked.encoders, asked.seed
    paper = load_paper()
    problems: list[str] = []
    models = load_encoders(names, progress, problems)
    words, word_problems = reproduce_words(asked.vectors, seed=seed, progress=progress)
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
    rows = {s.action: _row(s, paper, weat) for s in by_bias}
    ranked, printed = list(rows.values()), [rows[word] for word in paper.bias_sums]
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
        top_dos=[row for row in ranked if row.word in paper.dos][:10],
        top_donts=[row for row in reversed(ranked) if row.word in paper.donts][:10],
        printed_dos=[row for row in printed if row.word in paper.dos],
        printed_donts=[row for row in printed if row.word in paper.donts],
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
