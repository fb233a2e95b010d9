"""A hostile server: whatever bytes it sends, each request ends with an answer or a reason, within its time."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from support.fault_server import Asked, Fault, FaultServer, Handler, completion
from verax.models.endpoint import REASONS, Endpoint
from verax.models.endpoint.choice import parse_label
from verax.models.endpoint.errors import EndpointUnparsedAnswer
from verax.models.generator import ChoicePass, Generated, GeneratePass, Prompt
from verax.store.shards import arrow_table
from verax.store.tables import encode
from verax.types import Undefined

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
GOOD = json.dumps(completion("yes")).encode()


def raw(*pieces: bytes, ends: bool = True) -> Fault:
    """Bytes as they are; the connection is then closed, or held open."""

    def fault(handler: Handler, asked: Asked) -> None:
        handler.close_connection = True
        try:
            for piece in pieces:
                handler.wfile.write(piece)
            handler.wfile.flush()
        except OSError:  # the client has seen enough
            return
        if not ends:
            handler.owner.closing.wait(30)

    return fault


def drips(start: bytes, piece: bytes) -> Fault:
    """A response without end, a piece at a time: every single read is quick."""

    def fault(handler: Handler, asked: Asked) -> None:
        handler.close_connection = True
        try:
            handler.wfile.write(start)
            while not handler.owner.closing.wait(0.02):
                handler.wfile.write(piece)
        except OSError:  # the client has seen enough
            return

    return fault


def answer(**changes: Any) -> Fault:
    """A good completion with other fields."""
    body = json.dumps({**completion("yes"), **changes}).encode()
    return raw(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def body(text: bytes) -> Fault:
    return raw(OK + b"Content-Length: %d\r\n\r\n" % len(text) + text)


def choice(**changes: Any) -> Fault:
    return answer(choices=[{**completion("yes")["choices"][0], **changes}])


def logprobs(top: Any) -> Fault:
    return choice(logprobs={"content": [{"top_logprobs": top}]})


DEEP = b"[" * 100_000
FRAMING = {
    "negative chunk": raw(CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n"),
    "signed chunk": raw(CHUNKED + b"+5\r\nhello\r\n0\r\n\r\n"),
    "chunk with 0x": raw(CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n"),
    "chunk of 2^64": raw(CHUNKED + b"FFFFFFFFFFFFFFFF\r\nhello"),
    "chunk size of a thousand digits": raw(CHUNKED + b"F" * 1000 + b"\r\nhello"),
    "chunk size without end": raw(CHUNKED + b"1" * 200_000),
    "chunk size that is no number": raw(CHUNKED + b"five\r\nhello\r\n0\r\n\r\n"),
    "chunk of underscores": raw(CHUNKED + b"1_0\r\n0123456789abcdef\r\n0\r\n\r\n"),
    "chunk extension without end": raw(CHUNKED + b"5;" + b"a" * 200_000 + b"\r\nhello\r\n0\r\n\r\n"),
    "chunk that is longer": raw(CHUNKED + b"3\r\nhello\r\n0\r\n\r\n"),
    "trailers without end": raw(CHUNKED + b"0\r\n" + b"x: y\r\n" * 50_000),
    "no last chunk": raw(CHUNKED + b"5\r\nhello\r\n"),
    "two lengths": raw(OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
    "length and chunks": raw(OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "negative length": raw(OK + b"Content-Length: -5\r\n\r\nhello"),
    "length that is no number": raw(OK + b"Content-Length: five\r\n\r\nhello"),
    "length of five thousand digits": raw(OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nhello"),
    "length in other digits": raw(OK + "Content-Length: ٥\r\n\r\nhello".encode()),
    "length beyond the end": raw(OK + b"Content-Length: 50\r\n\r\nhello"),
    "two transfer codings": raw(OK + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
    "header without a colon": raw(OK + b"Nonsense\r\n\r\n" + GOOD),
    "header with a null": raw(OK + b"X: \0\r\n\r\n" + GOOD),
    "folded header": raw(OK + b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n"),
    "header of a megabyte": raw(OK + b"X: " + b"a" * 2**20 + b"\r\n\r\n"),
    "headers without end": raw(OK + b"X: y\r\n" * 100_000),
    "status 0": raw(b"HTTP/1.1 0 Nothing\r\n\r\n"),
    "status 999": raw(b"HTTP/1.1 999 Beyond\r\nContent-Length: 0\r\n\r\n"),
    "status of ten digits": raw(b"HTTP/1.1 2000000000 OK\r\n\r\n"),
    "HTTP/0.9": raw(GOOD),
    "HTTP/2 preface": raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "continue without end": raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000),
    "switching protocols": raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
    "204 with a body": raw(b"HTTP/1.1 204 No Content\r\n\r\n" + GOOD),
    "line feeds only": raw(b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"),
    "nulls": raw(b"\0" * 10_000),
    "nothing": raw(b""),
    "TLS alert": raw(b"\x15\x03\x01\x00\x02\x02\x28"),
    "date of the year 99999": raw(
        b"HTTP/1.1 429 X\r\nRetry-After: Fri, 31 Dec 99999 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n"
    ),
    "zone beyond a day": raw(
        b"HTTP/1.1 429 X\r\nRetry-After: Mon, 01 Jan 0001 00:00:00 +9999\r\nContent-Length: 0\r\n\r\n"
    ),
    "first year of all": raw(
        b"HTTP/1.1 429 X\r\nRetry-After: Mon, 01 Jan 0001 00:00:00 +2359\r\nDate: Fri, 31 Dec 9999 23:59:59 -2359\r\n"
        b"Content-Length: 0\r\n\r\n"
    ),
    "a wait of 10^12 seconds": raw(b"HTTP/1.1 503 X\r\nRetry-After: 999999999999\r\nContent-Length: 0\r\n\r\n"),
}
HELD = {
    "silence": raw(b"", ends=False),
    "half a status line": raw(b"HTTP/1.1 20", ends=False),
    "headers only": raw(OK + b"Content-Length: 50\r\n\r\n", ends=False),
    "half a body": raw(OK + b"Content-Length: 50\r\n\r\nhello", ends=False),
    "half a chunk": raw(CHUNKED + b"ff\r\nhello", ends=False),
    "dripping status": drips(b"HTTP/1.1 ", b"2"),
    "dripping header": drips(OK + b"X: ", b"y"),
    "dripping body": drips(OK + b"Content-Length: 5000\r\n\r\n", b" "),
    "dripping chunks": drips(CHUNKED, b"1\r\n \r\n"),
    "dripping error": drips(b"HTTP/1.1 400 Bad\r\nContent-Length: 5000\r\n\r\n", b" "),
    "dripping until closed": drips(OK + b"\r\n", b" "),
}
CONTENT = {
    "10^30 tokens": answer(usage={"completion_tokens": 10**30}),
    "minus one token": answer(usage={"completion_tokens": -1}),
    "a fraction of tokens": answer(usage={"completion_tokens": 1e300}),
    "tokens as text": answer(usage={"completion_tokens": "many"}),
    "usage of another kind": answer(usage=[1]),
    "a number of 5,000 digits": body(b'{"choices": ' + b"9" * 5000 + b"}"),
    "a number beyond all": body(b'{"choices": 1e999}'),
    "NaN": body(b'{"choices": NaN}'),
    "lists without end": body(DEEP),
    "lists that end": body(b'{"error": ' + b"[" * 900 + b"]" * 900 + b"}"),
    "objects without end": body(b'{"a":' * 100_000),
    "half a surrogate": body(rb'{"choices": [{"message": {"content": "\ud800"}, "finish_reason": "stop"}]}'),
    "UTF-16": body(GOOD.decode().encode("utf-16")),
    "a byte order mark": body(b"\xef\xbb\xbf" + GOOD),
    "the same name twice": body(b'{"choices": [], "choices": {}}'),
    "null": body(b"null"),
    "an index of choices": answer(choices={"0": {}}),
    "choices in choices": answer(choices=[[]]),
    "a message that is text": choice(message="yes"),
    "content that is a number": choice(message={"content": 1e308}),
    "a refusal that is nested": choice(message={"content": "x", "refusal": [[[{}]]]}),
    "a finish that is nested": choice(finish_reason=[["stop"]]),
    "thoughts without end": choice(message={"content": "<think>" * 20_000}),
    "thoughts that end again and again": choice(message={"content": "</think>" * 20_000}),
    "log-probability of NaN": logprobs([{"token": "yes", "logprob": float("nan")}]),
    "log-probability of 10^400": logprobs([{"token": "yes", "logprob": 10**400}]),
    "log-probability of minus infinity": logprobs([{"token": "yes", "logprob": float("-inf")}]),
    "a token that is none": logprobs([{"token": 7, "logprob": -1.0}, None, "x"]),
    "tops of another kind": logprobs({"yes": -1}),
    "an error of a megabyte": answer(error="x" * 2**20),
    "control characters": answer(error="\x1b]0;owned\x07\x1b[2J\u202egnorw"),
}


def one_answer(fault: Fault, request: Any, seconds: float) -> Generated | Undefined:
    with FaultServer(default=fault) as server:
        model = Endpoint(
            server.url, "small", retries=0, first_wait=0.01, request_timeout=seconds, total_timeout=2 * seconds
        )
        ask = model.choose if isinstance(request, ChoicePass) else model.generate
        (result,) = ask([request])
    return result


REQUESTS = {"text": GeneratePass(Prompt("Why?")), "label": ChoicePass(Prompt("Is it?"), ("yes", "no"))}


@pytest.mark.parametrize("name", [*FRAMING, *CONTENT])
@pytest.mark.parametrize("kind", REQUESTS)
def test_every_attack_ends_with_an_answer_or_a_reason(name: str, kind: str) -> None:
    result = one_answer((FRAMING | CONTENT)[name], REQUESTS[kind], 20.0)
    if isinstance(result, Undefined):
        assert result.reason in REASONS
        assert result.reason != "timeout"
        assert result.detail.isprintable(), "it is printed in a terminal"
        assert len(result.detail) < 500
    elif isinstance(result, Generated):
        table, row = encode("key", 0, result)
        assert len(arrow_table(table, [row])) == 1, "it can be stored"


@pytest.mark.parametrize("name", HELD)
def test_a_slow_server_takes_the_time_of_one_request(name: str) -> None:
    result = one_answer(HELD[name], REQUESTS["text"], 0.3)
    assert isinstance(result, Undefined)
    assert result.reason == "timeout", "a client that waited longer would see the connection end"


LONG = 2**18


@pytest.mark.parametrize(
    "text",
    [
        "neutral ",
        "neutral, it is ",
        "it is not ",
        "answer is ",
        "answer: ",
        "answer ",
        " ",
        "*",
        "a",
    ],
)
@pytest.mark.parametrize("cut_off", [False, True])
@pytest.mark.parametrize("labels", [("entailment", "neutral", "contradiction"), ("A", "neutral")])
def test_a_long_answer_is_read(text: str, cut_off: bool, labels: tuple[str, ...]) -> None:
    """In so long an answer, anything but linear time is hours."""
    for start, end in (("neutral", ""), ("answer", "x"), ("", " neutral.")):
        answer = start + text * (LONG // len(text)) + end
        with suppress(EndpointUnparsedAnswer):
            assert parse_label(answer, labels, cut_off=cut_off) in labels
