"""The page of `rank`: answers to a question, from the nearest to the farthest."""

from moralscope.core.records import NoStatistics, RankedAnswer, RunRecord
from moralscope.pages import Presentation
from moralscope.pages.charts import Mark, ranked
from moralscope.pages.page import Column, Page, Section, Table

_ENDS = ("farther from the question", "nearer")


def rank_page(record: RunRecord) -> Page:
    """Lay out ranked answers."""
    answers: list[RankedAnswer] = list(record.results)
    columns = [Column("answer", wide=60), Column("cosine", "signed")]
    table = Table("Answers", columns, [[row.answer, row.score] for row in answers])
    marks = [Mark(row.answer, row.score, index) for index, row in enumerate(answers)]
    question = str(record.config.get("question", "Ranked answers"))
    return Page(
        question,
        [f"{len(answers):,} answers by their cosine with the question."],
        sections=[
            Section("Ranked answers", [], [ranked(marks, "Ranked answers", _ENDS)]),
            Section("All answers", [], [table], shown="all"),
        ],
        main=table,
        headline=question,
    )


PRESENTATIONS = {"rank": Presentation(rank_page, (RankedAnswer, NoStatistics))}
