"""`moralscope agreement` as a person types it."""

import json

import typer
from typer.testing import CliRunner

from moralscope.cli.annotate import agreement
from moralscope.core.errors import InputError

app = typer.Typer()
app.command()(agreement)


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def table(tmp_path, name="a.csv"):
    rows = ["item,person,severity,ok,leaning"]
    for item in range(6):
        for n in range(12):
            leaning = "left" if n < 6 else "right"
            ok = (item + n) % 2 if leaning == "left" else 1
            rows.append(f"[red]{item}\x1b,p{n},{1 + (item + n % 2) % 5},{ok},{leaning}")
    (tmp_path / name).write_text("\n".join(rows), "utf-8")
    return tmp_path / name


def test_coefficients_items_and_leanings_are_printed(tmp_path):
    result = run(table(tmp_path))
    assert result.exit_code == 0
    for part in ("severity", "ordinal", "ICC(1,k)", "Most split", "left", "[red]0�"):
        assert part in result.output
    assert "\x1b" not in result.output


def test_json_is_one_document_and_the_report_is_written(tmp_path):
    page = tmp_path / "r.html"
    result = run(table(tmp_path), "--json", "--report", page, "--smallest-group", 4)
    record = json.loads(result.output)
    assert record["job"] == "agreement"
    assert record["config"]["smallest_group"] == 4
    assert {row["leaning"] for row in record["statistics"]["leanings"]} == {"left", "right"}
    assert "Agreement between people" in page.read_text("utf-8")


def test_groups_of_two_are_refused_by_the_option(tmp_path):
    refused = run(table(tmp_path), "--smallest-group", 2).exception
    assert isinstance(refused, InputError)
    assert "could name a person" in refused.problem
    assert refused.exit_code == 2


def test_what_is_undefined_is_said(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("item,person,field,value\n1,p,ok,1\n1,q,ok,1\n", "utf-8")
    result = run(path)
    assert "ok: alpha is undefined, all answers are the same" in result.output
