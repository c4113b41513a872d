"""The weights that ship in the package: small, safe, and on the very bases of the store."""

import json
from pathlib import Path

import numpy as np
import pytest

import moralscope
from moralscope.core.errors import StoreError
from moralscope.models.adapters import read_adapter, read_adapter_tensors
from moralscope.models.classifiers.saved import read_settings
from moralscope.models.store import Store, shipped_folder
from moralscope.stories.tasks import classification_tasks, generation_tasks, markers

WEIGHTS = Path(moralscope.__file__).parent / "weights"
TURNS = WEIGHTS / "turns-mpnet"  # a linear head over the vectors of rules-mpnet
FOLDERS = sorted(path for path in WEIGHTS.iterdir() if path.is_dir() and path != TURNS)
MEGABYTE = 1_000_000


@pytest.fixture(params=FOLDERS, ids=lambda path: path.name)
def folder(request):
    return request.param


def test_these_are_shipped():
    bases = ("minilm", "mpnet", "smollm2")
    families = ("stories", "rules")
    assert {path.name for path in FOLDERS} == {
        *(f"{one}-{base}" for one in families for base in bases),
        "large",
    }


def test_an_adapter_names_the_base_of_the_store(folder):
    facts = json.loads((folder / "expert.json").read_text("utf-8"))
    entry = Store().entry(facts["base"])
    assert facts["base_sha256"] == entry.sha256
    family, base = {"large": "rules-qwen"}.get(folder.name, folder.name).split("-")
    assert base == facts["base"]
    assert facts["card"]["command"].startswith(f"moralscope {family} train ")
    config = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    assert config["peft_type"] == "LORA"
    assert config["base_model_name_or_path"] is None


def test_the_head_for_users_turns_has_a_card_and_finite_weights():
    from safetensors.numpy import load_file

    card = (TURNS / "README.md").read_text("utf-8")
    assert "written for moralscope" in card
    assert "**Licence:** Apache-2.0" in card
    assert all(np.isfinite(value).all() for value in load_file(TURNS / "head.safetensors").values())


def test_tasks_labels_and_markers_are_the_tables():
    for name in ("stories-minilm", "stories-mpnet"):
        tasks = {row.name: row.labels for row in classification_tasks().values()}
        assert read_settings(WEIGHTS / name).tasks == {**tasks, "degree": ("degree",)}
    generator = WEIGHTS / "stories-smollm2"
    assert read_adapter(generator).markers == markers()
    facts = json.loads((generator / "expert.json").read_text("utf-8"))
    assert set(facts["tasks"]) == set(generation_tasks())


def test_the_card_says_data_licence_and_command(folder):
    card = (folder / "README.md").read_text("utf-8")
    data = card.split("**Data:**")[1].split("**Licence:**")[0]
    assert "Moral Stories (Emelin et al. 2021), MIT" in data
    family = {"large": "rules"}.get(folder.name, folder.name.split("-")[0])
    social = "SOCIAL-CHEM-101 (Forbes et al. 2020), CC BY-SA 4.0"
    assert (social in data) == (family == "rules")
    assert "**Licence:** Apache-2.0" in card
    assert f"**Made by:** `moralscope {family} train " in card
    assert "*train* part" in card.replace("\n  ", " ")


def test_the_card_s_figures_are_those_of_the_settings():
    for name in ("stories-minilm", "stories-mpnet"):
        card = (WEIGHTS / name / "README.md").read_text("utf-8")
        metrics = read_settings(WEIGHTS / name).card["metrics"]
        assert metrics["dev"]
        for group in set(metrics["dev"]) - {"score", "epoch", "loss"}:
            (line,) = [row for row in card.splitlines() if row.startswith(f"| {group} |")]
            cells = [cell.strip() for cell in line.strip("|").split("|")[1:]]
            found = [float(cell) for cell in cells if cell != "—"]
            known = [part[group] for part in metrics.values() if group in part]
            assert found == pytest.approx(known, abs=6e-4)


def test_files_are_few_small_and_never_pickled():
    files = [path for path in WEIGHTS.rglob("*") if path.is_file()]
    files = [path for path in files if "__pycache__" not in path.parts]
    assert {path.suffix for path in files} <= {".json", ".md", ".safetensors", ".py"}
    assert max(path.stat().st_size for path in files) <= 10 * MEGABYTE
    assert sum(path.stat().st_size for path in files) <= 64 * MEGABYTE


def test_weights_are_finite_and_in_half_precision_or_less(folder):
    import torch
    from safetensors.torch import load_file

    weights = load_file(folder / "adapter_model.safetensors")
    kinds = {value.dtype for name, value in weights.items() if not name.endswith(".scale")}
    assert kinds == {torch.int8 if folder.name == "large" else torch.float16}
    weights = read_adapter_tensors(folder)
    assert all(bool(torch.isfinite(value).all()) for value in weights.values())


def test_weights_that_are_not_there_are_named():
    with pytest.raises(StoreError, match="'stories-none' are not in this installation"):
        shipped_folder("stories-none")
