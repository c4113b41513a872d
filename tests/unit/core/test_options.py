"""Options declared once: every interface refuses the same values with the same words."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import ValidationError
from typer import Typer
from typer.testing import CliRunner

from moralscope.cli.declare import takes
from moralscope.core.errors import InputError, UnknownName
from moralscope.core.options import Option, Options, build_options, chosen_options, plain_options
from moralscope.server.api.bodies import body_of, options_in


@dataclass(frozen=True, slots=True, kw_only=True)
class CakeOptions(Options):
    layers: Annotated[int, Option("How many.", least=1, most=4)] = 2
    taste: Annotated[str, Option("Of what.", choices=("plum", "nut"))] = "plum"
    sugar: Annotated[float | None, Option("How much.", least=0)] = None
    icing: Annotated[bool, Option("With icing.")] = False
    spices: Annotated[tuple[str, ...], Option("Which.", flag="--spice")] = ()
    recipe: Annotated[Path | None, Option("A file.", http=False)] = None
    oven: Annotated[str, Option("Which oven.", http=("gas", "electric"))] = "gas"
    guest: str = "nobody"  # for Python alone


WRONG = [
    ({"layers": 9}, "layers is 9; give 1 to 4"),
    ({"layers": 0}, "layers is 0; give 1 to 4"),
    ({"sugar": -0.5}, "sugar is -0.5; give 0 or more"),
    ({"taste": "plumm"}, "taste is 'plumm'; did you mean 'plum'? known: nut, plum"),
]


def baked(*words):
    app, got = Typer(), []

    @app.command()
    @takes
    def bake(options: CakeOptions) -> None:
        """Bake."""
        got.append(options)

    result = CliRunner().invoke(app, list(words))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return got[0]


@pytest.mark.parametrize(("given", "words"), WRONG)
def test_python_command_line_and_http_refuse_with_the_same_words(given, words):
    ((name, value),) = given.items()
    body = body_of(CakeOptions)(**given)
    for call in (
        lambda: CakeOptions(**given),
        lambda: baked(f"--{name}", str(value)),
        lambda: options_in(body, CakeOptions),
    ):
        with pytest.raises(InputError) as refused:
            call()
        assert str(refused.value) == words


def test_flags_fill_the_options():
    words = ("--layers", "3", "--icing", "--spice", "salt", "--spice", "mace", "--recipe", "r.txt")
    expected = CakeOptions(layers=3, icing=True, spices=("salt", "mace"), recipe=Path("r.txt"))
    assert baked(*words) == expected
    assert baked() == CakeOptions()


def test_a_body_has_no_paths_and_only_known_names():
    body = body_of(CakeOptions)
    assert "recipe" not in body.model_fields
    assert "guest" not in body.model_fields
    with pytest.raises(ValidationError):
        body(oven="/etc/passwd")
    with pytest.raises(ValidationError):
        body(unknown=1)
    schema = body.model_json_schema()["properties"]
    assert (schema["layers"]["minimum"], schema["layers"]["maximum"]) == (1, 4)
    assert options_in(body(layers=3), CakeOptions, guest="me") == CakeOptions(layers=3, guest="me")


def test_a_record_keeps_what_was_said_and_no_defaults():
    options = CakeOptions(layers=3, recipe=Path("r.txt"), spices=("salt",))
    assert plain_options(options) == {"layers": 3, "spices": ["salt"], "recipe": "r.txt"}


def test_an_unknown_keyword_is_refused_with_the_nearest():
    with pytest.raises(UnknownName, match="there is no option 'layer'; did you mean 'layers'"):
        build_options(CakeOptions, {"layer": 3})


def test_options_come_whole_or_by_keyword():
    assert chosen_options(CakeOptions, CakeOptions(layers=3), {}).layers == 3
    assert chosen_options(CakeOptions, None, {"layers": 4}).layers == 4
    with pytest.raises(InputError, match="both options and layers were given"):
        chosen_options(CakeOptions, CakeOptions(), {"layers": 4})
