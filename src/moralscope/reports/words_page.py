"""The report of `words correlate`: association against bias, pooled and within groups."""

from typing import Any

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.reports.charts import Group, outermost, scatter
from moralscope.reports.page import Column, Facts, Page, Section, Table
from moralscope.reports.people_section import correlation_text


def correlate_rows(plain: Plain) -> list[tuple[str, str, float, float]]:
    """Return (word, group, bias, association) of every word that has both."""
    found = []
    for place, row in enumerate(rows_of(plain["results"], "'results'")):
        where = f"results, row {place + 1},"
        bias, value = number(row.get("bias"), where), number(row.get("association"), where)
        if bias is not None and value is not None:
            found.append((text(row.get("word")), text(row.get("group")), bias, value))
    return found


def words_page(plain: Plain) -> Page:
    """Lay out Figure 4 of Jentzsch et al. 2019 (Figure 2 of Schramowski et al. 2019)."""
    rows = correlate_rows(plain)
    config, found = plain["config"], plain["statistics"].get("correlation")
    inner = found.get("within") if isinstance(found, dict) else None
    within: dict[str, Any] = inner if isinstance(inner, dict) else {}
    names = sorted({group for _, group, _, _ in rows}, key=lambda name: name != "dos")
    groups = []
    for name in names:
        chosen = [row for row in rows if row[1] == name]
        hover = [f"{word}\nbias {bias:+.3f}\nassociation {a:+.3f}" for word, _, bias, a in chosen]
        groups.append(Group(name, [(bias, a) for _, _, bias, a in chosen], hover))
    pairs = [(word, (bias, value)) for word, _, bias, value in rows]
    encoder, vectors = text(config.get("encoder")), text(config.get("vectors"))
    titles = (f"question/answer bias, {encoder}", f"association, {vectors}")
    labels = [(x, y, word) for word, (x, y) in outermost(pairs)]
    chart = scatter("Association against bias", groups, titles, labels=labels)
    facts = [("r, all words", correlation_text(found))]
    facts += [(f"r within {name}", correlation_text(value)) for name, value in within.items()]
    summary = [
        f"Two ways to measure one thing over {len(rows)} words: how near a word is to good words "
        f"in {vectors}, and whether {encoder} leans to yes when asked about it.",
        f"They agree with r = {correlation_text(found)}. Much of a pooled r is the distance "
        "between the groups; the r within each group, beside it, says what is left.",
    ]
    columns = [
        Column("word"),
        Column("group"),
        Column("bias", "signed"),
        Column("association", "signed"),
    ]
    table = Table("All words", columns, [list(row) for row in rows])
    sections = [
        Section(
            "Association against bias",
            ["Solid: fit through all. Dotted: within a group."],
            [chart, Facts(facts)],
        ),
        Section("All words", [], [table]),
    ]
    tiles = [(value.split(" ")[0].rstrip(","), name) for name, value in facts]
    return Page(f"Words: {vectors} against {encoder}", summary, tiles, sections)
