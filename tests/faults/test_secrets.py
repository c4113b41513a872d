"""No secret in a record, a log, a report, an answer or a traceback: planted ones are looked for.

Keys, tokens and passwords are planted where people put them (variables, options, URLs), jobs run
and fail, and everything that they wrote or said is searched.
"""

import base64
import json
import logging
import os
import subprocess
import sys
import traceback
import urllib.parse
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from moralscope.annotation.projects import InitOptions, init_project
from moralscope.core.errors import InputError, MoralscopeError, without_passwords
from moralscope.models.store._fetch import FetchError, run_child
from moralscope.server.api import Proxy
from moralscope.server.guard import Guard
from moralscope.server.guard.upstream import Upstream
from moralscope.server.options import GuardOptions
from moralscope.server.security import HEADER, AccessToken, read_token
from moralscope.server.service import Service

from ..api_site import AUDIT, SCORE, site
from ..generator_makers import answer_to, served

KEY = "sk-proj-Zx81hQmVw39LtuYk7Re2"
TOKEN = "tok-9fK2mQ7xVb4Lw8Rz1Ny6Hd3"
PASSWORD = "pw-c0rrect-h0rse-b4ttery"
SECRETS = (KEY, TOKEN, PASSWORD)
SOURCE = Path(__file__).parents[2] / "src"
PIECE = 12  # so many characters of a secret in a row are a leak, too


@pytest.fixture(autouse=True)
def planted(monkeypatch):
    """Put secrets where people have them while they run jobs."""
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("MORALSCOPE_TOKEN_SECRET", "SERVER_TOKEN"):
        monkeypatch.setenv(name, TOKEN)
    monkeypatch.setenv("RULES_DATABASE", f"postgresql://me:{PASSWORD}@127.0.0.1:1/rules")
    monkeypatch.setenv("COLUMNS", "200")


def forms(secret):
    """A secret as it stands, in pieces, and as URLs and headers carry it."""
    yield from (secret[at : at + PIECE] for at in range(len(secret) - PIECE + 1))
    yield urllib.parse.quote(secret, safe="")
    yield base64.b64encode(f"me:{secret}".encode()).decode()


def leaks(*texts, folder=None, secrets=SECRETS):
    """Return where a secret stands: in texts, or in any file of a folder."""
    places = {f"text {number}": text for number, text in enumerate(texts)}
    for path in sorted(folder.rglob("*")) if folder else ():
        if path.is_file():
            places[path.name] = path.read_bytes().decode("utf-8", "replace")
    return [
        name
        for name, text in places.items()
        if any(form in text for secret in secrets for form in forms(secret))
    ]


def logged(caplog):
    """What was logged, but by the clients of the tests: they log the addresses that they ask."""
    own = [each for each in caplog.records if not each.name.startswith(("httpx", "httpcore"))]
    return "\n".join(logging.Formatter().format(each) for each in own)


def test_the_search_finds_what_it_looks_for(tmp_path):
    (tmp_path / "a.json").write_text(f'{{"key": "{KEY}"}}')
    (tmp_path / "b.json").write_text("{}")
    assert leaks("nothing", f"half a key: {KEY[4:20]}…", folder=tmp_path) == ["text 1", "a.json"]


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def echo(handler, body, _times):
    """Answer with the key that came: a server that is hostile, or that debugs."""
    answer = answer_to(body)
    for choice in answer["choices"]:
        choice["message"]["content"] = f"I steal keys: {handler.headers['Authorization']} I lie."
    handler.send(200, json.dumps(answer).encode(), x_key=KEY)
    return True


COLLECT = (
    "collect",
    "prompts.txt",
    "--bot",
    "openai:tiny",
    "--filters",
    "none",
    "--lexicon",
    "none",
)


@pytest.fixture
def prompts(tmp_path):
    (tmp_path / "prompts.txt").write_text("Do you steal?\nDo you lie?\n")
    return tmp_path


def test_collected_replies_hold_no_key_though_the_server_says_it(run, prompts):
    with served(echo) as (url, seen):
        code, out, err = run(
            *COLLECT, "--endpoint", url, "--to", "x.jsonl", "--out", "run.json", "--json"
        )
    assert code == 0, err
    assert seen[0]["headers"]["Authorization"] == f"Bearer {KEY}", "the key was sent"
    first = json.loads((prompts / "x.jsonl").read_text("utf-8").splitlines()[0])
    assert first["reply"] == "I steal keys: Bearer … I lie."
    assert {path.name for path in prompts.iterdir()} >= {"x.jsonl", "run.json"}
    assert leaks(out, err, folder=prompts) == []
    code, out, err = run("report", "run.json", "--out", "run.html")
    assert code == 0
    assert leaks(out, err, folder=prompts) == []


def refuse(status, text):
    def reply(handler, _body, _times):
        handler.send(status, text.encode())
        return True

    return reply


@pytest.mark.parametrize(
    "said",
    [
        f"Incorrect key {KEY}",
        f"{'x' * 139} {KEY} is wrong",  # half of it would be left where the text is cut
        f"{'x ' * 195}{KEY}",
        f'{{"error": "Bearer {KEY}"}}',
    ],
)
@pytest.mark.parametrize("status", [400, 401, 403, 422])
def test_what_a_server_refuses_with_is_said_without_the_key(run, prompts, status, said):
    with served(refuse(status, said)) as (url, _):
        code, out, err = run(*COLLECT, "--endpoint", url, "--to", "x.jsonl")
    assert code == 1
    assert f"status {status}" in err
    assert leaks(out, err, folder=prompts) == []


def test_a_key_in_jsons_escapes_is_taken_out_too(run, prompts):
    hidden = "".join(f"\\u{ord(letter):04x}" for letter in KEY[:12]) + KEY[12:]
    with served(refuse(400, f'{{"error": "Bearer {hidden} is wrong"}}')) as (url, _):
        code, out, err = run(*COLLECT, "--endpoint", url, "--to", "x.jsonl")
    assert code == 1
    assert "Bearer … is wrong" in err
    assert KEY[12:] not in out + err


def test_a_traceback_holds_no_key(prompts):
    with served(refuse(400, f"Incorrect key {KEY}")) as (url, _):
        words = [*COLLECT, "--endpoint", url, "--to", "x.jsonl", "--debug"]
        done = subprocess.run(
            [sys.executable, "-m", "moralscope", *words],
            cwd=prompts,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "EndpointError" in done.stderr
    assert leaks(done.stdout, done.stderr, folder=prompts) == []


@pytest.mark.parametrize(
    "words",
    [
        (*COLLECT, "--endpoint", f"http://me:{PASSWORD}@127.0.0.1:1/v1"),
        (*COLLECT, "--endpoint", f"http://127.0.0.1:1/v1?key={PASSWORD}"),
        (*COLLECT, "--endpoint", f"http://127.0.0.1:1/v1#{PASSWORD}"),
        ("serve", "--guard", f"http://me:{PASSWORD}@127.0.0.1:1/v1"),
        ("serve", "--guard", f"http://127.0.0.1:1/v1#{PASSWORD}"),
        ("score", "smile", "--encoder", f"https://me:{PASSWORD}@example.org/model"),
        ("score", "--file", f"https://me:{PASSWORD}@example.org/a.csv"),
        ("audit", f"s3://me:{PASSWORD}@bucket/a.jsonl", "--experts", "scripted"),
        ("compare", "--runs", f"https://me:{PASSWORD}@example.org/a.json", "b.json"),
    ],
)
def test_urls_with_passwords_are_refused_without_them(run, prompts, empty_home, words):
    code, out, err = run(*words)
    assert code != 0
    assert err.startswith("error: ")
    assert leaks(out, err, folder=prompts) == []


BUG = f"""
import logging, sys
from moralscope import cli
def fail(words):
    logging.getLogger("moralscope.x").warning("asking https://me:{PASSWORD}@host/a")
    raise OSError("no https://me:{PASSWORD}@host/a")
cli._run = fail
cli.main(sys.argv[1:])
"""


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_a_bug_that_says_a_url_is_told_without_its_password(debug):
    done = subprocess.run(
        [sys.executable, "-c", BUG, *debug],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "no https://…@host/a" in done.stderr
    assert "warning: asking https://…@host/a" in done.stderr
    assert ("Traceback" in done.stderr) == bool(debug)
    assert leaks(done.stderr) == []


def test_an_address_in_the_environment_is_refused_without_its_password(run, prompts, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://me:{PASSWORD}@127.0.0.1:1/v1")
    code, out, err = run(*COLLECT)
    assert code == 2
    assert "holds a secret" in err
    assert leaks(out, err, folder=prompts) == []


def test_records_and_reports_hold_nothing_of_the_environment(run, tmp_path):
    files = ("--out", "run.json", "--report", "run.html")
    code, out, err = run("score", "kill time", "smile", "--encoder", "scripted", *files)
    assert code == 0, err
    (tmp_path / "x.jsonl").write_text('{"prompt": "Do you steal?", "reply": "I steal all day."}\n')
    more = ("--out", "audit.json", "--report", "audit.html")
    again = run("audit", "x.jsonl", "--experts", "scripted", *more)
    assert again[0] == 0, again[2]
    compared = run("compare", "--runs", "run.json", "run.json", "--report", "compared.html")
    assert compared[0] == 0, compared[2]
    assert len(list(tmp_path.glob("*.html"))) == 3
    assert leaks(out, err, *again[1:], *compared[1:], folder=tmp_path) == []


def test_a_server_says_its_token_to_nobody(caplog):
    token = read_token("env:SERVER_TOKEN")
    assert token is not None
    with caplog.at_level(logging.DEBUG), site(token=token) as client:
        right = {"Authorization": f"Bearer {TOKEN}"}
        answers = [
            client.post("/v1/score", json=SCORE, headers=right),
            client.post("/v1/audit", json=AUDIT, headers={HEADER: TOKEN}),
            client.post("/v1/score", json=SCORE, headers={HEADER: f"{TOKEN}x"}),
            client.post("/v1/score", content=b"{", headers=right),
            client.post("/v1/score", json={"actions": 3}, headers=right),
            client.get(f"/nothing?token={TOKEN}", headers=right),
            client.get("/metrics", headers=right),
            client.get("/openapi.json", headers=right),
        ]
    assert [answer.status_code for answer in answers[:3]] == [200, 200, 401]
    said = [f"{dict(answer.headers)}\n{answer.text}" for answer in answers]
    assert leaks(*said, logged(caplog), repr(token)) == []


def test_a_bug_behind_the_server_is_logged_without_the_token(caplog, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(Service, "score", fail)
    with caplog.at_level(logging.DEBUG), site(token=AccessToken(TOKEN)) as client:
        answer = client.post("/v1/score", json=SCORE, headers={HEADER: TOKEN})
    assert answer.status_code == 500
    assert "a bug of ours" in logged(caplog)
    assert leaks(answer.text, logged(caplog)) == []


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (echo, 200),
        (refuse(401, json.dumps({"error": {"message": f"Incorrect key: {KEY[:20]}***"}})), 502),
        (refuse(429, json.dumps({"error": {"message": f"Too much for {KEY}"}})), 429),
        (refuse(500, f"Authorization: Bearer {KEY}"), 500),
    ],
)
def test_the_guards_own_key_reaches_no_client(caplog, reply, status):
    service = Service()
    guard = Guard(service, GuardOptions(action="annotate", experts="scripted"))
    chat = {"model": "m", "messages": [{"role": "user", "content": "Hi?"}], "n": 1}
    with served(with_defaults(reply)) as (url, seen), caplog.at_level(logging.DEBUG):
        proxy = Proxy(guard, Upstream(url, key=AccessToken(KEY), seconds=5))
        with site(proxy=proxy) as client:
            answer = client.post("/v1/chat/completions", json=chat)
    service.close()
    assert seen[0]["headers"]["Authorization"] == f"Bearer {KEY}", "the key was sent"
    assert answer.status_code == status
    assert leaks(f"{dict(answer.headers)}\n{answer.text}", logged(caplog)) == []


def test_no_redirect_takes_a_key_elsewhere(run, prompts):
    with served() as (elsewhere, stolen):

        def turn(handler, _body, _times):
            handler.send(307, b"", location=f"{elsewhere}/chat/completions")
            return True

        with served(turn) as (url, seen):
            code, _, err = run(*COLLECT, "--endpoint", url)
            service = Service()
            guard = Guard(service, GuardOptions(action="annotate", experts="scripted"))
            proxy = Proxy(guard, Upstream(url, key=AccessToken(KEY), seconds=5))
            with site(proxy=proxy) as client:
                chat = {"model": "m", "messages": [{"role": "user", "content": "Hi?"}]}
                answer = client.post("/v1/chat/completions", json=chat)
            service.close()
    assert (code, answer.status_code) == (1, 502), err
    assert len(seen) >= 2, "both asked"
    assert stolen == []


def with_defaults(reply):
    """Let a reply answer a body that leaves out what our own generators always send."""
    usual = {"temperature": 0, "max_tokens": 20, "seed": 0, "n": 1}
    return lambda handler, body, times: reply(handler, {**usual, **body}, times)


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("action\nwave\nsmile\n")
    return path


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{PASSWORD}@127.0.0.1:1/x",
        f"postgresql://me:a@{PASSWORD}@127.0.0.1:1/x",
        f"postgresql://me:{PASSWORD}/x@127.0.0.1:1/x",
    ],
)
def test_a_projects_file_never_holds_a_password(tmp_path, items, url):
    with pytest.raises(InputError, match=r"holds a password.*env:NAME") as caught:
        init_project(tmp_path / "p", "action-yes-no", items, InitOptions(database=url))
    assert leaks(*traceback.format_exception(caught.value), folder=tmp_path) == []


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{PASSWORD}@127.0.0.1:1/x",
        f"postgresql://me:a@{PASSWORD}@127.0.0.1:1/x",
        f"postgresql://me:{PASSWORD}@127.0.0.1:port/x",
        f"mysql://me:{PASSWORD}@127.0.0.1/x",
        f"postgresql://me:{PASSWORD}@127.0.0.1:1/x?sslmode=no",
    ],
)
def test_a_database_of_the_environment_fails_without_its_password(
    tmp_path, items, monkeypatch, url
):
    monkeypatch.setenv("RULES_DATABASE", url)
    options = InitOptions(database="env:RULES_DATABASE")
    with pytest.raises(MoralscopeError) as caught:
        init_project(tmp_path / "p", "action-yes-no", items, options)
    said = "".join(traceback.format_exception(caught.value))
    assert leaks(said, str(caught.value), folder=tmp_path) == []


def test_without_a_network_the_package_index_is_named_not_a_package(tmp_path):
    said = (
        "WARNING: Retrying: Failed to establish a new connection\\nERROR: No matching distribution"
    )
    command = [sys.executable, "-c", f"print('{said}'); exit(1)"]
    with pytest.raises(FetchError, match="the package index can't be reached"):
        run_child(command, tmp_path, lambda _: None)


def test_what_a_download_client_says_is_told_without_passwords(tmp_path):
    said = f"ERROR: no answer from https://me:{PASSWORD}@mirror.example.org/simple"
    with pytest.raises(FetchError, match=r"no answer from https://…@mirror") as caught:
        run_child([sys.executable, "-c", f"print('{said}'); exit(1)"], tmp_path, lambda _: None)
    assert leaks(str(caught.value)) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("http://host:8080/v1 and me@example.org", "http://host:8080/v1 and me@example.org"),
        ("s3://me:a@b:c@bucket/x@y", "s3://…@bucket/x@y"),
        ("https://:pw@host", "https://…@host"),
        ("git://me@host/x", "git://me@host/x"),
        ("https:/me:pw@host/a.csv cannot be read", "https:/…@host/a.csv cannot be read"),
    ],
)
def test_only_passwords_are_taken_out_of_what_is_said(text, told):
    assert without_passwords(text) == told


@pytest.mark.slow
def test_a_corpus_run_keeps_no_key(prompts):
    from moralscope.batch.job import open_job, run_job
    from moralscope.batch.options import BatchOptions, BatchPlace
    from moralscope.rules.collect.batch import CollectBatch
    from moralscope.rules.collect.options import CollectOptions

    rows = "".join(f'{{"prompt": "Do you steal {n} apples?"}}\n' for n in range(2))
    (prompts / "prompts.jsonl").write_text(rows)
    out = prompts / "out"
    with served(echo) as (url, seen):
        asked = CollectOptions(("openai:tiny",), endpoint=url, filters="none", lexicons=())
        place = BatchPlace((str(prompts / "prompts.jsonl"),), out)
        run_job(open_job(CollectBatch(asked), place, BatchOptions(workers=1)))
    assert seen[0]["headers"]["Authorization"] == f"Bearer {KEY}", "the key was sent"
    tables = [repr(pq.read_table(part).to_pylist()) for part in out.glob("*.parquet")]
    assert "I steal keys" in "".join(tables)
    assert {path.name for path in (out / "_run").iterdir()} >= {"manifest.json", "record.json"}
    assert leaks(*tables, folder=prompts) == []
