"""`moralscope rules` as a person types it."""

import json

from typer.testing import CliRunner

from moralscope.cli.rules import app


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_show_lists_a_theme_with_its_facts():
    result = run("show", "--theme", "self-harm", "--foundation", "care")
    assert result.exit_code == 0
    assert "It's wrong to encourage anyone to kill themselves." in result.output
    assert "severity 5, consensus 5" in result.output
    assert "moralscope: 6 rules" in result.output


def test_an_unknown_theme_is_told_with_the_nearest():
    result = run("show", "--theme", "privcy")
    assert "did you mean 'privacy'" in str(result.exception)


def test_retrieve_prints_the_nearest_rules_and_json_holds_them(tmp_path):
    book = tmp_path / "book.csv"
    book.write_text(
        "id,text,foundations,severity,consensus\n"
        "fair-steal-shop,It's wrong to steal from a shop.,fairness|authority,3,5\n"
        "tip,You should tip waiters.,fairness,1,3\nnod,It's polite to nod.,authority,1,2\n"
    )
    said = "It's wrong to steal from a shop."
    asked = ("--prompt", "Bikes?", "--reply", said, "--rulebook", book)
    result = run("retrieve", *asked, "--encoder", "scripted", "--top", 2)
    assert result.exit_code == 0
    assert "fairness, authority" in result.output
    out = tmp_path / "record.json"
    printed = run("retrieve", *asked, "--encoder", "scripted", "--top", 2, "--json", "--out", out)
    record = json.loads(printed.output)
    assert record == json.loads(out.read_text())
    assert record["results"][0]["rules"][0]["id"] == "fair-steal-shop"
    assert len(record["results"][0]["rules"]) == 2


def test_a_file_is_answered_in_its_order(tmp_path):
    path = tmp_path / "replies.jsonl"
    rows = [{"prompt": "?", "reply": "You should tip."}, {"prompt": "!", "reply": "Never stare."}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    record = json.loads(run("retrieve", path, "--method", "random", "--json").output)
    assert [row["reply"] for row in record["results"]] == ["You should tip.", "Never stare."]
    assert record["models"] == []


def test_the_sbert_baseline_reads_annotations(tmp_path):
    path = tmp_path / "MIC.csv"
    path.write_text(
        "Q,A,rot,A_agrees,violation-severity,rot-agree,moral\n"
        "Do you steal?,Yes.,It is wrong to steal.,0,4,5,fairness\n"
        "Do you tip?,Never.,You should tip waiters.,0,1,3,fairness\n"
    )
    result = run(
        "retrieve",
        "--prompt",
        "Do you tip?",
        "--reply",
        "Never.",
        "--method",
        "sbert",
        "--known",
        path,
        "--encoder",
        "scripted",
        "--top",
        1,
        "--json",
    )
    assert result.exit_code == 0, result.exception
    assert json.loads(result.output)["results"][0]["rules"][0]["text"] == "You should tip waiters."


def test_wrong_usage_is_refused(tmp_path):
    assert run("retrieve").exception.exit_code == 2
    assert run("retrieve", tmp_path / "a.jsonl", "--reply", "x").exception.exit_code == 2
    assert "method is 'sbrt'" in str(run("retrieve", "--reply", "x", "--method", "sbrt").exception)
    known = run("retrieve", "--reply", "x", "--known", tmp_path / "MIC.csv")
    assert "--known is for --method sbert" in str(known.exception)


def test_lint_names_what_is_wrong(tmp_path):
    path = tmp_path / "house.txt"
    path.write_text("You should tip the waiter.\nYou shouldn't tip waiters.\n")
    result = run("lint", "--rulebook", path)
    assert result.exit_code == 0
    assert "You should tip the waiter. / You shouldn't tip waiters." in result.output
    assert "house: 2 rules; 0 duplicates, 1 contradiction" in result.output


def test_hostile_text_is_not_markup(tmp_path):
    path = tmp_path / "house.txt"
    path.write_text("It's rude to [bold]stare[/bold] at people.\n")
    assert "[bold]stare[/bold]" in run("show", "--rulebook", path).output
