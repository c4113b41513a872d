"""What a saved run is called: its own title, or one made from what it holds."""

from collections.abc import Mapping
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.record_view import Plain, check_plain, scored, text

MAX_TITLE = 160
SHOWN = ("axis", "encoder", "encoders", "recipe", "generator", "rulebook", "experts")
_SAID = 28  # characters of a text in a title


def title_of(record: Any) -> str:
    """Return the title of a plain record; the page keeps one that its owner gave beside it.

    Examples
    --------
    >>> title_of({"schema": "moralscope.run/1", "job": "audit", "config": {}, "results": [],
    ...     "page": {"title": "before the release"}})
    'before the release'
    """
    plain = check_plain(record)
    page = plain.get("page")
    notes = page if isinstance(page, Mapping) else {}
    title, source = (notes.get(key) for key in ("title", "source"))
    if isinstance(title, str) and title:
        return title[:MAX_TITLE]
    return run_title(plain, source if isinstance(source, str) else "")


def run_title(plain: Plain, source: str = "") -> str:
    """Say in one line what a run was about, from what it holds.

    Examples
    --------
    >>> rows = [{"action": "kill people", "score": -0.3}, {"action": "read a book", "score": 0.2}]
    >>> run_title({"job": "score", "config": {"axis": "judge", "encoder": "minilm"},
    ...     "results": rows})
    '2 actions, judge, minilm: kill people … read a book'
    >>> replies = [{"verdict": {"flag": True}}, {"verdict": {"flag": False}}]
    >>> run_title({"job": "audit", "config": {}, "results": replies}, "ex.csv")
    'audit of ex.csv: 1 of 2 flagged'
    """
    made = _TITLES.get(plain["job"])
    try:
        found = made(plain, source) if made and plain["results"] else ""
    except (InputError, KeyError, TypeError, AttributeError):  # of an older or odd record
        found = ""
    rest = ", ".join(text(plain["config"][key]) for key in SHOWN if plain["config"].get(key))
    return (found or f"{plain['job']}{': ' if rest else ''}{rest}")[:MAX_TITLE]


def _score_title(plain: Plain, source: str) -> str:
    config, rows = plain["config"], sorted(scored(plain), key=lambda row: row.score)
    count = f"{len(rows):,} action{'' if len(rows) == 1 else 's'}"
    model = config.get("model") or config.get("encoder") or config.get("experts")
    head = ", ".join(text(each) for each in (count, config.get("axis"), model) if each)
    ends = [_cut(row.name) for row in (rows if len(rows) < 3 else (rows[0], rows[-1]))]
    return f"{head}{f' of {source}' if source else ''}: {' … '.join(ends)}"


def _compare_title(plain: Plain, source: str) -> str:
    models = text(plain["config"].get("models") or plain["config"].get("encoders"))
    where = f" of {source}" if source else ""
    axis = text(plain["config"].get("axis"))
    return f"{len(plain['results']):,} actions{where}, {axis}: {models}"


def _survey_title(plain: Plain, source: str) -> str:
    config = plain["config"]
    kind = "dilemmas" if config["kind"] == "dilemmas" else "statements"
    what = source or f"{config['items']:,} {kind}"
    return f"survey of {what}: {text(config['models'])}"


def _audit_title(plain: Plain, source: str) -> str:
    rows = plain["results"]
    flagged = sum(bool(row["verdict"]["flag"]) for row in rows)
    if len(rows) == 1 and not source:
        return f"audit of “{_cut(rows[0]['reply'], 60)}”: {'' if flagged else 'not '}flagged"
    what = source or f"{len(rows):,} replies"
    return f"audit of {what}: {flagged:,} of {len(rows):,} flagged"


def _chain_title(plain: Plain, source: str) -> str:
    row = plain["results"][0]
    return (
        f"{text(plain['config'].get('recipe'))}: {_cut(text(row.get('norm') or row['choice']), 80)}"
    )


def _cut(value: str, most: int = _SAID) -> str:
    line = " ".join(value.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


_TITLES = {
    "score": _score_title,
    "compare": _compare_title,
    "survey": _survey_title,
    "audit": _audit_title,
    "chain": _chain_title,
}
