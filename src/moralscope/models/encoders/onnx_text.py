"""A sentence encoder in one ONNX file that reads texts as they are: USE-multilingual.

The graph holds its SentencePiece model as a custom operator of onnxruntime-extensions. Its weights
are of 8 bits, and it scales what it multiplies by the largest number of a batch: the same text
would have another row beside other texts. So each text is computed alone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import StoreError, error_line
from moralscope.core.extras import require_extra
from moralscope.core.protocols import Matrix
from moralscope.models.encoders.pipeline import Backend
from moralscope.models.windows import Tokens, Windows, cut_pair, word_tokens

_WORD = 20  # characters of what is kept together in a window
_WORDS = 100  # of a window: what the model was trained on are sentences


class OnnxTextBackend(Backend):
    """One ONNX graph from texts to rows, on one thread."""

    batch_tokens = 4096  # characters: `prepare` passes texts on

    def __init__(self, folder: Path, name: str, checksum: str) -> None:
        require_extra("languages", name)
        import onnxruntime
        import onnxruntime_extensions

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
        [path] = folder.glob("*.onnx")
        try:
            self._session: Any = onnxruntime.InferenceSession(path, options)
        except Exception as error:  # the runtime has a kind for each stage of loading
            reason = error_line(error)
            remedy = f"remove {folder} and pull the model again"
            raise StoreError(f"{path} cannot be loaded ({reason})", remedy) from error
        self.name, self.checksum = name, checksum
        self.dimension = int(self._session.get_outputs()[0].shape[-1])

    def windows(self, texts: Sequence[str]) -> list[Windows]:
        """Return the texts to encode instead of each text; of one that fits, itself."""
        cut = []
        for text in texts:
            tokens = word_tokens(text, _WORD)
            fits = len(tokens.spans) <= _WORDS
            whole = Windows((("", text),))
            cut.append(whole if fits else cut_pair(("", text), Tokens(), tokens, _WORDS))
        return cut

    def prepare(self, texts: Sequence[str]) -> Sequence[str]:
        """Pass the texts on: the graph reads them itself."""
        return [text.encode("utf-8", "replace").decode("utf-8") for text in texts]

    def embed(self, batch: Sequence[str]) -> Matrix:
        """Return one row per text, each computed alone."""
        name = self._session.get_inputs()[0].name
        rows = [self._session.run(None, {name: np.array([text], object)})[0] for text in batch]
        return np.concatenate(rows).astype(np.float32)
