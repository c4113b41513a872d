"""A page as one HTML file: everything inline, nothing from the network, no text as markup.

Texts from a record stand in the file in two forms only: escaped for HTML, or as JSON in a data
block whose <, > and & are escaped. Scripts run by their checksum (Content-Security-Policy), so
that nothing else in the file can run even if an escape were missed.
"""

import base64
import hashlib
import importlib.resources
import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape as escape_markup

from moralscope.io.run_records import clean_text
from moralscope.pages.page import (
    Block,
    Chart,
    Code,
    Facts,
    Page,
    Section,
    Table,
    Thread,
    VerdictCard,
)
from moralscope.pages.web import block_data

_ASSETS = importlib.resources.files("moralscope.pages") / "assets"
_ROWS_FIRST = 25
# Hebrew and Arabic letters, and what stands between them.
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"
    "(?:[^A-Za-z0-9&;\u201c\u201d()]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc])?"
)
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def escape(line: str) -> str:
    """Make a text safe to stand in HTML: cut, no control characters, no markup."""
    return escape_markup(clean_text(line))


def render(page: Page) -> str:
    """Return the page as one self-contained HTML document."""
    scripts = [asset(name) for name in ("charts.js", "tables.js", "view.js", "report.js")]
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )
    drawn = [
        (name, block)
        for _, blocks in _numbered(page)
        for name, block in blocks
        if isinstance(block, Table | Chart)
    ]
    # What the scripts draw: the blocks by their ids, and which is the main table.
    main = next((name for name, block in drawn if block is page.main), None)
    plain = {"blocks": {name: block_data(block) for name, block in drawn}, "main": main}
    data = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return "".join(
        [
            "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n",
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            '<meta name=viewport content="width=device-width, initial-scale=1">\n',
            '<meta name=color-scheme content="light dark">\n<meta name=robots content=noindex>\n',
            f"<title>{escape(page.title)}</title>\n<style>\n{styles()}</style>\n",
            "</head>\n<body>\n",
            *_body(page),
            f'<script type="application/json" id=data>{data.translate(_ESCAPES)}</script>\n',
            *(f"<script>{script}</script>\n" for script in scripts),
            "</body>\n</html>\n",
        ]
    )


def _body(page: Page) -> Iterator[str]:
    yield "<header>\n<p class=kicker>moralscope report"
    yield "<button type=button id=lamp hidden>Light or dark</button></p>\n"
    yield f"<h1>{escape(page.title)}</h1>\n"
    yield "".join(f"<p class=lead>{_prose(line)}</p>\n" for line in page.summary)
    if page.figures:
        tiles = (f"<div><dd>{_tile(v)}</dd><dt>{_prose(n)}</dt></div>" for v, n in page.figures)
        yield f"<dl class=tiles>{''.join(tiles)}</dl>\n"
    if page.warnings:
        notes = "".join(f"<li>{_prose(line)}</li>" for line in page.warnings)
        count = len(page.warnings)
        title = "One caveat:" if count == 1 else f"{count} caveats:"
        first = f"<span>{_prose(page.warnings[0])}</span>"
        summary = f"<summary>{title} {first}</summary>"
        yield f"<aside aria-label=Caveats><details>{summary}<ul>{notes}</ul></details></aside>\n"
    yield "</header>\n"
    if len(_shown(page)) > 2:
        names = (
            f"<li><a href=#s{n}>{escape(s.title)}</a></li>" for n, s in enumerate(_shown(page))
        )
        yield f"<nav aria-label=Contents><h2>Contents</h2><ol>{''.join(names)}</ol></nav>\n"
    yield "<main>\n"
    for number, (section, blocks) in enumerate(_numbered(page)):
        yield from _section(section, blocks, number)
    yield f"</main>\n<footer><p>{escape(page.footer)}</p></footer>\n"


def _shown(page: Page) -> list[Section]:
    return [section for section in page.sections if section.shown != "terminal"]


def _numbered(page: Page) -> Iterator[tuple[Section, list[tuple[str, Block]]]]:
    """Yield every section with its blocks and their ids in the document."""
    first = 0
    for section in _shown(page):
        yield section, [(f"b{number}", block) for number, block in enumerate(section.blocks, first)]
        first += len(section.blocks)


def _section(section: Section, blocks: Sequence[tuple[str, Block]], number: int) -> Iterator[str]:
    heading = f"<h2>{escape(section.title)}</h2>"
    yield f"<section id=s{number}>\n"
    yield f"<details><summary>{heading}</summary>\n" if section.folded else f"{heading}\n"
    yield "".join(f"<p>{_prose(line)}</p>\n" for line in section.prose if line)
    for name, block in blocks:
        if isinstance(block, Table):
            yield _table(block, name, section.title)
        elif isinstance(block, Chart):
            same = block.title == section.title
            caption = "" if same else f"<figcaption>{escape(block.title)}</figcaption>"
            yield (
                f'<figure><div class=chart id={name} role=img tabindex=0 style="height:'
                f'{int(block.height)}px" aria-label="{escape(f"{block.title}. {block.about}")}">'
                f"</div>{caption}</figure>\n"
            )
        elif isinstance(block, Facts):
            pairs = (f"<div><dt>{_prose(n)}</dt><dd>{_prose(v)}</dd></div>" for n, v in block.pairs)
            yield f"<dl class=facts>{''.join(pairs)}</dl>\n"
        elif isinstance(block, VerdictCard):
            yield _card(block)
        elif isinstance(block, Thread):
            yield _thread(block)
        elif isinstance(block, Code):
            yield f"<pre tabindex=0><code>{escape(block.text)}</code></pre>\n"
    yield "</details></section>\n" if section.folded else "</section>\n"


def _table(table: Table, name: str, heading: str) -> str:
    caption = "" if table.title == heading else f"<caption>{escape(table.title)}</caption>"
    heads = "".join(
        f"<th scope=col{_numeric(column.kind)}>{escape(column.title)}</th>"
        if column.title
        else "<td></td>"
        for column in table.columns
        if column.kind != "bar"
    )
    cells = (
        "".join(
            f"<td{_numeric(column.kind) or ' dir=auto'}>{escape(column.write(value))}</td>"
            for column, value in zip(table.columns, row, strict=False)
            if column.kind != "bar"
        )
        for row in table.rows[:_ROWS_FIRST]
    )
    rows = "".join(f"<tr>{row}</tr>" for row in cells)
    note = f"<p class=note>{escape(table.note)}</p>" if table.note else ""
    return (
        f'<div class=table id={name}><div class=scroll tabindex=0 role=region aria-label="'
        f'{escape(table.title)}"><table>{caption}<thead><tr>{heads}'
        f"</tr></thead><tbody>{rows}</tbody></table></div>{note}</div>\n"
    )


def _card(card: VerdictCard) -> str:
    """Draw a verdict as `drawCard` of assets/view.js does."""
    gauge = ""
    if card.gauge is not None:
        name, value, limit = card.gauge
        gauge = (
            f"<p class=gauge><span>{escape(name)} <b>{value:.2f}</b>, limit {limit:.2f}</span>"
            f'<span class=track aria-hidden=true><i style="width:{100 * value:.1f}%"></i>'
            f'<s style="left:{100 * limit:.1f}%"></s></span></p>'
        )
    pieces = (
        f"<mark class={mark}>{_prose(text)}</mark>" if mark else _prose(text)
        for text, mark in card.pieces
    )
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{_prose(line)}</dd>" for name, line in card.facts)
    folded = "".join(f"<li>{_prose(line)}</li>" for line in card.folded)
    if folded:
        title = f"Other rules ({len(card.folded)})"
        folded = f"<details><summary>{title}</summary><ul>{folded}</ul></details>"
    return (
        f"<div class=verdict-card data-tone={card.tone}><p class=status>{escape(card.status)}</p>"
        f"{gauge}<blockquote dir=auto>{''.join(pieces)}</blockquote><dl>{facts}</dl>{folded}"
        "</div>\n"
    )


def _thread(thread: Thread) -> str:
    """Draw a conversation as `drawThread` of assets/view.js does."""
    turns = (
        f"<li data-tone={turn.tone}><p><span>{escape(turn.speaker)}</span> "
        f"<b>{_prose(turn.status)}</b></p><blockquote dir=auto>{_prose(turn.text)}</blockquote>"
        f"{''.join(f'<p>{_prose(line)}</p>' for line in turn.notes)}</li>"
        for turn in thread.turns
    )
    note = f"<p class=note>{escape(thread.note)}</p>" if thread.note else ""
    return f"<ol class=thread>{''.join(turns)}</ol>{note}\n"


def _tile(value: str) -> str:
    """Put the interval of a figure below it, smaller."""
    figure, bracket, interval = value.partition(" (")
    return escape(figure) + (
        f"<small>{escape(bracket.strip() + interval)}</small>" if bracket else ""
    )


def _prose(line: str) -> str:
    """Escape a sentence; words that run from right to left keep to themselves within it."""
    return _RIGHT_TO_LEFT.sub("<bdi>\\g<0></bdi>", escape(line))


def _numeric(kind: str) -> str:
    return "" if kind == "text" else " class=n"


@cache
def asset(name: str) -> str:
    """Return a style sheet or script that reports and the local page share."""
    return (_ASSETS / name).read_text("utf-8")


@cache
def styles() -> str:
    """Return the style sheet of a report, with its typeface: it looks the same everywhere."""
    font = base64.b64encode((_ASSETS / "inter.woff2").read_bytes()).decode()
    source = f"url(data:font/woff2;base64,{font}) format('woff2')"
    face = f"@font-face {{ font-family: Inter; font-weight: 100 900; src: {source}; }}\n"
    return face + asset("theme.css") + asset("report.css")
