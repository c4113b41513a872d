"""Make a generator: put an adapter (or all weights) of a language model through the loop."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moralscope.core.errors import StoreError
from moralscope.io.files import write_whole
from moralscope.models.adapters import AdapterShape, load_adapter, with_adapter
from moralscope.models.classifiers.saved import save_adapter
from moralscope.models.training import History, Schedule, train
from moralscope.models.training.loop import Report
from moralscope.models.training.texts import TextLearner, TextLesson

SCHEMA = "moralscope.generator/1"


@dataclass(frozen=True, slots=True)
class TextMaking:
    """What to train and how; `start` is an adapter to go on from, `limits` tokens in and out."""

    base: Path
    markers: tuple[str, ...]
    schedule: Schedule = field(default_factory=Schedule)
    adapter: AdapterShape | None = field(default_factory=AdapterShape)
    start: Path | None = None
    limits: tuple[int, int] = (200, 60)
    written: int = 0  # prompts of a group to answer at each look, see `TextLearner`
    overlap: str = "ROUGE-L"  # by which those answers are judged, or BLEU
    whole: bool = False  # learn the prompt's tokens too


def make_generator(
    making: TextMaking,
    lessons: Sequence[TextLesson],
    dev: Sequence[TextLesson],
    checkpoint: Path | None = None,
    report: Report | None = None,
) -> tuple[TextLearner, History]:
    """Train and return the learner with its best weights, and what happened."""
    import torch

    torch.manual_seed(making.schedule.seed)
    model, tokenizer = _model(making)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    learner = TextLearner(
        model,
        tokenizer,
        lessons,
        dev,
        *making.limits,
        written=making.written,
        overlap=making.overlap,
        whole=making.whole,
    )
    history = train(learner, making.schedule, checkpoint, report)
    model.eval()
    return learner, history


def save_generator(
    folder: Path, learner: TextLearner, facts: Mapping[str, Any], readme: str
) -> None:
    """Write an adapter in peft's layout, or the whole model, with its facts and card."""
    folder.mkdir(parents=True, exist_ok=True)
    if hasattr(learner.module, "peft_config"):
        save_adapter(folder, learner.module)
    else:
        learner.module.save_pretrained(folder, safe_serialization=True)
        learner.tokenizer.save_pretrained(folder)
    write_whole(folder / "README.md", [readme.encode()])
    text = json.dumps({"schema": SCHEMA, **facts}, indent=1)
    write_whole(folder / "expert.json", [text.encode()])


def _model(making: TextMaking) -> tuple[Any, Any]:
    from safetensors import SafetensorError

    place = making.base
    try:
        model, tokenizer = _load(making.base)
        tokenizer.add_tokens(list(making.markers), special_tokens=True)
        model.resize_token_embeddings(len(tokenizer))
        if making.start:
            place = making.start
            return load_adapter(model, making.start, trainable=True), tokenizer
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
        raise StoreError(
            f"{place} cannot be loaded to be trained ({line})", "give a whole language model"
        ) from error
    if making.adapter:
        ids = tokenizer.convert_tokens_to_ids(list(making.markers))
        model = with_adapter(model, making.adapter, ids)
    return model, tokenizer


def _load(folder: Path) -> tuple[Any, Any]:
    from transformers import (
        AutoConfig,
        AutoModelForCausalLM,
        AutoModelForSeq2SeqLM,
        AutoTokenizer,
    )

    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    model = kind.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return model.float(), tokenizer
