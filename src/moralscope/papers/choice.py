"""`reproduce choice`: the first paper's tables beside ours, per encoder.

Jentzsch et al. 2019: means and t of dos and don'ts, the top ten of each (Table 2), gender bias
of occupations (Table 1), rankings (Table 3) and the correlation with WEAT (Figure 4). Biases are
sums over prompts, as the paper prints them. Word vectors are asked in `words`. What cannot be had
here is left out and said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moralscope.axes.choice import ChoiceMachine, rank_answers
from moralscope.axes.templates import load_template
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Encoder
from moralscope.core.records import NOT_ADVICE, ActionScore, RunRecord, Statistics
from moralscope.io.files import model_refs
from moralscope.models.encoders import load_encoders
from moralscope.models.store import Progress
from moralscope.papers import (
    PaperRow,
    PaperTable,
    ShowTable,
    correlation_rows,
    encoder_table,
    paper_row,
)
from moralscope.papers.options import ChoiceOptions
from moralscope.papers.words import (
    WordsReproduction,
    correlate_with_weat,
    published_weat,
    reproduce_words,
    words_tables,
)
from moralscope.stats.correlation import Correlation
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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    top_dos: Sequence[WordRow]  # our ten
    top_donts: Sequence[WordRow]
    printed_dos: Sequence[WordRow]  # the paper's of Table 2
    printed_donts: Sequence[WordRow]
    female: Sequence[WordRow]
    male: Sequence[WordRow]
    female_right: int
    male_right: int
    rankings: Sequence[RankingRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoicePaperFigures(Statistics):
    """What the paper prints of all words together."""

    dos: Summary
    donts: Summary
    all: Summary
    p_below: float
    t: float
    r: float


@dataclass(frozen=True, slots=True)
class ChoiceStatistics(Statistics):
    """The paper's figures, and what our word vectors say."""

    paper: ChoicePaperFigures
    words: WordsReproduction | None


def reproduce_choice(
    encoders: Sequence[str] | None = None,
    options: ChoiceOptions | None = None,
    *,
    progress: Progress | None = None,
    show: ShowTable | None = None,
    **fields: Any,
) -> RunRecord:
    """Compute the paper's tables for each encoder; one that cannot be fetched is reported.

    `encoders` are those that the options name, if none is given; `show` gets each table as soon as
    it is there.

    Examples
    --------
    >>> record = reproduce_choice(["scripted"])
    >>> record.results[0].dos.n, len(record.results[0].female)
    (50, 10)
    """
    asked = chosen_options(ChoiceOptions, options, fields)
    names, seed = encoders or asked.encoders, asked.seed
    paper = load_paper()
    problems: list[str] = []
    models = load_encoders(names, progress, problems)
    words, word_problems = reproduce_words(asked.vectors, seed=seed, progress=progress)
    results = []
    for model in models:
        results.append(_reproduce(model, paper, words.weat if words else {}, seed))
        if show:
            for table in choice_tables(results[-1]):
                show(table)
    if show and words:
        for table in words_tables(words):
            show(table)
    return RunRecord(
        "reproduce",
        seed=seed,
        config={"paper": "choice", "encoders": list(names), "options": plain_options(asked)},
        models=model_refs(models),
        results=results,
        statistics=ChoiceStatistics(
            ChoicePaperFigures(
                dos=paper.dos_summary,
                donts=paper.donts_summary,
                all=paper.all_summary,
                p_below=paper.p_below,
                t=paper.t,
                r=paper.r,
            ),
            words,
        ),
        warnings=[NOT_ADVICE, *problems, *word_problems],
    )


def _reproduce(
    encoder: Encoder, paper: ChoicePaper, weat: Mapping[str, float], seed: int
) -> ChoiceReproduction:
    machine = ChoiceMachine(encoder, load_template("moral"), seed=seed)
    dos, donts = machine.score(paper.dos), machine.score(paper.donts)
    do_sums, dont_sums = ([score.sum or 0.0 for score in scores] for scores in (dos, donts))
    rows = {
        score.action: _word_row(
            score.action,
            score,
            paper.bias_sums.get(score.action),
            weat.get(score.action),
            paper.weat.get(score.action),
        )
        for score in sorted([*dos, *donts], key=lambda score: score.sum or 0.0, reverse=True)
    }
    ranked, printed = list(rows.values()), [rows[word] for word in paper.bias_sums]
    published = published_weat([*paper.dos, *paper.donts])
    sums = {score.action: score.sum or 0.0 for score in (*dos, *donts)}
    machine = ChoiceMachine(encoder, load_template("gender"), seed=seed)
    sides = []
    for occupations in (paper.female, paper.male):
        # "referee/umpire" is one row of the paper: two wordings of one occupation.
        forms = [label.split("/") for label in occupations]
        scores = machine.score([first for first, *_ in forms], [rest for _, *rest in forms])
        pairs = zip(scores, occupations.items(), strict=True)
        sides.append([_word_row(label, score, value) for score, (label, value) in pairs])
    female, male = sides
    rankings = []
    for ranking in paper.rankings:
        answers = rank_answers(encoder, ranking.question, ranking.answers)
        cosines = dict(zip(ranking.answers, ranking.cosines, strict=True))
        order = [row.answer for row in answers]
        rankings.append(
            RankingRow(
                question=ranking.question,
                answers=order,
                ours=[row.score for row in answers],
                paper=[cosines[answer] for answer in order],
                same=order == list(ranking.answers),
            )
        )
    return ChoiceReproduction(
        encoder=encoder.name,
        dos=summarise(do_sums),
        donts=summarise(dont_sums),
        all=summarise([*do_sums, *dont_sums]),
        student=t_test(do_sums, dont_sums, equal_variance=True),
        welch=t_test(do_sums, dont_sums, equal_variance=False),
        weat_printed=correlate_with_weat(sums, paper.weat, seed),
        weat_published=correlate_with_weat(sums, published, seed) if published else None,
        weat_ours=correlate_with_weat(sums, weat, seed) if weat else None,
        top_dos=[row for row in ranked if row.word in paper.dos][:10],
        top_donts=[row for row in reversed(ranked) if row.word in paper.donts][:10],
        printed_dos=[row for row in printed if row.word in paper.dos],
        printed_donts=[row for row in printed if row.word in paper.donts],
        female=female,
        male=male,
        female_right=sum(row.ours > 0 for row in female),
        male_right=sum(row.ours < 0 for row in male),
        rankings=rankings,
    )


def _word_row(label: str, score: ActionScore, *printed: float | None) -> WordRow:
    times = len(score.prompts)
    return WordRow(label, score.sum or 0.0, score.low * times, score.high * times, *printed)


def choice_tables(result: ChoiceReproduction) -> list[PaperTable]:
    """Return the first paper's figures beside one encoder's."""
    paper = load_paper()
    figures = []
    for name, ours, printed in (
        ("dos", result.dos, paper.dos_summary),
        ("don'ts", result.donts, paper.donts_summary),
        ("all", result.all, paper.all_summary),
    ):
        figures.append(paper_row(f"{name}, sum of biases", "mean", ours.mean, printed.mean))
        figures.append(paper_row(f"{name}, sum of biases", "sd", ours.sd, printed.sd))
    p, outcome = result.student.p, "equal" if result.student.p < paper.p_below else "differs"
    figures += [
        paper_row("dos against don'ts", "t", result.student.t, paper.t),
        PaperRow("printed: below", "p", p, None, None, paper.p_below, outcome),
        paper_row("dos against don'ts, Welch", "t", result.welch.t, None),
        *correlation_rows("r with WEAT as printed", "Figure 4", result.weat_printed, paper.r),
        *correlation_rows("r with WEAT as published", "Figure 4", result.weat_published, paper.r),
        *correlation_rows("r with WEAT of our vectors", "Figure 4", result.weat_ours, paper.r),
    ]
    rankings = []
    for row in result.rankings:
        again = "equal" if row.same else "differs"
        rankings.append(
            PaperRow(row.question, "the printed order: 1", float(row.same), None, None, 1.0, again)
        )
        for answer, cosine, printed_cosine in zip(row.answers, row.ours, row.paper, strict=False):
            again = "equal" if round(cosine, 2) == printed_cosine else "differs"
            name = f"{answer}, cosine"
            rankings.append(PaperRow(row.question, name, cosine, None, None, printed_cosine, again))

    def biases(*lists: Sequence[WordRow]) -> list[PaperRow]:
        rows = [row for words in lists for row in words]
        return [PaperRow(r.word, "bias", r.ours, r.low, r.high, r.paper) for r in rows]

    tables = {
        "Means, t and Figure 4": figures,
        "Table 2: dos and don'ts": biases(result.printed_dos, result.printed_donts),
        "Table 1: occupations": [
            *biases(result.female, result.male),
            paper_row("female-biased occupations", "of 10", result.female_right, None),
            paper_row("male-biased occupations", "of 10", result.male_right, None),
        ],
        "Table 3: rankings": rankings,
    }
    return [encoder_table(name, rows, result.encoder, "USE") for name, rows in tables.items()]
