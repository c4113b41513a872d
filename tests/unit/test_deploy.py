"""Files for running it elsewhere: they parse, and name options and routes that exist."""

import configparser
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import typer.main
import yaml

from moralscope.cli.root import build_app

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
if not DEPLOY.exists():
    pytest.skip("not in a checkout", allow_module_level=True)
CONTAINERFILE = (DEPLOY / "Containerfile").read_text("utf-8")
UNIT = (DEPLOY / "moralscope.service").read_text("utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "guard.yaml").read_text("utf-8")))
POD = MANIFESTS[0]["spec"]["template"]["spec"]


def command_lines():
    """Return every call of moralscope in the files, as words after the program's name."""
    (guard,) = POD["containers"]
    (first,) = POD["initContainers"]
    return {
        "container": json.loads(re.search(r"^CMD (\[.*\])$", CONTAINERFILE, re.MULTILINE)[1]),
        "compose": COMPOSE["services"]["guard"]["command"],
        "annotate": ["annotate", *COMPOSE["services"]["annotate"]["command"]],
        "pod": guard["args"],
        "weights": first["command"][1:],
        "systemd": shlex.split(re.search(r"^ExecStart=\S+ (.*)$", UNIT, re.MULTILINE)[1]),
    }


@pytest.mark.parametrize(("where", "words"), command_lines().items())
def test_every_option_that_a_file_names_exists(where, words):
    command, rest = typer.main.get_command(build_app()), list(words)
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    known = {flag for param in command.params for flag in param.opts}
    named = {word.partition("=")[0] for word in rest if word.startswith("--")}
    assert named <= known, where
    assert where == "weights" or "--port" in named


def test_health_checks_ask_for_a_route_that_exists():
    from moralscope.server.api.routes import open_router

    (route,) = {row.path for row in open_router.routes if row.path.endswith("/health")}
    (guard,) = POD["containers"]
    probes = [guard[f"{name}Probe"]["httpGet"] for name in ("startup", "readiness", "liveness")]
    assert {probe["path"] for probe in probes} == {route}
    assert f"127.0.0.1:8000{route}" in CONTAINERFILE
    assert guard["ports"][0]["containerPort"] == 8000


@pytest.mark.parametrize("name", ["guard", "annotate"])
def test_a_service_is_behind_the_proxy_and_asked_for_its_health_on_its_own_port(name):
    from moralscope.server.annotate.api import router
    from moralscope.server.api.routes import open_router

    service, proxy = COMPOSE["services"][name], COMPOSE["services"]["proxy"]
    (port,) = re.findall(r"--port=(\d+)", " ".join(service["command"]))
    routes = {"guard": open_router, "annotate": router}[name].routes
    (health,) = {row.path for row in routes if row.path.endswith("/health")}
    check = service.get("healthcheck", {}).get("test", CONTAINERFILE)  # else the image's own
    assert f"127.0.0.1:{port}{health}'" in str(check)
    caddy = (DEPLOY / "Caddyfile").read_text("utf-8")
    (host,) = re.findall(r"\{\$(\w+)\} \{\s+reverse_proxy " + f"{name}:{port}\\b", caddy)
    assert host in proxy["environment"]
    assert f"\n{host}=" in f"\n{(DEPLOY / '.env.example').read_text('utf-8')}"


def test_who_waits_for_another_service_waits_until_it_is_healthy():
    for service in COMPOSE["services"].values():
        after = service.get("depends_on", {})
        for name, wanted in after.items() if isinstance(after, dict) else ():
            assert wanted == {"condition": "service_healthy"}
            assert "healthcheck" in COMPOSE["services"][name]
    assert COMPOSE["services"]["annotate"]["depends_on"] == {
        "postgres": {"condition": "service_healthy"}
    }


def test_the_annotation_service_gives_its_secrets_and_words_to_the_program(tmp_path):
    for name in ("moralscope_token", "postgres_password"):
        (tmp_path / name).write_text(f"secret-{name}")
    program = tmp_path / "moralscope"
    program.write_text('#!/bin/sh\necho "$MORALSCOPE_TOKEN_SECRET $ANNOTATION_DATABASE $*"\n')
    program.chmod(0o755)
    words = COMPOSE["services"]["annotate"]["entrypoint"]
    words = [word.replace("$$", "$").replace("/run/secrets", str(tmp_path)) for word in words]
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*words, "init", "/data", "--database", "env:ANNOTATION_DATABASE"],
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    url = "postgresql://moralscope:secret-postgres_password@postgres/annotation?sslmode=disable"
    called = "annotate init /data --database env:ANNOTATION_DATABASE"
    assert done.stdout == f"secret-moralscope_token {url} {called}\n"


def test_nothing_runs_as_root_or_writes_its_own_files():
    user = CONTAINERFILE.rindex("\nUSER 10001")
    assert user < CONTAINERFILE.index("\nENTRYPOINT")
    for name in ("guard", "annotate"):
        service = COMPOSE["services"][name]
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
    assert POD["securityContext"]["runAsNonRoot"]
    for container in (*POD["containers"], *POD["initContainers"]):
        assert container["securityContext"]["readOnlyRootFilesystem"]
    assert "DynamicUser=yes" in UNIT
    assert "ProtectSystem=strict" in UNIT


def test_secrets_are_files_and_volumes_are_declared():
    for name in ("guard", "annotate", "postgres"):
        service = COMPOSE["services"][name]
        assert set(service["secrets"]) <= set(COMPOSE["secrets"])
        volumes = {volume.partition(":")[0] for volume in service["volumes"]}
        named = {volume for volume in volumes if not volume.startswith((".", "$", "/"))}
        assert named <= set(COMPOSE["volumes"])
    mounted = {row["name"] for one in POD["containers"] for row in one["volumeMounts"]}
    assert mounted == {volume["name"] for volume in POD["volumes"]}


def test_what_the_image_copies_is_here_and_let_in():
    copied = re.search(r"^COPY (pyproject.*) \./$", CONTAINERFILE, re.MULTILINE)[1].split()
    ignored = (DEPLOY / ".containerignore").read_text("utf-8").split()
    for name in (*copied, "src"):
        assert (ROOT / name).exists()
        assert f"!{name}" in ignored


def test_the_unit_is_read_by_an_ini_parser():
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read_string(UNIT)
    assert parser.sections() == ["Unit", "Service", "Install"]
