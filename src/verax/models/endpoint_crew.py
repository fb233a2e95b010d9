"""A crew of threads, one connection each, that works through numbered questions and hands over every answer at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import Generic, NamedTuple, TypeVar

from verax.models.endpoint_wire import Wire
from verax.types import Undefined

Answer = TypeVar("Answer")
_TICK = 0.05
_FAREWELL = 1.0


class Stopped(Exception):
    """The crew was told to stop while somebody waited."""


class _Done(NamedTuple, Generic[Answer]):
    """An answer on its way to be handed over; `taken` tells its thread that it was."""

    number: int
    answer: Answer | Undefined
    taken: Event


class Crew(Generic[Answer]):
    """As many threads as there are wires. None asks on before its last answer was handed over.

    Whoever keeps answers loses no more than one of each thread if killed: what is paid for never piles up.

    Args:
        wires: one for each thread.
        ask: answers the question of a number over a wire; Undefined that it raises is an answer, anything else stops
            the crew. It waits by `pause` alone.
    """

    def __init__(self, wires: Sequence[Wire], ask: Callable[[int, Wire, Crew[Answer]], Answer]) -> None:
        self._wires, self._ask = wires, ask
        self._stop = Event()  # nothing new is asked
        self._broken_off = False  # what is under way is not waited for either
        self._done: SimpleQueue[_Done[Answer] | BaseException | None] = SimpleQueue()
        self._todo: deque[int] = deque()

    def pause(self, seconds: float) -> None:
        """Wait; raises Stopped if there is nothing more to wait for."""
        if self._stop.wait(seconds):
            raise Stopped

    def work(self, count: int, hand_over: Callable[[int, Answer | Undefined], None]) -> None:
        """Ask questions 0 to `count`; every answer is handed over by the thread that called this.

        After a failure nothing new is asked, but what is under way is waited for and handed over before the failure is
        raised: it is paid for. After an interrupt nothing is waited for.
        """
        self._todo.extend(range(count))
        threads = [
            Thread(target=self._labour, args=(wire,), name="verax endpoint", daemon=True) for wire in self._wires
        ]
        try:
            for thread in threads:
                thread.start()
            self._gather(len(threads), hand_over)
        except KeyboardInterrupt:
            self._break_off(threads)
            self._drain(hand_over)
            raise
        except BaseException:
            self._break_off(threads)
            raise

    def _gather(self, at_work: int, hand_over: Callable[[int, Answer | Undefined], None]) -> None:
        failure: BaseException | None = None
        while at_work:
            for wire in self._wires:
                wire.cut(if_late=True)
            try:
                done = self._done.get(timeout=_TICK)
            except Empty:
                continue
            if done is None:
                at_work -= 1
            elif isinstance(done, BaseException):
                failure = failure or done
            else:
                self._hand_over(done, hand_over)
        if failure is not None:
            raise failure

    def _labour(self, wire: Wire) -> None:
        try:
            while self._todo and not self._stop.is_set():
                try:
                    number = self._todo.popleft()
                except IndexError:  # somebody was quicker
                    break
                done = _Done(number, self._answer(number, wire), Event())
                self._done.put(done)
                while not done.taken.wait(_TICK) and not self._stop.is_set():
                    continue
        except Stopped:
            pass  # its question stays unanswered
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that called `work`
            self._stop.set()
            self._done.put(error)
        finally:
            wire.close()
            self._done.put(None)

    def _answer(self, number: int, wire: Wire) -> Answer | Undefined:
        try:
            return self._ask(number, wire, self)
        except Undefined as undefined:
            if self._broken_off:  # our own doing, and not the endpoint's
                raise Stopped from None
            # a new one: this one's traceback keeps what was sent and received alive
            return Undefined(undefined.reason, undefined.detail)

    def _break_off(self, threads: Sequence[Thread]) -> None:
        """Stop now. A thread that is looking up a name can't be woken; it is left to end by itself."""
        self._broken_off = True
        self._stop.set()
        for wire in self._wires:
            wire.cut()
        until = monotonic() + _FAREWELL
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - monotonic()))

    def _drain(self, hand_over: Callable[[int, Answer | Undefined], None]) -> None:
        """Hand over what came before the interrupt."""
        while not self._done.empty():
            done = self._done.get()
            if isinstance(done, _Done):
                self._hand_over(done, hand_over)

    @staticmethod
    def _hand_over(done: _Done[Answer], hand_over: Callable[[int, Answer | Undefined], None]) -> None:
        hand_over(done.number, done.answer)
        done.taken.set()
