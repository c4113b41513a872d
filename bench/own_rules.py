"""How good audits by rules of one's own are: whole organisations that taught nothing.

    python bench/own_rules.py [mpnet|FOLDER] [--part dev|test] [--limits] [--retrieve] [--sizes]
        [--speed] [--learn] [--budget] [--warrant] [--cascade]

Every reply is audited by the eight rules of its organisation and nothing else. Breaches are
replies that break at least one rule, false alarms fine replies that are flagged; a minimal pair is
right where both halves are, by its rule. `--limits` prints the figures at other limits (to choose
on dev) and at the lowest that keep false alarms below some shares, `--retrieve` finds rules instead
of reading the book whole, `--sizes` joins organisations into larger books. `--speed` times one
reply against 20 rules, `--learn` prints the learning curve of `rules learn`, `--budget` how many
rules keep a budget of false alarms that was set on fine replies of the other organisations,
`--warrant` how the pair accuracy of `rules warrant` and the accuracy on the written exchanges go
together, `--cascade` what is gained, and what share of pairs `large` reads, where mpnet decides
alone below some probability of a breach. These five print nothing else.
Look at test once.
"""

import argparse
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from moralscope.core.protocols import ExpertSet
from moralscope.models.options import LARGE
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.auditor import Answers, Auditor
from moralscope.rules.experts import SURE, prepare_rule_experts
from moralscope.rules.false_alarms import confident_limit
from moralscope.rules.labels import BreachLabel
from moralscope.rules.learnt import logit
from moralscope.rules.load_auditor import index_rules, join_auditor
from moralscope.rules.records import Exchange, RuleOfThumb
from moralscope.rules.rulebook import Rulebook
from moralscope.rules.rulebooks.learn import fit_labels, label_features
from moralscope.rules.thresholds import GivenLimits, operating_points
from moralscope.rules.training.organisations import Organisation, organisations
from moralscope.rules.verdict import TASK, Aligner, alignment_pair
from moralscope.rules.warrant_pairs import RulePair, make_pairs
from moralscope.stats.intervals import wilson
from moralscope.stories.experts import RULES, prepare_experts


@dataclass
class Case:
    """An exchange, the rules of its organisation that it breaks, and those that an audit names."""

    exchange: Exchange
    breaks: frozenset[str]
    rule: str = ""  # that it was written for
    pair: tuple[str, int] | None = None
    shape: str = ""
    named: frozenset[str] = frozenset()


def auditor_of(rules: list[str], experts: ExpertSet, *, whole: bool = True) -> Auditor:
    book = Rulebook("bench", tuple(RuleOfThumb(text) for text in rules))
    index = index_rules(book, experts, ours=False, cached=False)
    index = replace(index, whole=len(rules) if whole else 0)
    options = AuditOptions(rulebooks=("bench",), experts="scripted")
    auditor = join_auditor(options, index, experts, GivenLimits(), ours=False).auditor
    return replace(auditor, evidence=False, answers=Answers())


def cases_of(organisation: Organisation) -> list[Case]:
    rules = [entry.rule for entry in organisation.rules]
    cases = []
    for entry in organisation.rules:
        for number, sides in enumerate(entry.sides()):
            for label, exchange in sides.items():
                breaks = frozenset([entry.rule] if label == "disagree" else [])
                cases.append(Case(exchange, breaks, entry.rule, (entry.rule, number), entry.shape))
    for row in organisation.mixed:
        breaks = frozenset(rules[number - 1] for number in row.breaks)
        cases.append(Case(Exchange(row.prompt, row.reply), breaks))
    return cases


def audit(cases: list[Case], auditor: Auditor) -> None:
    for case, row in zip(cases, auditor.audit([case.exchange for case in cases]), strict=True):
        case.named = frozenset(row.verdict.broken)


def figures(cases: list[Case]) -> str:
    bad = [case for case in cases if case.breaks]
    fine = [case for case in cases if not case.breaks]
    found = wilson(sum(bool(case.named) for case in bad), len(bad))
    alarms = wilson(sum(bool(case.named) for case in fine), len(fine))
    nearest = np.mean([case.rule in case.named for case in fine])
    pairs = defaultdict(list)
    for case in cases:
        if case.pair:
            pairs[case.pair].append((case.rule in case.named) == (case.rule in case.breaks))
    right = wilson(sum(map(all, pairs.values())), len(pairs))
    mixed = [case for case in cases if case.pair is None]
    exact = wilson(sum(case.named == case.breaks for case in mixed), len(mixed))
    every = np.mean([case.named == case.breaks for case in cases])
    hits = sum(len(case.named & case.breaks) for case in cases)
    told = sum(len(case.named) for case in cases)
    gold = sum(len(case.breaks) for case in cases)
    return (
        f"breaches found {found.value:.3f} [{found.low:.2f}, {found.high:.2f}] of {len(bad)}, "
        f"false alarms {alarms.value:.3f} [{alarms.low:.2f}, {alarms.high:.2f}] of {len(fine)} "
        f"({nearest:.3f} by the rule that the reply was written for); "
        f"pairs right {right.value:.3f} [{right.low:.2f}, {right.high:.2f}] of "
        f"{len(pairs)}; exact set, mixed {exact.value:.3f} of {len(mixed)}, all {every:.3f}; "
        f"rules: precision {hits / max(told, 1):.3f}, recall {hits / gold:.3f}"
    )


def every_label(organisation: Organisation) -> tuple[list[Case], list[BreachLabel]]:
    """Return the exchanges, and a label of each by each rule, exchange by exchange."""
    cases = cases_of(organisation)
    rules = [entry.rule for entry in organisation.rules]
    return cases, [BreachLabel(c.exchange, rule, rule in c.breaks) for c in cases for rule in rules]


def learning_curve(chosen: list[Organisation], experts: ExpertSet) -> None:
    """Learn from some labels of three quarters of an organisation's pairs; judge the last one.

    A rule's labels are of its own pairs first, then of exchanges that break several rules, then of
    other rules' pairs. No organisation has more than 54 a rule in three quarters.
    """
    limit = GivenLimits().over(operating_points(experts)).disagree
    decisions = defaultdict(list)
    kept: dict[int, Counter[bool]] = defaultdict(Counter)
    for organisation in chosen:
        cases, labels = every_label(organisation)
        count = len(organisation.rules)
        features = label_features(labels, experts)
        broken = np.array([label.broken for label in labels])
        plain = features[:, 0] >= logit(limit)
        names: dict[object, int] = {}
        groups = np.array([names.setdefault(c.pair or id(c), len(names)) for c in cases])
        rng = np.random.default_rng(0)
        folds = (rng.permutation(len(names)) % 4)[groups]
        for fold in range(4):
            test = [n * count + r for n in np.flatnonzero(folds == fold) for r in range(count)]
            decisions[0, True] += list(zip(plain[test], broken[test], strict=True))
            pool = np.flatnonzero(folds != fold)
            for size in (8, 16, 32, 54):
                train = []
                for r, entry in enumerate(organisation.rules):
                    ranks = [
                        (cases[n].rule != entry.rule, cases[n].pair is not None, rng.random(), n)
                        for n in pool
                    ]
                    train += [n * count + r for *_, n in sorted(ranks)[:size]]
                some = [labels[i] for i in train]
                head, figures = fit_labels(some, features[train], limit)
                kept[size][figures.kept] += 1
                texts = sorted({labels[i].rule for i in train})
                rules = np.array([texts.index(labels[i].rule) for i in test])
                broke = head.scores(features[test], rules) >= logit(head.limit)
                decisions[size, False] += list(zip(broke, broken[test], strict=True))
                broke = broke if figures.kept else plain[test]
                decisions[size, True] += list(zip(broke, broken[test], strict=True))
    for (size, tested), rows in sorted(decisions.items()):
        said, gold = np.array(rows).T
        hits = (said & gold).sum()
        words = f"; kept: {kept[size][True]} of {kept[size].total()}" if size else ""
        words = words if tested else " with the head whatever the test says"
        print(
            f"{size} labels a rule: F1 {2 * hits / (said.sum() + gold.sum()):.3f}, precision "
            f"{hits / max(said.sum(), 1):.3f}, recall {hits / gold.sum():.3f}{words}"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("experts", nargs="?", default="mpnet")
    parser.add_argument("--part", default="dev")
    for flag in ("--limits", "--retrieve", "--sizes", *ALONE):
        parser.add_argument(flag, action="store_true")
    arguments = parser.parse_args()
    experts = prepare_rule_experts(arguments.experts, eight_bits=True)
    chosen = [one for one in organisations().values() if one.part == arguments.part]
    alone = [job for flag, job in ALONE.items() if vars(arguments)[flag[2:]]]
    for job in alone:
        job(chosen, experts)
    if alone:
        return
    audits = []
    for organisation in chosen:
        rules = [entry.rule for entry in organisation.rules]
        auditor = auditor_of(rules, experts, whole=not arguments.retrieve)
        audits.append((cases_of(organisation), auditor))
    cases = [case for some, _ in audits for case in some]

    def audit_at(limit: float) -> float:
        for some, auditor in audits:
            audit(some, replace(auditor, thresholds=replace(auditor.thresholds, disagree=limit)))
        return float(np.mean([bool(case.named) for case in cases if not case.breaks]))

    limits = [auditor.thresholds.disagree]
    if arguments.limits:
        limits += [0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99]
        steps = [step / 1000 for step in range(300, 1001)]
        for share in (0.05, 0.08, 0.1, 0.15):
            at = bisect_left(steps, True, key=lambda limit: audit_at(limit) <= share)
            limits.append(steps[at])
    print(f"{arguments.experts}, {len(chosen)} organisations ({arguments.part})")
    for limit in reversed(limits):
        audit_at(limit)
        print(f"limit {limit:.3f}: {figures(cases)}")
    shapes = defaultdict(list)
    for case in cases:
        if case.shape:
            shapes[case.shape].append((case.rule in case.named) == bool(case.breaks))
    line = ", ".join(f"{name} {np.mean(right):.2f}" for name, right in sorted(shapes.items()))
    print(f"right about the rule that it was written for, by shape: {line}")
    if arguments.sizes:
        sizes(chosen, experts)


def budgets(chosen: list[Organisation], experts: ExpertSet) -> None:
    """Set a rule's limit on two thirds of its organisation's fine replies; count on the others."""
    limit = GivenLimits().over(operating_points(experts)).disagree
    tables = []
    for organisation in chosen:
        cases, labels = every_label(organisation)
        scores = label_features(labels, experts)[:, 0].reshape(len(cases), -1)
        tables.append(1 / (1 + np.exp(-scores[[not case.breaks for case in cases]])))
    for budget in (0.05, 0.1):
        usual, shares = [], []
        for chances in tables:
            count = chances.shape[1]
            for rule, third in product(range(count), range(3)):
                test = np.arange(len(chances)) % 3 == third
                own = max(limit, confident_limit(chances[~test, rule].tolist(), budget))
                shares.append(float((chances[test, rule] >= own).mean()))
                usual.append(float((chances[test, rule] >= limit).mean()))
        kept = [np.mean(np.array(some) <= budget) for some in (usual, shares)]
        print(
            f"budget {budget:.0%}: {kept[1]:.1%} of {len(shares)} limits keep it (the usual limit: "
            f"{kept[0]:.1%}); false alarms {np.mean(shares):.1%} instead of {np.mean(usual):.1%}"
        )


def warrants(chosen: list[Organisation], experts: ExpertSet) -> None:
    """Correlate what pairs say of a rule with how well its written exchanges are judged.

    Without labels, and with the labels of a rule's first two pairs; then the other two are judged.
    The last line says how far the two halves of the written exchanges themselves agree.
    """
    classifier = experts.expert(TASK)
    limit = GivenLimits().over(operating_points(experts)).disagree
    aligner = Aligner(classifier)
    rows = []

    def right(rule: str, pairs: list[RulePair]) -> list[bool]:
        sides = [(rule, side) for pair in pairs for side in (pair.breaks, pair.other)]
        chances = [row.probabilities["disagree"] for row in aligner.align(sides)]
        return [a >= limit > b for a, b in zip(chances[::2], chances[1::2], strict=True)]

    for organisation in chosen:
        for entry in organisation.rules:
            exchanges = [
                (side, label == "disagree")
                for sides in entry.sides()
                for label, side in sides.items()
            ]
            asked = [(entry.rule, side) for side, _ in exchanges]
            hits = [
                (row.probabilities["disagree"] >= limit) == broken
                for row, (_, broken) in zip(aligner.align(asked), exchanges, strict=True)
            ]
            labels = [BreachLabel(side, entry.rule, broken) for side, broken in exchanges[:4]]
            made, labelled = make_pairs(entry.rule), make_pairs(entry.rule, labels)
            alone = right(entry.rule, made)
            ours = right(entry.rule, labelled[: len(labelled) - len(made)])
            first, second = np.mean(hits[:4]), np.mean(hits[4:])
            rows.append((np.mean(alone), np.mean(ours or [np.nan]), np.mean(hits), first, second))
    table = np.array(rows)
    known = ~np.isnan(table[:, 1])
    print(f"{len(table)} rules; pairs made by rules right {table[:, 0].mean():.3f}")
    for name, one, other, some in (
        ("pairs made by rules and all written exchanges", 0, 2, slice(None)),
        ("pairs of labels and the other written exchanges", 1, 4, known),
        ("the two halves of the written exchanges", 3, 4, slice(None)),
    ):
        value = spearmanr(table[some, one], table[some, other]).statistic
        print(f"rank correlation of {name}: {value:.2f}")


def cascades(chosen: list[Organisation], experts: ExpertSet) -> None:
    """Send on what mpnet gives each probability of a breach: quality beside what qwen reads."""
    sets = [experts, prepare_experts(LARGE, family=RULES, eight_bits=True)]
    limits = [GivenLimits().over(operating_points(one)).disagree for one in sets]
    cases, probabilities = [], []
    for organisation in chosen:
        some, labels = every_label(organisation)
        pairs = [alignment_pair(label.rule, label.exchange) for label in labels]
        probabilities.append([one.expert(TASK).probabilities(pairs) for one in sets])
        cases += some
    small, large = (np.concatenate(rows) for rows in zip(*probabilities, strict=True))
    joint = np.sqrt(small * large)
    joint /= joint.sum(1, keepdims=True)
    column = sets[0].labels(TASK).index("disagree")
    rules = [[entry.rule for entry in one.rules] for one in chosen for _ in cases_of(one)]
    for sure in (0.0, 0.02, 0.05, SURE, 0.15, 0.2, 0.3, 0.5, 1.01):
        sent = small[:, column] >= sure
        chances = iter(np.where(sent, joint[:, column], small[:, column]).tolist())
        limit = limits[1] if sent.any() else limits[0]
        for case, names in zip(cases, rules, strict=True):
            case.named = frozenset(name for name in names if next(chances) >= limit)
        count = len(rules[0])
        replies = sent.reshape(-1, count).any(1).mean()
        print(f"from {sure:.2f}: {sent.mean():.1%} of pairs and {replies:.1%} of replies sent on")
        print(f"  {figures(cases)}")


def sizes(chosen: list[Organisation], experts: ExpertSet) -> None:
    """Join organisations into larger books: what reading whole gains, and costs."""
    for many in (1, 2, 3, 5, 8):
        rules = [entry.rule for one in chosen[:many] for entry in one.rules]
        cases = [case for one in chosen[:many] for case in cases_of(one)][:: max(1, many // 2)]
        for whole in (True, False):
            auditor = auditor_of(rules, experts, whole=whole)
            started = time.perf_counter()
            audit(cases, auditor)
            spent = (time.perf_counter() - started) / len(cases)
            how = "whole" if whole else "found"
            print(f"{len(rules)} rules, {how}, {1000 * spent:.0f} ms a reply:")
            print("  " + figures(cases))


def speed(chosen: list[Organisation], experts: ExpertSet) -> None:
    """Time one reply against 20 rules: the verdict alone, and with the words that a flag rests on.

    Of mpnet and minilm the body's passes are counted, too, with their tokens and their time.
    """
    rules = [entry.rule for one in chosen[:3] for entry in one.rules][:20]
    passes: list[tuple[int, float]] = []
    network = getattr(experts, "_network", None)
    if network is not None:
        inner = network.run

        def run(rows: Sequence[Sequence[int]], *, middle: bool = False) -> Any:
            started = time.perf_counter()
            made = inner(rows, middle=middle)
            passes.append((sum(map(len, rows)), 1000 * (time.perf_counter() - started)))
            return made

        network.run = run
    for evidence in (False, True):
        auditor = replace(auditor_of(rules, experts), evidence=evidence, answers=None)
        rows = []
        for case in [case for one in chosen for case in cases_of(one)][:60:2]:
            passes.clear()
            started = time.perf_counter()
            (row,) = auditor.audit([case.exchange])
            spent = 1000 * (time.perf_counter() - started)
            tokens, inside = (sum(part) for part in zip(*passes, strict=True)) if passes else (0, 0)
            rows.append((row.verdict.flag, spent, len(passes), tokens, inside))
        for flag in (False, True):
            kind = [row[1:] for row in rows[5:] if row[0] == flag]
            if kind:
                _tell_speed(f"{len(kind)} {'flagged' if flag else 'fine'}", evidence, kind)
        _tell_speed(f"all {len(rows) - 5}", evidence, [row[1:] for row in rows[5:]])


def _tell_speed(who: str, evidence: bool, rows: Sequence[Sequence[float]]) -> None:
    spent, count, tokens, inside = np.median(np.array(rows), axis=0)
    more = f": {count:.0f} passes, {tokens:,.0f} tokens, {inside:.0f} ms in them" if count else ""
    how = "with evidence" if evidence else "verdict alone"
    print(f"one reply against 20 rules, {how}, {who}, warm: p50 {spent:.0f} ms{more}")


ALONE = {
    "--learn": learning_curve,
    "--budget": budgets,
    "--warrant": warrants,
    "--cascade": cascades,
    "--speed": speed,
}


if __name__ == "__main__":
    main()
