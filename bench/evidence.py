"""How good evidence is: does it turn flags, would any words do, are they the right ones.

    python bench/evidence.py [mpnet] [--only organisations,written,hatecheck,stories] [--part 1]

Four sets, of each the flagged texts: minimal pairs of our organisations (dev) by their rules,
written exchanges that break a held-out rule (dev), HateCheck's hateful cases that have a contrast,
and actions of Contrastive Moral Stories (dev) by their norm. The last two need MORALSCOPE_DATA.

turned: without its evidence, a flagged text is no longer flagged (abstentions count as no).
random: the same without as many words in a row, drawn anywhere in the text.
elsewhere: the same, drawn outside of the evidence, where that much is left.
covers: half or more of the words that its counterpart edited lie in it (`all`: all of them;
`touches`: one or more).
cost: time of an audit with evidence over one without, minus one, of flagged texts, one at a time.

The search was chosen on every second text (`--part 0`); `--part 1` are the others.
"""

import argparse
import csv
import json
import os
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np

from moralscope.core.protocols import ExpertSet
from moralscope.rules.audit import prepare_auditor
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.auditor import Auditor
from moralscope.rules.evidence import without
from moralscope.rules.experts import prepare_rule_experts
from moralscope.rules.records import AuditedReply, Exchange
from moralscope.rules.training.alignment_examples import written_exchanges
from moralscope.rules.training.organisations import organisations
from moralscope.stats.intervals import wilson
from own_rules import auditor_of

DATA = Path(os.environ.get("MORALSCOPE_DATA", "."))
SETS = ("organisations", "written", "hatecheck", "stories")
HALF = 0.5


@dataclass(frozen=True)
class Case:
    """A text that should be flagged, what audits it, and its counterpart that is fine."""

    exchange: Exchange
    auditor: Auditor
    counterpart: str = ""


def of_organisations(experts: ExpertSet) -> Iterator[Case]:
    for organisation in organisations().values():
        if organisation.part != "dev":
            continue
        auditor = auditor_of([entry.rule for entry in organisation.rules], experts)
        for entry in organisation.rules:
            for sides in entry.sides():
                bad, fine = sides.get("disagree"), sides.get("agree")
                if bad and fine and bad.prompt == fine.prompt:
                    yield Case(bad, auditor, fine.reply)


def of_written(general: Auditor) -> Iterator[Case]:
    rows = [row for row in written_exchanges() if row.split == "dev"]
    for row in rows:
        if row.alignment == "disagree":
            yield Case(row.exchange, general)


def of_hatecheck(general: Auditor) -> Iterator[Case]:
    path = DATA / "hatecheck" / "cases_visible_half.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = {row["case_id"]: row for row in csv.DictReader(file)}
    for row in rows.values():
        other = rows.get(row["ref_case_id"])
        if other and (row["label_gold"], other["label_gold"]) == ("non-hateful", "hateful"):
            yield Case(Exchange("", other["test_case"].strip()), general, row["test_case"])


def of_stories(experts: ExpertSet) -> Iterator[Case]:
    path = DATA / "contrastive_moral_stories" / "contra_ms-dev.jsonl"
    sides: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        action = row["moral_action"] or row["immoral_action"]
        sides[row["ID"][:-1], row["norm"]][row["label"]] = action
    for (_, norm), actions in sides.items():
        if len(actions) == 2:
            yield Case(Exchange("", actions[0]), auditor_of([norm], experts), actions[1])


def edited(text: str, counterpart: str) -> list[tuple[int, int]]:
    """Return where the words lie that the counterpart has not, in the same order."""
    words, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        words.append((start, at))
    mine, theirs = ([w.lower().strip(".,!?") for w in one.split()] for one in (text, counterpart))
    blocks = SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks()
    same = {at for block in blocks for at in range(block.a, block.a + block.size)}
    return [span for at, span in enumerate(words) if at not in same]


def spans_of(row: AuditedReply) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in row.evidence if span.turns]


def drawn(reply: str, spans: list[tuple[int, int]], draw: random.Random, apart: bool) -> str | None:
    """Return a reply without as many words in a row as the spans have."""
    words, at = [], 0
    for word in reply.split():
        start = reply.index(word, at)
        at = start + len(word)
        words.append((start, at))
    inside = [any(low <= start < high for low, high in spans) for start, _ in words]
    many = sum(inside)
    starts = [
        at for at in range(len(words) - many + 1) if not apart or not any(inside[at : at + many])
    ]
    if not starts or many == len(words):
        return None
    first = draw.choice(starts)
    return without(reply, [(words[first][0], words[first + many - 1][1])])


def measure(name: str, cases: list[Case]) -> None:
    draw = random.Random(name)
    turned, flags, costs, parts = [], 0, [], []
    covers: dict[str, list[bool]] = {"half": [], "all": [], "touches": []}
    by_chance: dict[bool, list[bool]] = {False: [], True: []}
    for case in cases:
        plain = replace(case.auditor, evidence=False)
        started = time.process_time()
        (row,) = plain.audit([case.exchange])
        middle = time.process_time()
        if not row.verdict.flag:
            continue
        (row,) = case.auditor.audit([case.exchange])
        costs.append((time.process_time() - middle) / (middle - started) - 1)
        flags += 1
        spans = spans_of(row)
        turned.append(bool(spans))
        if not spans:
            continue
        reply = row.reply
        (rest,) = plain.audit([Exchange(row.prompt, without(reply, spans))])
        assert not rest.verdict.flag, row  # the proof, from outside
        parts.append(sum(end - start for start, end in spans) / len(reply))
        for apart, hits in by_chance.items():
            text = drawn(reply, spans, draw, apart)
            if text is not None:
                (other,) = plain.audit([Exchange(row.prompt, text)])
                hits.append(other.verdict.is_judged and not other.verdict.flag)
        words = edited(reply, case.counterpart) if case.counterpart else []
        if words:
            hit = [any(low <= start < high for low, high in spans) for start, _ in words]
            covers["half"].append(bool(np.mean(hit) >= HALF))
            covers["all"].append(all(hit))
            covers["touches"].append(any(hit))

    def share(hits: list[bool]) -> str:
        if not hits:
            return "-"
        value = wilson(sum(hits), len(hits))
        return f"{value.value:.3f} [{value.low:.2f}, {value.high:.2f}] of {len(hits)}"

    print(f"{name}: {len(cases)} texts, {flags} flagged")
    anywhere, elsewhere = share(by_chance[False]), share(by_chance[True])
    print(f"  turned {share(turned)}; random {anywhere}; elsewhere {elsewhere}")
    halves, wholes, touches = (share(hits) for hits in covers.values())
    print(f"  covers {halves}, all {wholes}, touches {touches}")
    print(
        f"  cost mean {np.mean(costs):.2f}, median {np.median(costs):.2f}, p90 "
        f"{np.percentile(costs, 90):.2f} audits; evidence is {np.mean(parts):.2f} of a text",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("experts", nargs="?", default="mpnet")
    parser.add_argument("--only", default=",".join(SETS))
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--part", type=int, default=1, choices=(0, 1))
    arguments = parser.parse_args()
    experts = prepare_rule_experts(arguments.experts, eight_bits=True)
    general = prepare_auditor(AuditOptions(experts=arguments.experts)).auditor
    makers = {
        "organisations": lambda: of_organisations(experts),
        "written": lambda: of_written(general),
        "hatecheck": lambda: of_hatecheck(general),
        "stories": lambda: of_stories(experts),
    }
    for name in arguments.only.split(","):
        cases = list(makers[name]())[arguments.part :: 2]
        step = max(1, len(cases) // arguments.limit)
        measure(name, cases[::step][: arguments.limit])


if __name__ == "__main__":
    main()
