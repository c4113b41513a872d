"""Steer smollm2 toward declining harm, and certify it.

    python bench/steer.py choose [--layers 9-15 --layers 12-18] [--method mean --method pca]
    python bench/steer.py certify [--kl 0.5] [--layers 12-18] [--method mean] [--replies 8]
    python bench/steer.py curve [--model qwen-small] [--kl 0.4]

`choose` is where layers and methods are chosen: vectors are made of three quarters of the pairs
that ship for making them, and looked at on the last quarter, never on those of the check. `certify`
makes the vector of all of them and prints its certificate, which asks about other requests. `curve`
makes it with a gate and prints the first look of `steer make` at shares of its strength.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from moralscope.axes.language import Asking
from moralscope.cli.output import emit
from moralscope.io.files import write_record
from moralscope.models.language import load_language_model
from moralscope.steer.check import check_vector
from moralscope.steer.contrasts import check_contrasts, load_contrasts, neutral_texts
from moralscope.steer.fit import calibrate, fit_layers, pair_states, scaled
from moralscope.steer.make import build_vector, make_vector, measure_selectivity
from moralscope.steer.measures import CHOICE, preferences
from moralscope.steer.options import METHODS, SteerMakeOptions, parse_layers
from moralscope.surveys.statistics import t_against_zero


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


def curve(arguments: argparse.Namespace) -> None:
    """Print what a gated vector moves, and what it should not, at shares of its strength."""
    model = load_language_model(arguments.model)
    options = SteerMakeOptions(model=arguments.model, kl=arguments.kl, gate=True)
    vector, _, _, gate = build_vector(model, load_contrasts("declining"), options)
    assert gate is not None
    opens = (
        f"{gate.opened:.0%} of the pairs' prompts and {gate.opened_wrongly:.0%} of harmless ones"
    )
    print(f"layer {gate.layer} opens on {opens}; KL {vector.info.kl:.3f}", flush=True)
    print(
        "| share of the strength | wanted | helps with harmless requests |",
        "|---" * 3 + "|",
        sep="\n",
    )
    for share in (0.25, 0.5, 0.75, 1.0, 1.5):
        weaker = replace(vector, info=replace(vector.info, strength=share * vector.info.strength))
        moves = measure_selectivity(model, weaker, check_contrasts(), "auto")
        spans = (
            f"{span.value:+.2f} ({span.low:+.2f} … {span.high:+.2f})"
            for span in (moves.wanted, moves.harmless)
        )
        print(f"| {share:g} | {' | '.join(spans)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["choose", "certify", "curve"])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--kl", type=float, default=0.5)
    parser.add_argument("--layers", action="append")
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--replies", type=int, default=8)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    {"choose": choose, "certify": certify, "curve": curve}[given.what](given)
