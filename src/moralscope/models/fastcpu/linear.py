"""Linear layers of a frozen transformer with less work on a CPU: laid out once, or in 8 bits.

Exact: oneDNN orders each weight matrix once instead of at every product, GELU is computed in place.
In 8 bits: about four times as fast, nearly the same. Weights get one scale an output, inputs one
scale a row: y = s_x (x / s_x) W' + b, where the product is one of whole numbers. So a row does not
depend on the other rows of its batch (vector-wise quantisation, Dettmers et al. 2022). Only on
processors with VNNI: older ones add pairs of products in 16 bits, which overflows.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

_PACKED = {"bert", "distilbert", "mpnet", "roberta", "xlm-roberta"}  # where packing was checked


def speed_up(model: Any, kind: str) -> None:
    """Rearrange a frozen model of `kind` (its config's model_type); a CPU gains most."""
    import torch
    from torch.nn.functional import gelu
    from transformers.activations import GELUActivation

    for module in model.modules():
        if type(module) is GELUActivation and module.act is gelu:
            module.act = torch._C._nn.gelu_
    on_cpu = model.device.type == "cpu" and torch.backends.mkldnn.is_available()
    if on_cpu and kind in _PACKED:  # oneDNN orders each matrix once instead of at every product
        plain = [m for m in model.modules() if type(m) is torch.nn.Linear and m.bias is not None]
        for layer, forward in [(layer, exact_linear(layer.weight, layer.bias)) for layer in plain]:
            layer.forward = forward


def exact_linear(weight: Any, bias: Any, *, gelu: bool = False) -> Callable[..., Any]:
    """Return ``f(x, add=None) = x W' + b (+ add)`` with the weight laid out once."""
    import torch

    weight, bias = weight.detach().float(), bias.detach().float()
    how: tuple[Any, ...] = ("gelu", [], "none") if gelu else ("none", [], "")
    if not _has_onednn(how[0]):
        return _plain_linear(weight, bias, gelu)
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    multiply = torch.ops.mkldnn._linear_pointwise

    def forward(hidden: Any, add: Any = None) -> Any:
        if add is None:
            return multiply(hidden, packed, bias, *how)
        return multiply.binary(hidden, add, packed, bias, "add")

    return forward


@cache
def _has_onednn(after: str) -> bool:
    """Try oneDNN's product once: another build of torch may lack it, or call it otherwise."""
    import torch

    try:
        weight = torch.ones(8, 8)
        packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)
        rest = "none" if after == "gelu" else ""
        torch.ops.mkldnn._linear_pointwise(weight[:1], packed, weight[0], after, [], rest)
    except (AttributeError, RuntimeError):
        return False
    return True


def _plain_linear(weight: Any, bias: Any, gelu: bool) -> Callable[..., Any]:
    import torch

    def forward(hidden: Any, add: Any = None) -> Any:
        out = torch.nn.functional.linear(hidden, weight, bias)
        if gelu:
            out = torch.nn.functional.gelu(out)
        return out if add is None else out.add_(add)

    return forward


_LIMIT = 127  # of an input's whole numbers
_MIDDLE = 128  # the whole number that stands for zero
_TINY = 1e-8


def has_int8() -> bool:
    """Tell whether this CPU has VNNI, and torch fbgemm's 8-bit products."""
    import torch

    vnni = getattr(torch.cpu, "_is_vnni_supported", lambda: False)  # private: it may go
    return "fbgemm" in torch.backends.quantized.supported_engines and bool(vnni())


def can_quantise(model: Any) -> bool:
    """Tell whether a model lies on a CPU that has 8-bit products."""
    return has_int8() and all(weight.device.type == "cpu" for weight in model.parameters())


def quantise(model: Any, tensors: Mapping[str, Any] | None = None) -> int:
    """Let every linear layer of a frozen model compute in 8 bits; return how many there are.

    Its matrices leave memory, one by one; those that word vectors share stay. `tensors` has the
    weights by name where they are not the model's own (an adapter was added to them).
    """
    import torch

    words = {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Embedding)}
    layers = [
        (name, layer) for name, layer in model.named_modules() if type(layer) is torch.nn.Linear
    ]
    for name, layer in layers:
        weight = layer.weight if tensors is None else tensors[f"{name}.weight"]
        layer.forward = light_linear(weight, layer.bias)
        if id(layer.weight) not in words:
            layer.weight = torch.nn.Parameter(layer.weight.new_empty(0), requires_grad=False)
    return len(layers)


def widen(model: Any, tensors: Mapping[str, Any] | None = None) -> None:
    """Bring what a model has in 16 bits to 32, but for the word vectors, of which few are read.

    `tensors` as for `quantise`.
    """
    import torch

    words = [module for module in model.modules() if type(module) is torch.nn.Embedding]
    for module in words:

        def forward(ids: Any, module: Any = module) -> Any:
            return torch.nn.functional.embedding(ids, module.weight).float()

        module.forward = forward
    kept = {id(module.weight) for module in words}
    for name, weight in model.named_parameters():
        if id(weight) not in kept:
            weight.data = (weight if tensors is None else tensors[name]).data.float()


def light_linear(weight: Any, bias: Any = None, *, gelu: bool = False) -> Callable[..., Any]:
    """Return ``f(x, add=None) = x W' + b (+ add)``, its product in 8 bits; `gelu` comes last.

    With `add` the input is written over.

    Examples
    --------
    >>> import torch
    >>> layer = torch.nn.Linear(64, 8).requires_grad_(False)
    >>> rows = torch.randn(5, 64)
    >>> bool((light_linear(layer.weight, layer.bias)(rows) - layer(rows)).abs().max() < 0.1)
    True
    """
    import torch

    multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
    packed = _packed(weight.detach().float())
    bias = None if bias is None else bias.detach().float()

    def forward(hidden: Any, add: Any = None) -> Any:
        low, high = hidden.amin(-1, keepdim=True), hidden.amax(-1, keepdim=True)
        size = torch.maximum(high, low.neg_()).clamp_(min=_TINY)
        # Who adds to the product needs its input no more: writing over it saves an allocation.
        scaled = torch.mul(hidden, size.reciprocal(), out=None if add is None else hidden)
        out = multiply(scaled, 1 / _LIMIT, _MIDDLE, packed).mul_(size)
        if bias is not None:
            out.add_(bias)
        if gelu:
            torch._C._nn.gelu_(out)
        return out if add is None else out.add_(add)

    return forward


def _packed(weight: Any) -> Any:
    """Return a matrix in whole numbers, laid out for fbgemm."""
    import torch

    low, high = weight.aminmax(dim=1)  # one pass, and no copy of the matrix
    scales = torch.maximum(high, low.neg()).clamp(min=_TINY).double() / 127
    zeros = torch.zeros(len(scales), dtype=torch.long)
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = "fbgemm"
    try:
        with warnings.catch_warnings():  # eager quantisation is to move to another package
            warnings.simplefilter("ignore")
            whole = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
        return torch.ops.quantized.linear_prepack(whole, None)
    finally:
        torch.backends.quantized.engine = before
