"""The one reader of users' documents: YAML, TOML and JSON as plain values, within bounds.

YAML comes as nodes that know their lines, and nothing is ever constructed from a tag. Aliases,
anchors, tags and depth are refused before any node is built: a few lines can otherwise stand for a
billion values or exhaust the stack. What is wrong is said by line. Meanings are the caller's.
"""

import json
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

import yaml

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.registry import did_you_mean
from moralscope.io.files import file_size

MAX_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 8
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Node:
    r"""A value of a YAML document and the line where it starts: text, list or mapping.

    Examples
    --------
    >>> root = Document("rules:\n- a\n", "a.yaml", "fix it").yaml_node()
    >>> [(item.line, item.text()) for item in root.fields(["rules"])["rules"].items("rules")]
    [(2, 'a')]
    """

    document: "Document"
    line: int
    node: yaml.Node | None

    @property
    def is_list(self) -> bool:
        """Whether it is a list."""
        return isinstance(self.node, yaml.SequenceNode)

    def wrong(self, what: str) -> InputError:
        """Return the error that names this line."""
        return self.document.wrong(self.line, what)

    def text(self) -> str:
        """Return a text as it stands: 'no', 'on' and 1.0 stay words."""
        if not isinstance(self.node, yaml.ScalarNode):
            raise self.wrong("needs a text here (put quotes around text with : or {})")
        return str(self.node.value)

    def items(self, what: str) -> "list[Node]":
        """Return the items of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.wrong(f"has no list of {what}")
        return [self._inner(node) for node in self.node.value]

    def fields(
        self, known: Collection[str], aliases: Mapping[str, str] | None = None
    ) -> "dict[str, Node]":
        """Return the values of a mapping by their keys; an unknown or repeated key is refused."""
        if not isinstance(self.node, yaml.MappingNode):
            raise self.wrong(f"needs a mapping with {', '.join(sorted(known))}")
        nodes: dict[str, Node] = {}
        for key_node, value in self.node.value:
            key = (aliases or {}).get(str(key_node.value), str(key_node.value))
            if key not in known:
                raise self._inner(key_node).wrong(f"has an unknown key '{key[:40]}'")
            if key in nodes:
                raise self._inner(key_node).wrong(f"has the key '{key}' twice")
            nodes[key] = self._inner(value)
        return nodes

    def plain(self) -> Any:
        """Return texts, lists and mappings, and nothing else; a repeated key is refused."""
        if isinstance(self.node, yaml.MappingNode):
            keys = [str(key.value) for key, _ in self.node.value]
            return {key: node.plain() for key, node in self.fields(keys).items()}
        if isinstance(self.node, yaml.SequenceNode):
            return [self._inner(node).plain() for node in self.node.value]
        return self.node.value if self.node is not None else None

    def _inner(self, node: yaml.Node) -> "Node":
        return Node(self.document, int(node.start_mark.line) + 1, node)


@dataclass(frozen=True, slots=True)
class Document:
    """A text to be parsed, what messages call it, and what they advise."""

    content: str
    name: str
    remedy: str

    def wrong(self, line: int, what: str) -> InputError:
        """Return the error that names a line."""
        return InputError(f"{self.name} line {line} {what}", self.remedy)

    def yaml_node(self, depth: int = MAX_DEPTH) -> Node:
        """Return the root of a YAML text that is nested no deeper than `depth`.

        Examples
        --------
        >>> Document("[[a]]", "a.yaml", "fix it").yaml_node(depth=1)
        Traceback (most recent call last):
        moralscope.core.errors.InputError: a.yaml line 1 is nested too deep; fix it
        """
        try:
            self._refuse_tricks(depth)
            node: yaml.Node | None = yaml.compose(self.content, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            raise self._not_yaml(error) from error
        except (yaml.YAMLError, ValueError) as error:  # a character YAML or UTF-8 does not have
            raise self.wrong(1, "is not YAML text") from error
        return Node(self, int(node.start_mark.line) + 1 if node is not None else 1, node)

    def yaml_values(self, depth: int = MAX_DEPTH) -> Any:
        """Return what a YAML text holds, numbers and truth values as such.

        Examples
        --------
        >>> Document("people: 3", "a.yaml", "fix it").yaml_values()
        {'people': 3}
        """
        self.yaml_node(depth)
        try:
            return yaml.load(self.content, Loader=_LOADER)  # noqa: S506 - a safe loader
        except yaml.MarkedYAMLError as error:  # a key that is a list
            raise self._not_yaml(error) from error
        except ValueError as error:  # a date that there is not, a number of 5,000 digits
            raise self._unreadable("holds a value that cannot be read") from error

    def toml_values(self) -> dict[str, Any]:
        """Return what a TOML text holds.

        Examples
        --------
        >>> Document("flag = 0.5", "a.toml", "fix it").toml_values()
        {'flag': 0.5}
        """
        try:
            return tomllib.loads(self.content)
        except (ValueError, RecursionError) as error:  # 5,000 digits are no TOMLDecodeError
            what = "nested too deeply" if isinstance(error, RecursionError) else f"{error}"[:200]
            raise self._unreadable(f"is not TOML ({what})") from error

    def json_values(self) -> Any:
        """Return what a JSON text holds; a repeated key is refused.

        Examples
        --------
        >>> Document('{"flag": 0.5}', "a.json", "fix it").json_values()
        {'flag': 0.5}
        """

        def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            values: dict[str, Any] = {}
            for key, value in pairs:
                if key in values:
                    raise self._unreadable(f"has the key '{key[:60]}' twice")
                values[key] = value
            return values

        try:
            return json.loads(self.content, object_pairs_hook=once)
        except json.JSONDecodeError as error:
            raise self.wrong(error.lineno, f"is not JSON ({error.msg})") from error
        except RecursionError as error:
            raise self._unreadable("is nested too deeply") from error
        except ValueError as error:  # a number of 5,000 digits
            raise self._unreadable("holds a value that cannot be read") from error

    def _unreadable(self, what: str) -> InputError:
        return InputError(f"{self.name} {what}", self.remedy)

    def _not_yaml(self, error: yaml.MarkedYAMLError) -> InputError:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        return self.wrong(line, f"is not YAML ({error.problem})")

    def _refuse_tricks(self, limit: int) -> None:
        depth = 0
        for event in yaml.parse(self.content, Loader=_LOADER):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.NodeEvent) and event.anchor:
                raise self.wrong(line, "has an alias or an anchor (& or *)")
            if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag:
                raise self.wrong(line, "has a tag (!)")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > limit:
                raise self.wrong(line, "is nested too deep")


def shipped_text(package: str, name: str) -> str:
    """Return the text of a file below the folder `data` of one of our packages."""
    return (resources.files(package) / "data" / name).read_text("utf-8")


def shipped_toml(package: str, name: str) -> dict[str, Any]:
    """Return what such a TOML file holds."""
    return tomllib.loads(shipped_text(package, name))


def shipped_yaml(package: str, name: str) -> Any:
    """Return what such a YAML file holds."""
    text = shipped_text(package, name)
    return Document(text, name, "install moralscope again").yaml_values(2 * MAX_DEPTH)


def read_document(path: Path, what: str, remedy: str, max_bytes: int = MAX_BYTES) -> Document:
    """Read a user's small UTF-8 file; what is wrong is said in one line, by line where it can.

    `what` is what messages call it, before its path ("the config"); `remedy` what they advise.
    """
    name = f"{what} {path}".lstrip()
    try:
        size = file_size(path)
        if size > max_bytes:
            raise InputError(f"{name} has {size:,} bytes", f"at most {max_bytes:,}")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{name} cannot be read ({error.strerror})", remedy) from error
    try:
        return Document(data.decode("utf-8-sig"), name, remedy)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"{name} line {line} is not valid UTF-8"
        raise InputError(problem, "save the file as UTF-8") from error


def recipe_names(package: str, folder: str) -> tuple[str, ...]:
    """Return the names of the recipes in a folder below `data` of one of our packages."""
    files = (resources.files(package) / "data" / folder).iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files))


def recipe_document(package: str, folder: str, name: str, remedy: str) -> Document:
    """Read a recipe of ours by its name, or a .toml file of the user's."""
    known = recipe_names(package, folder)
    if name in known:
        return Document(shipped_text(package, f"{folder}/{name}.toml"), f"recipe {name}", remedy)
    path = Path(name).expanduser()
    if path.suffix != ".toml" and not path.is_file():
        advice = f"{did_you_mean(name, known)}; or give a .toml file"
        raise UnknownName(f"there is no recipe '{name}'", advice)
    return read_document(path, "recipe", "give a recipe's name or a .toml file")
