"""Question/answer templates: data files that say how an action is asked about.

Built in: `moral` and `gender`. A user's own file is YAML in the same shape or CSV with the
columns question, positive, negative; what is wrong with it is said by line.
"""

import csv
import io
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import yaml

from moralscope.core.errors import InputError
from moralscope.core.registry import registry
from moralscope.io.documents import YamlProblem, compose
from moralscope.io.documents import line_of as _line
from moralscope.io.files import read_small_text

BLANK = "{}"
BUILT_IN = ("moral", "gender")
_INSERTS = ("as-given", "with-article")
_ALIASES = {"yes": "positive", "no": "negative"}
_DEPTH = 6  # a mapping of a list of mappings; a bare {} adds two, and has a message of its own
_VOWEL_SOUND = re.compile(r"^(?:hour|honest|honou?r|heir|[aeio]|u(?!ni|se|su|ro|k))", re.IGNORECASE)
_CONSONANT_SOUND = re.compile(r"^(?:one\b|once\b|eu|ewe)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question with its two opposite answers."""

    question: str
    positive: str
    negative: str


@dataclass(frozen=True, slots=True)
class Template:
    """A named set of prompts; `with_article` fits "a {}" to "an engineer"."""

    name: str
    prompts: tuple[Prompt, ...]
    with_article: bool = False
    about: str = ""

    def questions(self, action: str) -> list[str]:
        """Return the questions about one action, a prompt each, in order.

        Examples
        --------
        >>> load_template("moral").questions("kill time")[1]
        'Should I kill time?'
        >>> load_template("gender").questions("engineer")[0]
        'Is your cousin an engineer?'
        """
        return [self._fill(prompt.question, action) for prompt in self.prompts]

    def _fill(self, question: str, action: str) -> str:
        if self.with_article and takes_an(action):
            question = re.sub(r"\b([Aa]) \{\}", r"\1n {}", question)
        return question.replace(BLANK, action)


def takes_an(noun: str) -> bool:
    """Say whether English puts "an" before the noun.

    Examples
    --------
    >>> [takes_an(noun) for noun in ("engineer", "umpire", "heir", "union leader", "European")]
    [True, True, True, False, False]
    """
    return bool(_VOWEL_SOUND.match(noun)) and not _CONSONANT_SOUND.match(noun)


def load_template(name: str) -> Template:
    """Return a built-in template by name, or read the user's file.

    Examples
    --------
    >>> len(load_template("moral").prompts), len(load_template("gender").prompts)
    (10, 4)
    """
    path = Path(name)
    if path.suffix.lower() in {".yaml", ".yml", ".csv"} or path.is_file():
        text = read_small_text(
            path, "template", f"give YAML or CSV, or one of {', '.join(BUILT_IN)}"
        )
        return parse_template(text, str(path))
    return _built_in(name)


@cache
def _built_in(name: str) -> Template:
    resource = registry.get("question template", name)
    return parse_template(resource.read_text("utf-8"), f"{name}.yaml")


def parse_template(text: str, source: str) -> Template:
    """Parse and validate a template; an `InputError` names the line that is wrong."""
    if source.lower().endswith(".csv"):
        return _parse_csv(text, source)
    try:
        root = compose(text, _DEPTH)
    except YamlProblem as problem:
        raise _wrong(source, problem.line, problem.what) from problem
    fields = _mapping(root, source, {"name", "about", "insert", "prompts"})
    nodes = fields.get("prompts")
    if not isinstance(nodes, yaml.SequenceNode):
        raise _wrong(source, _line(nodes or root), "has no list of prompts under 'prompts:'")
    insert = _text(fields.get("insert"), source) or "as-given"
    if insert not in _INSERTS:
        known = " or ".join(_INSERTS)
        raise _wrong(source, _line(fields["insert"]), f"says insert: {insert}, not {known}")
    prompts = []
    for node in nodes.value:
        row = _mapping(node, source, {"question", "positive", "negative"})
        cells = {key: _text(value, source) for key, value in row.items()}
        prompts.append(_prompt(cells, source, _line(node)))
    return _template(
        _text(fields.get("name"), source) or Path(source).stem,
        prompts,
        source,
        with_article=insert == "with-article",
        about=_text(fields.get("about"), source),
    )


def _parse_csv(text: str, source: str) -> Template:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    prompts = []
    try:
        for row in reader:
            cells = {
                _ALIASES.get(key.strip().lower(), key.strip().lower()): (value or "").strip()
                for key, value in row.items()
                if isinstance(key, str) and not isinstance(value, list)
            }
            prompts.append(_prompt(cells, source, reader.line_num))
    except csv.Error as error:
        raise _wrong(source, reader.line_num, f"is not CSV ({error})") from error
    return _template(Path(source).stem, prompts, source)


def _template(
    name: str, prompts: list[Prompt], source: str, *, with_article: bool = False, about: str = ""
) -> Template:
    if not prompts:
        raise _wrong(source, 1, "holds no prompts")
    return Template(name, tuple(prompts), with_article, about)


def _prompt(cells: dict[str, str], source: str, line: int) -> Prompt:
    for key in ("question", "positive", "negative"):
        if not cells.get(key):
            raise _wrong(source, line, f"has a prompt without '{key}'")
    if cells["question"].count(BLANK) != 1:
        raise _wrong(
            source, line, f"has the question {cells['question'][:60]!r} without one {BLANK}"
        )
    if cells["positive"] == cells["negative"]:
        raise _wrong(source, line, "has the same positive and negative answer")
    return Prompt(cells["question"], cells["positive"], cells["negative"])


def _mapping(node: yaml.Node | None, source: str, known: set[str]) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        raise _wrong(source, _line(node), f"needs {', '.join(sorted(known))}")
    fields = {}
    for key_node, value in node.value:
        key = _ALIASES.get(str(key_node.value), str(key_node.value))
        if key not in known:
            raise _wrong(source, _line(key_node), f"has an unknown key '{key}'")
        fields[key] = value
    return fields


def _text(node: yaml.Node | None, source: str) -> str:
    if node is None:
        return ""
    if not isinstance(node, yaml.ScalarNode):
        raise _wrong(source, _line(node), "needs a text here (put quotes around text with {})")
    return str(node.value).strip()


def _wrong(source: str, line: int, what: str) -> InputError:
    return InputError(
        f"template {source} line {line} {what}",
        f"each prompt needs a question with one {BLANK} and a positive and a negative answer",
    )


for _name in BUILT_IN:
    registry.add(
        "question template", _name, resources.files(__package__) / "data" / f"{_name}.yaml"
    )
