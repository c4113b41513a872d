"""Experiment trackers: a run record in MLflow or Weights & Biases, where a run of theirs is open.

with mlflow.start_run():
log_mlflow(moralscope.audit(file="replies.csv"))
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from moralscope.core.extras import require_extra
from moralscope.core.records import RunRecord, to_plain

_DEEPEST = 3  # levels of the statistics that become metrics


def metrics_of(record: RunRecord) -> dict[str, float]:
    """Return every number of the statistics under its path.

    Examples
    --------
    >>> from moralscope.rules.audit import audit
    >>> metrics_of(audit(prompt="Hi!", reply="Hello you.", experts="scripted"))["replies"]
    1.0
    """
    return dict(_numbers(to_plain(record.statistics)))


def _numbers(value: Any, path: str = "", level: int = 0) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping) and level < _DEEPEST:
        for name, item in value.items():
            yield from _numbers(item, f"{path}.{name}" if path else name, level + 1)
    elif isinstance(value, int | float):
        yield path, float(value)


def log_mlflow(record: RunRecord) -> None:
    """Log numbers, options and the record with its report to the MLflow run that is open."""
    require_extra("mlflow", "logging to MLflow")
    import mlflow

    mlflow.set_tags({"moralscope.job": record.job, "moralscope.version": record.version})
    mlflow.log_params({f"moralscope.{name}": value for name, value in _options(record).items()})
    mlflow.log_metrics({f"moralscope.{name}": value for name, value in metrics_of(record).items()})
    with _files(record) as folder:
        mlflow.log_artifacts(folder, artifact_path="moralscope")


def log_wandb(record: RunRecord, run: Any = None) -> None:
    """Log numbers, options and the record with its report to a run of Weights & Biases."""
    require_extra("wandb", "logging to Weights & Biases")
    import wandb

    run = run or wandb.run
    run.config.update({f"moralscope.{name}": value for name, value in _options(record).items()})
    run.log({f"moralscope/{name}": value for name, value in metrics_of(record).items()})
    artifact = wandb.Artifact(f"moralscope-{record.job.replace(' ', '-')}", type="moralscope-run")
    with _files(record) as folder:
        artifact.add_dir(folder)
        run.log_artifact(artifact).wait() if run.settings.mode == "online" else run.log_artifact(
            artifact
        )


def _options(record: RunRecord) -> Mapping[str, Any]:
    options = to_plain(record.config).get("options") or {}
    return {name: json.dumps(value) for name, value in options.items()}


def _files(record: RunRecord) -> "tempfile.TemporaryDirectory[str]":
    """Return a folder with the record and its report."""
    from moralscope.io.files import write_record
    from moralscope.pages import write_report

    folder = tempfile.TemporaryDirectory()
    write_record(record, Path(folder.name) / "run.json")
    write_report(record, Path(folder.name) / "report.html")
    return folder
