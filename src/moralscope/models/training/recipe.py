"""Recipes: what is trained from what, with which heads and losses, for how long. Read from TOML.

    extends = "experts"              # what is not said here is as there
    epochs = 2
    [grid]                           # trained once for every point; the best on dev is kept
    learning_rate = [1e-5, 3e-5]
    [heads.alignment]                # heads come from the data; a recipe may change how they learn
    weight = 0.5

A key is a field of the recipe's class, with its range; an unknown one is refused with the nearest.
`--set key=value` changes one, `--set grid.epochs=3,4` a part of one. A subject that has settings of
its own (which split, which wordings) declares them in a subclass. Nothing is trained here.
"""

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from shlex import quote
from types import GenericAlias
from typing import Annotated, Any, ClassVar, TypeVar, get_origin

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.options import Option, OptionField, option_fields
from moralscope.core.records import to_plain
from moralscope.core.registry import require_known
from moralscope.io.documents import recipe_document
from moralscope.models.options import DEFAULT_EXPERTS
from moralscope.models.training.generator import GeneratorTraining
from moralscope.models.training.heads import ClassifierTraining, Head, Heads, find_loss
from moralscope.models.training.options import TrainOptions
from moralscope.models.training.records import UNLABELLED

CLASSIFIER, GENERATOR = "classifier", "generator"
_FLAGS = ("base", "start", "limit", "test", "seed")  # settings that commands have flags for
_DEPTH = 5  # recipes that extend each other
_SEE = "see docs/recipes.md"


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe(ClassifierTraining, GeneratorTraining):
    """One training run as data; the knobs of loop, losses and generators are inherited."""

    PACKAGE: ClassVar[str] = ""  # in whose data/training the shipped recipes lie

    name: str = ""
    about: Annotated[str, Option("What it is for.")] = ""
    paper: Annotated[str, Option("Where the settings are printed.")] = ""
    model: Annotated[str, Option("What is trained.", choices=(CLASSIFIER, GENERATOR))] = CLASSIFIER
    task: Annotated[str, Option("The task, or a group of them.")] = ""
    sources: Annotated[tuple[str, ...], Option("The data that is read, by name.")] = ()
    base: Annotated[str, Option("A model of the store, a folder, or a hub id.")] = DEFAULT_EXPERTS
    heads: Annotated[
        Mapping[str, Mapping[str, Any]], Option("Loss and weight of heads, if not the task's own.")
    ] = field(default_factory=dict)
    grid: Annotated[
        Mapping[str, Any], Option("Values to search on dev, by key of the schedule.")
    ] = field(default_factory=dict)
    teacher: Annotated[
        tuple[Path, ...], Option("Folders of experts whose mean probabilities are learnt.")
    ] = ()
    teacher_share: Annotated[
        float, Option("Weight of the teacher; the labels have the rest.", least=0, most=1)
    ] = 0.5
    replay: Annotated[
        float, Option("Share of what was learnt before that is learnt again.", least=0, most=1)
    ] = 1.0
    whole: Annotated[
        tuple[str, ...], Option("Groups that are learnt whole, without a teacher.")
    ] = ()
    shares: Annotated[
        Mapping[str, float],
        Option("Share of the examples of a group, or of a head's that are in none; else replay."),
    ] = field(default_factory=dict)
    limit: Annotated[int | None, Option("Only the first N of each part.", least=1)] = None
    test: Annotated[bool, Option("Look at the test part too, once, at the end.")] = False

    def __post_init__(self) -> None:
        ClassifierTraining.__post_init__(self)
        if self.epochs == 0 and not self.start:
            raise InputError(
                "nothing is learnt in 0 epochs", "give --start DIR, or at least 1 epoch"
            )
        if UNLABELLED in self.sources and not self.teacher:
            raise InputError(
                f"nobody labels the source '{UNLABELLED}'", "give --set teacher=FOLDER"
            )
        for name, settings in self.heads.items():
            _known(settings, ("loss", "weight"), f"heads.{name}")
            find_loss(str(settings.get("loss", "cross_entropy")))
        for name, share in self.shares.items():
            if not isinstance(share, int | float) or not 0 <= share <= 1:
                raise InputError(f"shares.{name} is {share}", "give a number from 0 to 1")
        if self.model != GENERATOR:
            return
        # What only classifiers know is refused, instead of left aside.
        for name in ("grid", "heads", "consistency", "teacher", "shares"):
            if asdict(self)[name]:
                raise InputError(f"{name} is for classification", f"leave it out for {self.task}")
        if self.test:
            raise InputError(
                "--test is for classification",
                "'stories generate' and 'stories metrics' test a generator",
            )
        if len(self.start) > 1:
            raise InputError("texts continue from one adapter", "give --start once")
        if self.start and not (self.start[0] / "adapter_config.json").is_file():
            raise InputError(
                f"{self.start[0]} holds no adapter", "give --start a folder of 'stories train'"
            )

    @property
    def points(self) -> "list[TrainingRecipe]":
        """The recipe without its grid, or one for every point of it."""
        every = itertools.product(*self.grid.values())
        changes: list[dict[str, Any]] = [
            dict(zip(self.grid, point, strict=True)) for point in every
        ]
        return [replace(self, grid={}, **change) for change in changes]

    def with_heads(self, heads: Heads) -> dict[str, Head]:
        """Return the heads of the data as this recipe has them learnt."""
        _known(self.heads, tuple(heads), "heads")
        return {name: replace(head, **self.heads.get(name, {})) for name, head in heads.items()}

    @property
    def plain(self) -> dict[str, Any]:
        """Every setting, as a run record or a card keeps it."""
        return dict(to_plain(self))


RECIPE = TypeVar("RECIPE", bound=TrainingRecipe)


def load_recipe(kind: type[RECIPE], name: str, changes: Sequence[str] = (), **flags: Any) -> RECIPE:
    """Read a recipe by name or from a .toml file; change it by `key=value`, then by `flags`.

    A value that is given for a key of the grid is not searched. What is None changes nothing.
    """
    fields = {field_of.name: field_of for field_of in option_fields(kind)}
    values = _values(kind, name, 0)
    values["grid"] = dict(values.get("grid", {}))
    for change in changes:
        key, sign, text = change.partition("=")
        key = key.strip().replace("-", "_")
        if not sign:
            raise InputError(f"--set {change} has no value", "write --set key=value")
        if "." in key:  # a part of a table: grid.epochs, heads.alignment.weight
            first, *parts, last = key.split(".")
            _known([first], ("grid", "heads", "shares"), "--set")
            table = values[first] = dict(values.get(first, {}))
            for part in parts:
                table[part] = dict(table.get(part, {}))
                table = table[part]
            table[last] = _literal(text)
            continue
        _known([key], tuple(fields), "--set")
        value = text.strip() if fields[key].kind in (str, Path) else _literal(text)
        if get_origin(fields[key].kind) is tuple:
            value = [part.strip() for part in text.split(",") if part.strip()]
        values[key] = _typed(fields[key], value, "--set")
        values["grid"].pop(key, None)
    _known(values["grid"], tuple(fields), "grid")
    for key, searched in values["grid"].items():
        rows = searched if isinstance(searched, list | tuple) else [searched]
        if not rows:
            raise InputError(f"grid.{key} is empty", "give values, or leave it out")
        values["grid"][key] = tuple(_typed(fields[key], row, "grid") for row in rows)
    return kind(
        **{**values, **{key: value for key, value in flags.items() if value is not None}},
        name=Path(name).name,
    )


def chosen_recipe(kind: type[RECIPE], options: TrainOptions, default: str, **more: Any) -> RECIPE:
    """Return the recipe that a command names, or else the `default`, as its flags change it."""
    return load_recipe(
        kind,
        options.recipe or default,
        options.settings,
        base=options.base,
        start=options.start or None,
        limit=options.limit,
        test=options.test or None,
        seed=options.seed,
        **more,
    )


def repeat_words(recipe: TrainingRecipe, chosen: TrainingRecipe) -> list[str]:
    """Return the flags that make the `chosen` point of a recipe again.

    The recipe's name, and whatever is not as its file says. Folders are named without their path.
    """
    words = [f"--recipe {recipe.name}"] if recipe.name else []
    folders: Any = {"start": recipe.start, "teacher": recipe.teacher}
    try:
        as_named = load_recipe(type(recipe), recipe.name, **folders).plain
    except InputError:  # a file of the user's that is elsewhere, or none
        as_named = type(recipe)(**folders).plain
    settings = chosen.plain
    for key in settings:
        if key in (*_FLAGS, "name", "grid", "heads", "shares", "task", "about", "paper"):
            continue
        if key == "teacher":
            names = ",".join(path.name for path in chosen.teacher)
            words += [f"--set teacher={names}"] if names else []
            continue
        if settings[key] != as_named[key] or key in recipe.grid:
            words.append(f"--set {quote(f'{key}={_spell(settings[key])}')}")
    for name, changes in recipe.heads.items():
        known = as_named["heads"].get(name, {})
        words += [
            f"--set heads.{name}.{key}={_spell(value)}"
            for key, value in changes.items()
            if known.get(key) != value
        ]
    words += [
        f"--set {quote(f'shares.{name}={share}')}"
        for name, share in recipe.shares.items()
        if as_named["shares"].get(name) != share
    ]
    words.append(f"--seed {chosen.seed}")
    words += [f"--limit {chosen.limit}"] if chosen.limit else []
    words += [f"--start {path.name}" for path in chosen.start]
    words += ["--test"] if chosen.test else []
    return words


def _values(kind: type[TrainingRecipe], name: str, depth: int) -> dict[str, Any]:
    """Return the settings of a recipe over those of the one that it extends."""
    if depth > _DEPTH:
        raise InputError(f"recipes extend each other in a circle ('{name}')", "extend another one")
    document = recipe_document(kind.PACKAGE, "training", name, _SEE)
    table = document.toml_values()
    other = table.pop("extends", "")
    values = _values(kind, str(other), depth + 1) if other else {}
    fields = {field_of.name: field_of for field_of in option_fields(kind)}
    _known(table, tuple(fields), document.name)
    return values | {key: _typed(fields[key], table[key], document.name) for key in table}


def _known(keys: Mapping[str, Any] | Sequence[str], known: Sequence[str], origin: str) -> None:
    for key in keys:
        require_known(key, known, f"{origin} has no key '{key[:60]}'")


def _literal(text: str) -> Any:
    if "," in text:
        return [_literal(part) for part in text.split(",") if part.strip()]
    try:
        return tomllib.loads(f"x = {text.strip().lower()}")["x"]
    except ValueError:
        return text.strip()


def _typed(field_of: OptionField, value: Any, origin: str) -> Any:
    """Return a value as its field takes it; the message says which key it is."""
    name, kind = field_of.name, field_of.kind
    table: Any = GenericAlias(dict, (str, kind))
    typed = decode(table, {name: value}, origin, remedy=_SEE)[name]
    if kind is Path:
        return typed.expanduser()
    return tuple(path.expanduser() for path in typed) if kind == tuple[Path, ...] else typed


def _spell(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_spell, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
