"""Language models on this machine, through transformers: causal ones and encoder-decoders.

Loads safetensors only, runs no code from the folder, and decodes with loops of its own, so that a
prompt with the same seed gets the same candidates in any batch and in any order.
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import Candidate, Decoding, ModelRef, Usage, grouped
from moralscope.models.adapters import Adapter, add_markers, merge
from moralscope.models.hugging_face import load_model, loading_errors, set_up_transformers
from moralscope.models.language.decoding import Ending, check_request

log = logging.getLogger(__name__)

_CPU_ROWS = 128  # candidates written at a time
_GPU_ROWS = 2048
_KIND = "language model"
_GPU_SPARE = 3  # times the size of float32 weights that must be free to keep them so on a GPU: in
# bfloat16 a log-probability is off by some hundredths


class LocalGenerator:
    """A folder of weights as a `Generator`; an adapter's LoRA weights are merged into it.

    `batch` candidates are written at a time; by default as many as suit the machine.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        checksum: str,
        *,
        adapter: Adapter | None = None,
        batch: int | None = None,
    ) -> None:
        from moralscope.models.language.steps import CausalSteps, Seq2SeqSteps, window_of

        self.name = f"{name}+{adapter.name}" if adapter else name
        self.checksum = checksum
        if adapter:
            self.checksum = sha256(f"{checksum} {adapter.sha256}".encode()).hexdigest()
        refs = [ModelRef(name, checksum)]
        self.refs = (*refs, ModelRef(adapter.name, adapter.sha256)) if adapter else tuple(refs)
        self.warnings: list[str] = []  # what was done to prompts that did not fit
        self.usage: Usage | None = None  # nobody is paid
        self._tokenizer = _tokenizer(folder)
        if adapter:
            add_markers(self._tokenizer, adapter)
        self._model = _model(folder, name, adapter, len(self._tokenizer))
        config = self._model.config
        self._steps: Any = (Seq2SeqSteps if config.is_encoder_decoder else CausalSteps)(self._model)
        ends = [config.eos_token_id, self._model.generation_config.eos_token_id]
        flat = [end for some in ends for end in (some if isinstance(some, list) else [some])]
        self._ending = Ending(self._tokenizer, [end for end in flat if end is not None])
        self._window = window_of(config)
        self.batch = batch or (_GPU_ROWS if self._model.device.type == "cuda" else _CPU_ROWS)
        self._lock = threading.Lock()

    def generate(
        self, prompts: Sequence[str], decoding: Decoding, seeds: Sequence[int]
    ) -> list[list[Candidate]]:
        """Return `decoding.count` candidates for each prompt, in the order given.

        `log_probabilities` are those of the model's whole distribution at temperature 1, one a
        token, the end token included where `finish` is "stop". Temperature and p are for nucleus
        only. A prompt that leaves no room in the window loses its oldest text after its opening
        special tokens, and `warnings` says so.
        """
        from moralscope.models.language.search import beam, sample

        check_request(prompts, decoding, seeds)
        with self._computing():
            ids = self._ids(prompts, decoding.max_tokens)
            rows: list[list[Candidate]] = [[] for _ in prompts]
            for indices in self._batches(ids, decoding):
                some = [ids[index] for index in indices]
                if decoding.strategy == "beam":
                    made = beam(self._steps, some, decoding, self._ending)
                else:
                    these = [seeds[index] for index in indices]
                    made = sample(self._steps, some, decoding, these, self._ending)
                for index, candidates in zip(indices, made, strict=True):
                    rows[index] = candidates
            return rows

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Hold the weights: one caller computes at a time."""
        import torch

        with self._lock, torch.inference_mode():
            yield

    def _batches(self, ids: Sequence[Sequence[int]], decoding: Decoding) -> Iterator[list[int]]:
        """Yield indices of prompts that are padded to the same length."""
        width = decoding.beams if decoding.strategy == "beam" else decoding.count
        size = max(1, self.batch // width)
        lengths = (self._steps.padded(len(prompt)) for prompt in ids)
        for group in grouped((length, index) for index, length in enumerate(lengths)).values():
            for at in range(0, len(group), size):
                yield group[at : at + size]

    def _ids(self, prompts: Sequence[str], max_tokens: int) -> list[list[int]]:
        seq2seq = bool(self._model.config.is_encoder_decoder)
        room = self._window if seq2seq else self._window - max_tokens
        if room < 1 or max_tokens > self._window:
            problem = f"{max_tokens} new tokens do not fit the window of {self._window} tokens"
            raise InputError(f"{problem} of {self.name}", "lower max_tokens")
        ids = self._tokens(prompts)
        return [self._fitted(prompt, number, room) for number, prompt in enumerate(ids, 1)]

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        sound = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return self._tokenizer(sound)["input_ids"] if sound else []

    def _fitted(self, ids: list[int], number: int, room: int) -> list[int]:
        if not ids:
            return [self._model.config.bos_token_id or 0]
        if len(ids) <= room:
            return ids
        special = set(self._tokenizer.all_special_ids)
        opening = next((at for at, one in enumerate(ids) if one not in special), 0)
        opening = min(opening, room - 1)
        line = (
            f"prompt {number} has {len(ids):,} tokens and {self.name} has room for {room:,}: "
            "its oldest text after its opening markers was dropped"
        )
        self.warnings.append(line)
        log.warning(line)
        return ids[:opening] + ids[len(ids) - (room - opening) :]


def _tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    with loading_errors(str(folder), _KIND):
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def _model(folder: Path, name: str, adapter: Adapter | None, vocabulary: int) -> Any:
    """Load quietly, without network, pickle or remote code; merge the adapter."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

    from moralscope.models.language.steps import ATTENTION

    set_up_transformers()
    on_gpu = torch.cuda.is_available()
    options: dict[str, Any] = {"dtype": torch.float32}
    with loading_errors(str(folder), _KIND):
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        if config.is_encoder_decoder:
            # torch's fused attention sums in another order in another batch
            options["attn_implementation"] = "eager"
            model = load_model(AutoModelForSeq2SeqLM, folder, **options)
        else:
            options["attn_implementation"] = ATTENTION
            model = load_model(AutoModelForCausalLM, folder, **options)
    if adapter:
        model = merge(model, adapter, name, vocabulary)
    if on_gpu:  # after merging, and parameters only: rotary angles stay exact
        size = sum(parameter.nbytes for parameter in model.parameters())
        fits = size * _GPU_SPARE <= torch.cuda.mem_get_info()[0]
        kind = torch.float32 if fits else torch.bfloat16
        for parameter in model.parameters():
            parameter.data = parameter.data.to("cuda", kind)
    return model.to("cuda" if on_gpu else "cpu").eval()
