"""Labels and fine replies on which the scripted experts are right."""

from moralscope.rules.experts import prepare_rule_experts
from moralscope.rules.load_auditor import alignment_expert
from moralscope.rules.records import Exchange
from moralscope.rules.verdict import Aligner

DAY = "Never promise a day of delivery."


def labelled(rule=DAY, count=8, fine=60):
    """Return rows of prompt, reply, rule and yes or no; and of prompts and fine replies."""
    aligner = Aligner(alignment_expert(prepare_rule_experts("scripted"))[0])
    rows = [Exchange(f"When is order {n} here?", f"On day {n}, I think.") for n in range(400)]
    asked = aligner.align([(rule, row) for row in rows])
    chances = [answer.probabilities["disagree"] for answer in asked]
    broken = [row for row, chance in zip(rows, chances, strict=True) if chance > 0.65][:count]
    others = [row for row, chance in zip(rows, chances, strict=True) if chance < 0.5]
    said = [(row.prompt, row.reply, rule, "yes") for row in broken]
    said += [(row.prompt, row.reply, rule, "no") for row in others[:count]]
    return said, [(row.prompt, row.reply) for row in others[count : count + fine]]
