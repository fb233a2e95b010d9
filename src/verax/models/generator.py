"""Text generators: their requests and answers, and their protocols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from verax.types import FloatArray, Generated, LabelSource, Undefined

T = TypeVar("T")
Each = Callable[[int, T | Undefined], None]
"""Called with the number of a pass and its answer, as soon as it arrives, in the thread that asked."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The input of a generator.

    Args:
        system: instructions that precede it.
        plain: the text is continued as it is, without a chat template; a generator that can only chat receives it as a
            message.
    """

    user: str
    system: str | None = None
    plain: bool = False

    def __post_init__(self) -> None:
        if self.plain and self.system is not None:
            raise ValueError("a plain prompt has no system text")


class GeneratePass(NamedTuple):
    """One text to generate.

    Args:
        stop: strings that end it; they are not part of it.
        temperature: 0 takes the most probable token at each step (greedy), more samples; only endpoints sample.
        tops: number of likeliest first tokens to return with the text; only endpoints return them.
        repeat: above 0, the same text once more: a stored answer to another repetition is not used.
    """

    prompt: Prompt
    max_new_tokens: int = 64
    stop: tuple[str, ...] = ()
    temperature: float = 0.0
    seed: int = 0
    tops: int = 0
    repeat: int = 0


class LikelihoodPass(NamedTuple):
    """Continuations of one prompt whose likelihoods are compared."""

    prompt: Prompt
    continuations: tuple[str, ...]


class CandidatesPass(NamedTuple):
    """`wanted` different texts for one prompt, of at most `max_new_tokens` tokens each."""

    prompt: Prompt
    wanted: int = 4
    max_new_tokens: int = 16


class ChoicePass(NamedTuple):
    """A prompt that one of several labels answers; `max_new_tokens` limits what a generator writes to name it.

    `repeat` is as for `GeneratePass`.
    """

    prompt: Prompt
    labels: tuple[str, ...]
    max_new_tokens: int = 32
    repeat: int = 0


TextRequest = GeneratePass | LikelihoodPass | ChoicePass | CandidatesPass
"""One pass of a text generator."""


@dataclass(frozen=True, slots=True)
class ChosenLabel:
    """One label of several, its source, and the probability of each label; empty if unknown."""

    label: str
    label_source: LabelSource
    probabilities: tuple[float, ...] = ()


class TextGenerator(Protocol):
    """A model that turns text into text.

    A missing answer is returned as the `Undefined` with its reason, so that other answers of the batch are not lost.
    An error that concerns every pass (a wrong address) is raised. A generator without likelihoods has a method `choose`
    (`ChoicePass` to `ChosenLabel`), one that can search for several texts `candidates` (`CandidatesPass` to a list of
    `Generated`, the likeliest first).

    Attributes:
        fingerprint: hashes of everything that determines its answers; with the request, the key of an answer.
        about: facts for the run card (architecture, device, host, ...).
        gives_likelihoods: whether it answers `likelihoods`.
    """

    name: str
    fingerprint: dict[str, str]
    about: dict[str, str]
    gives_likelihoods: bool

    def length(self, request: TextRequest) -> int:
        """Number of tokens that a pass takes up in a batch; 1 for an endpoint."""

    def generate(self, passes: Sequence[GeneratePass]) -> list[Generated | Undefined]:
        """A text for each pass, in order."""

    def likelihoods(self, passes: Sequence[LikelihoodPass]) -> list[FloatArray | Undefined]:
        """Log-likelihood of each continuation, summed over its tokens: shape [continuations] for each pass."""


ConcurrentRequest = GeneratePass | ChoicePass
"""Requests to a generator that answers concurrently."""
TextAnswer = Generated | ChosenLabel | Undefined
Deliver = Callable[[Any], None]
"""Takes the answer to one request: a `TextAnswer` of the request's own kind."""


class Session(Protocol):
    """Requests under way at a generator, as a context manager; leaving it early cancels them."""

    def __enter__(self) -> Self:
        """Open it; nothing is sent before the first request."""

    def __exit__(self, *error: object) -> None:
        """Cancel what is under way and end all threads."""

    @property
    def outstanding(self) -> int:
        """Number of requests whose answers were not delivered yet."""

    def submit(self, request: ConcurrentRequest, deliver: Deliver) -> None:
        """Begin a request; `deliver` is called with its answer, at once if it is known, else by `collect`."""

    def collect(self, timeout: float | None = None) -> None:
        """Wait for an answer, `timeout` seconds at most, and deliver all that have arrived, in the calling thread."""


@runtime_checkable
class ConcurrentGenerator(TextGenerator, Protocol):
    """A text generator with up to `concurrency` requests under way at once, whose answers come in any order."""

    concurrency: int

    def session(self) -> Session:
        """Send requests; what cannot be answered is delivered as `Undefined`, what concerns all requests is raised."""
