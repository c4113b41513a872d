"""Axes by name: the one place that turns options into an `Axis`.

Score, compare, edit, teach, corpus runs and the server build their axes here, so each works with
any axis. Which axes there are is data (`axes.options.AXES`); only the one that is asked for is
imported.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from moralscope.axes.options import AxisOptions
from moralscope.core.protocols import Axis, Encoder, LanguageModel
from moralscope.models.encoders import TextEncoder, load_encoder
from moralscope.models.store import Progress

if TYPE_CHECKING:
    from moralscope.core.protocols import ExpertSet
    from moralscope.stories.experts import ExpertFolder

ENCODER = "minilm"  # what asks questions where no encoder is named


class AxisModels(Protocol):
    """Where an axis gets its models from: this machine, or those that a server keeps loaded."""

    def encoder(self, name: str, *, eight_bits: bool = False) -> Encoder: ...

    def experts(self, name: str, *, eight_bits: float = 0.0) -> "ExpertSet | ExpertFolder": ...

    def language(self, options: AxisOptions) -> LanguageModel: ...


@dataclass(frozen=True, slots=True)
class LocalModels:
    """Loads models by name, or hands out those that are loaded already.

    `loaded` is an encoder and `speaker` a language model that stands for any name.
    Without `cached` no row is kept on disk. `progress` is told of weights as they are fetched.
    `batch_tokens` is a size of batches that was measured before.
    """

    loaded: Encoder | None = None
    progress: Progress | None = None
    cached: bool = True
    batch_tokens: int | None = None
    speaker: LanguageModel | None = None

    def encoder(self, name: str, *, eight_bits: bool = False) -> Encoder:
        """Return the encoder."""
        if self.loaded is not None:
            return self.loaded
        model = load_encoder(name, self.progress, eight_bits=eight_bits, cached=self.cached)
        if self.batch_tokens is not None and isinstance(model, TextEncoder):
            model.set_batch_size(self.batch_tokens)
        return model

    def experts(self, name: str, *, eight_bits: float = 0.0) -> "ExpertSet | ExpertFolder":
        """Return the experts on a base, or of a folder; cached ones are fetched, not loaded."""
        from moralscope.stories.experts import ExpertFolder, find_experts

        experts = find_experts(name, eight_bits=eight_bits)
        if not isinstance(experts, ExpertFolder):
            return experts
        if not self.cached:
            return experts.load(self.progress)
        experts.fetch(self.progress)
        return experts

    def language(self, options: AxisOptions) -> LanguageModel:
        """Return the language model that the options name."""
        from moralscope.models.language import EndpointOptions, load_language_model, steer_model

        if self.speaker is not None:
            return steer_model(self.speaker, options.steer)

        served = EndpointOptions(
            options.endpoint, samples=options.samples, max_requests=options.max_requests
        )
        model = load_language_model(options.model or "", endpoint=served, progress=self.progress)
        return steer_model(model, options.steer)


class AxisBuilder(Protocol):
    """What an entry of `AXES` names.

    `state` is the `state` of an axis that was built before: nothing is read or fitted then. `many`
    says that very many actions follow, for an axis that can be quicker and less thorough.
    """

    def __call__(
        self, options: AxisOptions, models: AxisModels, *, state: Any = None, many: bool = False
    ) -> Axis: ...


def build_axis(
    options: AxisOptions, models: AxisModels | None = None, *, state: Any = None, many: bool = False
) -> Axis:
    """Return the axis that the options name."""
    options = options.resolved()
    kind = options.kind
    module, _, name = (kind.build if options.model is None else kind.language).partition(":")
    build: AxisBuilder = getattr(import_module(module), name)
    return build(options, models or LocalModels(), state=state, many=many)


def question_encoder(options: AxisOptions, models: AxisModels) -> Encoder:
    """Return the encoder of an axis that asks questions."""
    return models.encoder(options.encoder or ENCODER, eight_bits=options.eight_bits)
