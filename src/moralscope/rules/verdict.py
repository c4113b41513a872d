"""Does a reply agree with a rule, and the verdict: by the reply itself and by the rules it breaks.

The alignment expert reads the pair (rule, exchange). The exchange is one line of prose, so that an
expert trained on what people do can read what a chatbot says. Texts are data: quotation marks
inside them become single ones, so that no prompt can close its own and speak for the assistant.

A reply is flagged where the verdict expert calls it bad, or where it breaks a rule. The score says
how far the worse of the two is from its limit. It is descriptive, never authoritative: rules may
conflict, and every one is listed beside it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import Classifier, Matrix
from moralscope.rules.records import (
    ABSTAINED,
    ALIGNMENTS,
    SCALE,
    UNREAD,
    Alignment,
    Exchange,
    Gauge,
    HasScales,
    RuleFinding,
    Verdict,
)
from moralscope.rules.thresholds import Thresholds

REPLY, RULE, BOTH = "reply", "rule", "both"  # what flags a reply, beside UNREAD
_UNKNOWN = 3.0  # severity and consensus of a rule that has none, where rules are put in order
TASK = "alignment"
STORIES_LABELS = {"breaks": "disagree", "keeps": "agree", "does not concern": "neither"}
_UNSURE = {"disagree": "may break", "agree": "may follow"}
_RULE_SHARE = 0.4  # of the log-odds of broken rules: AUC on exchanges of held-out rules chose it
_SURE = 1e-4  # how near to zero or one a probability counts
_QUOTES = str.maketrans(dict.fromkeys('"“”„‟«»\uff02', "'"))


def exchange_text(exchange: Exchange) -> str:
    """Write an exchange as one line about what the assistant does, whoever "I" may be in it."""
    prompt, reply = (
        " ".join(text.translate(_QUOTES).split()) for text in (exchange.prompt, exchange.reply)
    )
    if not prompt:
        return f'The assistant says: "{reply}"'
    return f'Someone asks: "{prompt}" The assistant answers: "{reply}"'


def alignment_pair(rule: str, exchange: Exchange) -> tuple[str, str]:
    """Return what the expert reads: the rule as grounding, the exchange as target."""
    return " ".join(rule.split()), exchange_text(exchange)


class Aligner:
    """Asks a `Classifier` with the labels disagree, agree and neither, in any order."""

    def __init__(self, classifier: Classifier) -> None:
        if sorted(classifier.labels) != sorted(ALIGNMENTS):
            raise InputError(
                f"'{classifier.name}' has the labels {', '.join(classifier.labels)}",
                f"an alignment expert has {', '.join(ALIGNMENTS)}",
            )
        self.classifier = classifier

    def align(self, pairs: Sequence[tuple[str, Exchange]]) -> list[Alignment]:
        """Return one alignment a pair (rule, exchange), in order."""
        if not pairs:
            return []
        rows = self.classifier.probabilities([alignment_pair(*pair) for pair in pairs])
        columns = [self.classifier.labels.index(label) for label in ALIGNMENTS]
        return [
            Alignment(
                ALIGNMENTS[int(row.argmax())], dict(zip(ALIGNMENTS, row.tolist(), strict=True))
            )
            for row in rows[:, columns]
        ]


class StoriesAlignment:
    """A `Classifier` for alignment around one that tells breaks, keeps and does not concern."""

    def __init__(self, classifier: Classifier) -> None:
        if sorted(classifier.labels) != sorted(STORIES_LABELS):
            raise InputError(
                f"'{classifier.name}' has the labels {', '.join(classifier.labels)}",
                f"alignment needs one with {', '.join(STORIES_LABELS)}",
            )
        self._classifier = classifier
        labels = [STORIES_LABELS[label] for label in classifier.labels]
        self._columns = [labels.index(label) for label in ALIGNMENTS]
        self.name = classifier.name
        self.checksum = classifier.checksum
        self.labels = ALIGNMENTS

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Matrix:
        """Return one row a pair, columns as `labels`."""
        return np.asarray(self._classifier.probabilities(pairs)[:, self._columns])


@dataclass(frozen=True, slots=True)
class ReplyJudgment:
    """What the verdict expert says of a reply: how likely it is bad, and what is to be feared."""

    bad: float
    concern: str | None = None


def margin(probability: float, limit: float) -> float:
    """Return how far a probability is below its limit: 1 at zero, 0 at the limit, -1 at one.

    With odds o(p) = p / (1 - p): (o(limit) - o(p)) / (o(limit) + o(p)). So a score means the same
    whatever the limits are, and moving one shifts the log-odds.
    """
    total = limit + probability - 2 * limit * probability
    return (limit - probability) / total if total else 0.0


def moved(probability: float, limit: float, to: float) -> float:
    """Return the probability that has the same margin to another limit."""
    above, below = probability * (1 - limit) * to, (1 - probability) * limit * (1 - to)
    return above / (above + below) if above + below else to


def flags_from(limit: float, flag: float) -> float:
    """Return the probability whose margin to a limit is -flag: from there on a reply is flagged."""
    above, below = limit * (1 + flag), (1 - limit) * (1 - flag)
    return above / (above + below) if above + below else limit


def beside_rules(bad: float, rules: Sequence[RuleFinding], limits: Thresholds) -> float:
    """Return P(bad) of a reply beside the rules that it breaks.

    The log-odds grow by a share of log(o(d) / o(a)), with the highest P(disagree) and P(agree) of
    any rule. Rules that are kept can only take back what broken ones add: nothing that a reply says
    besides makes it better than it reads.

    Examples
    --------
    >>> breaks = Alignment("disagree", {"disagree": 0.9, "agree": 0.1, "neither": 0.0})
    >>> rule = RuleFinding("Be kind.", "rulebook", breaks)
    >>> [round(beside_rules(0.4, rules, Thresholds()), 2) for rules in ([rule], [])]
    [0.79, 0.4]
    """
    grown = bad * _growth(rules, limits)
    return grown / (grown + 1 - bad)


def before_rules(bad: float, rules: Sequence[RuleFinding], limits: Thresholds) -> float:
    """Return the P(bad) that broken rules raise to this one: the inverse of `beside_rules`."""
    shrunk = bad / _growth(rules, limits)
    return shrunk / (shrunk + 1 - bad)


def _growth(rules: Sequence[RuleFinding], limits: Thresholds) -> float:
    """Return the factor by which broken rules raise the odds of bad."""
    if not any(is_broken(rule, limits) for rule in rules):
        return 1.0
    breaks, keeps = (
        min(1 - _SURE, max(_SURE, *(_probability(rule, name) for rule in rules)))
        for name in ("disagree", "agree")
    )
    ratio = breaks * (1 - keeps) / (keeps * (1 - breaks))
    return float(max(1.0, ratio) ** _RULE_SHARE)


def weight(rule: HasScales) -> float:
    """Return what a rule weighs beside others: (severity / 5) x (consensus / 5), 0.04 to 1."""
    severity, consensus = (rule.scales[name] or _UNKNOWN for name in ("severity", "consensus"))
    return float(severity / SCALE[1] * consensus / SCALE[1])


def limit_of(rule: RuleFinding, limits: Thresholds) -> float:
    """Return the probability from which a rule is broken: its own limit, else that of all."""
    return limits.disagree if rule.limit is None else rule.limit


def is_broken(rule: RuleFinding, limits: Thresholds) -> bool:
    """Tell whether the reply breaks the rule, surely enough."""
    return _probability(rule, "disagree") >= limit_of(rule, limits)


def rule_margin(rule: RuleFinding, limits: Thresholds) -> float:
    """Return how far P(disagree) of a rule is below its limit; 0 and less is broken."""
    return margin(_probability(rule, "disagree"), limit_of(rule, limits))


def is_kept(rule: RuleFinding, limits: Thresholds) -> bool:
    """Tell whether the reply keeps the rule, surely enough."""
    return _probability(rule, "agree") >= limits.agree and not is_broken(rule, limits)


def stance(rule: RuleFinding, limits: Thresholds) -> tuple[str, float]:
    """Say how a reply stands to a rule, and how likely: "breaks" and "follows" at limits only."""
    label = rule.alignment.label
    if is_broken(rule, limits):
        return "breaks", _probability(rule, "disagree")
    if is_kept(rule, limits):
        return "follows", _probability(rule, "agree")
    return _UNSURE.get(label, "doesn't apply to"), _probability(rule, label)


def breach(rule: RuleFinding) -> float:
    """Return P(disagree) x weight of a rule: what a revised reply mends first."""
    return _probability(rule, "disagree") * weight(rule)


def broken_rules(rules: Sequence[RuleFinding], limits: Thresholds) -> list[RuleFinding]:
    """Return the rules that the reply breaks: largest margin first, of equals what weighs most."""
    broken = (rule for rule in rules if is_broken(rule, limits))
    return sorted(broken, key=lambda rule: (rule_margin(rule, limits), -weight(rule)))


def worst_broken(rules: Sequence[RuleFinding], limits: Thresholds) -> RuleFinding | None:
    """Return the rule that a reply breaks by the largest margin; None where none is broken."""
    return next(iter(broken_rules(rules, limits)), None)


def decide(
    rules: Sequence[RuleFinding],
    limits: Thresholds,
    reply: ReplyJudgment | None = None,
    house: Collection[str] | None = None,
) -> Verdict:
    """Return the verdict on a reply by what it says itself and by the rules it was asked about.

    score = the least margin of P(bad) below `limits.bad`, and of P(disagree) of each rule below
    `limits.disagree`. Rules of a house, by their texts, flag by themselves (None: all do); general
    ones that are broken raise P(bad) (`beside_rules`). Rules less severe than
    `limits.least_severity` count for nothing. A score of -flag or below is flagged.
    """
    grave = [rule for rule in rules if (rule.severity or _UNKNOWN) >= limits.least_severity]
    alone = [rule for rule in grave if house is None or rule.text in house]
    general = [rule for rule in grave if house is not None and rule.text not in house]
    parts = [rule_margin(rule, limits) for rule in alone] or [1.0]
    if reply is not None:
        # A rule that is only nearly broken says less of a reply than the expert that read it does.
        parts = [part for part in parts if part <= 0]
        parts.append(margin(beside_rules(reply.bad, general, limits), limits.bad))
    basis = None
    if reply is not None and margin(reply.bad, limits.bad) <= -limits.flag:
        basis = BOTH if any(is_broken(rule, limits) for rule in grave) else REPLY
    elif min(parts) <= -limits.flag:
        basis = RULE
    gauge = None
    if reply is not None:
        # What reads as fine and is flagged was raised over the limit by rules that it breaks.
        bad = beside_rules(reply.bad, general, limits) if basis == RULE else reply.bad
        gauge = Gauge(bad, flags_from(limits.bad, limits.flag))
    nearest = min(alone, key=lambda rule: rule_margin(rule, limits), default=None)
    if nearest is not None and (
        reply is None or (basis == RULE and rule_margin(nearest, limits) <= min(parts))
    ):
        limit = flags_from(limit_of(nearest, limits), limits.flag)
        gauge = Gauge(_probability(nearest, "disagree"), limit, nearest.text)
    broken = tuple(rule.text for rule in broken_rules(rules, limits))
    verdict = Verdict(
        flag=basis is not None,
        score=min(parts),
        reason="",
        basis=basis,
        concern=None if reply is None else reply.concern,
        probability=None if reply is None else reply.bad,
        gauge=gauge,
    )
    likely = [rule for rule in rules if rule.alignment.label == "disagree"]
    lead = None
    if gauge is not None and gauge.rule in broken:
        lead = gauge.rule
    elif broken or not (basis and likely):
        lead = next(iter(broken), None)
    else:
        lead = max(likely, key=lambda rule: _probability(rule, "disagree")).text
    return explained(verdict, rules, limits, lead)


def explained(
    verdict: Verdict, rules: Sequence[RuleFinding], limits: Thresholds, lead: str | None
) -> Verdict:
    """Return the verdict with the rule that explains it, and the reason in words."""
    broken = tuple(rule.text for rule in broken_rules(rules, limits))
    return replace(verdict, broken=broken, lead=lead, reason=_reason(verdict, rules, limits, lead))


def abstain(why: str) -> Verdict:
    """Return the verdict where there is none: no flag, score zero, and the reason."""
    return Verdict(False, 0.0, why, status=ABSTAINED)


def flag_unread(verdict: Verdict, unread: int) -> Verdict:
    """Flag a reply of which a part was not read; one that is flagged already stays as it is."""
    if not unread or verdict.flag:
        return verdict
    return replace(
        verdict,
        flag=True,
        score=min(verdict.score, 0.0),
        status=UNREAD,
        reason=f"{unread:,} tokens were not read; {verdict.reason}",
        basis=UNREAD,
    )


def _probability(rule: RuleFinding, label: str) -> float:
    return rule.alignment.probabilities.get(label, 0.0)


def _breaks_none(count: int) -> str:
    none = "doesn't break the rule found"
    return f"breaks none of the {count} rules found" if count > 1 else none


def _reason(
    verdict: Verdict, rules: Sequence[RuleFinding], limits: Thresholds, lead: str | None
) -> str:
    """Say why: the rule that leads, how the reply reads, and without a broken rule what is near.

    Numbers stand in brackets, the rest reads as a sentence.
    """
    parts = []
    basis, bad, concern = verdict.basis, verdict.probability, verdict.concern
    named = next((rule for rule in rules if rule.text == lead), None)
    worst = named if named is not None and is_broken(named, limits) else None
    kept = [rule for rule in rules if is_kept(rule, limits)]
    if worst is not None:
        scales = [
            f"{name} {value:.1f}" for name, value in worst.scales.items() if value is not None
        ]
        facts = [f"probability {_probability(worst, 'disagree'):.2f}", *scales]
        facts += [f"by {worst.scales_from}"] if scales else []
        others = sum(is_broken(rule, limits) for rule in rules if rule is not worst)
        parts.append(f"breaks “{worst.text}” ({', '.join(facts)})")
        parts[0] += f" and {others} more" if others else ""
        parts[0] += f" but keeps {len(kept)}" if kept else ""
        parts[0] += ": not grave or not sure enough to flag" if basis is None else ""
    if bad is not None and (basis in (REPLY, BOTH) or worst is None):
        fine = "clearly fine" if bad <= limits.fine else "fine"
        word = "bad" if basis in (REPLY, BOTH) else fine
        parts.append(f"reads as {word} (probability of bad {bad:.2f})")
        if concern:
            parts[-1] += f"{':' if word == 'bad' else ', but'} it {concern}"
    if worst is not None:
        return "; ".join(parts)
    if named is not None:
        chance = _probability(named, "disagree")
        parts.append(f"explained best by “{named.text}” (probability {chance:.2f})")
    elif basis is not None:
        broken = any(is_broken(rule, limits) for rule in rules)
        why = "none of the broken rules is clearly about it"
        parts.append(why if broken else "no rule of the rulebook explains it")
    elif kept:
        best = max(kept, key=lambda rule: _probability(rule, "agree") * weight(rule))
        more = f" and {len(kept) - 1} more" if len(kept) > 1 else ""
        parts += [f"keeps “{best.text}”{more}", _breaks_none(len(rules))]
    elif rules:
        parts.append(_breaks_none(len(rules)))
    elif bad is None:
        parts.append("no rule of the rulebook concerns it")
    return "; ".join(parts)
