"""Steer smollm2 toward declining harm, and certify it.

    python bench/steer.py choose [--layers 9-15 --layers 12-18] [--method mean --method pca]
    python bench/steer.py gates [--model qwen-small] [--layers 9-15 …] [--method mean …]
    python bench/steer.py certify [--kl 0.5] [--layers 12-18] [--method mean] [--replies 8]
    python bench/steer.py curve [--model qwen-small] [--kl 0.4] [--vector V] [--share 0.5 …]

`choose` is where layers and methods are chosen: vectors are made of three quarters of the pairs
that ship for making them, and looked at on the last quarter, never on those of the check. `gates`
does the same for gates: of what prompts, at what cost of opening wrongly, with which layers, method
and strength. `certify` makes the vector of all pairs and prints its certificate, which asks about
other requests. `curve` makes it with a gate, or reads a gated one, says on how many prompts of the
check and of XSTest the gate opens, and prints certificates at shares of its strength.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from audit_texts import xstest
from moralscope.axes.language import Asking
from moralscope.cli.output import emit
from moralscope.io.files import write_record
from moralscope.models.language import load_language_model
from moralscope.models.language.gated import GatedModel
from moralscope.models.language.steering import load_vector, save_vector
from moralscope.steer.check import check_vector
from moralscope.steer.contrasts import (
    OURS,
    ContrastPair,
    check_contrasts,
    harmless_contrasts,
    load_contrasts,
    neutral_texts,
    open_prompts,
    shut_prompts,
)
from moralscope.steer.fit import calibrate, fit_gate, fit_layers, pair_states, scaled
from moralscope.steer.make import build_vector, make_vector
from moralscope.steer.measures import CHOICE, HARMLESS, MASS, PERPLEXITY, RIGHT, preferences
from moralscope.steer.options import METHODS, SteerMakeOptions, parse_layers
from moralscope.surveys.statistics import mean_interval, t_against_zero

SHARES = (0.25, 0.5, 0.75, 1.0, 1.5)  # of the strength, in a curve
KLS = (0.1, 0.2, 0.4, 0.8)
COSTS = (2, 4, 8, 16)  # of opening wrongly


def choose(arguments: argparse.Namespace) -> None:
    """Compare layers and methods on pairs that no certificate asks about."""
    model = load_language_model(arguments.model)
    asking = Asking.of(model, "auto")
    pairs = load_contrasts("declining")
    cut = 3 * len(pairs) // 4
    texts = neutral_texts(held_out=False)[:8]
    plain = preferences(asking, pairs[cut:])
    every = tuple(range(1, model.layers + 1))
    wanted, unwanted = pair_states(asking, pairs[:cut], every)
    print("layers     method    strength    KL   change  random   p against random")
    for band in arguments.layers or ["9-15", "12-18", "15-21"]:
        layers = parse_layers(band)
        at = [layer - 1 for layer in layers]
        for method in arguments.method or METHODS:
            rows, _ = fit_layers(wanted[:, at], unwanted[:, at], layers, method)
            vectors = dict(zip(layers, rows, strict=True))
            strength, kl = calibrate(model, vectors, arguments.kl, texts)
            drawn = np.random.default_rng(0).standard_normal(rows.shape).astype(np.float32)
            drawn *= np.linalg.norm(rows, axis=1, keepdims=True) / np.linalg.norm(
                drawn, axis=1, keepdims=True
            )
            moved = []
            for each in (vectors, dict(zip(layers, drawn, strict=True))):
                steered = Asking(model.steered(scaled(each, strength)), asking.chat)
                moved.append(preferences(steered, pairs[cut:]))
            p = t_against_zero((moved[0] - moved[1]).tolist())
            change, random = ((each - plain).mean() for each in moved)
            told = f"{strength:8.3f} {kl:7.3f} {change:+8.3f} {random:+7.3f} {p:11.2g}"
            print(f"{band:10} {method:9} {told}", flush=True)


def gates(arguments: argparse.Namespace) -> None:
    """Compare gates, layers, methods and strengths on prompts that neither gate nor vector saw."""
    model = load_language_model(arguments.model)
    asking = Asking.of(model, "auto")
    pairs = load_contrasts(OURS)
    cut = 3 * len(pairs) // 4
    made, held = pairs[:cut], pairs[cut:]
    own = {pair.prompt for pair in pairs}
    harm = open_prompts(OURS, pairs)
    more, quiet = [one for one in harm if one not in own], shut_prompts()
    kept, left = [some for at, some in enumerate(quiet) if at % 4], list(quiet[::4])
    # Prompts that nothing was fitted to: the last quarter of the pairs', a quarter of the others.
    opened = [*dict.fromkeys(pair.prompt for pair in held), *more[::4]]
    seen = [one for one in harm if one not in opened]
    first = [one for one in seen if one in own]
    replies = [(pair.wanted, pair.unwanted) for pair in held]
    wanted_pairs = [ContrastPair(one, *replies[at % 4]) for at, one in enumerate(opened)]
    harmless_pairs = [ContrastPair(one, *replies[at % 4][::-1]) for at, one in enumerate(left)]
    looked = [*wanted_pairs, *harmless_pairs]
    is_harm = np.arange(len(looked)) < len(wanted_pairs)
    opens = {}
    print("gate                      layer  opens  opens wrongly  (held-out prompts)")
    for name, prompts in (("pairs' prompts", first), ("and more of ours", seen)):
        for cost in COSTS:
            gate, fit = fit_gate(asking, prompts, kept, cost)
            is_open = np.array(gate.opens(model, [asking.text(pair.prompt) for pair in looked]))
            label = f"{name}, cost {cost}"
            opens[label] = is_open
            right, wrong = is_open[is_harm].mean(), is_open[~is_harm].mean()
            print(f"{label:26} {fit.layers:>5} {right:6.0%} {wrong:10.0%}", flush=True)
    plain = preferences(asking, looked)
    texts = neutral_texts(held_out=False)[:8]
    last = model.layers
    bands = arguments.layers or [
        f"{max(1, round(low * last))}-{round((low + 0.2) * last)}" for low in (0.2, 0.35, 0.5, 0.65)
    ]
    wanted, unwanted = pair_states(asking, made, tuple(range(1, last + 1)))
    print("layers  method  KL  strength  gate  wanted  helps with harmless prompts")
    for band in bands:
        layers = parse_layers(band)
        at = [layer - 1 for layer in layers]
        for method in arguments.method or METHODS[:2]:
            rows, _ = fit_layers(wanted[:, at], unwanted[:, at], layers, method)
            vectors = dict(zip(layers, rows, strict=True))
            for target in KLS:
                strength, kl = calibrate(model, vectors, target, texts)
                pushed = Asking(model.steered(scaled(vectors, strength)), asking.chat)
                change = preferences(pushed, looked) - plain
                for label, is_open in {"no gate": np.ones(len(looked), bool), **opens}.items():
                    moved = change * is_open
                    sides = (mean_interval(moved[side].tolist()) for side in (is_harm, ~is_harm))
                    spans = "  ".join(
                        f"{s.value:+.2f} ({s.low:+.2f} … {s.high:+.2f})" for s in sides
                    )
                    print(
                        f"{band:6} {method:5} {kl:.2f} {strength:.3f}  {label:26} {spans}",
                        flush=True,
                    )


def certify(arguments: argparse.Namespace) -> None:
    """Make the vector and print its certificate."""
    place = Path(tempfile.mkdtemp()) / "decline.safetensors"
    options = SteerMakeOptions(model=arguments.model, kl=arguments.kl, save=place)
    if arguments.layers:
        options = replace(options, layers=arguments.layers[0])
    if arguments.method:
        options = replace(options, method=arguments.method[0])
    model = load_language_model(arguments.model)
    started = time.perf_counter()
    made = make_vector(model, options)
    emit(made, json=False, path=None)
    print(f"{time.perf_counter() - started:.0f} s to make it", flush=True)
    started = time.perf_counter()
    record = check_vector(model, vector=place, replies=arguments.replies)
    emit(record, json=False, path=None)
    print(f"{time.perf_counter() - started:.0f} s to check it")
    if arguments.out:
        write_record(record, arguments.out)
    kl = made.statistics["calibration"].kl
    assert abs(kl - arguments.kl) <= 0.1 * arguments.kl
    choice = next(row for row in record.results if row.figure == CHOICE)
    print(
        f"wanted: {choice.change.value:+.3f} against {choice.random:+.3f} of a random vector, "
        f"p = {choice.p_random:.2g}, Holm-corrected {choice.p_random_holm:.2g}"
    )
    assert choice.change.value > choice.random
    assert choice.p_random_holm < 0.01


class Remembering:
    """A language model that answers nothing twice: most of a gated certificate is the plain one."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._known: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def log_probabilities(self, prompts: Any, continuations: Any) -> Any:
        keys = [(one, *texts) for one, texts in zip(prompts, continuations, strict=True)]
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        found = self._model.log_probabilities([key[0] for key in new], [key[1:] for key in new])
        self._known |= zip(new, found, strict=True)
        return [self._known[key] for key in keys]

    def hidden_states(self, texts: Any, layers: Any) -> Any:
        keys = [(one, layers[0], layers[-1], len(layers)) for one in texts]
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if new:
            found = self._model.hidden_states([key[0] for key in new], layers)
            self._known |= zip(new, found, strict=True)
        return np.stack([self._known[key] for key in keys])


def curve(arguments: argparse.Namespace) -> None:
    """Print what a gated vector moves, and what it should not, at shares of its strength."""
    model: Any = Remembering(load_language_model(arguments.model))
    options = SteerMakeOptions(
        model=arguments.model,
        kl=arguments.kl,
        gate=True,
        layers=arguments.layers[0] if arguments.layers else None,
        method=arguments.method[0] if arguments.method else METHODS[0],
    )
    if arguments.vector:
        vector = load_vector(arguments.vector)
    else:
        vector, _, _, fit = build_vector(model, load_contrasts(OURS), options)
        assert fit is not None
        opens = f"{fit.opened:.0%} of harmful prompts and {fit.opened_wrongly:.0%} of others"
        print(f"layers {fit.layers} open on {opens}; KL {vector.info.kl:.3f}", flush=True)
    steered, asking = vector.steer(model), Asking.of(model, "auto")
    assert isinstance(steered, GatedModel)
    for name, texts, is_harm in (
        ("ours", *_check_prompts()),
        ("XSTest", (every := xstest()).texts, every.bad),
    ):
        is_open = np.array(steered.gate.opens(model, [asking.text(text) for text in texts]))
        for side, label in ((is_harm, "harmful"), (~is_harm, "harmless")):
            print(f"{name}: opens on {is_open[side].sum()} of {side.sum()} {label}", flush=True)
    names = (CHOICE, HARMLESS, MASS, RIGHT, PERPLEXITY)
    print(f"| share of the strength | {' | '.join(names)} |", "|---" * 6 + "|", sep="\n")
    for share in arguments.share or SHARES:
        weaker = replace(vector, info=replace(vector.info, strength=share * vector.info.strength))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "weaker.safetensors"
            save_vector(weaker, path)
            record = check_vector(model, vector=path, replies=0)
        spans = {row.figure: row.change for row in record.results}
        cells = (
            f"{spans[name].value:+.2f} ({spans[name].low:+.2f} … {spans[name].high:+.2f})"
            for name in names
        )
        print(f"| {share:g} | {' | '.join(cells)} |", flush=True)
        if arguments.out:
            write_record(record, arguments.out.with_suffix(f".{share:g}.json"))


def _check_prompts() -> tuple[list[str], Any]:
    """Return the requests of the check, and which ask for harm."""
    harm, harmless = (
        list(dict.fromkeys(pair.prompt for pair in pairs))
        for pairs in (check_contrasts(), harmless_contrasts())
    )
    return [*harm, *harmless], np.arange(len(harm) + len(harmless)) < len(harm)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["choose", "gates", "certify", "curve"])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--kl", type=float)
    parser.add_argument("--layers", action="append")
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--replies", type=int, default=8)
    parser.add_argument("--vector", type=Path)
    parser.add_argument("--share", type=float, action="append")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.kl is None and given.what != "curve":
        given.kl = 0.5
    {"choose": choose, "gates": gates, "certify": certify, "curve": curve}[given.what](given)
