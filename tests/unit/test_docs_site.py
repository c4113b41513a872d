"""The docs site: every command and public name has its reference, every page its place."""

import importlib.util
import json
from pathlib import Path

import pytest
import yaml

import moralscope
from moralscope.core.options import option_fields

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages():
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "docs" / "site_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_has_its_reference_with_every_option(pages):
    commands = list(pages.all_commands())
    assert len(commands) > 40
    listed = pages.command_list()
    for name, command in commands:
        page = pages.command_page(name.split()[0])
        assert f"[`{name}`](reference/{name.split()[0]}.md" in listed
        assert f"moralscope {name} [OPTIONS]" in page
        for param in command.params:
            for flag in param.opts if param.param_type_name == "option" else ():
                assert f"`{flag}`" in page, (name, flag)
            assert param.help or param.name == "help", (name, param.name)


def test_every_public_name_has_its_reference_with_every_keyword(pages):
    page = pages.python_page()
    for name in moralscope.__all__:
        assert name.startswith("_") or f"\n## {name}\n" in page
    kinds = filter(None, (pages.options_of(getattr(moralscope, n)) for n in moralscope.__all__))
    fields = [field.name for kind in kinds for field in option_fields(kind)]
    assert len(fields) > 60
    assert [name for name in fields if f"| `{name}` |" not in page] == []


def test_the_navigation_names_pages_that_exist_and_each_once(pages):
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    named = list(pages.page_names(yaml.safe_load(text)["nav"]))
    assert len(named) == len(set(named))
    here = {path.name for path in (ROOT / "docs").glob("*.md")} | set(pages.OUTSIDE.values())
    assert set(named) <= here | {f"tutorials/{path.stem}.md" for path in pages.tutorials()}


def test_a_page_that_the_navigation_does_not_name_is_found_under_more(pages, tmp_path):
    (tmp_path / "new.md").write_text("# New")
    nav = [{"Topics": ["judge.md"]}, {"Reference": ["reference.md"]}]
    topics, reference = pages.whole_navigation(nav, tmp_path)
    assert topics == {"Topics": ["judge.md", {"More": ["new.md"]}]}
    assert {"Python": "reference/python.md"} in reference["Reference"]


def test_a_tutorial_shows_what_its_cells_print_and_return(pages, tmp_path):
    text = "# %% [markdown]\n# # Sums\n\n# %%\nx = 2\nprint('a')\nx + 1\n\n# %%\nx = None\nx\n"
    page = pages.tutorial_page(text, "sums")
    assert page.startswith("# Sums\n\n[Download as a notebook](sums.ipynb)\n")
    assert page.count("```text") == 2
    assert "```text\na\n```" in page
    assert "```text\n3\n```" in page
    with pytest.raises(ZeroDivisionError):
        pages.tutorial_page("# %%\n1 / 0\n", "bad")


def test_the_site_keeps_its_versions_and_leads_to_the_newest(pages, tmp_path):
    for version in ("0.9.0", "0.10.0", "0.10.0rc1"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "index.html").touch()
    pages.list_versions(tmp_path)
    listed = [row["version"] for row in json.loads((tmp_path / "versions.json").read_text())]
    assert listed == ["0.10.0", "0.10.0rc1", "0.9.0"]
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text()


def test_every_page_of_the_site_is_written_with_links_to_pages(pages, tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "tutorial_page", lambda text, name: f"# {name}")
    pages.write_pages(tmp_path)
    written = {str(path.relative_to(tmp_path / "docs")) for path in tmp_path.glob("docs/**/*")}
    settings = yaml.safe_load((tmp_path / "mkdocs.yml").read_text("utf-8"))
    assert set(pages.page_names(settings["nav"])) <= written
    assert {"tutorials/chatbot.ipynb", "inter.woff2", "reference/audit.md"} <= written
    guide = (tmp_path / "docs" / "guide-chatbot.md").read_text("utf-8")
    assert "](tutorials/chatbot.md)" in guide


def test_the_site_loads_nothing_from_elsewhere():
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    assert settings["theme"]["font"] is False
    assert settings["plugins"] == ["search"]
    assert (settings["extra_css"], settings["extra_javascript"]) == (["site.css"], ["site.js"])
    assert "analytics" not in settings["extra"]
    for name in ("site.css", "site.js"):
        assert "http" not in (ROOT / "docs" / name).read_text("utf-8")


def test_there_are_ten_pictures_all_small_shown_and_made_by_the_script():
    shown = "".join(path.read_text("utf-8") for path in [ROOT / "README.md", *docs()])
    found = sorted((ROOT / "docs" / "pictures").iterdir())
    sizes = [path.stat().st_size for path in found]
    assert len(found) >= 10
    assert max(sizes) <= 150_000
    assert sum(sizes) <= 1_500_000
    script = (ROOT / "docs" / "pictures.py").read_text("utf-8")
    for path in found:
        assert f"pictures/{path.name})" in shown
        assert f'"{path.stem}": ' in script


def docs():
    return (ROOT / "docs").glob("*.md")
