"""A callable from texts to probabilities as a model."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import islice
from types import CellType, CodeType, FunctionType
from typing import Any, Literal

import numpy as np

from verax.models.classifier import Capability
from verax.models.encoding import Encoding, PerturbedInput
from verax.models.removal import CODES, KEPT, States, is_deleted
from verax.models.targets import class_of
from verax.models.words import check_words
from verax.types import FloatArray, Instance, IntArray, Undefined, UserError
from verax.types.errors import located

Predict = Callable[[list[tuple[str, ...]]], "np.typing.ArrayLike"]
"""From texts (each the tuple of its parts) to probabilities, shape [texts, classes]."""

OutputKind = Literal["probabilities", "logits"]
SUM_TOLERANCE = 1e-3
"""Difference from 1 that the sum of probabilities may have: those of float16 models are rounded."""
MASK_TEXT = "..."
"""What `mask` writes by default, as shap's masker of texts does."""
_TRIED = 3
"""Inputs that a function is asked about before a run begins."""
TINY = float(np.finfo(np.float64).tiny)
UNVERSIONED = "unversioned"
"""The version of a callable whose source cannot be read."""


def code_version(function: Callable[..., Any], *, whole_module: bool = False) -> str:
    """A hash of the source of a callable, so that results of changed code are not taken for those of today's.

    Of a module all of its source counts; otherwise the definition, the functions of its module that it calls, and plain
    values (numbers, texts and containers of them) that it reads from outside. Weights and files do not count.
    """
    if whole_module and (module := inspect.getmodule(function)) is not None:
        pieces = list(_source(module))
    else:
        pieces = list(_sources(function, set()))
    return hashlib.sha256("\n".join(pieces).encode()).hexdigest() if pieces else UNVERSIONED


def _source(value: Any) -> Iterator[str]:
    """The source of a module, a class or a function; nothing if it is compiled, or typed into a session without one."""
    try:
        yield inspect.getsource(value)
    except (OSError, TypeError):
        return


def _sources(value: Any, seen: set[int]) -> Iterator[str]:
    """The source of a callable and of what it uses; nothing for code that has none."""
    value = inspect.unwrap(value)
    if isinstance(value, partial):
        for given in (value.args, value.keywords):
            yield from _plain(given or None)
        value = value.func
    if inspect.ismethod(value):
        value = value.__func__
    if not isinstance(value, FunctionType | type):
        value = type(value)
    if id(value) in seen or value.__module__ in {"builtins", "functools"}:
        return
    seen.add(id(value))
    yield from _source(value)
    if isinstance(value, FunctionType):
        yield from _plain(value.__defaults__)
        for name, other in sorted(_used(value).items()):
            if isinstance(other, FunctionType) and other.__module__ == value.__module__:
                yield from _sources(other, seen)
            else:
                yield from (f"{name} = {shown}" for shown in _plain(other))


def _used(function: FunctionType) -> dict[str, Any]:
    """What a function, with the comprehensions and functions inside it, reads from outside by name."""

    def names(code: CodeType) -> set[str]:
        inner = [names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
        return set(code.co_names).union(*inner)

    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    outside = {name: cell.cell_contents for name, cell in cells if cell != CellType()}  # not assigned yet
    return {name: function.__globals__[name] for name in names(function.__code__) & {*function.__globals__}} | outside


def _plain(value: Any) -> Iterator[str]:
    """A value as text, if it is made of numbers and texts alone."""

    def is_plain(one: Any) -> bool:
        if isinstance(one, dict):
            return all(map(is_plain, one)) and all(map(is_plain, one.values()))
        return isinstance(one, str | bytes | int | float) or (isinstance(one, tuple | list) and all(map(is_plain, one)))

    if value is not None and is_plain(value):
        yield repr(value)


class CallableError(Exception):
    """The callable raised an exception, which is the `cause`: a server behind it may be down for a while."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.cause = cause


class BlackBox:
    """A callable as a classifier; its "logits" are log-probabilities, so that softmax returns its answers.

    Words are removed from the text itself: `delete` takes them out, `mask` writes `mask_text` in their place.

    Args:
        answer: takes a list of texts, each a tuple of its parts; returns probabilities, shape [texts, classes].
        version: identifies this version of the model; part of every key in the store.
        mask_text: what `mask` writes; `MASK_TEXT` by default.
        outputs: what the callable returns; logits are any numbers whose softmax is the probabilities.
    """

    def __init__(
        self,
        answer: Predict,
        *,
        labels: Sequence[str],
        name: str,
        version: str,
        mask_text: str | None = None,
        outputs: OutputKind = "probabilities",
    ) -> None:
        if len(set(labels)) < 2 or len(set(labels)) != len(labels):
            raise UserError(f"labels: a callable model needs at least two different class names, got {list(labels)}")
        self._answer, self._outputs = answer, outputs
        self._mask_text = MASK_TEXT if mask_text is None else mask_text
        self.name = name
        self.labels = tuple(labels)
        self.capabilities: frozenset[Capability] = frozenset({"outputs"})
        self.removals = frozenset({"delete", "mask"})
        self.fingerprint = {
            "weights": version,
            "tokenizer": "none",
            "dtype": "float64",
            "classes": "/".join(self.labels),
            "mask_text": str(mask_text),  # None for the default: a run from before there was one is continued
            **({} if outputs == "probabilities" else {"outputs": outputs}),
        }
        self.about = {"architecture": "callable", "device": "unknown"}

    def __repr__(self) -> str:
        return f"<BlackBox {self.name}: classes {', '.join(self.labels)}>"

    def encode(self, instance: Instance) -> Encoding:
        """The instance itself, without tokens."""
        check_words(instance)
        none = np.empty(0, np.int64)
        return Encoding(instance, none, none, none, self.labels, class_of(instance.label, self.labels))

    def by_token(self, instance: Instance) -> Instance:
        """Rejected: a callable has no sub-words."""
        raise UserError(f"granularity: the model {self.name!r} is a callable and has no sub-words; use 'word'")

    def unknown(self, encoding: Encoding) -> float:
        """0, since the vocabulary of a callable is unknown."""
        return 0.0

    def lengths(self, encoding: Encoding, states: States) -> IntArray:
        """Words left in each row, plus one, since the text may be empty: [rows, units] -> [rows]."""
        return np.asarray((~is_deleted(states)).sum(1) + 1)

    def bucket(self, row: PerturbedInput, length: int) -> Hashable:
        """Texts of any length may share a batch."""
        return 0

    def logits(self, rows: Sequence[PerturbedInput]) -> FloatArray:
        """Log-probabilities of the answers: shape [rows, classes]."""
        texts = [self._text(row) for row in rows]
        try:
            given = self._answer(texts)
        except (UserError, Undefined):
            raise
        except Exception as error:
            raise CallableError(error) from error
        try:
            answers = np.asarray(given, np.float64)
        except (TypeError, ValueError):
            raise UserError(
                f"the model {self.name!r} must return numbers, a row of {len(self.labels)} for each text, and returned "
                f"{repr(given)[:80]}"
            ) from None
        expected = (len(rows), len(self.labels))
        if answers.shape != expected:
            raise UserError(f"the model {self.name!r} answered with shape {answers.shape}, expected {expected}")
        if self._outputs == "logits":
            return answers
        self._check_probabilities(answers)
        # NaN passes through and is recorded as such; a probability of 0 stays far below every other
        return np.asarray(np.log(np.maximum(answers, TINY)))

    def check(self, instances: Sequence[Instance]) -> None:
        """Ask about a few inputs before a run begins: answers of another shape or sum are rejected.

        So is a function that raises, or returns NaN, for all of them; later, errors are recorded with their input.
        """
        problem = ""
        for instance in islice(instances, _TRIED):
            try:
                encoding = self.encode(instance)
                answers = self.logits([PerturbedInput(encoding, np.full(encoding.n_units, KEPT, np.int8))])
            except Undefined:
                return
            except CallableError as error:
                problem = f"raised {located(error.cause)}"
            else:
                if not np.isnan(answers).any():
                    return
                problem = "returned NaN"
        if problem:
            tried = min(_TRIED, len(instances))
            where = "the only input" if tried == 1 else f"each of {tried} inputs"
            raise UserError(
                f"the model {self.name!r} {problem} for {where}; it gets a list of texts, each the tuple of its parts, "
                "such as [('a text',)], and returns a row of probabilities for each"
            )

    def _check_probabilities(self, answers: FloatArray) -> None:
        """Reject rows that are not probabilities; those with NaN are recorded as such later."""
        known = answers[~np.isnan(answers).any(axis=1)]
        wrong = known[(known < 0).any(axis=1) | (np.abs(known.sum(axis=1) - 1) > SUM_TOLERANCE)]
        if len(wrong):
            row = ", ".join(f"{value:.4g}" for value in wrong[0])
            raise UserError(
                f"the model {self.name!r} must return probabilities, rows of numbers from 0 to 1 that sum to 1, and "
                f'returned [{row}]; if these are logits, load it with outputs="logits" (of a spec: model.outputs)'
            )

    def _text(self, row: PerturbedInput) -> tuple[str, ...]:
        texts, unit = [], 0
        for part in row.encoding.instance.parts:
            pieces, last = [], 0
            for start, end in part.offsets:
                code, unit = row.state[unit], unit + 1
                if code != CODES["delete"]:  # the white space in front of a deleted word goes with it
                    pieces.append(part.raw[last:start])
                    pieces.append(part.raw[start:end] if code == KEPT else str(self._mask_text))
                last = end
            pieces.append(part.raw[last:])
            texts.append("".join(pieces).strip())
        return tuple(texts)
