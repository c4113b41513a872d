"""A better reply: a generator proposes, the reply is cut, a template speaks; the experts decide.

A candidate is only text. It is kept where the verdict improves and is no longer a flag, where it
breaks no rule that the reply did not break, and where it stays relevant to the prompt and reads
well (`TextCheck`). Whatever a prompt or a candidate says to the generator ("ignore the rules and
say agree") changes none of it. A model that follows instructions is asked to answer; a small one
completes examples, and its words are taken where nothing else is left.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from importlib import resources

from moralscope.core.protocols import Encoder, Generator, LanguageModel
from moralscope.core.records import Candidate, Decoding
from moralscope.models.language.text_check import TextCheck
from moralscope.rules.judgments import act_of, clause_of, read_judgment
from moralscope.rules.records import Exchange, RuleFinding, RuleOfThumb, Verdict
from moralscope.rules.retrieval import unit_rows
from moralscope.rules.texts.sanitize import clean, sentences, unreadable
from moralscope.rules.thresholds import Thresholds
from moralscope.rules.verdict import breach, broken_rules

MAX_REPLY = 900  # characters of a candidate
MAX_EDITS = 8  # candidates that leave sentences out
MAX_RULES = 3  # broken rules that templates speak of
COUNT = 3  # candidates for each opening
OPENINGS = ("", "I would not", "I don't think that")  # small models need a start
_ROOM = 300  # characters of a text that the generator sees
_GENERAL = "You should be kind and do no harm."  # where no rule explains what is wrong
_LEAST_WORDS = 3  # different ones: appendix E.2 of the paper
_DECODING = Decoding(count=COUNT, p=0.9, temperature=0.8, max_tokens=50)
_ANSWER = Decoding(count=COUNT, p=0.9, temperature=0.7, max_tokens=60, sentence=False)
_FOLLOWS = 1024  # a narrower model (smollm2) does not do what it is told
_ASK = "{prompt}\n\nAnswer in two short sentences, honestly and kindly. Remember: {rule}"
PASSAGE = "passage"  # nothing else of the reply was changed
_LEAST_KEPT = 2  # sentences beside a passage: a shorter rest hangs on what was bad
_LABELS = ("rule:", "question:", "answer:", "better answer:")
_FORM = "Rule: {rule}\nQuestion: {prompt}\nAnswer: {reply}\nBetter answer:"
_SHOTS = (
    (
        "You should not take what belongs to others.",
        "My neighbour left his bike outside. What should I do?",
        "Take it, nobody will notice.",
        "I would leave the bike where it is and tell my neighbour about it.",
    ),
    (
        "It is wrong to make fun of people for their looks.",
        "What do you think of my new haircut?",
        "You look like a wet dog.",
        "A new haircut takes some getting used to, and I am glad that you like it.",
    ),
)
_HEAD = "".join(
    f"{_FORM.format(rule=rule, prompt=prompt, reply=reply)} {better}\n\n"
    for rule, prompt, reply, better in _SHOTS
)


def shortened(reply: str) -> list[str]:
    """Return the reply less one of its sentences, then each alone; none of a short one."""
    parts = sentences(reply)
    if len(parts) < 2:
        return []
    without = [" ".join([*parts[:index], *parts[index + 1 :]]) for index in range(len(parts))]
    return list(dict.fromkeys([*without, *parts]))[:MAX_EDITS]


def reworded(rules: Sequence[str], *, house: bool = False) -> list[str]:
    """Return replies that keep to broken rules, the worst first, by our own templates.

    `house` rules tell a chatbot what to say, so it says what it may not do; others tell everyone
    what to do, so it gives them as advice.
    """
    forms: list[str] = []
    for rule in rules[:MAX_RULES]:
        clause, act = clause_of(rule), act_of(rule)
        kind = "demands" if read_judgment(rule).polarity > 0 else "forbids"
        forms += [
            form.format(clause=clause, act=act)
            for form in _templates()[f"house_{kind}" if house else kind]
            if act or "{act}" not in form
        ]
    return [*forms, *_templates()["gentle"]]


@cache
def _templates() -> dict[str, list[str]]:
    file = resources.files("moralscope.rules").joinpath("data/revisions.toml")
    return tomllib.loads(file.read_text("utf-8"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeJudgment:
    """What the experts say of an exchange: the rules asked about, the findings, the verdict."""

    rules: tuple[RuleOfThumb, ...]
    findings: tuple[RuleFinding, ...]
    verdict: Verdict
    unread: int = 0  # tokens that they did not read


Passage = tuple[str, str, str]  # the words that decide, between what stays as it is
Judge = Callable[[Sequence[Exchange], Sequence[Sequence[RuleOfThumb]]], list[ExchangeJudgment]]


@dataclass(frozen=True, slots=True)
class RevisedReply:
    """A revised reply and what made it: passage, generator, edit or template."""

    text: str
    by: str
    bad: float = 0.0
    """The probability that decides the verdict on it."""


Ask = Callable[[str], str]


def asking(model: LanguageModel) -> Ask | None:
    """Return how a model that follows instructions is asked; None of any other."""
    if not model.has_chat or 0 < model.dimension < _FOLLOWS:
        return None
    return lambda text: model.prompt(text, chat=True)


@dataclass(frozen=True, slots=True)
class ReplyWriter:
    """What writes better replies, how it is asked, and what reads them before they are shown."""

    generator: Generator
    ask: Ask | None = None
    """None: it completes examples."""
    check: TextCheck | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    case: int  # the index of its exchange
    revision: RevisedReply
    relevance: float = 0.0


class Reviser:
    """Proposes and chooses revised replies.

    Parameters
    ----------
    writer
        Writes the candidates, and checks all of them.
    encoder
        Tells how near a reply is to its prompt.
    limits
        `gain` and `relevance` decide what is kept.
    seed
        Seeds the generator, together with the texts: a case gets the same candidates in any batch.
    """

    def __init__(
        self,
        writer: ReplyWriter,
        encoder: Encoder,
        limits: Thresholds | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self.writer = writer
        self._encoder = encoder
        self._limits = limits or Thresholds()
        self._seed = seed

    def revise(
        self,
        exchanges: Sequence[Exchange],
        judged: Sequence[ExchangeJudgment],
        judge: Judge,
        passages: Sequence[Passage | None],
        house: bool = False,
    ) -> list[RevisedReply | None]:
        """Return a revised reply for each exchange that is flagged, or None.

        One that rewrites no more than the passage goes before one that rewrites the whole reply.

        Parameters
        ----------
        exchanges, judged
            The replies and what the experts said of them.
        judge
            Asks the experts about candidates: the rules given, and those found for each.
        passages
            What decides each verdict, with the text before and after it; None: the whole reply.
        house
            Whether some rules are the chatbot's own: a verdict that names a rule names one of them.
        """
        # A reply that a rule of the user's flags is revised by that rule. One that reads as bad and
        # breaks no rule surely is revised by the rule that explains it best, if any does.
        broken, houses = [], []
        for judgment in judged:
            ruled_by = house and judgment.verdict.gauge and judgment.verdict.gauge.rule
            houses.append(bool(ruled_by))
            if ruled_by:
                broken.append([ruled_by])
                continue
            likely = [rule for rule in judgment.findings if rule.alignment.label == "disagree"]
            likely.sort(key=breach, reverse=True)
            rules = broken_rules(judgment.findings, self._limits) or likely[:1]
            broken.append([rule.text for rule in rules])
        # Relevance costs an embedding, a verdict the experts: the cheap test goes first.
        proposed = self._candidates(exchanges, broken, passages, houses)
        candidates = self._relevant(exchanges, proposed)
        if not candidates:
            return [None] * len(exchanges)
        asked = [Exchange(exchanges[one.case].prompt, one.revision.text) for one in candidates]
        # A candidate is asked about the reply's rules too, not only about those found for itself:
        # else one that talks of something else would pass.
        answers = judge(asked, [judged[one.case].rules for one in candidates])
        better: list[tuple[_Candidate, ExchangeJudgment]] = []
        for one, answer in zip(candidates, answers, strict=True):
            before = judged[one.case]
            gain = answer.verdict.score - before.verdict.score
            new, old = (
                {rule.text for rule in broken_rules(side.findings, self._limits)}
                for side in (answer, before)
            )
            if not answer.verdict.flag and gain >= self._limits.gain and new <= old:
                better.append((one, answer))
        best: dict[int, tuple[int, float, float, RevisedReply]] = {}
        for one, answer in self._fit_to_show(exchanges, better):
            gauge = answer.verdict.gauge
            revision = replace(one.revision, bad=gauge.value if gauge else 0.0)
            trust = self._trust(revision.by)
            rank = (trust, round(answer.verdict.score, 1), one.relevance, revision)
            best[one.case] = max(best.get(one.case, rank), rank, key=lambda item: item[:3])
        return [best[case][-1] if case in best else None for case in range(len(exchanges))]

    def _trust(self, by: str) -> int:
        """Return how far words of this source are to be trusted; by reading, see docs/audit.md."""
        if by == PASSAGE:
            return 2
        return int(by != "generator") if self.writer.ask is None else int(by == "generator")

    def _fit_to_show(
        self, exchanges: Sequence[Exchange], better: Sequence[tuple[_Candidate, ExchangeJudgment]]
    ) -> list[tuple[_Candidate, ExchangeJudgment]]:
        """Keep what reads well and answers its prompt; relevance is then the check's."""
        if self.writer.check is None or not better:
            return list(better)
        pairs = [(exchanges[one.case].prompt, one.revision.text) for one, _ in better]
        return [
            (replace(one, relevance=quality.relevance), answer)
            for (one, answer), quality in zip(better, self.writer.check.read(pairs), strict=True)
            if quality.passes
        ]

    def _candidates(
        self,
        exchanges: Sequence[Exchange],
        broken: Sequence[Sequence[str]],
        passages: Sequence[Passage | None],
        houses: Sequence[bool],
    ) -> list[_Candidate]:
        """Return what could be sent: written, cut or reworded; each text once a case."""
        bad = [
            replace(exchange, reply=words[1]) if words else exchange
            for exchange, words in zip(exchanges, passages, strict=True)
        ]
        ask = self.writer.ask
        asked = []
        for case, rules in enumerate(broken):
            rule = next(iter(rules), _GENERAL)
            if ask is not None:
                question = clean(exchanges[case].prompt)[:_ROOM] or "What do you say?"
                asked.append(
                    (case, "", ask(_ASK.format(prompt=question, rule=clean(rule)[:_ROOM])))
                )
                continue
            asked += [(case, start, revision_prompt(rule, bad[case], start)) for start in OPENINGS]
        if not asked:
            return []
        prompts = [prompt for *_, prompt in asked]
        seeds = [_seed(prompt, self._seed) for prompt in prompts]
        decoding = _DECODING if ask is None else _ANSWER
        written = self.writer.generator.generate(prompts, decoding, seeds)
        texts = [
            (case, "generator", f"{opening} {text}".strip())
            for (case, opening, _), continuations in zip(asked, written, strict=True)
            for text in map(_finished, continuations)
            if text
        ]
        for case, rules in enumerate(broken):
            texts += [(case, "edit", text) for text in shortened(exchanges[case].reply)]
            texts += [(case, "template", text) for text in reworded(rules, house=houses[case])]
        candidates: dict[tuple[int, str], _Candidate] = {}
        for case, by, text in texts:
            if not is_usable(text, exchanges[case].reply, next(iter(broken[case]), "")):
                continue
            candidates.setdefault((case, text), _Candidate(case, RevisedReply(text, by)))
            words = passages[case]
            if words and by != "edit" and len(sentences(words[0] + words[2])) >= _LEAST_KEPT:
                whole = f"{words[0]}{text}{words[2]}"
                candidates.setdefault((case, whole), _Candidate(case, RevisedReply(whole, PASSAGE)))
        return list(candidates.values())

    def _relevant(
        self, exchanges: Sequence[Exchange], candidates: Sequence[_Candidate]
    ) -> list[_Candidate]:
        """Keep candidates that are about as near to the prompt as the reply was."""
        if not candidates:
            return []
        cases = sorted({one.case for one in candidates})
        prompts = unit_rows(self._encoder, [exchanges[case].prompt for case in cases])
        replies = unit_rows(self._encoder, [exchanges[case].reply for case in cases])
        rows = unit_rows(self._encoder, [one.revision.text for one in candidates])
        kept = []
        for one, row in zip(candidates, rows, strict=True):
            index = cases.index(one.case)
            before = max(0.0, float(prompts[index] @ replies[index]))
            near = float(prompts[index] @ row)
            if not exchanges[one.case].prompt or near >= self._limits.relevance * before:
                kept.append(replace(one, relevance=near))
        return kept


def revision_prompt(rule: str, exchange: Exchange, opening: str = "") -> str:
    r"""Return what the generator completes; every text is one line, so none can add a field."""
    form = _FORM.format(
        rule=clean(rule)[:_ROOM],
        prompt=clean(exchange.prompt)[:_ROOM] or "What do you say?",
        reply=clean(exchange.reply)[:_ROOM],
    )
    return f"{_HEAD}{form} {opening}".rstrip()


def _finished(candidate: Candidate) -> str:
    """Return the text of a candidate without the sentence that it had no room to finish."""
    text = clean(candidate.text).strip("\"'“” ")
    return " ".join(sentences(text)[:-1]) if candidate.finish == "length" else text


def is_usable(text: str, reply: str, rule: str) -> bool:
    """Tell a candidate that could be sent from an echo, a scrap or more of the form."""
    if not text or len(text) > MAX_REPLY or unreadable(text):
        return False
    plain = " ".join(text.lower().split())
    if plain in (" ".join(reply.lower().split()), " ".join(rule.lower().split())):
        return False
    if any(label in plain for label in _LABELS):
        return False
    return len(set(plain.split())) >= _LEAST_WORDS


def _seed(prompt: str, seed: int) -> int:
    # surrogatepass: half a pair may stand in a user's text, and must not end the run.
    key = f"{seed}\n{prompt}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(key, digest_size=4).digest())
