"""Train classifiers: labelled pairs of several heads at once, on a body or an adapter of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.core.records import grouped
from moralscope.models.adapters import read_adapter_tensors, with_adapter
from moralscope.models.classifiers.module import (
    Slices,
    build_network,
    has_bfloat16,
    is_decoder,
    load_body,
    padded,
    padding_of,
    pooled_rows,
    run_network,
    safe_precision,
    tokenise,
)
from moralscope.models.classifiers.saved import HEAD, read_settings
from moralscope.models.training.heads import (
    CONTRASTIVE,
    RANKING,
    RIDGE,
    ClassifierTraining,
    HeadBatch,
    Heads,
    find_loss,
    slices_of,
)
from moralscope.models.training.loop import train
from moralscope.models.training.metrics import group_figures
from moralscope.models.training.records import TOGETHER, History, Report, TrainingExample

_HALF_FROM = 256  # the width from which half precision pays on a CPU


@dataclass
class ClassifierLearner:
    """A `Learner`: each pair's loss is over its own head's columns; dev has a figure a group.

    The figure is accuracy where one label holds, macro-F1 where many may, Pearson's r on a scale.
    Everything is tokenised once, before the first step.
    """

    module: Any
    tokenizer: Any
    heads: Heads
    examples: Sequence[TrainingExample]
    dev_examples: Sequence[TrainingExample]
    training: ClassifierTraining = field(default_factory=ClassifierTraining)

    def __post_init__(self) -> None:
        import torch

        self.slices = slices_of(self.heads)
        self._ids = self.token_ids(self.examples)
        self._lengths = [len(row) for row in self._ids]
        self._dev_ids = self.token_ids(self.dev_examples)
        starts = {task: self.slices.of(task).start for task in self.slices.labels}
        last = self.slices.width - 1  # a contrastive head has no column of its own
        self._targets = [min(starts[row.task] + row.label, last) for row in self.examples]
        names = list(self.heads)
        self._tasks = [names.index(row.task) for row in self.examples]
        self._weights = [row.weight * self.heads[row.task].weight for row in self.examples]
        losses = [self.heads[row.task].loss for row in self.examples]
        self._losses = [
            RANKING if row.other and loss != CONTRASTIVE else loss
            for row, loss in zip(self.examples, losses, strict=True)
        ]
        self._other_ids = self._others(self.examples)
        self._outside = torch.ones((len(starts), self.slices.width), dtype=torch.bool)
        for row, task in enumerate(starts):
            self._outside[row, self.slices.of(task)] = False

    def token_ids(self, examples: Sequence[TrainingExample]) -> list[list[int]]:
        """Return the tokens of pairs, as the network reads them."""
        return tokenise(self.tokenizer, [row.pair for row in examples], self.training.max_length)

    def _others(self, examples: Sequence[TrainingExample]) -> dict[int, tuple[int, ...]]:
        """Return the tokens of the other text of each example that has one, by its index."""
        others = {index: row.other for index, row in enumerate(examples) if row.other}
        if not others:
            return {}
        rows = tokenise(self.tokenizer, list(others.values()), self.training.max_length)
        return {index: tuple(row) for index, row in zip(others, rows, strict=True)}

    @property
    def data_sha256(self) -> str:
        """One checksum over every pair that is learnt or looked at, with its label and weight."""
        rows = (self._ids, self._targets, self._weights, self._dev_ids, self._other_ids)
        dev = [
            (row.label, row.group, row.among, row.decides, row.values) for row in self.dev_examples
        ]
        names = (dict(self.heads), [row.values for row in self.examples])
        how = (self.training.smoothing, self.training.consistency)
        return sha256(repr((rows, dev, names, how)).encode()).hexdigest()

    @property
    def lengths(self) -> Sequence[int]:
        """How many tokens each example has; contrastive ones count more, to stand together."""
        return [
            length + (TOGETHER if loss == CONTRASTIVE else 0)
            for length, loss in zip(self._lengths, self._losses, strict=True)
        ]

    def indices(self, epoch: int) -> Sequence[int]:
        """Return the examples whose turn it is."""
        return [
            index
            for index, row in enumerate(self.examples)
            if epoch % row.turn[1] == row.turn[0] and self._losses[index] != RIDGE
        ]

    def loss(self, indices: Sequence[int]) -> Any:
        """Return the mean loss of some examples; columns of other heads do not take part."""
        import torch

        if self.training.consistency:
            indices = [*indices, *indices]
        device = self.module.head.weight.device
        paired = [row for row, index in enumerate(indices) if index in self._other_ids]
        rows = [self._ids[index] for index in indices]
        rows += [list(self._other_ids[indices[row]]) for row in paired]
        ids, mask = padded(rows, padding_of(self.tokenizer), device)
        tasks, targets, weights = (
            torch.tensor([column[index] for index in indices]).to(device)
            for column in (self._tasks, self._targets, self._weights)
        )
        outside = self._outside.to(device)[tasks]
        with safe_precision(device, half=self.module.half):
            pooled = self.module.pooled(ids, mask)
            logits = self.module.head(self.module.dropout(pooled).float())
        # Far below any logit, yet finite in half precision: a softmax gives these columns nothing.
        inside = logits[: len(indices)].float().masked_fill(outside, -1e4)
        values = torch.zeros(inside.shape)
        for row, index in enumerate(indices):
            example = self.examples[index]
            if example.values:
                values[row, self.slices.of(example.task)] = torch.tensor(example.values).float()
        batch = HeadBatch(inside, outside, targets, values.to(device))
        if paired:
            batch = self._with_others(batch, indices, paired, logits.float(), pooled.float())
        first, *others = dict.fromkeys(self._losses[index] for index in indices)
        loss = find_loss(first).rows(batch, self.training)
        for name in others:  # each row's loss is by its own head's function
            rows_of = torch.tensor([self._losses[index] == name for index in indices]).to(device)
            loss = torch.where(rows_of, find_loss(name).rows(batch, self.training), loss)
        return (loss * weights).sum() / weights.sum()

    def _with_others(
        self,
        batch: HeadBatch,
        indices: Sequence[int],
        paired: Sequence[int],
        logits: Any,
        pooled: Any,
    ) -> HeadBatch:
        """Set beside each row what the network makes of its other text; zeros where it has none."""
        import torch

        size, device = len(indices), logits.device
        at = torch.tensor(paired, device=device)
        others = torch.zeros_like(batch.logits).index_copy(0, at, logits[size:])
        keys = torch.zeros_like(pooled[:size]).index_copy(0, at, pooled[size:])
        mask = torch.zeros(size, dtype=torch.bool, device=device).index_fill(0, at, True)
        names: dict[tuple[int, ...], int] = {}
        ids = [names.setdefault(self._other_ids.get(index, ()), len(names)) for index in indices]
        return replace(
            batch,
            others=others.masked_fill(batch.outside, -1e4),
            vectors=pooled[:size],
            keys=keys,
            paired=mask,
            key_ids=torch.tensor(ids, device=device),
        )

    def dev(self) -> dict[str, float]:
        """Return the figure of every group on dev, and their weighted mean as `score`."""
        answers = zip(self.dev_examples, self.dev_logits(), strict=True)
        groups = grouped((row.group or row.task, (row, logits)) for row, logits in answers)
        figures: dict[str, float] = {}
        for group, rows in groups.items():
            kind = self.heads[rows[0][0].task].kind
            if rows[0][0].other:
                figures[group] = self._pairs_right([row for row, _ in rows])
            elif kind == "one":
                right = [
                    int(logits[: row.among or None].argmax()) == row.label for row, logits in rows
                ]
                figures[group] = float(np.mean(right))
            else:
                gold, logits = [row.values for row, _ in rows], np.array([row for _, row in rows])
                figures |= group_figures(group, kind, gold, logits)
        weights = [rows[0][0].decides for rows in groups.values()]
        score = np.average([figures[group] for group in groups], weights=weights)
        return {"score": float(score), **figures}

    def _pairs_right(self, rows: Sequence[TrainingExample]) -> float:
        """Return the share of texts above their others, or found by them as the nearest."""
        head = self.heads[rows[0].task]
        padding = padding_of(self.tokenizer)
        other_ids = self._others(rows)
        ids = self.token_ids(rows), [list(other_ids[index]) for index in range(len(rows))]
        if head.loss == CONTRASTIVE:
            queries, keys = (pooled_rows(self.module, part, padding) for part in ids)
            names = list(dict.fromkeys(other_ids.values()))
            keys = keys[[list(other_ids.values()).index(name) for name in names]]
            keys /= np.linalg.norm(keys, axis=1, keepdims=True)
            wanted = [names.index(other_ids[index]) for index in range(len(rows))]
            return float(np.mean((queries @ keys.T).argmax(1) == wanted))
        columns = self.slices.of(rows[0].task)
        first, other = (run_network(self.module, part, padding)[:, columns] for part in ids)
        if head.kind == "one":
            labels = np.array([row.label for row in rows])
            first, other = (
                2 * np.take_along_axis(logits, labels[:, None], 1) - logits.sum(1, keepdims=True)
                for logits in (first, other)
            )
        return float((first > other).mean() + 0.5 * (first == other).mean())

    def dev_logits(self) -> list[NDArray[np.float32]]:
        """Return every dev example's logits of its own head."""
        logits = run_network(self.module, self._dev_ids, padding_of(self.tokenizer))
        return [
            logits[index, self.slices.of(row.task)] for index, row in enumerate(self.dev_examples)
        ]

    def on(self, rows: Sequence[TrainingExample]) -> "ClassifierLearner":
        """Return the same network with other examples to look at, and none to learn."""
        return replace(self, examples=[], dev_examples=rows)

    def keep_heads(self, names: Sequence[str]) -> "ClassifierLearner":
        """Cut the last layer down to some heads: what helped only while learning is thrown away."""
        import torch

        heads = {name: replace(self.heads[name], tied="") for name in names}
        width = self.slices.width
        columns = [
            column for name in names for column in range(*self.slices.of(name).indices(width))
        ]
        old = self.module.head
        self.module.head = torch.nn.Linear(old.in_features, len(columns)).to(old.weight.device)
        with torch.no_grad():
            self.module.head.weight.copy_(old.weight[columns])
            self.module.head.bias.copy_(old.bias[columns])
        dev = [row for row in self.dev_examples if row.task in heads]
        return replace(self, heads=heads, examples=[], dev_examples=dev)


def check_pairs(heads: Heads, examples: Sequence[TrainingExample]) -> None:
    """Refuse a head that compares texts and has examples with nothing to compare."""
    for name, head in heads.items():
        rows = [row for row in examples if row.task == name]
        alone = sum(row.other is None for row in rows)
        if head.loss in (RANKING, CONTRASTIVE) and alone:
            raise InputError(
                f"heads.{name} has the loss {head.loss}, which compares two texts, and {alone:,} "
                f"of its {len(rows):,} examples have one",
                f"give heads.{name} another loss, such as cross_entropy",
            )


def start_from_mean(network: Any, slices: Slices, folders: Sequence[Path]) -> None:
    """Put the mean of saved adapters into a network, and of heads where tasks are the same.

    Runs that set out from one point and saw other examples lie in one basin of the loss: their mean
    is better than each alone (Wortsman et al. 2022). Of unrelated runs it would be worse.
    """
    import torch
    from peft import set_peft_model_state_dict
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        adapters = [read_adapter_tensors(folder) for folder in folders]
        heads = [load_file(folder / HEAD) for folder in folders]
        # Adapters are saved in half precision; summed in it, small weights would be lost.
        mean = {
            name: torch.stack([adapter[name].float() for adapter in adapters]).mean(0)
            for name in adapters[0]
        }
        loaded = set_peft_model_state_dict(network.body, mean)
        if loaded.unexpected_keys:
            raise KeyError(loaded.unexpected_keys[0])
        saved = Slices(read_settings(folders[0]).tasks)
        for task in sorted(set(saved.labels) & set(slices.labels)):
            old, new = saved.of(task).start, slices.of(task).start
            labels = slices.labels[task]
            for at, label in enumerate(saved.labels[task]):
                if label in labels:  # a head may have learnt new labels since
                    for name, values in network.head.named_parameters():
                        rows = torch.stack([head[name][old + at] for head in heads])
                        with torch.no_grad():
                            values[new + labels.index(label)] = rows.mean(0)
    except (OSError, SafetensorError, KeyError, RuntimeError, AttributeError) as error:
        names = ", ".join(map(str, folders))
        raise InputError(
            f"{names} cannot be started from ({type(error).__name__})",
            "give folders of 'stories train' with the same base, rank and tasks",
        ) from error


def train_classifier(
    training: ClassifierTraining,
    base: Path,
    heads: Heads,
    examples: tuple[Sequence[TrainingExample], Sequence[TrainingExample]],
    checkpoint: Path | None = None,
    report: Report | None = None,
) -> tuple[ClassifierLearner, History]:
    """Train on (train, dev); return the learner with its best weights, and what happened."""
    import torch

    check_pairs(heads, examples[0])
    torch.manual_seed(training.seed)
    body, tokenizer = load_body(base, base.name)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    half = has_bfloat16(device) and body.config.hidden_size >= _HALF_FROM
    if training.weights == "adapter":
        if half and is_decoder(body.config):
            body.to(torch.bfloat16)  # frozen, and large: half the memory, and no copy at each step
        body = with_adapter(body, training.rank)
        for part in body.modules() if half else ():
            part.cast_input_dtype_enabled = False  # autocast rounds: no copy in 32 bits before it
    slices = slices_of(heads)
    network = build_network(body, slices.width)
    for task in slices.labels:
        # A scale starts at the mean of what is learnt: an adapter's rate would take long there.
        values = [row.values for row in examples[0] if row.task == task and row.values]
        if slices.kind(task) == "scale" and values:
            with torch.no_grad():
                network.head.bias[slices.of(task)] = torch.tensor(values).float().mean(0)
    if training.start:
        start_from_mean(network, slices, training.start)
    network.to(device)
    network.half = half
    learner = ClassifierLearner(network, tokenizer, heads, *examples, training)
    if training.epochs == 0:
        network.known = {}
    history = train(learner, training, checkpoint, report)
    network.eval()
    if network.known is None:
        network.known = {}  # from here on the body stays as it is: every pair goes through it once
    return learner, history
