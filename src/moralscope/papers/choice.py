"""`reproduce choice`: the first paper's tables beside ours, per encoder.

Jentzsch et al. 2019: means and t of dos and don'ts, the top ten of each (Table 2), gender bias
of occupations (Table 1), rankings (Table 3) and the correlation with WEAT (Figure 4), beside the
words part of the paper (`reproduce_words`). Biases are sums over prompts, as the paper prints them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from moralscope.axes.choice import ChoiceMachine
from moralscope.axes.rank import rank_answers
from moralscope.axes.templates import load_template
from moralscope.core.protocols import Encoder
from moralscope.core.records import NOT_ADVICE, ActionScore, RunRecord
from moralscope.io.run_records import model_refs
from moralscope.models.encoders import load_encoders
from moralscope.models.store import Progress
from moralscope.papers.words import published_weat, reproduce_words
from moralscope.stats import Correlation, Summary, TTest, correlate, summarise, t_test
from moralscope.words.paper import ChoicePaper, load_paper

ENCODERS = ("use-lite", "minilm", "mpnet")


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
    encoders: Sequence[str] = ENCODERS, *, seed: int = 0, progress: Progress | None = None
) -> RunRecord:
    """Compute the paper's tables for each encoder; one that cannot be fetched is reported.

    Examples
    --------
    >>> record = reproduce_choice(["scripted"])
    >>> record.results[0].dos.n, len(record.results[0].female)
    (50, 10)
    """
    paper = load_paper()
    problems: list[str] = []
    models = load_encoders(encoders, progress, problems)
    words, word_problems = reproduce_words(seed=seed, progress=progress)
    weat = words.weat if words else {}
    return RunRecord(
        "reproduce",
        seed=seed,
        config={"paper": "choice", "encoders": list(encoders)},
        models=model_refs(models),
        results=[_reproduce(model, paper, weat, seed) for model in models],
        statistics={
            "paper": {
                "dos": paper.dos_summary,
                "donts": paper.donts_summary,
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
    by_bias = sorted([*dos, *donts], key=_sum, reverse=True)
    female, male = _occupations(encoder, paper, seed)
    return ChoiceReproduction(
        encoder=encoder.name,
        dos=summarise(do_sums),
        donts=summarise(dont_sums),
        student=t_test(do_sums, dont_sums, equal_variance=True),
        welch=t_test(do_sums, dont_sums, equal_variance=False),
        weat_printed=_correlate(dos, donts, paper.weat, seed),
        weat_published=_published(dos, donts, seed),
        weat_ours=_correlate(dos, donts, weat, seed) if weat else None,
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
    times = len(score.prompts)
    return WordRow(
        score.action,
        _sum(score),
        score.low * times,
        score.high * times,
        paper.bias_sums.get(score.action),
        weat.get(score.action),
        paper.weat.get(score.action),
    )


def _correlate(
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


def _published(
    dos: Sequence[ActionScore], donts: Sequence[ActionScore], seed: int
) -> Correlation | None:
    """Correlate with the published WEAT of all words, where the user has that file."""
    weat = published_weat([score.action for score in [*dos, *donts]])
    return _correlate(dos, donts, weat, seed) if weat else None


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
    return RankingRow(
        question,
        order,
        [row.score for row in ranked],
        [printed[answer] for answer in order],
        same=order == list(answers),
    )
