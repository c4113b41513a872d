"""Extras of the package: which modules each brings, and the one line for whoever lacks it.

The base install measures and audits. `pyproject.toml` declares what the extras install.
"""

from importlib.util import find_spec

from moralscope.core.errors import MissingExtra

# The modules that we import, by the extra that installs them.
EXTRAS: dict[str, tuple[str, ...]] = {
    "serve": (
        *("anyio", "fastapi", "h11", "jinja2", "prometheus_client", "pydantic", "starlette"),
        "uvicorn",
    ),
    "annotate": ("spellchecker", "sqlalchemy"),
    "batch": ("fsspec", "pyarrow"),
    "train": ("rouge_score", "sacrebleu"),
    "figures": ("matplotlib",),
    "languages": ("onnxruntime", "onnxruntime_extensions"),
    "postgres": ("pg8000",),
    "ray": ("ray",),
    "words": ("gensim",),
    "dataframes": ("pandas", "polars"),
    "inspect": ("inspect_ai",),
    "lm-eval": ("datasets", "lm_eval"),
    "trl": ("trl",),
    "mcp": ("mcp",),
    "pytest": ("pytest",),
    "agents": ("agents",),
    "langchain": ("langchain_core",),
    "guardrails": ("guardrails",),
    "any-guardrail": ("any_guardrail",),
    "mlflow": ("mlflow",),
    "wandb": ("wandb",),
    "peers": ("onnxruntime",),
}


def missing_extra(extra: str, feature: str) -> MissingExtra:
    """Return the error of a feature whose extra is not installed.

    Examples
    --------
    >>> print(missing_extra("serve", "the page"))
    the page needs the extra 'serve'; pip install "moralscope[serve]"
    """
    command = f'pip install "moralscope[{extra}]"'
    return MissingExtra(f"{feature} needs the extra '{extra}'", command)


def require_extra(extra: str, feature: str) -> None:
    """Refuse to go on where a module of an extra is not installed; imports nothing."""
    if any(find_spec(module) is None for module in EXTRAS[extra]):
        raise missing_extra(extra, feature)


def extra_of(module: str) -> str | None:
    """Return the extra that brings a module.

    Examples
    --------
    >>> extra_of("pyarrow.parquet"), extra_of("moralscope.cli")
    ('batch', None)
    """
    package = module.partition(".")[0]
    return next((extra for extra, modules in EXTRAS.items() if package in modules), None)
