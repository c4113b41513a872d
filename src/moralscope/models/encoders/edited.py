"""Encoders whose rows lose a subspace as they come out, saved as one safetensors file.

Nothing is done to the weights. How the subspace is found is the subject of `steer`.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path

import numpy as np

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder, Floats, Matrix
from moralscope.core.records import values_of
from moralscope.io.files import read_tensors, write_whole
from moralscope.models.windows import unread_tokens

FORMAT = "moralscope.edit/1"
_MAX_BYTES = 64_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EditInfo:
    """What a file says of an edit beside its basis.

    `source` says how it was made; `checksum` names the encoder that it was made for.
    """

    name: str
    strength: float
    encoder: str
    checksum: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit(EditInfo):
    """A subspace to take out of one encoder's rows: `basis` has orthonormal rows."""

    basis: Floats

    def __post_init__(self) -> None:
        if not 0 <= self.strength <= 1:
            raise InputError(
                f"strength is {self.strength:g}", "give 0 (nothing removed) to 1 (all removed)"
            )

    def apply(self, rows: Matrix) -> Matrix:
        """Return the rows without the subspace."""
        wide = rows.astype(np.float64)
        wide -= self.strength * (wide @ self.basis.T) @ self.basis
        return wide.astype(np.float32)

    @property
    def digest(self) -> str:
        """One checksum of encoder, subspace and strength: no two edits share cached rows."""
        parts = f"{FORMAT} {self.checksum} {self.strength!r} {self.basis.shape} ".encode()
        return sha256(parts + np.ascontiguousarray(self.basis, "<f8").tobytes()).hexdigest()


class EditedEncoder:
    """An `Encoder` whose rows went through an `Edit`: usable wherever an encoder is."""

    def __init__(self, base: Encoder, edit: Edit) -> None:
        if edit.checksum != base.checksum or edit.basis.shape[1] != base.dimension:
            raise InputError(
                f"the edit '{edit.name}' was made for {edit.encoder} ({edit.checksum[:12]}), "
                f"not for {base.name} ({base.checksum[:12]})",
                "make a new one for this encoder with 'moralscope edit --save'",
            )
        self.base, self.edit = base, edit
        self.name, self.checksum = f"{base.name}-{edit.name}", edit.digest
        self.dimension, self.arithmetic = base.dimension, base.arithmetic

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return one edited row per text, in order."""
        return self.edit.apply(self.base.encode(texts))

    def unread(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens of each text no row reads."""
        return unread_tokens(self.base, texts)


def save_edit(edit: Edit, path: Path) -> None:
    """Write the edit as safetensors, whole or not at all."""
    from safetensors.numpy import save

    info = json.dumps(values_of(edit, *[field.name for field in fields(EditInfo)]))
    write_whole(path, [save({"basis": edit.basis}, metadata={"format": FORMAT, "edit": info})])


def load_edit(path: Path) -> Edit:
    """Read an edit; anything but our own layout is refused, and nothing in it is executed."""
    refused = InputError(
        f"{path} does not hold an edit of ours", "write one with 'moralscope edit --save FILE'"
    )
    tensors, metadata = read_tensors(path, _MAX_BYTES, refused)
    basis = np.asarray(tensors.get("basis", np.nan), dtype=np.float64)
    if metadata.get("format") != FORMAT or basis.ndim != 2 or not np.isfinite(basis).all():
        raise refused
    if not np.allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-6):
        raise refused
    try:
        return Edit(basis=basis, **asdict(decode(EditInfo, json.loads(metadata["edit"]))))
    except (KeyError, ValueError, RecursionError, InputError) as error:
        raise refused from error
