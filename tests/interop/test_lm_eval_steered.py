"""lm-eval's own `steered` model, with our exported vector, gives our steered log-likelihoods."""

import json

import numpy as np
import pytest

from moralscope.models.language import load_language_model, load_vector
from moralscope.models.language.steering import SteeringVector, VectorInfo, save_vector
from moralscope.steer.exchange import export_vector
from moralscope.steer.options import SteerExportOptions

from ..generator_makers import tiny_llama

pytestmark = pytest.mark.slow
PAIRS = [("Should I lie?", " No, never."), ("Should I help?", " Yes"), ("A bird", " sings.")]
THEIRS = """
import json, sys
from lm_eval.api.instance import Instance
from lm_eval.models.hf_steered import SteeredModel
folder, vector, place = sys.argv[1:]
lm = SteeredModel(folder, vector, device="cpu", dtype="float32", batch_size=1)
pairs = json.load(open(place))
requests = [Instance("loglikelihood", {}, tuple(pair), n) for n, pair in enumerate(pairs)]
found = [value for value, _ in lm.loglikelihood(requests, disable_tqdm=True)]
json.dump(found, open(place, "w"))
"""


def test_lm_eval_steers_as_we_do(tool, tmp_path):
    folder = tiny_llama(tmp_path / "model")
    plain = load_language_model(str(folder))
    rows = np.random.default_rng(0).standard_normal((2, 32)).astype(np.float32)
    info = VectorInfo("tiny", plain.checksum, 32, (1, 2), "mean", 0.7, 0.5, "x", plain.block_path)
    save_vector(SteeringVector(info, rows), tmp_path / "v.safetensors")
    export_vector(
        SteerExportOptions(vector=tmp_path / "v.safetensors", to="lm-eval", save=tmp_path / "v.pt")
    )
    place = tmp_path / "pairs.json"
    place.write_text(json.dumps(PAIRS))
    done = tool("lm-eval").run(
        *("python", "-c", THEIRS, folder, tmp_path / "v.pt", place), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    theirs = json.loads(place.read_text())
    prompts, answers = [each for each, _ in PAIRS], [[each] for _, each in PAIRS]
    steered = load_vector(tmp_path / "v.safetensors").steer(plain)
    ours = [each.total for [each] in steered.log_probabilities(prompts, answers)]
    before = [each.total for [each] in plain.log_probabilities(prompts, answers)]
    assert ours == pytest.approx(theirs, abs=1e-3)
    assert np.abs(np.subtract(ours, before)).max() > 0.1
