"""Where a network starts: scales at the mean of what is learnt, adapters at that of saved ones."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.models.classifiers.module import Slices
from moralscope.models.classifiers.saved import ADAPTER, HEAD, read_settings
from moralscope.models.training.records import TrainingExample


def start_scales(network: Any, slices: Slices, examples: Sequence[TrainingExample]) -> None:
    """Let a scale start at the mean of what is learnt: an adapter's rate would take long there."""
    import torch

    for task in slices.labels:
        values = [row.values for row in examples if row.task == task and row.values]
        if slices.kind(task) == "scale" and values:
            with torch.no_grad():
                network.head.bias[slices.of(task)] = torch.tensor(values).float().mean(0)


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
        adapters = [load_file(folder / ADAPTER) for folder in folders]
        heads = [load_file(folder / HEAD) for folder in folders]
        # Adapters are saved in half precision; summed in it, small weights would be lost.
        mean = {
            name: torch.stack([each[name].float() for each in adapters]).mean(0)
            for name in adapters[0]
        }
        found = set_peft_model_state_dict(network.body, mean)
        if found.unexpected_keys:
            raise KeyError(found.unexpected_keys[0])
        own = Slices(read_settings(folders[0]).tasks)
        with torch.no_grad():
            for task in set(own.labels) & set(slices.labels):
                for name, values in network.head.named_parameters():
                    rows = torch.stack([head[name][own.of(task)] for head in heads])
                    values[slices.of(task)] = rows.mean(0)
    except (OSError, SafetensorError, KeyError, RuntimeError, AttributeError) as error:
        names = ", ".join(map(str, folders))
        raise InputError(
            f"{names} cannot be started from ({type(error).__name__})",
            "give folders of 'stories train' with the same base, rank and tasks",
        ) from error
