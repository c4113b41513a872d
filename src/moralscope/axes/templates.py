"""Question/answer templates: data files that say how an action is asked about.

Built in: `moral`, in all languages of `LANGUAGES`, and `gender`. A user's own file is YAML in the
same shape or CSV with the columns question, positive, negative; what is wrong with it is said by
line.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from moralscope.axes.options import ENGLISH, LANGUAGES, TEMPLATES
from moralscope.core.errors import InputError
from moralscope.core.registry import look_up
from moralscope.io.documents import Document, Node, read_document, shipped_text
from moralscope.io.tables import Layout, TableFile

BLANK = "{}"
MORAL, GENDER = TEMPLATES
_KEYS = ("question", "positive", "negative")
_AS_GIVEN, _ARTICLE, _ELISION = _INSERTS = ("as-given", "with-article", "with-elision")
_OWN = {"name", "about", "insert", "prompts"}
_OF_LANGUAGE = {"language", "reviewed", "action", "instruct", "frame", "neutral"}
_ALIASES = {"yes": "positive", "no": "negative"}
_REMEDY = f"each prompt needs a question with one {BLANK} and a positive and a negative answer"
_DEPTH = 6  # a mapping of a list of mappings; a bare {} adds two, and has a message of its own
_VOWEL_SOUND = re.compile(r"^(?:hour|honest|honou?r|heir|[aeio]|u(?!ni|se|su|ro|k))", re.IGNORECASE)
# French: de before a vowel and a mute h; these begin with an h that is not mute.
_ELIDES = re.compile(
    r"^(?:[aeiouâàéèêëîïôöùûüœæ]|y |h(?!aïr|arcel|url|eurt|ach|auss|ant|iss|andic))", re.I
)
_CONSONANT_SOUND = re.compile(r"^(?:one\b|once\b|eu|ewe)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question with its two opposite answers."""

    question: str
    positive: str
    negative: str


@dataclass(frozen=True, slots=True)
class Phrasing:
    """How a language model is asked in a language, beside the questions themselves.

    `instruct` names the valid answers, `frame` is for models without a chat form, `neutral` are
    actions that say nothing: what a model answers about them is zero.
    """

    instruct: str = "Answer with {} or {}."
    frame: str = "Question: {}\nAnswer:"
    neutral: tuple[str, ...] = (
        "do this",
        "do that",
        "do something",
        "do it this way",
        "go on with it",
    )


@dataclass(frozen=True, slots=True)
class Template:
    """A named set of prompts; `with_article` fits "a {}" to "an engineer".

    `with_elision` turns "de {}" into "d'{}" where French does. `unreviewed` says that no native
    speaker has read the questions.
    """

    name: str
    prompts: tuple[Prompt, ...]
    with_article: bool = False
    about: str = ""
    language: str = ENGLISH
    with_elision: bool = False
    unreviewed: bool = False
    phrasing: Phrasing = Phrasing()

    @property
    def positive(self) -> tuple[str, ...]:
        """The positive answers, one a prompt."""
        return tuple(prompt.positive for prompt in self.prompts)

    @property
    def negative(self) -> tuple[str, ...]:
        """The negative answers, one a prompt."""
        return tuple(prompt.negative for prompt in self.prompts)

    @property
    def fingerprint(self) -> str:
        """A checksum of all questions and answers: a saved direction is tied to it."""
        parts = [self.with_article, *(astuple(prompt) for prompt in self.prompts)]
        parts += ["elision"] if self.with_elision else []
        return sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def warnings(self) -> list[str]:
        """What is to be said of the questions."""
        if not self.unreviewed:
            return []
        name = LANGUAGES[self.language]
        return [f"the questions in {name} are ours: no native speaker has reviewed them"]

    def questions(self, action: str) -> list[str]:
        """Return the questions about one action, a prompt each, in order."""
        questions = [prompt.question for prompt in self.prompts]
        if self.with_article and takes_an(action):
            questions = [re.sub(r"\b([Aa]) \{\}", r"\1n {}", text) for text in questions]
        if self.with_elision and _ELIDES.match(action):
            questions = [re.sub(r"\b([Dd])e \{\}", r"\1'{}", text) for text in questions]
        return [question.replace(BLANK, action) for question in questions]


def takes_an(noun: str) -> bool:
    """Say whether English puts "an" before the noun."""
    return bool(_VOWEL_SOUND.match(noun)) and not _CONSONANT_SOUND.match(noun)


def load_template(name: str, language: str = ENGLISH) -> Template:
    """Return a built-in template by name, or read the user's file."""
    path = Path(name)
    if path.suffix.lower() in {".yaml", ".yml", ".csv"} or path.is_file():
        remedy = f"give YAML or CSV, or one of {', '.join(TEMPLATES)}"
        template = parse_template(read_document(path, "template", remedy).content, str(path))
        if language in (ENGLISH, template.language):
            return template
        return replace(template, language=language, phrasing=_built_in(MORAL, language).phrasing)
    if language != ENGLISH and name != MORAL:
        what = f"the template '{name}' is there in English only"
        raise InputError(what, "give a file of your own in that language")
    look_up("question template", name, dict.fromkeys(TEMPLATES))
    return _built_in(name, language)


@cache
def _built_in(name: str, language: str) -> Template:
    file = f"{name}.yaml" if language == ENGLISH else f"{name}.{language}.yaml"
    return parse_template(shipped_text("moralscope.axes", file), file)


def parse_template(text: str, source: str) -> Template:
    """Parse and validate a template; an `InputError` names the line that is wrong."""
    document = Document(text, f"template {source}", _REMEDY)
    stem = Path(source).stem
    if source.lower().endswith(".csv"):
        table = TableFile(
            document.content, name=document.name, kind=".csv", layout=Layout(lower=True)
        )
        rows = (
            (line, {_ALIASES.get(key, key): value.strip() for key, value in row.items()})
            for line, row in table.strict_rows(remedy=_REMEDY)
        )
        return Template(stem, _prompts(rows, document))
    root = document.yaml_node(_DEPTH)
    fields = root.fields(_OWN | _OF_LANGUAGE)
    insert = _text(fields.get("insert")) or _AS_GIVEN
    if insert not in _INSERTS:
        raise fields["insert"].wrong(f"says insert: {insert}, not {' or '.join(_INSERTS)}")
    rows = (
        (node.line, {key: _text(value) for key, value in node.fields(_KEYS, _ALIASES).items()})
        for node in fields.get("prompts", root).items("prompts under 'prompts:'")
    )
    prompts = _prompts(rows, document)
    name, about = (_text(fields.get(key)) for key in ("name", "about"))
    language = _text(fields.get("language")) or ENGLISH
    if language not in LANGUAGES:
        raise fields["language"].wrong(f"says language: {language}, not {', '.join(LANGUAGES)}")
    phrasing: dict[str, Any] = {}
    for key, blanks in (("instruct", 2), ("frame", 1)):
        if key in fields:
            phrasing[key] = _text(fields[key])
            if phrasing[key].count(BLANK) != blanks:
                raise fields[key].wrong(f"has not {blanks} {BLANK} under '{key}'")
    if "neutral" in fields:
        listed = fields["neutral"].items("actions under 'neutral:'")
        phrasing["neutral"] = tuple(_text(node) for node in listed)
    return Template(
        name or stem,
        prompts,
        with_article=insert == _ARTICLE,
        about=about,
        language=language,
        with_elision=insert == _ELISION,
        unreviewed=_text(fields.get("reviewed")) == "no",
        phrasing=Phrasing(**phrasing),
    )


def _prompts(rows: Iterable[tuple[int, dict[str, str]]], document: Document) -> tuple[Prompt, ...]:
    prompts = []
    for line, cells in rows:
        for key in _KEYS:
            if not cells.get(key):
                raise document.wrong(line, f"has a prompt without '{key}'")
        question, positive, negative = (cells[key] for key in _KEYS)
        if question.count(BLANK) != 1:
            raise document.wrong(line, f"has the question {question[:60]!r} without one {BLANK}")
        if positive == negative:
            raise document.wrong(line, "has the same positive and negative answer")
        prompts.append(Prompt(question, positive, negative))
    if not prompts:
        raise document.wrong(1, "holds no prompts")
    return tuple(prompts)


def _text(node: Node | None) -> str:
    return "" if node is None else node.text().strip()
