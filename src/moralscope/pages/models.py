"""The pages of `models list` and `data list`: what is on this machine, and what is not."""

from collections.abc import Sequence

from moralscope.core.records import values_of
from moralscope.models.store.commands import ModelStatus
from moralscope.models.store.data_cards import DataStatus
from moralscope.pages.page import Column, Facts, Page, Section, Table, head


def models_page(models: Sequence[ModelStatus]) -> Page:
    """Lay out the models of the store."""
    heads = head("name | kind | licence: wide 44 | MB: whole | state | what: wide 100")
    rows = [
        (row.name, row.kind, row.licence, row.megabytes, row.state, row.about) for row in models
    ]
    table = Table("Models", heads, rows)
    return Page("Models", sections=[Section("Models", [], [table], shown="all")], main=table)


def data_page(sets: Sequence[DataStatus]) -> Page:
    """Lay out the data sets that users bring."""
    rows = [(row.name, row.licence, row.state, row.source) for row in sets]
    heads = [Column("name"), Column("licence", wide=44), Column("state"), Column("source", wide=80)]
    table = Table("Data", heads, rows)
    return Page("Data", sections=[Section("Data", [], [table], shown="all")], main=table)


def data_card_page(row: DataStatus) -> Page:
    """Lay out where one data set comes from, under which terms, and where its files go."""
    names = ("about", "source", "licence", "citation", "folder", "state", "notes")
    facts = Facts(list(values_of(row, *names).items()))
    return Page(row.name, sections=[Section(row.name, [], [facts], shown="all")])
