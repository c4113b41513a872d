"""An audit without weights: rules by shared words, alignment by a table, candidates by a list."""

import numpy as np

from moralscope.core.records import Candidate
from moralscope.models.encoders import load_encoder
from moralscope.rules.attributes import Attributes
from moralscope.rules.auditor import Auditor, Policy
from moralscope.rules.records import ALIGNMENTS, Exchange, RuleOfThumb
from moralscope.rules.reply_reader import EXPERTISE, ReplyReading
from moralscope.rules.thresholds import Thresholds
from moralscope.rules.verdict import Aligner
from moralscope.rules.writing.revision import ReplyWriter, Reviser

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


class Reader:
    """Reads replies in windows of sentences; how bad each is, is in a table of words."""

    def __init__(self, bad=None, size=60):
        self.bad, self.size = bad, size
        self.gives_verdicts = bad is not None

    def read(self, exchanges):
        return [self._one(each) for each in exchanges]

    def cut(self, exchanges):
        return [list(reading.windows) for reading in self.read(exchanges)]

    def _one(self, exchange):
        words = exchange.reply.split()
        parts = [" ".join(words[at : at + self.size]) for at in range(0, len(words), self.size)]
        windows = tuple(Exchange(exchange.prompt, part) for part in parts)
        if self.bad is None:
            return ReplyReading(windows)
        each = [max([p for w, p in self.bad.items() if w in part] or [0.01]) for part in parts]
        fear = {"offending user": max(each), EXPERTISE: 0.9 * ("dose" in exchange.reply)}
        return ReplyReading(windows, None, each, max(each), fear)


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


def auditor(
    rules=RULES, *, table=None, limits=None, lines=None, top=5, bad=None, house=(), **policy
):
    """Without `bad` nobody reads a reply itself, as with experts that have no verdict."""
    encoder = load_encoder("scripted")
    limits = limits or Thresholds()
    return Auditor(
        reader=Reader(bad),
        retriever=Shelf(rules) if rules else None,
        house=Shelf(house) if house else None,
        aligner=Aligner(Table(table)),
        attributes=Attributes([*rules, *house], embed=encoder.encode),
        thresholds=limits,
        policy=Policy(fears={"offending user": 0.5, EXPERTISE: 0.5}, **policy),
        reviser=None if lines is None else Reviser(ReplyWriter(Writer(*lines)), encoder, limits),
        top=top,
    )
