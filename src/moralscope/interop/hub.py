"""Weights as Hugging Face's hub shows them: adapter files, a card with metadata, their figures.

Writes a folder that `hf upload` takes as it is; sends nothing anywhere. All figures stand in the
card's `model-index`; those on a data set of the hub also as entries of `.eval_results/`.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.registry import did_you_mean
from moralscope.io.files import write_whole
from moralscope.models.store import Store, shipped_folder

_DATASET, _STORIES_TASK = "demelin/moral_stories", "action+norm"


def write_hub_folder(source: str, folder: Path) -> list[Path]:
    """Write weights (a shipped name, or a folder) for the hub and return the files."""
    weights = _folder(source)
    facts = json.loads((weights / "expert.json").read_text("utf-8"))
    official = {entry.name: entry.official for entry in Store().entries()}
    base = official.get(str(facts["base"])) or str(facts["base"])  # as the hub calls it
    folder.mkdir(parents=True, exist_ok=True)
    copied = [*sorted(weights.glob("*.safetensors")), weights / "expert.json"]
    written = [folder / path.name for path in copied]
    for path in written:
        shutil.copyfile(weights / path.name, path)
    config = json.loads((weights / "adapter_config.json").read_text("utf-8"))
    texts = {
        "adapter_config.json": json.dumps({**config, "base_model_name_or_path": base}, indent=1),
        "README.md": card(weights.name, base, facts, (weights / "README.md").read_text("utf-8")),
    }
    measured = eval_results(facts)
    if measured:
        texts[".eval_results/moral_stories.yaml"] = measured
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        write_whole(path, [text.encode()])
        written.append(path)
    return written


def card(name: str, base: str, facts: Mapping[str, Any], text: str) -> str:
    """Return a model card: metadata that the hub reads, then the text of our own card."""
    from huggingface_hub import EvalResult, ModelCardData

    about, writes = facts["card"], "generator" in str(facts.get("schema"))
    results = [
        EvalResult(
            task_type="text-generation" if writes else "text-classification",
            dataset_type=_DATASET if _STORIES_TASK in facts["tasks"] else "moralscope",
            dataset_name="; ".join(about["data"]),
            dataset_split=part,
            metric_type=metric,
            metric_value=value,
        )
        for part, figures in about["metrics"].items()
        for metric, value in figures.items()
        if isinstance(value, int | float) and metric not in ("loss", "epoch")
    ]
    data = ModelCardData(
        base_model=base,
        base_model_relation="adapter",
        library_name="peft",
        license=str(about["licence"]).lower(),
        language="en",
        tags=["moralscope", "moral-values", "lora"],
        model_name=name,
        eval_results=results or None,
    )
    return f"---\n{data.to_yaml()}\n---\n\n{text}"


def eval_results(facts: Mapping[str, Any]) -> str:
    """Return the test figures on Moral Stories as entries of the hub's evaluation results.

    Empty for weights that were measured on no data set of the hub, or not on its test part.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    from huggingface_hub.utils._fixes import yaml_dump

    about = facts["card"]
    entries = [
        EvalResultEntry(_DATASET, task, figure, notes=f"test part; {about['command']}"[:500])
        for task, figure in about["metrics"].get("test", {}).items()
        if task in facts["tasks"] and _STORIES_TASK in facts["tasks"]
    ]
    if not entries:
        return ""
    return yaml_dump(eval_result_entries_to_yaml(entries))


def _folder(source: str) -> Path:
    path = Path(source).expanduser()
    if not path.is_dir():
        shipped = [folder.name for folder in shipped_folder("").iterdir() if folder.is_dir()]
        if source not in shipped:
            raise UnknownName(
                f"there is no run record, folder or shipped weights '{source}'",
                did_you_mean(source, sorted(shipped)),
            )
        path = shipped_folder(source)
    missing = [
        name
        for name in ("expert.json", "adapter_config.json", "README.md")
        if not (path / name).is_file()
    ]
    if missing:
        raise InputError(f"{source} has no {missing[0]}", "give a folder that a training wrote")
    return path
