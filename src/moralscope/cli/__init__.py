"""The command line. `main` turns every failure into one line and the right exit code."""

import logging
import os
import sys
import traceback
from types import TracebackType
from typing import Any

from moralscope.core.errors import MoralscopeError, without_passwords

_DEBUG = "--debug"
_TYPER_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> None:
    """Run `moralscope`; exit 0 done, 1 failed, 2 wrong usage or bad input, 3 a gate not met."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = _DEBUG in words
    words = [word for word in words if word != _DEBUG]
    _set_up_logging(debug)
    if debug:
        sys.excepthook = _print_traceback
    try:
        code = _run(words)
    except MoralscopeError as error:
        if debug:
            raise
        code = _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        if debug:
            raise
        code = _fail("interrupted; run the same command again, finished work is kept", 1)
    except BrokenPipeError:
        # The reader went away (| head). Nothing more can be said on stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except MemoryError:
        code = _fail("out of memory; score fewer actions at once", 1)
    except Exception as error:  # a bug of ours: one line for the user, a traceback on request
        if debug:
            raise
        what = str(error).strip().splitlines()
        code = _fail(
            f"unexpected {type(error).__name__} ({what[0][:200] if what else 'no message'}); "
            "run again with --debug and report what it prints",
            1,
        )
    sys.exit(code)


def _run(words: list[str]) -> int:
    from typer.exceptions import Abort, TyperException

    from moralscope.cli.renamed import RENAMED
    from moralscope.cli.root import build_app

    try:
        code = build_app(words)(args=words, prog_name="moralscope", standalone_mode=False)
    except Abort:
        raise KeyboardInterrupt from None
    except TyperException as error:
        message = str(error.format_message() if hasattr(error, "format_message") else error)
        message = message.rstrip(".")
        if not message.strip():  # a group without a command: its help has been printed
            return 2
        context: Any = getattr(error, "ctx", None)
        path = context.command_path if context else "moralscope"
        old = getattr(error, "option_name", None)
        now = RENAMED.get(path.removeprefix("moralscope "), {}).get(str(old))
        if now is not None:
            message = f"{old} is now {now}"
        return _fail(f"{message}; see '{path} --help'", 2)
    if code == _TYPER_INTERRUPTED:
        raise KeyboardInterrupt
    return int(code or 0)


def _fail(line: str, code: int) -> int:
    print(f"error: {without_passwords(' '.join(line.split()))}", file=sys.stderr)
    return code


def _print_traceback(
    kind: type[BaseException], error: BaseException, place: TracebackType | None
) -> None:
    """Print a traceback as Python does; what libraries say in it may hold a URL's password."""
    sys.stderr.write(without_passwords("".join(traceback.format_exception(kind, error, place))))


def _set_up_logging(debug: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    logger = logging.getLogger("moralscope")
    logger.handlers = [handler]
    logger.setLevel(logging.DEBUG if debug else logging.INFO)
    logger.propagate = False


class _OneLine(logging.Formatter):
    """`warning: …` for warnings, the bare sentence for notes."""

    def format(self, record: logging.LogRecord) -> str:
        text = without_passwords(" ".join(record.getMessage().split()))
        return f"warning: {text}" if record.levelno >= logging.WARNING else text
