"""What type checkers see: the stub is made from signatures and options, and holds for a user.

MORALSCOPE_STUB=1 writes `__init__.pyi` anew.
"""

import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

import moralscope
from moralscope.core.options import Options, option_fields

STUB = Path(moralscope.__file__).with_name("__init__.pyi")
HEAD = '''"""What type checkers see of the names that are loaded lazily, with options as keywords.

Made from signatures and options classes by tests/unit/test_user_types.py (MORALSCOPE_STUB=1).
"""
'''
# What a function takes by keyword beside its options, and what its results are.
ALSO = {
    "audit": {
        "file": "str | pathlib.Path",
        **dict.fromkeys(("prompt", "reply", "text", "columns"), "str | None"),
    },
    "score": {
        "encoder": "str | moralscope.core.protocols.Encoder",
        "model": "str | moralscope.core.protocols.LanguageModel | None",
        "human": "pathlib.Path | moralscope.axes.ratings.Ratings | None",
    },
}
RESULTS = {
    "audit": "moralscope.rules.records.AuditedReply",
    "bench": "moralscope.benchmarks.bench.BenchResult",
    "rank": "moralscope.core.records.RankedAnswer",
}
QUOTED = {"Ratings | None": "moralscope.axes.ratings.Ratings | None"}  # a text in the source
CONVERSATIONS = "moralscope.rules.conversations.conversation.AuditedConversation"


def options_of(function):
    """Return the options class that a function takes by keyword, if it does."""
    parameters = inspect.signature(function).parameters.values()
    if inspect.isclass(function) or all(row.kind is not row.VAR_KEYWORD for row in parameters):
        return None
    kinds = (kind for row in parameters for kind in getattr(row.annotation, "__args__", ()))
    return next((one for one in kinds if isinstance(one, type) and issubclass(one, Options)), None)


def written(annotation):
    text = QUOTED.get(annotation) or inspect.formatannotation(annotation)
    return re.sub(r"\btyping\.|\bNoneType\b", lambda m: "" if m[0][-1] == "." else "None", text)


def typed_function(name, function, options):
    """Return the lines of one function: its keywords as a typed dictionary, its signature."""
    parameters = inspect.signature(function).parameters.values()
    hints = {key: written(kind) for key, kind in get_type_hints(options).items()}
    paths = ("FILE", "RULEBOOK")  # what such a text names may be a Path, too
    files = {row.name for row in option_fields(options) if row.option.metavar in paths}
    hints = {
        field.name: re.sub(r"\bstr\b", "str | pathlib.Path", kind) if field.name in files else kind
        for field in fields(options)
        for kind in [hints[field.name]]
    } | ALSO.get(name, {})
    named = {row.name for row in parameters}
    words = "".join(f"    {key}: {kind}\n" for key, kind in hints.items() if key not in named)
    result = written(inspect.signature(function).return_annotation)
    variants = [("", f"_Record[{RESULTS[name]}]" if name in RESULTS else result)]
    if name == "audit":
        variants.append(("conversation: Any", f"_Record[{CONVERSATIONS}]"))
    keywords = f"_{name.title().replace('_', '')}Keywords"
    text = f"class {keywords}(TypedDict, total=False):\n{words}\n"
    for more, returned in variants:
        text += "@overload\n" * (len(variants) > 1) + f"def {name}(\n"
        for row in parameters:
            default = "" if row.default is row.empty else " = ..."
            kind = f": {written(row.annotation)}{default}"
            if row.kind is row.VAR_KEYWORD:
                text += f"    {more},\n" if more else ""
                kind = f": Unpack[{keywords}]"
            elif row.kind is row.KEYWORD_ONLY and "    *,\n" not in text.rpartition("def ")[2]:
                text += "    *,\n"
            text += f"    {'**' * (row.kind is row.VAR_KEYWORD)}{row.name}{kind},\n"
        text += f') -> {returned}:\n    """{inspect.getdoc(function).splitlines()[0]}"""\n'
    return text


def stub():
    """Return the stub that the signatures and options of today make."""
    plain, typed = ["from moralscope.version import __version__ as __version__\n"], []
    for name, module in sorted(moralscope._NAMES.items()):
        function = getattr(moralscope, name)
        if options := options_of(function):
            typed.append(typed_function(name, function, options))
        else:
            plain.append(f"from moralscope.{module} import {name} as {name}\n")
    typed.insert(
        0,
        '_Result = TypeVar("_Result")\n\n'
        "class _Record(moralscope.core.records.RunRecord, Generic[_Result]):\n"
        "    results: collections.abc.Sequence[_Result]\n",
    )
    body = "\n".join(typed)
    dotted = re.findall(r"\b((?:\w+\.)+)[A-Z]\w*", body)
    imports = sorted({f"import {module.rstrip('.')}\n" for module in dotted})
    typing = "from typing import Any, Generic, TypedDict, TypeVar, Unpack, overload\n"
    return "\n".join([HEAD, "".join([*imports, typing]), "".join(plain), body])


def test_the_stub_has_every_public_name_with_its_options_of_today():
    if os.environ.get("MORALSCOPE_STUB"):
        STUB.write_text(stub(), "utf-8")
    text = STUB.read_text("utf-8")
    assert text == stub(), "MORALSCOPE_STUB=1 pytest tests/unit/test_user_types.py writes it anew"
    names = re.findall(r" import (\w+) as \1$|^def (\w+)\(", text, re.MULTILINE)
    assert {one or other for one, other in names} == set(moralscope.__all__)


USER = """
import moralscope

record = moralscope.audit(prompt="Hi!", reply="Hello you.", experts="scripted", top=3)
flag: bool = record.results[0].verdict.flag
wrong: int = record.results[0].verdict.reason  # line 6: a reason is a text
moralscope.audit(nonsense=3)  # line 7: no such option
moralscope.score(["kill time"], encoder=3)  # line 8: a name or an Encoder
moralscope.score(["kill time"], axis="choice", encoder="scripted").to_frame()
turns = moralscope.audit(conversation="talk.jsonl").results[0].turns
moralscope.rank("to toast", ["bread"], encoder="scripted").results[0].answer.upper()
moralscope.scor(["kill time"])  # line 12: no such name
"""
# Reading torch and its like would take seven times as long and change nothing.
MYPY = """[mypy]
strict = True
[mypy-moralscope.*]
follow_imports = silent
[mypy-torch.*,transformers.*,scipy.*,sklearn.*,peft.*,sentence_transformers.*,numpy.*]
follow_imports = skip
"""


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_users_script_is_checked_by(checker, tmp_path):
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    if checker == "pyright" and shutil.which("node") is None:
        pytest.skip("pyright runs on Node, which is not installed")
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "mypy.ini").write_text(MYPY)
    words = ["--pythonpath", sys.executable] if checker == "pyright" else []
    done = subprocess.run(
        [sys.executable, "-m", checker, *words, "user.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(STUB.parents[1]), "MYPYPATH": str(STUB.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    if checker == "pyright" and "npm" in done.stderr:
        pytest.skip("pyright's program could not be fetched from npm")
    lines = {int(line) for line in re.findall(r"user\.py:(\d+):.*error", done.stdout)}
    assert lines == {6, 7, 8, 12}, done.stdout + done.stderr
