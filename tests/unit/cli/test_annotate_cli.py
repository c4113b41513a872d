"""`moralscope annotate` on the command line."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest
from typer.testing import CliRunner

from moralscope.annotation.projects import open_project
from moralscope.cli.annotate import app
from moralscope.core.errors import InputError

from ...annotation_databases import joined, new_id


def call(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture
def folder(tmp_path):
    items = tmp_path / "actions.csv"
    items.write_text("action\nwave\nsmile\n")
    call("init", tmp_path / "ok", "--task", "action-yes-no", "--items", items, "--people", 2)
    return tmp_path / "ok"


def test_init_shows_what_was_made_and_the_leads_link_once(tmp_path):
    items = tmp_path / "x.csv"
    items.write_text("Q,A\na,b\nc,d\n")
    done = call(
        "init", tmp_path / "p", "--task", "rule-of-thumb", "--items", items,
        "--columns", "prompt=Q,reply=A", "--staging", 1, "--name", "Rules",
    )  # fmt: skip
    assert "1 item and 1 for the staging round" in done.stdout
    token = done.stderr.rpartition("/join#")[2].strip()
    service = open_project(tmp_path / "p")
    assert service.join(token).person.role == "lead"
    assert service.project.name == "Rules"
    service.close()


def test_json_is_all_there_is_on_stdout(tmp_path):
    items = tmp_path / "x.csv"
    items.write_text("action\nwave\n")
    done = call("init", tmp_path / "p", "--task", "action-yes-no", "--items", items, "--json")
    record = json.loads(done.stdout)
    assert record["job"] == "annotate init"
    assert "join#" not in done.stdout, "no token in a record"


def test_import_status_and_export(folder, tmp_path):
    more = tmp_path / "more.jsonl"
    more.write_text('{"action": "nod"}')
    assert "1 item added" in call("import", folder, "--items", more).stdout
    service = open_project(folder)
    person = joined(service, "[bold]Jo[/bold]")
    work = service.next_item(person)
    service.submit(person, work.assignment, new_id(), {"ok": True})
    service.close()
    shown = call("status", folder).stdout
    assert "1 of 6 answers, 0 of 3 items complete" in shown
    assert "[bold]Jo[/bold]" in shown, "a name is no markup"
    assert "1 answer" in call("export", folder, "--shape", "human", "--name", "ratings").stdout
    assert (folder / "exports/ratings.csv").read_text().split() == ["action,yes,no", "wave,1,0"]


def test_decisions_from_the_command_line(folder):
    service = open_project(folder)
    person = joined(service)
    work = service.next_item(person)
    service.submit(person, work.assignment, new_id(), {"ok": True})
    service.close()
    assert "no decisions" in call("decisions", folder).stdout
    call("export", folder)
    (line,) = (folder / "exports/answers.jsonl").read_text().splitlines()
    submission = json.loads(line)["submission"]
    with pytest.raises(InputError, match="reason is empty"):
        call("decide", folder, "reject", submission)
    with pytest.raises(InputError, match="did you mean 'reject'"):
        call("decide", folder, "rejct", submission)
    made = call("decide", folder, "reject", submission, "--reason", "[b]No.[/b]", "--json").stdout
    (decision,) = json.loads(made)["results"]
    assert "1 of 4" not in call("status", folder).stdout
    shown = call("decisions", folder).stdout
    assert decision["id"] in shown
    assert "[b]No.[/b]" in shown, "a reason is no markup"
    call("decide", folder, "lift", decision["id"], "--reason", "A mistake.")
    call("decide", folder, "block", person.id, "--reason", "Too quick.", "--leave-out")
    assert "0 of 4 answers" in call("status", folder).stdout
    assert "lines" in call("export", folder, "--shape", "audit").stdout
    log = [json.loads(one) for one in (folder / "exports/audit.jsonl").read_text().splitlines()]
    done = [one["action"] for one in log if one["subject"] == person.id]
    assert done[-3:] == ["reject", "lift", "block"]


def test_the_data_statement_from_the_command_line(folder, tmp_path):
    service = open_project(folder)
    for place in range(2):
        person = joined(service, f"P{place}")
        told = {"region": "europe"}
        service.answer_questionnaire(person, "moderate", {}, told, agrees=True)
        work = service.next_item(person)
        service.submit(person, work.assignment, new_id(), {"ok": True})
    service.close()
    done = call("statement", folder, "--report", tmp_path / "s.html")
    assert "no group is described" in done.stdout
    assert (folder / "exports/statement.md").read_text().startswith("# Data statement: ok")
    assert "Data statement" in (tmp_path / "s.html").read_text()
    found = json.loads(call("statement", folder, "--json").stdout)["statistics"]
    assert (found["people"], found["groups"]) == (2, [])


def test_errors_are_one_line(folder, tmp_path):
    for words, problem in (
        (("status", tmp_path), "holds no project.yaml"),
        (("export", folder, "--name", "../x"), "plain file name"),
        (("export", folder, "--shape", "mick"), "did you mean 'mic'"),
        (("import", folder, "--items", tmp_path / "none.csv"), "cannot be read"),
    ):
        with pytest.raises(InputError) as error:
            call(*words)
        assert problem in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.slow
def test_serve_announces_its_address_and_the_leads_link(folder):
    pytest.importorskip("fastapi")
    start = "import sys; from moralscope.cli.annotate import app; app(sys.argv[1:])"
    command = [sys.executable, "-c", start, "serve", folder, "--port", "0", "--lead-link"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as server:
        try:
            told = server.stderr.readline() + server.stderr.readline()
            address, token = re.search(r"(http://127\.0\.0\.1:\d+)/join#(\S+)", told).groups()
            request = urllib.request.Request(
                f"{address}/api/join",
                json.dumps({"token": token}).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert json.load(answer)["person"]["role"] == "lead"
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(30) in (0, 130, -signal.SIGINT)


def test_adjudicate_lists_what_divides_people_and_decides_it(folder):
    with open_project(folder) as service:
        people = [joined(service), joined(service, "Al")]
        for person, says in zip(people, (True, False), strict=True):
            work = service.next_item(person)
            service.submit(person, work.assignment, new_id(), {"ok": says})
        item = work.item.id
    assert "1 disputed, 1 undecided" in call("adjudicate", folder).stdout
    done = call("adjudicate", folder, item, "--take", people[1].id, "--comment", "Rude.", "--json")
    (made,) = json.loads(done.stdout)["results"]
    assert (made["answer"], made["comment"], made["lead"]) == ({"ok": False}, "Rude.", "owner")
    assert "ok: yes" in call("adjudicate", folder, item, "--set", "ok=yes").stdout
    listed = call("adjudicate", folder, "--json").stdout
    assert json.loads(listed)["statistics"] == {"disputed": 1, "undecided": 0}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{item}"], "no final answer; give --take PERSON"),
        (["{item}", "--take", "p-x"], "'p-x' did not answer"),
        (["{item}", "--set", "ok"], "write it like severity=4"),
        (["{item}", "--set", "okk=1"], "did you mean 'ok'"),
        (["{item}", "--set", "ok=maybe"], "give yes or no"),
        (["smyle", "--set", "ok=yes"], "do not differ on an item 'smyle'"),
        (["--comment", "x"], "are about an item"),
    ],
)
def test_adjudicate_refuses_what_it_cannot_keep_in_one_line(folder, words, said):
    with open_project(folder) as service:
        for name, says in (("Jo", True), ("Al", False)):
            person = joined(service, name)
            work = service.next_item(person)
            service.submit(person, work.assignment, new_id(), {"ok": says})
    with pytest.raises(InputError, match=re.escape(said)):
        call("adjudicate", folder, *(word.format(item=work.item.id) for word in words))
