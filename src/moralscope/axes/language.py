"""The choice of a language model: how much likelier a yes is than a no.

    score(a) = mean over prompts p of  l_p(a) - mean over neutral actions n of l_p(n)
    l_p(a)   = log P(yes answer | question p about a) / its tokens - the same of the no answer

The question names the valid answers ("Answer with yes or no."); without that, the answer mass of
smollm2 was an eighth of what it is. Answers are the template's whole ones, length-normalised
("whole"). Beside it stand their bare sum ("total") and the log-odds of their first words ("first").
Neutral actions take out what the model says whatever it is asked: contextual calibration (Zhao et
al. 2021). The answer mass is how much probability lies on any valid answer; where it is small, a
score says little about what the model would reply. An endpoint is asked for first words alone.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moralscope.axes.build import AxisModels
from moralscope.axes.options import AxisOptions
from moralscope.axes.prompts import Forms, PromptAxis, language_config, spans_of
from moralscope.axes.records import LanguageFigures, LanguageScore
from moralscope.axes.templates import BLANK, Phrasing, Template, load_template
from moralscope.core.errors import InputError
from moralscope.core.protocols import (
    AxisCard,
    AxisRun,
    Floats,
    LanguageModel,
    Paraphrases,
    Report,
    Row,
)
from moralscope.core.records import Continuation, Interval, ModelRef
from moralscope.stats.intervals import bootstrap_mean

READINGS = ("whole", "total", "first")
_LOW_MASS = 0.5
# Letters, and the marks that Arabic and Devanagari set on them.
_WORD = re.compile(r"(?:\w|[\u0300-\u036f\u064b-\u065f\u0900-\u0903\u093a-\u094f])+")
_CALIBRATED = (
    "zero is what the model answers about neutral actions ('do this', 'do something', …), not a "
    "border between right and wrong"
)


@dataclass(frozen=True, slots=True)
class Asking:
    """How questions are put to a language model."""

    model: LanguageModel
    chat: bool
    frame: str = Phrasing().frame

    @classmethod
    def of(cls, model: LanguageModel, form: str, frame: str = Phrasing().frame) -> "Asking":
        """Return the form that was asked for; `auto` is chat where the model has a template."""
        if form == "chat" and not model.has_chat:
            raise InputError(f"'{model.name}' brings no chat template", "use --form plain")
        if form == "plain" and not model.layers:
            raise InputError(f"'{model.name}' is asked through its chat form", "use --form chat")
        return cls(model, model.has_chat if form == "auto" else form == "chat", frame)

    @property
    def form(self) -> str:
        """Its name."""
        return "chat" if self.chat else "plain"

    def text(self, *turns: str) -> str:
        """Return what the model reads, a question last; it is to go on with the answer."""
        if self.chat:
            return self.model.prompt(*turns, chat=True)
        talk = [self.model.prompt(turn, chat=False) for turn in turns]
        talk[::2] = [self.frame.replace(BLANK, asked) for asked in talk[::2]]
        talk[1::2] = [f"{self.answer(said)}\n\n" for said in talk[1::2]]
        return "".join(talk)

    def answer(self, answer: str) -> str:
        """Return an answer as it follows the question."""
        # Chinese sets no space after its wide colon.
        return answer if self.chat or self.frame.endswith("\uff1a") else f" {answer}"


def build_language_choice(
    options: AxisOptions, models: AxisModels, *, state: Template | None = None, many: bool = False
) -> "LanguageChoice":
    """Read the template, load the model and find the form in which it is asked."""
    template = state or load_template(options.template, options.language)
    asking = Asking.of(models.language(options), options.form, template.phrasing.frame)
    return LanguageChoice(asking, template, seed=options.seed)


class LanguageChoice(PromptAxis):
    """An `Axis`: scores actions by a language model's log-odds of yes and no."""

    name = "choice"

    def __init__(self, asking: Asking, template: Template, *, seed: int = 0) -> None:
        super().__init__(template, seed=seed)
        self._asking, self._seed = asking, seed
        self._neutral: Floats | None = None
        self._told = asking.model.layers > 0

    @property
    def card(self) -> AxisCard:
        """What a record says of the axis."""
        model = self._asking.model
        return AxisCard(
            config={
                "axis": self.name,
                "model": model.name,
                "template": self._template.name,
                **language_config(self._template),
                "prompts": [prompt.question for prompt in self._template.prompts],
                "form": self._asking.form,
                "reading": READINGS[0] if self._told else READINGS[2],
                "neutral": list(self._template.phrasing.neutral),
                "interval": "95 % percentile bootstrap over prompts",
            },
            models=model.refs or (ModelRef(model.name, model.checksum),),
            warnings=[_CALIBRATED, *self._template.warnings],
            fingerprint=self._template.fingerprint,
        )

    def score_rows(
        self, rows: Sequence[Row], paraphrases: Paraphrases = None, report: Report | None = None
    ) -> AxisRun:
        """Score the actions of rows, and say how much probability lies on valid answers."""
        scores = self.score([row["action"] for row in rows], paraphrases, report)
        masses = np.array([row.mass for row in scores if isinstance(row, LanguageScore)])
        mass, low, high = bootstrap_mean(masses, self._seed)
        model = self._asking.model
        warnings = list(model.warnings)
        if mass < _LOW_MASS:
            warnings.append(
                f"only {mass:.0%} of the probability lies on a valid answer: {model.name} would "
                "mostly reply something else"
            )
        neutral = None if self._neutral is None else [float(odds) for odds in self._neutral[0]]
        figures = LanguageFigures(
            answer_mass=Interval(mass, low, high), neutral=neutral, usage=model.usage
        )
        return AxisRun(results=scores, statistics={"language": figures}, warnings=warnings)

    def _score_block(self, block: Sequence[Forms]) -> list[LanguageScore]:
        if self._neutral is None:
            odds, _ = self._ask(self._template.phrasing.neutral)
            self._neutral = odds.mean(axis=1)
        odds, masses = self._ask([form for group in block for form in group])
        odds = odds - self._neutral[:, None]
        spans = spans_of(block)
        means = self._bootstrap.means([odds[0, span] for span in spans])
        return [
            LanguageScore(
                group[0],
                row.mean,
                row.low,
                row.high,
                row.prompts,
                total=float(odds[1, span].mean()),
                first=float(odds[2, span].mean()),
                mass=float(masses[span].mean()),
            )
            for group, row, span in zip(block, means, spans, strict=True)
        ]

    def _ask(self, actions: Sequence[str]) -> tuple[Floats, Floats]:
        """Return (readings, actions, prompts) log-odds and (actions, prompts) answer masses."""
        prompts = self._template.prompts
        texts, answers = [], []
        for action in actions:
            for prompt, question in zip(prompts, self._template.questions(action), strict=True):
                yes, no = first_words(prompt.positive, prompt.negative)
                # Told which answers are valid: a chat model would otherwise talk around it.
                instruct = self._template.phrasing.instruct
                for word in (yes, no):
                    instruct = instruct.replace(BLANK, word[:1].lower() + word[1:], 1)
                texts.append(self._asking.text(f"{question} {instruct}"))
                asked = [yes, no]
                if self._told:  # the whole answers, then the first words as people write them
                    words = dict.fromkeys([yes, yes.lower(), no, no.lower()])
                    asked = [prompt.positive, prompt.negative, *words]
                answers.append([self._asking.answer(text) for text in asked])
        continuations = self._asking.model.log_probabilities(texts, answers)
        cells = np.array([self._odds(some) for some in continuations], dtype=np.float64)
        table = cells.reshape(len(actions), len(prompts), -1).transpose(2, 0, 1)
        return table[:3], table[3]

    def _odds(self, answers: Sequence[Continuation]) -> tuple[float, float, float, float]:
        """Return whole, total and first-word log-odds, and the mass of all valid beginnings."""
        if not self._told:
            odds = answers[0].total - answers[1].total
            # A share is counted where replies were drawn.
            shares = [a.hits / a.samples if a.samples else float(np.exp(a.total)) for a in answers]
            return odds, odds, odds, min(1.0, sum(shares))
        yes, no, *words = answers
        shares = [float(np.exp(word.total)) for word in words]
        half = len(shares) // 2
        tops = [max(sum(part), 1e-300) for part in (shares[:half], shares[half:])]
        first = float(np.log(tops[0]) - np.log(tops[1]))
        return yes.mean - no.mean, yes.total - no.total, first, min(1.0, sum(shares))


def first_words(positive: str, negative: str) -> tuple[str, str]:
    """Return the beginnings that tell two answers apart: the words up to the first that differs."""
    ends = zip(_WORD.finditer(positive), _WORD.finditer(negative), strict=False)
    for one, other in ends:
        if one[0].lower() != other[0].lower():
            return positive[: one.end()], negative[: other.end()]
    return positive, negative
