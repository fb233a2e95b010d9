"""Panics of Rust libraries, tokenizers among them: Python sees a BaseException, which would end the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def is_panic(error: BaseException) -> bool:
    """Whether an exception is a panic; each Rust library has a class of its own for it."""
    return type(error).__name__ == "PanicException"


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Turn a panic into a RuntimeError, which costs the one input that it is about."""
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise RuntimeError(f"the tokenizer panicked: {str(error).strip().partition(chr(10))[0]}") from None
