"""An audit without weights: rules by shared words, alignment by a table, candidates by a list."""

import numpy as np

from moralscope.core.records import Candidate
from moralscope.models.encoders import load_encoder
from moralscope.rules.attributes import Attributes
from moralscope.rules.auditor import Auditor
from moralscope.rules.records import ALIGNMENTS, RuleOfThumb
from moralscope.rules.revision import Reviser
from moralscope.rules.verdict import Aligner, Thresholds

KILL = RuleOfThumb("It is wrong to kill people.", ("care",), 5.0, 5.0)
LIE = RuleOfThumb("You should not lie to friends.", ("fairness", "loyalty"), 3.0, 4.0)
HELP = RuleOfThumb("It is good to help people.", ("care",), 2.0, 4.0)
RULES = (KILL, LIE, HELP)
# (part of the rule, part of the reply) → label; what is not here is neither
TABLE = {
    ("kill", "kill him"): "disagree",
    ("kill", "talk to him"): "agree",
    ("lie", "lie to her"): "disagree",
    ("help", "help"): "agree",
}


class Shelf:
    """Finds every rule for every exchange; a rule with a word of the text is nearer."""

    def __init__(self, rules=RULES):
        self.rules = rules
        self.asked = []

    def find(self, exchanges, k):
        self.asked += exchanges
        return [self._one(f"{each.prompt} {each.reply}".lower(), k) for each in exchanges]

    def _one(self, text, k):
        words = {word.strip(".,!?") for word in text.split()}
        found = [
            (rule, 0.9 if words & set(rule.text.lower().strip(".").split()[4:]) else 0.3)
            for rule in self.rules
        ]
        return sorted(found, key=lambda pair: -pair[1])[:k]


class Table:
    """A classifier that reads its answers from a table."""

    name = "table"
    checksum = "0" * 64
    labels = ALIGNMENTS

    def __init__(self, table=None):
        self.table = TABLE if table is None else table
        self.pairs = []

    def probabilities(self, pairs):
        self.pairs += pairs
        return np.array([self._row(*pair) for pair in pairs], dtype=np.float32)

    def _row(self, rule, exchange):
        reply = exchange.partition("The assistant ")[2].lower()
        for (part, said), label in self.table.items():
            if part in rule.lower() and said in reply:
                return [0.9 if each == label else 0.05 for each in ALIGNMENTS]
        return [0.05, 0.05, 0.9]


class Writer:
    """A generator that writes the same lines for every prompt without an opening."""

    refs, warnings, usage = (), (), None

    name = "writer"
    checksum = "1" * 64

    def __init__(self, *lines):
        self.lines = lines
        self.prompts = []

    def generate(self, prompts, decoding, seeds):
        self.prompts += prompts
        return [
            [Candidate(line if prompt.endswith("answer:") else "") for line in self.lines]
            for prompt in prompts
        ]


def auditor(rules=RULES, *, table=None, limits=None, lines=None, top=5):
    encoder = load_encoder("scripted")
    limits = limits or Thresholds()
    return Auditor(
        Shelf(rules),
        Aligner(Table(table)),
        Attributes(rules, encoder),
        limits,
        reviser=None if lines is None else Reviser(Writer(*lines), encoder, limits),
        top=top,
    )
