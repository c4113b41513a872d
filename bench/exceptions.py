"""How well exceptions are read: scenes and replies that were written for moralscope and held out.

    python bench/exceptions.py [mpnet]

- scenes: of each set's pairs whose grades lie apart, how often the better scene has the higher
  score; and, where their grades lie on two sides, how often both scores lie on their side;
- replies: of each pair of replies to one message, how often the bad one reads worse; and how often
  the bad one is flagged and the fine one is not.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable

from moralscope.axes.build import build_axis
from moralscope.axes.judge import Judge
from moralscope.axes.options import AxisOptions
from moralscope.io.documents import shipped_yaml
from moralscope.rules.audit import AuditOptions, prepare_auditor
from moralscope.rules.records import Exchange
from moralscope.rules.reply_reader import VERDICTS
from moralscope.stats.intervals import wilson
from moralscope.stories.degree_examples import exception_sets, ranked_pairs

Rows = Iterable[tuple[str, bool, bool | None]]  # kind, in order, both sides right


def table(title: str, rows: Rows) -> None:
    order, sides = defaultdict(list), defaultdict(list)
    for kind, in_order, both in rows:
        for name in (kind, "all"):
            order[name].append(in_order)
            if both is not None:
                sides[name].append(both)
    print(f"{title:18} {'in order':>26}   {'both right':>26}")
    for kind in sorted(order, key=lambda name: (name == "all", name)):
        shares = [wilson(sum(some), len(some)) for some in (order[kind], sides[kind])]
        cells = [f"{one.value:9.3f} ({one.low:.2f} … {one.high:.2f}), {one.n:3}" for one in shares]
        print(f"{kind:18}", *cells)


def scenes(base: str) -> Rows:
    axis = build_axis(AxisOptions(axis="judge", experts=base, wordings=1))
    assert isinstance(axis, Judge)
    held = exception_sets()[::5]  # those that train nothing: stories/degree_examples.py
    grades = {text: grade for _, rows in held for text, grade in rows}
    scores = dict(zip(grades, (row.score for row in axis.score(list(grades))), strict=True))
    for kind, rows in held:
        for better, worse in ranked_pairs(rows):
            opposed = grades[better] > 0 > grades[worse]
            both = scores[better] > 0 > scores[worse] if opposed else None
            yield kind, scores[better] > scores[worse], both


def replies(base: str) -> Rows:
    rows = shipped_yaml("moralscope.rules", "verdicts.yaml")[
        ::10
    ]  # rules/training/verdict_examples.py
    held = [row for row in rows if "kind" in row]
    auditor = prepare_auditor(AuditOptions(experts=base)).auditor
    exchanges = [Exchange(row["prompt"], row[name]) for row in held for name in VERDICTS]
    verdicts = [audited.verdict for audited in auditor.audit(exchanges)]
    for row, fine, bad in zip(held, verdicts[::2], verdicts[1::2], strict=True):
        yield row["kind"], bad.score < fine.score, bad.flag and not fine.flag


def main() -> None:
    base = sys.argv[1] if len(sys.argv) > 1 else "mpnet"
    table("scenes", scenes(base))
    table("replies", replies(base))


if __name__ == "__main__":
    main()
