"""The command line. `main` turns every failure into one line and the right exit code."""

import codecs
import contextlib
import errno
import io
import logging
import os
import sys
import traceback
from types import TracebackType
from typing import Any, NoReturn

from moralscope.core.errors import InputError, MissingExtra, MoralscopeError, without_passwords
from moralscope.core.extras import extra_of, missing_extra
from moralscope.core.printable import printable

_DEBUG = "--debug"
_TYPER_INTERRUPTED = 130
_ASCII = str.maketrans(
    "\u2500\u2501\u2502\u2578\u257a\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588\u25cf\u2013\u2014\u2212\u00b7",
    "-=|--__.:+*##*----",
) | {0x2026: "...", 0x2192: "->"}
_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EBADF, errno.EIO, errno.EFBIG)


def main(arguments: list[str] | None = None) -> None:
    """Run `moralscope`; exit 0 done, 1 failed, 2 wrong usage or bad input, 3 a gate not met."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = _DEBUG in words
    words = [word for word in words if word != _DEBUG]
    _set_up_streams()
    _set_up_logging(debug)
    if debug:
        sys.excepthook = _print_traceback
    try:
        code = _run(words)
    except BrokenPipeError:  # the reader went away (| head)
        _leave_stdout()
        code = 1
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            raise
        line, code = _explain(error, words[0] if words else "")
        line = printable(without_passwords(" ".join(line.split())))
        print(f"error: {line}", file=sys.stderr)
    sys.exit(code)


def _explain(error: BaseException, command: str) -> tuple[str, int]:
    """Return a failure in one line with what to do about it, and the exit code."""
    if isinstance(error, MoralscopeError):
        return str(error), error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; run the same command again", 1
    if isinstance(error, MemoryError):
        return "out of memory; give less input at once", 1
    if isinstance(error, OSError) and error.errno in _CANNOT_WRITE and error.filename is None:
        _leave_stdout()
        why = f"the output could not be written ({error.strerror})"
        return f"{why}; free some space, or send it to another place", 1
    extra = extra_of(error.name or "") if isinstance(error, ModuleNotFoundError) else None
    if extra is not None:
        return str(missing_extra(extra, f"'moralscope {command}'")), MissingExtra.exit_code
    lines = str(error).strip().splitlines()  # a bug of ours: its traceback only on request
    what = f"unexpected {type(error).__name__} ({lines[0][:200] if lines else 'no message'})"
    return f"{what}; run again with --debug and report what it prints", 1


def _run(words: list[str]) -> int:
    from typer import Abort, BadParameter

    from moralscope.cli.root import build_app

    try:
        code = build_app(words)(args=words, prog_name="moralscope", standalone_mode=False)
    except Abort:
        raise KeyboardInterrupt from None
    # What typer raises: guardrails-ai wants typer<0.20, whose errors are click's.
    except BadParameter.__mro__[-4] as error:  # type: ignore[misc]
        message = str(error.format_message() if hasattr(error, "format_message") else error)
        message, _, hint = message.rstrip(".").partition(". Did you")
        if not message.strip():  # a group without a command: its help has been printed
            return 2
        context: Any = getattr(error, "ctx", None)
        path = context.command_path if context else "moralscope"
        remedy = f"did you{hint} See" if hint else "see"
        raise InputError(message, f"{remedy} '{path} --help'") from None
    if code == _TYPER_INTERRUPTED:
        raise KeyboardInterrupt
    sys.stdout.flush()  # a full disk must be told here, not by the interpreter as it ends
    return int(code or 0)


def _leave_stdout() -> None:
    """Let what is still in the buffer go nowhere: nothing more can be said on stdout."""
    if not isinstance(sys.stdout, _ClosedStream):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _ClosedStream(io.TextIOBase):
    """A stdout that the caller closed: whoever writes to it is told as of a full disk."""

    def write(self, text: str) -> NoReturn:
        raise OSError(errno.EBADF, "stdout is closed")


def _set_up_streams() -> None:
    """Make the streams safe: closed ones take no file's place, no letter is an error."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # 0, 1 or 2 was closed: the next file would be written as if it were the stream
    os.close(opened)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the end
    if sys.stdout is None:
        sys.stdout = _ClosedStream()
    elif isinstance(sys.stdout, io.TextIOWrapper):  # a terminal may know ASCII only
        codecs.register_error("moralscope", _plain_letters)
        sys.stdout.reconfigure(errors="moralscope")


def _plain_letters(error: UnicodeError) -> tuple[str | bytes, int]:
    """Write our bars and dashes in ASCII, any other letter as its number."""
    if isinstance(error, UnicodeEncodeError):
        plain = error.object[error.start : error.end].translate(_ASCII)
        if plain.isascii():
            return plain, error.end
    return codecs.backslashreplace_errors(error)


def _print_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print a traceback as Python does; what libraries say in it may hold a URL's password."""
    text = "".join(traceback.format_exception(kind, error, trace))
    sys.stderr.write(printable(without_passwords(text), keep="\n"))


def _set_up_logging(debug: bool) -> None:
    handler = _Stderr()
    handler.setFormatter(_OneLine())
    logger = logging.getLogger("moralscope")
    logger.handlers = [handler]
    logger.setLevel(logging.DEBUG if debug else logging.INFO)
    logger.propagate = False


class _Stderr(logging.Handler):
    """Writes to stderr as it is now: a stream kept from before may be closed when a thread logs."""

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody is left to be told
            print(self.format(record), file=sys.stderr)


class _OneLine(logging.Formatter):
    """`warning: …` for warnings, the bare sentence for notes."""

    def format(self, record: logging.LogRecord) -> str:
        text = printable(without_passwords(" ".join(record.getMessage().split())))
        return f"warning: {text}" if record.levelno >= logging.WARNING else text
