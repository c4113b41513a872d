"""What the page needs beside jobs: uploads, our rulebook as text, shipped experts, the plots."""

import gzip
import importlib.resources
import json
import re
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from moralscope.core.errors import InputError, MissingExtra
from moralscope.rules.audit_files import open_exchanges
from moralscope.rules.options import SHIPPED
from moralscope.rules.records import FOUNDATIONS
from moralscope.rules.rulebook import shipped_rulebook

MOST = 1000  # exchanges of an upload


def read_upload(name: str, data: bytes) -> list[dict[str, str]]:
    r"""Read an uploaded file of exchanges as the command line reads one.

    Only the ending of the name is used; a message names the file as its owner does.

    Examples
    --------
    >>> read_upload("mine.csv", b"prompt,reply\nHi!,Hello.\n")
    [{'prompt': 'Hi!', 'reply': 'Hello.', 'id': '1'}]
    """
    ending = Path(name).suffix.lower()
    safe = ending if re.fullmatch(r"\.[a-z0-9]{1,8}", ending) else ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"upload{safe}")
        path.write_bytes(data)
        try:
            found = open_exchanges(path)
            if len(found) > MOST:
                raise InputError(
                    f"{path} holds {len(found):,} exchanges",
                    f"the page takes {MOST:,}; for more use 'moralscope audit FILE'",
                )
            return [
                {"prompt": each.prompt, "reply": each.reply, "id": each.id or str(number)}
                for number, each in enumerate(found, 1)
            ]
        except InputError as error:
            shown = Path(name).name[:80] or "the file"
            problem = error.problem.replace(str(path), shown)
            is_option = "--" in error.remedy  # of the command line: there is none here
            remedy = "name its columns 'prompt' and 'reply'" if is_option else error.remedy
            raise InputError(problem, remedy) from None


@cache
def rulebook_text() -> str:
    """Return our rulebook as one YAML text, to start one's own from.

    Examples
    --------
    >>> rulebook_text().splitlines()[1]
    'rules:'
    """
    lines = [f"name: {SHIPPED}-mine", "rules:"]
    folder = importlib.resources.files("moralscope.rules") / "data" / "rules"
    for name in FOUNDATIONS:
        source = (folder / f"{name}.yaml").read_text("utf-8")
        lines.append(source.partition("\nrules:\n")[2].strip("\n"))
    return "\n".join(lines) + "\n"


def rulebook_size() -> int:
    """Return how many rules ours has.

    Examples
    --------
    >>> rulebook_size() >= 400
    True
    """
    return len(shipped_rulebook().rules)


@dataclass(frozen=True, slots=True)
class ShippedExperts:
    """Experts that come with the package: what they were made from, and under which licence."""

    name: str
    base: str
    tasks: tuple[str, ...]
    data: tuple[str, ...]
    licence: str


@cache
def shipped_experts() -> tuple[ShippedExperts, ...]:
    """Return the cards of all shipped experts, by name.

    Examples
    --------
    >>> {each.licence for each in shipped_experts()}
    {'Apache-2.0'}
    """
    found = []
    folders = importlib.resources.files("moralscope") / "weights"
    for folder in sorted(folders.iterdir(), key=lambda each: each.name):
        file = folder / "expert.json"
        if file.is_file():
            known = json.loads(file.read_text("utf-8"))
            card = known["card"]
            found.append(
                ShippedExperts(
                    folder.name,
                    known["base"],
                    tuple(known["tasks"]),
                    tuple(card["data"]),
                    card["licence"],
                )
            )
    return tuple(found)


@cache
def plot_library() -> bytes:
    """Return the plotting library that the plotly package brings (MIT), compressed."""
    return gzip.compress(_plotly(), 6)


@cache
def plot_styles() -> tuple[str, ...]:
    """Return the ids of styles that the library writes into a page unless they are there.

    A page whose policy forbids inline styles carries empty elements with these ids.
    """
    found = re.findall(rb'getElementById\("([0-9a-f]{64})"\)', _plotly())
    return tuple(dict.fromkeys(each.decode() for each in found))


def _plotly() -> bytes:
    try:
        folder = importlib.resources.files("plotly")
    except ModuleNotFoundError:
        raise MissingExtra("plotly is not installed", "pip install plotly") from None
    return (folder / "package_data" / "plotly.min.js").read_bytes()
