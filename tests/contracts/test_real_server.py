"""An endpoint as a language model, against a real server: `transformers serve` with smollm2."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from moralscope.models.language import EndpointOptions, load_language_model
from moralscope.models.language.conversion import resolve_base
from moralscope.models.store import Store

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "smollm2"
    shutil.copytree(resolve_base("smollm2")[0], folder)
    config = json.loads((folder / "config.json").read_text())
    # Conversions that were made before 0.6 do not say it, and the server asks for it.
    config["architectures"] = ["LlamaForCausalLM"]
    (folder / "config.json").write_text(json.dumps(config))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = Path(sys.executable).with_name("transformers")
    command = [str(script), "serve", str(folder), "--port", str(port), "--device", "cpu"]
    server = subprocess.Popen(command, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).close()
                break
            except OSError:
                assert server.poll() is None, "the server ended"
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1", folder
    finally:
        server.terminate()
        server.wait(30)


def test_replies_of_a_real_server_are_drawn_and_counted(url, tmp_path):
    address, folder = url
    options = EndpointOptions(address, samples=3, timeout=300, retries=1)
    model = load_language_model(f"openai:{folder}", endpoint=options, store=Store(tmp_path))
    [[yes, no]] = model.log_probabilities(["Say yes. Answer with yes or no."], [["Yes", "No"]])
    assert yes.samples == no.samples == 3 or not yes.samples
    assert 0 <= yes.hits + no.hits <= 3
    assert model.usage.requests >= 1
    again = load_language_model(f"openai:{folder}", endpoint=options, store=Store(tmp_path))
    assert again.log_probabilities(["Say yes. Answer with yes or no."], [["Yes", "No"]]) == [
        [yes, no]
    ]
    assert again.usage.requests == 0
