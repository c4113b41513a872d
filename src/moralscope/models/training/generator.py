"""Train generators: prompt in, sentence out, on a language model or an adapter of it.

Causal models learn the sentence after the prompt; encoder-decoders get the prompt on one side. Only
the tokens of the sentence (and its end) count in the loss, for causal models those of the prompt
too where asked. Everything is tokenised once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from moralscope.core.errors import StoreError, error_line
from moralscope.core.options import Option
from moralscope.models.adapters import load_adapter, with_adapter
from moralscope.models.classifiers.module import safe_precision
from moralscope.models.encoders.pipeline import like_length_batches
from moralscope.models.training.loop import train
from moralscope.models.training.options import ModelTraining
from moralscope.models.training.records import History, Report, TextExample
from moralscope.stats.text.overlap import bleu, rouge

_IGNORED = -100
_DEV_TOKENS = 16384


@dataclass(frozen=True, kw_only=True)
class GeneratorTraining(ModelTraining):
    """Settings of generators alone.

    With `answered` > 0 that many prompts of each group are answered at every evaluation, and the
    mean `overlap` with what people wrote decides; else the loss a token of the dev part.
    """

    max_output: Annotated[int, Option("Tokens that are written.", least=1, most=512)] = 60
    answered: Annotated[
        int, Option("Dev prompts of a group that are answered to choose.", least=0, most=100_000)
    ] = 0
    overlap: Annotated[str, Option("What judges the answers.", choices=("ROUGE-L", "BLEU"))] = (
        "ROUGE-L"
    )
    learn_prompt: Annotated[bool, Option("A causal base learns the prompt's tokens too.")] = False


@dataclass
class GeneratorLearner:
    """A `Learner` over a language model; `score` on dev is minus the mean loss of groups.

    Where dev prompts are answered (`GeneratorTraining.answered`, nucleus 0.9), their overlap with
    what people wrote decides: the loss a token turns up long before the texts get worse.
    """

    module: Any
    tokenizer: Any
    examples: Sequence[TextExample]
    dev_examples: Sequence[TextExample]
    training: GeneratorTraining = field(default_factory=GeneratorTraining)

    def __post_init__(self) -> None:
        self._seq2seq = bool(getattr(self.module.config, "is_encoder_decoder", False))
        self._rows = self._tokenised(self.examples)
        self._dev_rows = self._tokenised(self.dev_examples)
        self._lengths = [len(prompt) + len(target) for prompt, target in self._rows]

    @property
    def lengths(self) -> Sequence[int]:
        """How many tokens each example has."""
        return self._lengths

    @property
    def data_sha256(self) -> str:
        """One checksum over every token that is learnt or looked at."""
        groups = [row.group for row in self.dev_examples]
        return sha256(
            repr((self._rows, self._dev_rows, groups, self.training.learn_prompt)).encode()
        ).hexdigest()

    def indices(self, epoch: int) -> Sequence[int]:
        """Return every example: all epochs are alike."""
        return range(len(self.examples))

    def loss(self, indices: Sequence[int]) -> Any:
        """Return the mean loss of the sentences' tokens."""
        batch = self._batch(
            [self._rows[index] for index in indices], whole=self.training.learn_prompt
        )
        with safe_precision(self._device):
            return self.module(**batch).loss

    def dev(self) -> dict[str, float]:
        """Return the mean loss a token by group, and minus their mean as `score`."""
        losses: dict[str, list[tuple[float, int]]] = {}
        lengths = [len(prompt) + len(target) for prompt, target in self._dev_rows]
        for indices in like_length_batches(lengths, _DEV_TOKENS):
            rows = [self._dev_rows[index] for index in indices]
            for index, loss in zip(indices, self._losses(rows), strict=True):
                group = self.dev_examples[index].group
                losses.setdefault(group, []).append((loss, len(self._dev_rows[index][1])))
        figures = {
            group: sum(loss for loss, _ in rows) / sum(size for _, size in rows)
            for group, rows in losses.items()
        }
        if not self.training.answered:
            return {"score": -float(np.mean(list(figures.values()))), **figures}
        # A prompt that people answered several times has as many references.
        groups: dict[str, dict[str, list[int]]] = {}
        for index, row in enumerate(self.dev_examples):
            groups.setdefault(row.group, {}).setdefault(row.prompt, []).append(index)
        overlaps = {}
        for group, prompts in groups.items():
            chosen = list(prompts.values())[: self.training.answered]
            wanted = [[self.dev_examples[index].target for index in indices] for indices in chosen]
            texts = self._write([indices[0] for indices in chosen])
            overlaps[f"{group} {self.training.overlap}"] = (
                bleu(texts, wanted)
                if self.training.overlap == "BLEU"
                else float(np.mean(rouge(texts, wanted)))
            )
        return {"score": float(np.mean(list(overlaps.values()))), **overlaps, **figures}

    def _write(self, indices: Sequence[int]) -> list[str]:
        import torch

        torch.manual_seed(0)
        prompts = [self._dev_rows[index][0] for index in indices]
        longest = max(len(prompt) for prompt in prompts)
        padding = self._padding
        ids = [[*[padding] * (longest - len(prompt)), *prompt] for prompt in prompts]
        mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        with safe_precision(self._device):
            rows = self.module.generate(
                input_ids=torch.tensor(ids, device=self._device),
                attention_mask=torch.tensor(mask, device=self._device),
                max_new_tokens=self.training.max_output,
                do_sample=True,
                top_p=0.9,
                top_k=0,
                pad_token_id=padding,
                eos_token_id=self.tokenizer.eos_token_id,
            )
        new = rows if self._seq2seq else rows[:, longest:]
        return [text.strip() for text in self.tokenizer.batch_decode(new, skip_special_tokens=True)]

    @property
    def _padding(self) -> int:
        padding = self.tokenizer.pad_token_id
        return int(self.tokenizer.eos_token_id if padding is None else padding)

    @property
    def _device(self) -> Any:
        return next(self.module.parameters()).device

    def _tokenised(self, examples: Sequence[TextExample]) -> list[tuple[list[int], list[int]]]:
        if not examples:
            return []
        prompts = self.tokenizer([row.prompt for row in examples])["input_ids"]
        space = "" if self._seq2seq else " "
        plain = {"add_special_tokens": False, "split_special_tokens": True}  # a text has no markers
        targets = self.tokenizer([space + row.target for row in examples], **plain)["input_ids"]
        end = self.tokenizer.eos_token_id
        return [
            (prompt[-self.training.max_length :], [*target[: self.training.max_output], end])
            for prompt, target in zip(prompts, targets, strict=True)
        ]

    def _batch(
        self, rows: Sequence[tuple[list[int], list[int]]], *, whole: bool = False
    ) -> dict[str, Any]:
        if self._seq2seq:
            inputs = [prompt for prompt, _ in rows]
            labels = [target for _, target in rows]
        else:
            inputs = [prompt + target for prompt, target in rows]
            labels = [
                (prompt if whole else [_IGNORED] * len(prompt)) + target for prompt, target in rows
            ]
        return {
            "input_ids": self._tensor(inputs, self._padding),
            "attention_mask": self._tensor([[1] * len(row) for row in inputs], 0),
            "labels": self._tensor(labels, _IGNORED),
        }

    def _tensor(self, rows: Sequence[list[int]], padding: int) -> Any:
        import torch

        longest = max(len(row) for row in rows)
        full = torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows])
        return full.to(self._device, non_blocking=True)

    def _losses(self, rows: Sequence[tuple[list[int], list[int]]]) -> list[float]:
        """Return the summed loss of each row's sentence."""
        import torch

        batch = self._batch(rows)
        labels = batch.pop("labels") if not self._seq2seq else batch["labels"]
        with safe_precision(self._device):
            logits = self.module(**batch).logits
        if not self._seq2seq:
            logits, labels = logits[:, :-1], labels[:, 1:]
        losses = torch.nn.functional.cross_entropy(
            logits.float().flatten(0, 1), labels.flatten(), ignore_index=_IGNORED, reduction="none"
        )
        return [float(value) for value in losses.view(labels.shape).sum(1)]


def train_generator(
    training: GeneratorTraining,
    base: Path,
    markers: Sequence[str],
    examples: tuple[Sequence[TextExample], Sequence[TextExample]],
    checkpoint: Path | None = None,
    report: Report | None = None,
) -> tuple[GeneratorLearner, History]:
    """Train on (train, dev); return the learner with its best weights, and what happened."""
    import torch
    from safetensors import SafetensorError
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    torch.manual_seed(training.seed)
    origin = base
    try:
        config = AutoConfig.from_pretrained(base, local_files_only=True)
        kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
        model = kind.from_pretrained(base, local_files_only=True, use_safetensors=True).float()
        tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
        tokenizer.add_tokens(list(markers), special_tokens=True)
        model.resize_token_embeddings(len(tokenizer))
        if training.start:
            origin = training.start[0]
            model = load_adapter(model, origin, trainable=True)
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
        line = error_line(error, 160)
        raise StoreError(
            f"{origin} cannot be loaded for training ({line})", "give a complete language model"
        ) from error
    if training.weights == "adapter" and not training.start:
        # The markers' rows are new: an adapter leaves embeddings alone, so they are trained beside.
        model = with_adapter(model, training.rank, tokenizer.convert_tokens_to_ids(list(markers)))
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    learner = GeneratorLearner(model, tokenizer, *examples, training)
    history = train(learner, training, checkpoint, report)
    model.eval()
    return learner, history
