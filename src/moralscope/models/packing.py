"""The same numbers of a transformer with less work: GELU in place, weights laid out once."""

from collections.abc import Callable
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
    if on_cpu and kind in _PACKED:
        _pack(model)


def exact_linear(weight: Any, bias: Any, *, gelu: bool = False) -> Callable[..., Any]:
    """Return ``f(x, add=None) = x W' + b (+ add)`` with the weight laid out once.

    Examples
    --------
    >>> import torch
    >>> layer = torch.nn.Linear(8, 4).requires_grad_(False)
    >>> rows = torch.randn(3, 8)
    >>> torch.allclose(exact_linear(layer.weight, layer.bias)(rows), layer(rows), atol=1e-6)
    True
    """
    import torch

    weight, bias = weight.detach().float(), bias.detach().float()
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)
        multiply = torch.ops.mkldnn._linear_pointwise
        how: tuple[Any, ...] = ("gelu", [], "none") if gelu else ("none", [], "")
        multiply(weight[:1], packed, bias, *how)
    except (AttributeError, RuntimeError):  # another build of torch
        return _plain_linear(weight, bias, gelu)

    def forward(hidden: Any, add: Any = None) -> Any:
        if add is None:
            return multiply(hidden, packed, bias, *how)
        return multiply.binary(hidden, add, packed, bias, "add")

    return forward


def _plain_linear(weight: Any, bias: Any, gelu: bool) -> Callable[..., Any]:
    import torch

    def forward(hidden: Any, add: Any = None) -> Any:
        out = torch.nn.functional.linear(hidden, weight, bias)
        if gelu:
            out = torch.nn.functional.gelu(out)
        return out if add is None else out.add_(add)

    return forward


def _pack(model: Any) -> None:
    """Let oneDNN order each weight matrix once instead of at every product."""
    import torch

    plain = [m for m in model.modules() if type(m) is torch.nn.Linear and m.bias is not None]
    for layer, forward in [(layer, exact_linear(layer.weight, layer.bias)) for layer in plain]:
        layer.forward = forward
