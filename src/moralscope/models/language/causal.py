"""A causal model on this machine as a `LanguageModel`: probabilities, hidden states, steering.

Texts that begin alike are computed as one tree (`trees`); logits are computed for the tokens that
are asked about and no others. Log-probabilities are those that lm-eval gives for the same texts.
"""

import copy
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch

from moralscope.core.errors import InputError, StoreError
from moralscope.core.protocols import Matrix
from moralscope.core.records import Continuation, ModelRef
from moralscope.models.adapters import Adapter
from moralscope.models.language.chat_template import ChatTemplate
from moralscope.models.language.decoding import check_layers
from moralscope.models.language.local import LocalGenerator
from moralscope.models.language.trees import TokenTree, TreePool

log = logging.getLogger(__name__)

_LOGIT_ROWS = 256  # tokens whose logits are in memory at once: a vocabulary has 260,000 words


class CausalModel(LocalGenerator):
    """A folder with a causal model, and LoRA weights on top where given."""

    def __init__(
        self,
        folder: Path,
        name: str,
        checksum: str,
        *,
        adapter: Adapter | None = None,
        batch: int | None = None,
    ) -> None:
        super().__init__(folder, name, checksum, adapter=adapter, batch=batch)
        if self._model.config.is_encoder_decoder:
            problem = f"'{self.name}' is an encoder-decoder"
            raise InputError(problem, "name a causal language model, e.g. smollm2")
        self.layers = len(self._blocks)
        self.dimension = int(self._model.get_input_embeddings().weight.shape[1])
        """How wide the residual stream is."""
        self._vectors: dict[int, Matrix] = {}
        self._told_merged = False
        self._trees = TreePool()

    @property
    def block_path(self) -> str:
        """Where the layers are inside the base model."""
        modules = self._model.base_model.named_modules()
        return next((name for name, module in modules if module is self._blocks), "")

    @property
    def has_chat(self) -> bool:
        """Whether the folder brings a chat template."""
        return self._template.has_chat

    def prompt(self, *turns: str, chat: bool) -> str:
        """Return what was said as the model reads it: through its chat template, or plainly."""
        if not chat:
            return self._template.plain(*turns)
        if not self._template.has_chat:
            raise InputError(f"'{self.name}' brings no chat template", "use --form plain")
        return self._template.chat(*turns)

    def log_probabilities(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> list[list[Continuation]]:
        """Return how likely each prompt's continuations are, in the order given.

        Prompt and continuation are tokenised as one text, as lm-eval does. Where the tokenizer
        would merge the end of the prompt with the answer, the answer's own tokens follow the
        prompt's: that is what the model meets when it answers. `warnings` says so.
        """
        pairs = [
            (index, text)
            for index, (_, some) in enumerate(zip(prompts, continuations, strict=True))
            for text in some
        ]
        with self._computing():
            ids = self._tokens(prompts)
            tails = self._tails(prompts, ids, pairs)
            whole = []
            for (index, _), tail in zip(pairs, tails, strict=True):
                room = self._window - len(tail)
                if room < 1:
                    problem = f"an answer of {len(tail):,} tokens does not fit the window of"
                    raise InputError(f"{problem} {self.name}", "shorten the answers")
                whole.append([*self._fitted(ids[index], index + 1, room), *tail])
            scores = self._scores(whole, [len(tail) for tail in tails])
        rows: list[list[Continuation]] = [[] for _ in prompts]
        for (index, text), score in zip(pairs, scores, strict=True):
            rows[index].append(Continuation(text, score))
        return rows

    def hidden_states(self, texts: Sequence[str], layers: Sequence[int]) -> Matrix:
        """Return (texts, layers, dimension): the residual stream at the last token of each text."""
        check_layers(self, layers)
        rows = np.empty((len(texts), len(layers), self.dimension), dtype=np.float32)
        with self._computing():
            ids = self._ids(texts, 0)
            with self._kept_states(layers) as states_of:
                for indices, states in self._trees.run(
                    ids, lambda _, tree: states_of(tree), self._model.device
                ):
                    rows[indices] = states
        return rows

    def distributions(self, texts: Sequence[str]) -> Iterator[Matrix]:
        """Yield, text by text, (tokens, vocabulary): log-probabilities of what follows each.

        Texts go through the layers together, which is many times faster; their logits do not,
        since a vocabulary is wide.
        """

        def last(indices: list[int], tree: TokenTree) -> dict[int, Any]:
            hidden = self._model.base_model(**tree.inputs()).last_hidden_state[0]
            paths = zip(indices, tree.paths, strict=True)
            return {
                index: hidden[torch.tensor(path, device=hidden.device)] for index, path in paths
            }

        with self._computing():
            states: dict[int, Any] = {}
            for _, some in self._trees.run(self._ids(texts, 0), last, self._model.device):
                states |= some
        for index in range(len(texts)):
            with torch.inference_mode():
                rows: Matrix = torch.log_softmax(self._logits(states.pop(index)), -1).cpu().numpy()
            yield rows

    def steered(self, vectors: Mapping[int, Matrix]) -> "CausalModel":
        """Return this model with a vector added to the output of each of some layers."""
        other = copy.copy(self)
        other._vectors = dict(self._vectors)
        digest = sha256(self.checksum.encode())
        check_layers(self, sorted(vectors))
        for layer, vector in sorted(vectors.items()):
            row = np.asarray(vector, dtype=np.float32)
            if row.shape != (self.dimension,) or not np.isfinite(row).all():
                problem = f"a vector of shape {row.shape} does not fit {self.name}"
                raise InputError(problem, f"give {self.dimension} finite numbers per layer")
            other._vectors[layer] = other._vectors.get(layer, np.float32(0)) + row
            digest.update(f"{layer} ".encode() + row.astype("<f4").tobytes())
        other.checksum = digest.hexdigest()
        other.name = f"{self.name}+steered"
        other.refs = (*self.refs, ModelRef("steering vector", other.checksum))
        other.warnings = []
        return other

    @cached_property
    def _template(self) -> ChatTemplate:
        return ChatTemplate(self._tokenizer)

    @cached_property
    def _blocks(self) -> Any:
        """The model's layers: the list of as many modules as its configuration counts."""
        count = self._model.config.get_text_config().num_hidden_layers
        for module in self._model.modules():
            if isinstance(module, torch.nn.ModuleList) and len(module) == count:
                return module
        problem = f"the layers of '{self.name}' cannot be found"
        raise StoreError(problem, "choose another base model")

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Hold the weights, with this model's vectors added while it computes."""
        with super()._computing(), ExitStack() as hooks:
            for layer, vector in self._vectors.items():
                row = torch.from_numpy(vector).to(self._model.device, self._model.dtype)

                def add(_module: Any, _inputs: Any, output: Any, row: Any = row) -> Any:
                    if isinstance(output, tuple):
                        return (output[0] + row, *output[1:])
                    return output + row

                hooks.callback(self._blocks[layer - 1].register_forward_hook(add).remove)
            yield

    def _tails(
        self, prompts: Sequence[str], ids: Sequence[Sequence[int]], pairs: Sequence[tuple[int, str]]
    ) -> list[list[int]]:
        """Return the tokens of each continuation behind those of its prompt."""
        tails = []
        joined = self._tokens([prompts[index] + text for index, text in pairs])
        for (index, text), whole in zip(pairs, joined, strict=True):
            if not text:
                raise InputError("an answer is empty", "give every answer a text")
            start = ids[index]
            tail = whole[len(start) :]
            if whole[: len(start)] != start or not tail:
                tail = self._tokenizer(text, add_special_tokens=False)["input_ids"]
                if not self._told_merged:
                    self._told_merged = True
                    line = (
                        f"the tokenizer of {self.name} merges the end of a prompt with its answer "
                        f"({text[:40]!r}): the answer's own tokens were scored"
                    )
                    self.warnings.append(line)
                    log.warning(line)
            tails.append(tail)
        return tails

    def _scores(
        self, sequences: Sequence[Sequence[int]], counts: Sequence[int]
    ) -> list[tuple[float, ...]]:
        """Return the log-probabilities of the last `counts` tokens of each sequence."""
        device = self._model.device

        def tree_scores(indices: list[int], tree: TokenTree) -> list[float]:
            ends = dict(zip(indices, tree.paths, strict=True))
            before = {index: path[-counts[index] - 1 : -1] for index, path in ends.items()}
            nodes = sorted({node for path in before.values() for node in path})
            at = {node: number for number, node in enumerate(nodes)}
            row = torch.tensor([at[node] for index in indices for node in before[index]])
            target = torch.tensor(
                [token for index in indices for token in sequences[index][-counts[index] :]]
            )
            hidden = self._model.base_model(**tree.inputs()).last_hidden_state[0]
            wanted = hidden[torch.tensor(nodes, device=device)]
            scores = torch.empty(len(row))
            for start in range(0, len(nodes), _LOGIT_ROWS):
                logits = self._logits(wanted[start : start + _LOGIT_ROWS])
                here = ((row >= start) & (row < start + _LOGIT_ROWS)).nonzero()[:, 0]
                node, token = (row[here] - start).to(device), target[here].to(device)
                scores[here] = (logits[node, token] - torch.logsumexp(logits, -1)[node]).cpu()
            numbers: list[float] = scores.tolist()
            return numbers

        rows: list[tuple[float, ...]] = [()] * len(sequences)
        for indices, numbers in self._trees.run(sequences, tree_scores, device):
            values = iter(numbers)
            for index in indices:
                rows[index] = tuple(next(values) for _ in range(counts[index]))
        return rows

    def _logits(self, hidden: Any) -> Any:
        logits = self._model.get_output_embeddings()(hidden).float()
        cap = getattr(self._model.config.get_text_config(), "final_logit_softcapping", None)
        return logits if not cap else cap * (logits / cap).tanh()

    @contextmanager
    def _kept_states(self, layers: Sequence[int]) -> Iterator[Callable[[TokenTree], Matrix]]:
        """Give a function from a tree to (sequences, layers, dimension) at their last tokens."""
        kept = threading.local()
        with ExitStack() as hooks:
            for layer in layers:

                def keep(_module: Any, _inputs: Any, output: Any, layer: int = layer) -> None:
                    rows = output[0] if isinstance(output, tuple) else output
                    kept.rows[layer] = rows.reshape(-1, self.dimension)[kept.last].float().cpu()

                # After the hooks that steer: what is shown is what the next block reads.
                hooks.callback(self._blocks[layer - 1].register_forward_hook(keep).remove)

            def states_of(tree: TokenTree) -> Matrix:
                ends = [path[-1] for path in tree.paths]
                kept.last, kept.rows = torch.tensor(ends, device=self._model.device), {}
                self._model.base_model(**tree.inputs())
                return np.asarray(torch.stack([kept.rows[layer] for layer in layers], 1).numpy())

            yield states_of
