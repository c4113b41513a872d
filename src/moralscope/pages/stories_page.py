"""The reports of `stories stats` and `stories split`: what stories are made of, how they part."""

from collections.abc import Mapping, Sequence
from typing import Any

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.pages.page import (
    Block,
    Chart,
    Column,
    Facts,
    Page,
    Section,
    Table,
    keyed_table,
    part,
)

_LOOKS = (("good", ""), ("third", "/"), ("bad", "x"))


def stats_page(plain: Plain) -> Page:
    """Lay out counts, lengths, topics, duplicates and frequent norms (Tables 7 and 13)."""
    found = plain["statistics"]
    rows = rows_of(plain["results"], "'results'")
    counts = (found.get(key) for key in ("stories", "complete"))
    stories, complete = (f"{n:,}" if isinstance(n, int) else text(n) for n in counts)
    columns = {
        "name": Column("sentence"),
        "present": Column("stories", "whole"),
        "missing": Column("missing", "whole"),
        "tokens": Column("mean tokens", "number", 2),
        "paper": Column("paper", "number", 2),
        "different": Column("different", "whole"),
        "repeated": Column("repeated", "whole"),
    }
    named = [{**row, "name": text(row.get("name")).replace("_", " ")} for row in rows]
    note = f"A token is {text(plain['config'].get('token'))}."
    table = keyed_table("Sentences", named, columns, "results", note)
    sections = [Section("Sentences", ["Beside Table 7 of Emelin et al. 2021."], [table])]
    sections += _topics(found)
    twice = part(found.get("duplicates"))
    repeats: list[Block] = [_table("Most frequent norms", _rows(found, "frequent_norms"))]
    if twice:
        pairs = [(key.replace("_", " "), text(item)) for key, item in twice.items()]
        repeats.insert(0, Facts(pairs))
    prose = ["Norms count as one when they have the same content words and the same negation."]
    sections.append(Section("Duplicates and frequent norms", prose, repeats))
    parts = _rows(found, "official_parts")
    if parts:
        sections.append(Section("Official membership", [], [_table("Parts", parts)]))
    summary = [f"{stories} stories, {complete} of them with all seven sentences."]
    tiles = [(stories, "stories"), (complete, "complete")]
    return Page("Moral stories: what they are made of", summary, tiles, sections)


def split_page(plain: Plain) -> Page:
    """Lay out the splits, their metrics beside Table 1, and the leaks between their parts."""
    found = plain["statistics"]
    parts = rows_of(found.get("parts", []), "'parts'")
    blocks: list[Block] = [*_charts(parts), _table("Parts", parts)]
    sections = [Section("Splits", _SPLITS, blocks)]
    sections.append(Section("Leaks", _LEAKS, [_table("Twins", _rows(found, "leaks"))]))
    biased = found.get("biased_lemmas")
    for kind, rows in biased.items() if isinstance(biased, Mapping) else ():
        title = f"Biased lemmas of {kind}s"
        sections.append(Section(title, [], [_table(title, rows_of(rows, title))]))
    members = rows_of(plain["results"], "'results'")
    count = f"{len(members):,}"
    clusters = text(found.get("norm_clusters"))
    summary = [
        f"{count} stories shared out by norm distance, lexical bias and minimal pairs: the test "
        "part holds what the train part is least like.",
    ]
    tiles = [(count, "stories"), (clusters, "norm clusters")]
    return Page("Moral stories: adversarial splits", summary, tiles, sections)


_SPLITS = (
    "mean: the split's own metric over the part; paper: Table 1 of Emelin et al. 2021; official: "
    "the same metric over the membership that the data gives, and how many stories agree.",
)
_LEAKS = (
    "Held-out stories that have a twin in another part. Exact twins differ in case and "
    "punctuation at most; near ones count the exact ones too.",
)


def _topics(found: Mapping[str, Any]) -> list[Section]:
    topics = _rows(found, "topics")
    if not topics:
        return []
    paper = part(found.get("paper_topics"))
    columns = {
        "words": Column("topic"),
        "share": Column("share of stories", "number", 2),
        "near": Column("nearest of Table 13"),
        "shared": Column("words in common", "whole"),
    }
    names = [text(topic.get("nearest")) for topic in topics]
    rows = [
        {**topic, "near": f"{name}: {text(paper.get(name))}"}
        for name, topic in zip(names, topics, strict=True)
    ]
    prose = ["Latent Dirichlet allocation over lemmas, without function words and first names."]
    return [Section("Topics", prose, [keyed_table("Topics", rows, columns)])]


def _charts(rows: Sequence[Plain]) -> list[Chart]:
    """Draw ours and the paper's mean per part, one chart a split."""
    names: dict[str, list[Plain]] = {}
    for row in rows:
        names.setdefault(f"{text(row.get('split'))}, {text(row.get('kind'))}", []).append(row)
    charts = []
    for name, chosen in names.items():
        parts = [text(row.get("part")) for row in chosen]
        series = (("ours", "mean"), ("paper", "paper"), ("official membership", "official_mean"))
        traces = [
            {
                "type": "bar",
                "name": title,
                "x": parts,
                "y": [number(row.get(key), f"'parts', {key},") for row in chosen],
                "marker": {"color": colour, "pattern": {"shape": shape}},
            }
            for (title, key), (colour, shape) in zip(series, _LOOKS, strict=True)
        ]
        layout = {"xaxis": {"title": "", "type": "category"}, "yaxis": {"title": "mean metric"}}
        title = name.replace("_", " ")
        about = "Bars: the mean metric of train, dev and test."
        charts.append(Chart(title, about, traces, layout, height=280))
    return charts


def _table(title: str, rows: Sequence[Plain]) -> Table:
    """Lay out flat rows: numbers to the right, everything else as text."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    columns = [Column(key.replace("_", " "), *_kind(rows, key)) for key in keys]
    cells = [
        [value if isinstance(value, int | float | None) else text(value) for value in values]
        for values in ([row.get(key) for key in keys] for row in rows)
    ]
    return Table(title, columns, cells)


def _kind(rows: Sequence[Plain], key: str) -> tuple[str, int]:
    values = [row.get(key) for row in rows if row.get(key) is not None]
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        return "text", 0
    return ("whole", 0) if all(isinstance(value, int) for value in values) else ("number", 2)


def _rows(found: Mapping[str, Any], key: str) -> list[Plain]:
    return rows_of(found.get(key) or [], f"'{key}'")
