"""Build the docs site: written pages, generated ones, and tutorials that are executed.

    python docs/site_pages.py SITE      writes SITE/VERSION, SITE/versions.json and SITE/index.html

Other versions that lie in SITE are kept, and the site lets readers choose among them.
`reference/COMMAND.md` comes from the command tree, whose flags come from the options classes;
`reference/python.md` from the public names and the same classes. The site's first page is the
README, and the project's other papers (`OUTSIDE`) are pages of it, too. All pages are written into
a plain folder first, so that any builder that reads mkdocs.yml can be used; ours is Zensical.
"""

import ast
import contextlib
import dataclasses
import inspect
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer
import yaml

import moralscope
from moralscope.cli.root import build_app
from moralscope.core.options import OptionField, Options, option_fields

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Files beside docs/, as the site calls them.
OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
_SECTION = re.compile(r"^(\w[\w ]+)\n-{3,}\n", re.MULTILINE)
_CELL = re.compile(r"^# %%(.*)\n", re.MULTILINE)
_COMMANDS = "<!-- commands -->"
_FIRST = ("Arguments", "Input", "Model", "Output")


def main(site: Path, version: str = moralscope.__version__) -> None:
    """Build a version of the site, and list all versions that are there."""
    with tempfile.TemporaryDirectory() as scratch:
        write_pages(Path(scratch))
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        command += ["-f", f"{scratch}/mkdocs.yml"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{done.stdout}{done.stderr}")
        shutil.rmtree(site / version, ignore_errors=True)
        shutil.copytree(Path(scratch, "site"), site / version)
    list_versions(site)


def list_versions(site: Path) -> None:
    """Write what the theme's choice of versions reads, newest first, and lead to the newest."""
    folders = [path.parent.name for path in site.glob("*/index.html")]
    # A candidate ("1.0.0rc1") comes before its release.
    numbers = {name: [*map(int, re.findall(r"\d+", name.partition("rc")[0]))] for name in folders}
    names = sorted(folders, key=lambda name: (numbers[name], "rc" not in name), reverse=True)
    rows = [{"version": name, "title": name, "aliases": []} for name in names]
    (site / "versions.json").write_text(json.dumps(rows), "utf-8")
    refresh = f'<!doctype html><meta http-equiv="refresh" content="0; url={names[0]}/index.html">'
    (site / "index.html").write_text(refresh, "utf-8")


def write_pages(folder: Path) -> None:
    """Write every page, picture and the navigation into a folder that a site builder reads."""
    target = folder / "docs"
    shutil.copytree(DOCS, target, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    pages = {path.name: path.read_text("utf-8") for path in target.glob("*.md")}
    pages |= {f"reference/{name}.md": command_page(name) for name in top_commands()}
    pages["reference/python.md"] = python_page()
    pages |= {name: outside_page(source) for source, name in OUTSIDE.items()}
    for source in tutorials():
        text = source.read_text("utf-8")
        pages[f"tutorials/{source.stem}.ipynb"] = json.dumps(notebook(text), indent=1)
        pages[f"tutorials/{source.stem}.md"] = tutorial_page(text, source.stem)
    for name, text in pages.items():
        (target / name).parent.mkdir(exist_ok=True)
        (target / name).write_text(inner_links(text), "utf-8")
    # Typeface and mark of the local page, so that both look alike.
    package = ROOT / "src" / "moralscope"
    for path in (package / "pages/assets/inter.woff2", package / "server/page/static/mark.svg"):
        shutil.copy2(path, target)
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    named = {**settings, "nav": whole_navigation(settings["nav"], DOCS)}
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(named, sort_keys=False), "utf-8")


def whole_navigation(nav: list[Any], docs: Path) -> list[Any]:
    """Return the navigation with the generated pages, and pages that it does not name yet."""
    sections = {name: inner for part in nav for name, inner in part.items()}
    names = [{name: f"reference/{name}.md"} for name in top_commands()]
    sections["Reference"] += [{"Commands": names}, {"Python": "reference/python.md"}]
    named = set(page_names(nav))
    more = [path.name for path in sorted(docs.glob("*.md")) if path.name not in named]
    sections["Topics"] += [{"More": more}] if more else []
    return nav


def page_names(tree: Any) -> Iterator[str]:
    """Return the pages that a navigation names."""
    if isinstance(tree, str):
        yield tree
        return
    for branch in tree if isinstance(tree, list) else tree.values():
        yield from page_names(branch)


def inner_links(markdown: str) -> str:
    """List the commands in reference.md; lead links to files to the site's pages of them."""
    for source, name in OUTSIDE.items():
        markdown = markdown.replace(f"](../{source}", f"]({name}")
    markdown = re.sub(r"(\]\(tutorials/[\w-]+)\.py\)", r"\1.md)", markdown)
    return markdown.replace(_COMMANDS, command_list())


def outside_page(source: str) -> str:
    """Return a file of the project's folder with links as the site needs them."""
    text = (ROOT / source).read_text("utf-8").replace("](docs/", "](")
    for path, name in OUTSIDE.items():
        text = text.replace(f"]({path}", f"]({name}")
    return text.replace("](LICENSE)", "](architecture.md)") if source == "README.md" else text


# --- tutorials


def tutorials() -> list[Path]:
    """Return the tutorials: Python files with cells (`# %%`), as notebooks read and write them."""
    return sorted((DOCS / "tutorials").glob("*.py"))


def cells(text: str) -> list[tuple[str, str]]:
    r"""Return kind and source of every cell.

    >>> cells("# %% [markdown]\n# # Title\n\n# %%\nprint(1)\n")
    [('markdown', '# Title'), ('code', 'print(1)')]
    """
    _, *parts = _CELL.split(text)
    marked = zip(parts[::2], parts[1::2], strict=True)
    return [
        ("markdown", re.sub(r"^# ?", "", body.strip(), flags=re.MULTILINE))
        if "[markdown]" in mark
        else ("code", body.strip())
        for mark, body in marked
    ]


def tutorial_page(text: str, name: str) -> str:
    """Run a tutorial's cells in their order; return it with what they print and show."""
    parts: list[str] = []
    names: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for kind, source in cells(text):
            code = kind == "code"
            parts += [f"```python\n{source}\n```", *run_cell(source, names)] if code else [source]
    title, *rest = parts
    return "\n\n".join([title, f"[Download as a notebook]({name}.ipynb)", *rest]) + "\n"


def run_cell(source: str, names: dict[str, Any]) -> Iterator[str]:
    """Yield what a cell prints, then its last expression as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "<cell>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None
    if text := printed.getvalue().rstrip():
        yield f"```text\n{text}\n```"
    if hasattr(value, "_repr_html_"):
        yield f'<div class="output">{value._repr_html_()}</div>'
    elif value is not None:
        yield f"```text\n{value!r}\n```"


def notebook(text: str) -> dict[str, Any]:
    """Return a tutorial as a Jupyter notebook without outputs."""
    code = {"execution_count": None, "outputs": []}
    rows = [
        {"id": f"c{number}", "cell_type": kind, "metadata": {}, "source": source}
        | (code if kind == "code" else {})
        for number, (kind, source) in enumerate(cells(text))
    ]
    return {"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


# --- commands


@cache
def command_tree() -> Any:
    """Return the whole command line as click knows it."""
    return typer.main.get_command(build_app())


def top_commands() -> dict[str, Any]:
    """Return the commands and groups below `moralscope`, by name."""
    return dict(command_tree().commands)


def all_commands() -> Iterator[tuple[str, Any]]:
    """Return every command that can be called, with its full name ("stories train")."""
    for name, command in top_commands().items():
        yield from _leaves(name, command)


def _leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for each, found in inner.items():
        yield from _leaves(f"{name} {each}", found)


def command_list() -> str:
    """Return a table of all commands with the first sentence of each."""
    rows = []
    for name, command in all_commands():
        page = name.split()[0]
        place = f"reference/{page}.md" + ("" if name == page else f"#{name.replace(' ', '-')}")
        rows.append((f"[`{name}`]({place})", _first_sentence(command.help or "")))
    return table(("command", "what it does"), rows)


def command_page(name: str) -> str:
    """Return the page of a command or of a group of commands."""
    command = top_commands()[name]
    leaves = list(_leaves(name, command))
    parts = [f"# {name}\n"]
    if leaves[0][0] != name:
        parts.append(_plain_text(command.help or ""))
        parts += [f"## {full}\n\n{_describe(full, each, '###')}" for full, each in leaves]
    else:
        parts.append(_describe(name, command, "##"))
    parts.append(
        "*Made from the command's options. "
        f"The same text is in `moralscope {name} --help`; see [Reference](../reference.md).*"
    )
    return "\n\n".join(parts) + "\n"


def _describe(full: str, command: Any, heading: str) -> str:
    """Return one command: what it does, how it is called, its options by group."""
    context = command.context_class(command, info_name=f"moralscope {full}")
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    parts = [f"```text\n{usage}\n```", _plain_text(command.help or "")]
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for param in command.params:
        if getattr(param, "hidden", False) or param.name == "help":
            continue
        title = param.rich_help_panel or f"{param.param_type_name}s".capitalize()
        groups.setdefault(title, []).append(_option_row(param, context))
    for title, rows in sorted(groups.items(), key=lambda group: _place(group[0])):
        parts.append(f"{heading} {title} {{ #{full.replace(' ', '-')}-{_slug(title)} }}")
        parts.append(table(("option", "default", "what it does"), rows))
    return "\n\n".join(each for each in parts if each)


def _place(title: str) -> int:
    """Return where a group of options stands: what most people need comes first."""
    return _FIRST.index(title) if title in _FIRST else len(_FIRST)


def _option_row(param: Any, context: Any) -> tuple[str, str, str]:
    if param.param_type_name == "argument":
        name = "`" + " ".join(param.get_usage_pieces(context)) + "`"
    else:
        name = ", ".join(f"`{each}`" for each in (*param.opts, *param.secondary_opts))
        name += "" if param.is_flag else f" `{param.display_type_rich(context)}`"
    return name, _default(param), _plain_text(param.help or "")


def _default(param: Any) -> str:
    if param.required:
        return "required"
    told = getattr(param, "show_default", None)
    if isinstance(told, str):
        return told
    value = param.default
    if value is None or value is False or value in ((), []):
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(f"`{each}`" for each in value)
    return "on" if value is True else f"`{value}`" if not callable(value) else ""


# --- Python


def python_page() -> str:
    """Return the page of all public names of the package."""
    parts = [
        "# Python",
        "Everything here is imported from `moralscope`. A function that has options takes them by "
        'keyword, `score(actions, axis="choice")`, or whole, `score(actions, options)`. The '
        "names, ranges and defaults are those of the command line.",
    ]
    for name in moralscope.__all__:
        if not name.startswith("_"):
            parts.append(_public_name(name, getattr(moralscope, name)))
    return "\n\n".join(parts) + "\n"


def _public_name(name: str, found: Any) -> str:
    parts = [f"## {name}", f"```text\n{name}{_signature(found)}\n```", _docstring(found)]
    kind = options_of(found)
    if kind is not None:
        rows = [_keyword_row(field) for field in option_fields(kind)]
        parts += [
            f"Keywords, also fields of `{kind.__module__}.{kind.__name__}`:",
            table(("keyword", "default", "what it says"), rows),
        ]
    return "\n\n".join(parts)


def options_of(found: Any) -> type[Options] | None:
    """Return the options class that a public function takes, if any."""
    if not inspect.isfunction(found) or "options" not in found.__annotations__:
        return None
    hint = found.__annotations__["options"]
    if isinstance(hint, str):
        hint = get_type_hints(found)["options"]
    kinds = [each for each in (get_args(hint) or (hint,)) if isinstance(each, type)]
    return next((each for each in kinds if issubclass(each, Options)), None)


def _signature(found: Any) -> str:
    parameters = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in inspect.signature(found).parameters.values()
    ]
    return str(inspect.Signature(parameters))


def _keyword_row(field: OptionField) -> tuple[str, str, str]:
    required = field.default is dataclasses.MISSING
    default = "required" if required else f"`{field.default!r}`"
    if not required and field.default in (None, ()):
        default = ""
    option = field.option
    about = option.help + (f" [{option.range}]" if option.range and field.kind is not str else "")
    if option.choices:
        about += " One of " + ", ".join(f"`{each}`" for each in option.choices) + "."
    return f"`{field.name}`", option.shown or default, _plain_text(about)


def _docstring(found: Any) -> str:
    """Return a NumPy docstring as Markdown: sections in bold, parameters as a list."""
    text = inspect.getdoc(found) or ""
    first, *rest = _SECTION.split(text)
    parts = [first.strip()]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        parts += [f"**{title}**", _section(title, body)]
    return "\n\n".join(parts)


def _section(title: str, body: str) -> str:
    if title == "Examples":
        return f"```pycon\n{body.strip()}\n```"
    if title != "Parameters":
        return inspect.cleandoc(body)
    lines: list[str] = []
    for line in body.strip("\n").splitlines():
        if not line.startswith(" "):
            lines.append("- " + ", ".join(f"`{each.strip()}`" for each in line.split(",")) + ":")
        elif line.strip():
            lines[-1] += " " + line.strip()
    return "\n".join(lines)


# --- writing


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table; bars in cells are escaped."""
    lines = [head, ("---",) * len(head), *rows]
    cells = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in lines]
    return "\n".join(f"| {line} |" for line in cells)


def _plain_text(text: str) -> str:
    """Return help as Markdown: rich's marks gone, an example on its own as code."""
    text = re.sub(r"\[/?(?:bold|dim|italic|cyan|green)\]", "", text)
    text = text.replace("<", "&lt;").replace("*", "\\*")
    return re.sub(
        r"^Examples?: *(.*(?:\n.+)*)", r"For example:\n\n```text\n\1\n```", text, flags=re.MULTILINE
    )


def _first_sentence(text: str) -> str:
    line = " ".join(_plain_text(text).split())
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", line)[0]


def _slug(text: str) -> str:
    return re.sub(r"\W+", "-", text.lower()).strip("-")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
