"""A user's YAML as nodes with their lines, after refusing what is used to do harm.

Aliases, anchors and tags are refused, and so is depth, before any node is built: a few lines of
YAML can otherwise stand for a billion values or exhaust the stack. What nodes mean is the caller's
business; nothing is ever constructed from a tag.
"""

import yaml

LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlProblem(Exception):
    """What is wrong with a YAML text, and its line."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line} {what}")
        self.line = line
        self.what = what


def compose(text: str, depth: int) -> yaml.Node | None:
    """Return the root node of a text that is nested no deeper than `depth`; None of an empty one.

    Examples
    --------
    >>> [node.value for node in compose("[a, b]", 1).value]
    ['a', 'b']
    >>> compose("[[a]]", 1)
    Traceback (most recent call last):
    moralscope.io.documents.YamlProblem: line 1 is nested too deep
    """
    try:
        _refuse_tricks(text, depth)
        node: yaml.Node | None = yaml.compose(text, Loader=LOADER)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise YamlProblem(line, f"is not YAML ({error.problem})") from error
    except (yaml.YAMLError, ValueError) as error:  # a character that YAML or UTF-8 does not have
        raise YamlProblem(1, "is not YAML text") from error
    return node


def line_of(node: yaml.Node | None) -> int:
    """Return the line where a node starts; 1 of nothing.

    Examples
    --------
    >>> line_of(None)
    1
    """
    return int(node.start_mark.line) + 1 if node is not None else 1


def _refuse_tricks(text: str, limit: int) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise YamlProblem(line, "has an alias or an anchor (& or *)")
        if getattr(event, "tag", None):
            raise YamlProblem(line, "has a tag (!)")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > limit:
            raise YamlProblem(line, "is nested too deep")
