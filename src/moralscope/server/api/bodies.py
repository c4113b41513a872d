"""Bodies of requests from options classes: the same fields, defaults and words as everywhere.

A body checks what only HTTP must check: types, unknown fields, names that would be paths. Ranges
and choices are documented here and checked by the options class itself.
"""

from dataclasses import MISSING
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model

from moralscope.core.options import OptionField, Options, option_fields

GIVEN = TypeVar("GIVEN", bound=Options)


class RequestModel(BaseModel):
    """A request: unknown fields and values of another type are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def body_of(kind: type[Options]) -> type[RequestModel]:
    """Return the base of a request's body: a field for every option that HTTP may say.

    The request adds its inputs: ``class RankRequest(body_of(RankOptions)): question: str``.
    """
    fields: dict[str, Any] = {
        field.name: _body_field(field)
        for field in option_fields(kind)
        if field.option.http is not False
    }
    return create_model(f"{kind.__name__}Body", __base__=RequestModel, **fields)


def options_in(body: BaseModel, kind: type[GIVEN], **more: Any) -> GIVEN:
    """Return the options that a body holds; wrong values are refused by the options class."""
    names = {field.name for field in option_fields(kind)}
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in body if key in names}
    return kind(**{**values, **more})


def _body_field(field: OptionField) -> tuple[Any, Any]:
    option = field.option
    kind: Any = field.kind
    many = get_origin(kind) is tuple
    if isinstance(option.http, tuple):
        kind = Literal[option.http]
    elif many:
        kind = get_args(kind)[0]
    if many:
        kind = list[kind]
    if field.optional:
        kind = kind | None
    schema: dict[str, Any] = {}
    if option.choices:
        schema["enum"] = [*option.choices, *([None] if field.optional else [])]
    text = field.kind is str
    for key, limit in (("min", option.least), ("max", option.most)):
        if limit is not None:
            schema[f"{key}Length" if text else f"{key}imum"] = limit
    default = ... if field.default is MISSING else field.default
    return kind, Field(default, description=option.help, json_schema_extra=schema or None)
