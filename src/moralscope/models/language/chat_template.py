"""How a local model is spoken to: through the chat template of its folder, or in plain text.

The template is the model maker's and runs in transformers' sandbox. What a person wrote is text: a
special token spelled in it ("<|im_end|>") is broken apart, so that it can end or open no turn.
"""

from pathlib import Path
from typing import Any

from moralscope.core.errors import StoreError, error_line
from moralscope.models.adapters import is_adapter, read_adapter
from moralscope.models.language.conversion import resolve_base
from moralscope.models.language.decoding import as_messages
from moralscope.models.store import Progress


class ChatTemplate:
    """Texts as a model's tokenizer should see them."""

    def __init__(self, tokenizer: Any, *, reads_first: bool = False) -> None:
        marked = {str(token) for token in tokenizer.added_tokens_decoder.values() if token.special}
        special = {*marked, *map(str, tokenizer.all_special_tokens)}
        self._special = sorted((token for token in special if token.strip()), key=len, reverse=True)
        self._tokenizer = tokenizer
        self.has_chat = bool(tokenizer.chat_template)  # whether the folder brings one
        self.reads_first = reads_first
        """Whether it is an encoder-decoder, which answers a text instead of going on with it."""

    def plain(self, text: str) -> str:
        """Return the text without special tokens in it."""
        for token in self._special:
            text = text.replace(token, f"{token[0]} {token[1:]}")
        return text

    def chat(self, *turns: str) -> str:
        """Return turns and the opening of the model's next one, as the template writes them."""
        messages = as_messages([self.plain(turn) for turn in turns])
        try:
            written: str = self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
        except Exception as error:  # whatever a template raises means the same to a user
            problem = f"the model's chat template cannot be used ({error_line(error, 160)})"
            raise StoreError(problem, "use --form plain") from error
        opening = self._tokenizer.bos_token
        if opening and self._tokenizer("a")["input_ids"][0] == self._tokenizer.bos_token_id:
            written = written.removeprefix(opening)  # tokenizing will add it
        return written


def model_folder(name: str, *, progress: Progress | None = None) -> Path:
    """Return the folder of a local model, or of an adapter's base, fetching it if need be."""
    folder = Path(name).expanduser()
    base = read_adapter(folder).base if is_adapter(folder) else ""
    return resolve_base(base or name, progress=progress)[0]


def load_chat_template(name: str) -> ChatTemplate:
    """Return how the local model `name` (of the store, a folder, a hub id) is spoken to.

    Its generator should be loaded first: that refuses a damaged folder in one line.
    """
    from transformers import AutoConfig, AutoTokenizer

    folder = model_folder(name)
    safe = {"local_files_only": True, "trust_remote_code": False}
    config = AutoConfig.from_pretrained(folder, **safe)
    tokenizer = AutoTokenizer.from_pretrained(folder, **safe)
    return ChatTemplate(tokenizer, reads_first=bool(config.is_encoder_decoder))
