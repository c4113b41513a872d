"""A page as plain data for the local page, whose scripts draw it as a report's do."""

from typing import Any

from moralscope.core.records import to_plain
from moralscope.io.run_records import clean_plain
from moralscope.pages.page import Block, Chart, Code, Facts, Page, Table, Thread, VerdictCard

_TYPES = {Chart: "chart", Code: "code", Facts: "facts", Thread: "thread", VerdictCard: "card"}


def view(page: Page) -> dict[str, Any]:
    """Return a page as JSON holds it; `main` is the place of its main table: [section, block]."""
    main = None
    sections: list[dict[str, Any]] = []
    for section in page.sections:
        blocks = []
        for number, block in enumerate(section.blocks):
            main = [len(sections), number] if block is page.main else main
            blocks.append(block_data(block))
        if section.shown != "terminal":
            prose = [line for line in section.prose if line]
            shown = {"title": section.title, "prose": prose, "folded": section.folded}
            sections.append({**shown, "blocks": blocks})
    return {
        "title": page.title,
        "summary": list(page.summary),
        "figures": [list(pair) for pair in page.figures],
        "sections": sections,
        "warnings": list(page.warnings),
        "main": main,
    }


def block_data(block: Block) -> dict[str, Any]:
    """Return what the scripts need to draw a block."""
    data: dict[str, Any]
    if isinstance(block, Table):
        shown = [n for n, column in enumerate(block.columns) if column.kind != "bar"]
        rest = len(block.columns)
        columns = [block.columns[n] for n in shown]
        data = {
            "type": "table",
            "title": block.title,
            "columns": [[column.title, column.kind, column.digits] for column in columns],
            "details": list(block.details),
            "rows": [
                [
                    *(column.plain(row[n]) for n, column in zip(shown, columns, strict=True)),
                    *(
                        block_data(d) if isinstance(d, VerdictCard) else to_plain(d)
                        for d in row[rest:]
                    ),
                ]
                for row in block.rows
            ],
            "note": block.note,
        }
    else:
        data = {"type": _TYPES[type(block)], **to_plain(block)}
    cleaned: dict[str, Any] = _rounded(clean_plain(data))
    return cleaned


def _rounded(value: Any) -> Any:
    """Keep five significant digits: more is never seen and makes the file larger."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
