"""Everything that can go wrong between us and an endpoint, made to happen by a real server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest

from support.fault_server import (
    Fault,
    FaultServer,
    after,
    drips,
    echo,
    floods,
    resets,
    resets_mid_body,
    says,
    sends,
)
from verax.models.endpoint import Endpoint
from verax.models.endpoint.client import FAILURES_IN_A_ROW, LONGEST_BODY
from verax.models.generator import Generated, GeneratePass, Prompt
from verax.types import Undefined, UserError


def endpoint(server: FaultServer, **options: Any) -> Endpoint:
    return Endpoint(server.url, "small", **{"first_wait": 0.01, "request_timeout": 10.0, "concurrency": 1, **options})


def numbered(count: int) -> list[GeneratePass]:
    return [GeneratePass(Prompt(f"prompt {i}")) for i in range(count)]


def sends_json(body: Any, **options: Any) -> Fault:
    return sends(json.dumps(body).encode(), **options)


PASSING = {
    "429": sends(b"slow down", status=429),
    "429 in no time": sends(b"", ("Retry-After", "0"), status=429),
    "429 until a date that is gone": sends(b"", ("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"), status=429),
    "429 until nobody knows": sends(b"", ("Retry-After", "soon"), status=429),
    "408": sends(b"", status=408),
    "500": sends(b"oops", status=500),
    "503": sends(b"<html>", status=503),
    "529": sends(b"{}", status=529),
    "reset": resets(),
    "reset in the middle of a body": resets_mid_body(),
    "a body that is shorter than announced": lambda handler, asked: (
        handler.reply(200, b"{}", length=40),
        handler.connection.shutdown(socket.SHUT_WR),
    ),
    "no HTTP": lambda handler, asked: (handler.wfile.write(b"SSH-2.0-OpenSSH\r\n\r\n"), handler.reset()),
    "an end amid the headers": lambda handler, asked: (
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Ty"),
        handler.connection.shutdown(socket.SHUT_WR),
    ),
    "too slow": after(5),
    "a byte at a time": drips(),
}


SLOW = ("too slow", "a byte at a time")


@pytest.mark.parametrize("name", PASSING)
def test_trouble_that_passes_is_waited_for(name: str) -> None:
    with FaultServer([PASSING[name]]) as server:
        model = endpoint(server, request_timeout=1.0 if name in SLOW else 10.0)
        assert model.generate(numbered(2)) == [Generated(f"you said prompt {i}", "stop", 7) for i in range(2)]
    assert len(server.asked) == model.requests == 3


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("429 in no time", "too_many_requests"),
        ("500", "server_error"),
        ("reset in the middle of a body", "connection_lost"),
        ("a body that is shorter than announced", "connection_lost"),
        ("no HTTP", "connection_lost"),
        ("too slow", "timeout"),
        ("a byte at a time", "timeout"),
    ],
)
def test_trouble_that_does_not_pass_costs_the_one_answer(name: str, reason: str) -> None:
    with FaultServer(by_prompt={"prompt 1": PASSING[name]}) as server:
        model = endpoint(server, retries=1, request_timeout=1.0 if name in SLOW else 10.0)
        before, lost, behind = model.generate(numbered(3))
    assert isinstance(before, Generated)
    assert isinstance(behind, Generated)
    assert isinstance(lost, Undefined)
    assert lost.reason == reason
    assert "attempts: 2" in lost.detail
    assert len(server.asked) == model.requests == 4


ANSWERS: dict[str, tuple[Fault, str]] = {
    "no JSON": (sends(b"<html>Welcome</html>"), "bad_answer"),
    "no UTF-8": (sends(b'"\xff\xfe\xfa'), "bad_answer"),
    "half of JSON": (sends(b'{"choices": ['), "bad_answer"),
    "nothing at all": (sends(b""), "bad_answer"),
    "brackets without end": (sends(b"[" * 200_000), "bad_answer"),
    "a list": (sends_json([1]), "bad_answer"),
    "no choices": (sends_json({"choices": []}), "bad_answer"),
    "choices of another kind": (sends_json({"choices": {"0": 1}}), "bad_answer"),
    "a choice that is none": (sends_json({"choices": ["yes"]}), "bad_answer"),
    "no message": (sends_json({"choices": [{"text": "yes"}]}), "bad_answer"),
    "content that is no text": (says(7), "bad_answer"),
    "content in parts": (says([{"type": "text", "text": "yes"}]), "bad_answer"),
    "a call of a tool": (says("calling", finish="tool_calls"), "bad_answer"),
    "an end of another kind": (says("yes", finish={"a": 1}), "bad_answer"),
    "an error as an answer": (sends_json({"error": {"message": "out of luck"}}), "bad_answer"),
    "another encoding": (sends(b"\x1f\x8b", ("Content-Encoding", "gzip")), "bad_answer"),
    "a length beyond the limit": (sends(b"x", length=LONGEST_BODY + 1), "bad_answer"),
    "a body without end": (floods(), "bad_answer"),
    "no content": (says(None), "empty_answer"),
    "empty content": (says(""), "empty_answer"),
    "blanks": (says(" \n\t"), "empty_answer"),
    "cut off before it began": (says("", finish="length"), "empty_answer"),
    "a refusal": (says(None, refusal="I'd rather not."), "refused"),
    "a refusal with content": (says("Well,", refusal="I'd rather not."), "refused"),
    "a filter": (says("The be", finish="content_filter"), "refused"),
    "a bad request": (sends_json({"error": {"message": "prompt too long"}}, status=400), "bad_request"),
    "too much": (sends_json({"detail": "too long"}, status=413), "bad_request"),
    "forbidden": (sends_json({"message": "flagged"}, status=403), "bad_request"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_is_none_has_a_reason_and_is_not_asked_for_again(name: str) -> None:
    fault, reason = ANSWERS[name]
    seen: list[Generated | Undefined] = []
    with FaultServer(by_prompt={"prompt 0": fault}) as server:
        model = endpoint(server)
        lost, fine = model.generate(numbered(2), lambda number, answer: seen.append(answer))
        assert server.sent < 4 * LONGEST_BODY
    assert isinstance(lost, Undefined)
    assert lost.reason == reason
    assert fine == Generated("you said prompt 1", "stop", 7)
    assert seen == [lost, fine]
    assert len(server.asked) == model.requests == 2


def test_what_the_endpoint_says_is_told_in_one_clean_line() -> None:
    said = "too\x1b[31m long\n" + "x" * 1000
    with FaultServer(default=sends_json({"error": {"message": said}}, status=400)) as server:
        (lost,) = endpoint(server).generate(numbered(1))
    assert isinstance(lost, Undefined)
    assert lost.detail.startswith("HTTP 400: too [31m long xxx")
    assert lost.detail.isprintable()
    assert len(lost.detail) < 300


def test_an_answer_may_lack_what_is_not_needed_and_hold_half_a_character() -> None:
    bare = b'{"choices": [{"message": {"content": "odd \\ud800 text"}}], "usage": {"completion_tokens": -1}}'
    with FaultServer([sends(bare)]) as server:
        assert endpoint(server).generate(numbered(1)) == [Generated("odd \ufffd text", "unknown", None)]


@pytest.mark.parametrize("unit", ["seconds", "date", "milliseconds"])
def test_a_wait_that_the_endpoint_asks_for_holds_for_all_requests(unit: str) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)  # its clock is wrong
    asks = {
        "seconds": [("Retry-After", "1")],
        "date": [("Retry-After", format_datetime(now + timedelta(seconds=1), usegmt=True))],
        "milliseconds": [("Retry-After", "3600"), ("retry-after-ms", "1000")],
    }[unit]
    times: list[float] = []
    turned_away = Event()

    def takes_its_time(handler: Any, asked: Any) -> None:
        turned_away.wait(10)
        after(0.3)(handler, asked)

    def turns_away(handler: Any, asked: Any) -> None:
        handler.date_time_string = lambda timestamp=None: format_datetime(now, usegmt=True)
        times.append(monotonic())
        handler.reply(429, b"", asks)
        turned_away.set()

    def notes(handler: Any, asked: Any) -> None:
        times.append(monotonic())
        echo()(handler, asked)

    with FaultServer([takes_its_time, turns_away], default=notes) as server:
        answers = endpoint(server, concurrency=2).generate(numbered(6))
    assert all(isinstance(answer, Generated) for answer in answers)
    assert len(times) == 6
    assert min(times[1:]) - times[0] >= 0.95


def test_a_wait_beyond_the_total_time_is_not_begun() -> None:
    with FaultServer(default=sends(b"", ("Retry-After", "3600"), status=429)) as server:
        began = monotonic()
        lost = endpoint(server, total_timeout=20).generate(numbered(3))
    assert monotonic() - began < 10
    assert [one.reason for one in lost if isinstance(one, Undefined)] == ["too_many_requests"] * 3
    assert len(server.asked) == 1, "the others are told of it"


def test_a_body_whose_end_is_not_announced_is_no_answer_if_time_is_up() -> None:
    def pauses(handler: Any, asked: Any) -> None:
        whole = b'{"choices": [{"message": {"content": "yes"}}]}'
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + whole)
        handler.owner.closing.wait(5)

    with FaultServer(default=pauses) as server:
        (lost,) = endpoint(server, request_timeout=0.3, retries=0).generate(numbered(1))
    assert isinstance(lost, Undefined)
    assert lost.reason == "timeout"


def test_the_total_time_ends_a_request() -> None:
    with FaultServer(default=after(20)) as server:
        began = monotonic()
        (lost,) = endpoint(server, total_timeout=0.4).generate(numbered(1))
    assert monotonic() - began < 10
    assert isinstance(lost, Undefined)
    assert lost.reason == "timeout"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERAX_API_KEY", "a-key-of-some-length")
    with (
        FaultServer() as other,
        FaultServer(default=sends(b"", ("Location", other.url), status=status)) as server,
        pytest.raises(UserError, match=f"redirects .HTTP {status}. to {other.url}; redirects are not"),
    ):
        endpoint(server).generate(numbered(3))
    assert len(server.asked) == 1
    assert (other.connections, server.gets, other.gets) == (0, 0, 0)


@pytest.mark.parametrize(
    ("status", "key", "said"),
    [
        (401, "", "that of VERAX_API_KEY is not set .HTTP 401: who are you"),
        (401, "a-key-of-some-length", "that of VERAX_API_KEY was not accepted"),
        (404, "", "does not serve this address and model .HTTP 404: who are you"),
        (402, "", "does not serve this address and model"),
    ],
)
def test_what_befalls_every_request_stops_the_run(
    status: int, key: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERAX_API_KEY", key)
    kept: list[int] = []
    complains = sends_json({"error": {"message": "who are you"}}, status=status)
    with FaultServer([echo(), complains]) as server, pytest.raises(UserError, match=said):
        endpoint(server).generate(numbered(9), lambda number, answer: kept.append(number))
    assert kept == [0]
    assert len(server.asked) == 2


def test_a_failure_waits_for_what_is_under_way() -> None:
    kept: list[int] = []
    failed = Event()

    def fails(handler: Any, asked: Any) -> None:
        sends(b"", status=404)(handler, asked)
        failed.set()

    def takes_its_time(handler: Any, asked: Any) -> None:
        failed.wait(10)
        after(0.3)(handler, asked)

    with (
        FaultServer(by_prompt={"prompt 0": takes_its_time, "prompt 1": fails}) as server,
        pytest.raises(UserError, match="HTTP 404"),
    ):
        endpoint(server, concurrency=2).generate(numbered(9), lambda number, answer: kept.append(number))
    assert kept == [0]
    assert len(server.asked) == 2


def test_an_endpoint_that_answers_nothing_is_not_asked_for_ever() -> None:
    kept: list[int] = []
    complains = sends_json({"detail": "unknown field 'seed'"}, status=422)
    said = "no answer to 10 prompts in a row; the last: bad_request: HTTP 422: unknown field"
    with FaultServer(default=complains) as server, pytest.raises(UserError, match=said):
        endpoint(server).generate(numbered(50), lambda number, answer: kept.append(number))
    assert len(server.asked) == FAILURES_IN_A_ROW
    assert len(kept) == FAILURES_IN_A_ROW - 1


def test_refusals_and_failures_now_and_then_do_not_stop_it() -> None:
    bad = sends(b"<html>")
    script = [*[bad] * 9, says(None, refusal="no"), *[bad] * 9, echo(), *[bad] * 9]
    with FaultServer(script) as server:
        answers = endpoint(server).generate(numbered(28))
    assert sum(isinstance(answer, Generated) for answer in answers) == 1


def test_a_model_that_spends_its_tokens_on_hidden_thought_is_not_paid_for_ever() -> None:
    said = r"no answer to 10 prompts in a row; the last: empty_answer: .* extra: \{max_tokens: \.\.\.\}"
    with FaultServer(default=says("", finish="length")) as server, pytest.raises(UserError, match=said):
        endpoint(server).generate(numbered(50))
    assert len(server.asked) == FAILURES_IN_A_ROW
    with FaultServer(default=says("", finish="stop")) as server:
        endpoint(server).generate(numbered(2 * FAILURES_IN_A_ROW))
    assert len(server.asked) == 2 * FAILURES_IN_A_ROW, "a model that has nothing to say works"


def test_nobody_there() -> None:
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        model = Endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}", "small", retries=2, first_wait=0.01)
        with pytest.raises(UserError, match=r"can't be reached: .*refused"):
            model.generate(numbered(3))
    assert model.requests == 0


def through(proxy: FaultServer, monkeypatch: pytest.MonkeyPatch, *variables: str) -> None:
    for variable in variables or ("HTTP_PROXY",):
        monkeypatch.setenv(variable, f"http://me:my-password@127.0.0.1:{proxy.port}")


def test_requests_go_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer() as proxy, FaultServer() as server:
        through(proxy, monkeypatch)
        model = endpoint(server)
        assert model.generate(numbered(2)) == [Generated(f"you said prompt {i}", "stop", 7) for i in range(2)]
    assert [asked.path for asked in proxy.asked] == [f"{server.url}/chat/completions"] * 2
    assert proxy.asked[0].headers["Proxy-Authorization"].startswith("Basic ")
    assert server.connections == 0
    assert model.requests == 2


@pytest.mark.parametrize("exempt", ["127.0.0.1", "example.com,127.0.0.0/8", "*"])
def test_no_proxy_names_hosts_that_are_asked_directly(exempt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer() as proxy, FaultServer() as server:
        through(proxy, monkeypatch, "HTTP_PROXY", "ALL_PROXY")
        monkeypatch.setenv("NO_PROXY", exempt)
        endpoint(server).generate(numbered(1))
    assert (proxy.connections, server.connections) == (0, 1)


def test_a_proxy_that_rejects_us_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer(default=sends(b"", status=407)) as proxy, FaultServer() as server:
        through(proxy, monkeypatch)
        with pytest.raises(UserError, match="HTTP 407"):
            endpoint(server).generate(numbered(2))
    assert server.connections == 0


def test_a_proxy_that_is_not_there_is_named_as_a_possible_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken, FaultServer() as server:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(UserError, match=r"can't be reached: .*refused; check the proxy settings"):
            endpoint(server, retries=0).generate(numbered(1))
    assert server.connections == 0


@pytest.mark.parametrize("proxy", ["ftp://me:my-password@host", "http://me:my-password@host:port"])
def test_a_proxy_that_is_no_url_is_refused_and_not_shown(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(UserError, match="the proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY can't be used") as raised:
        Endpoint("http://127.0.0.1:1", "small").generate(numbered(1))
    assert "my-password" not in "".join(traceback.format_exception(raised.value))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody signed, and its key, in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl command to make a certificate with")
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=fault server", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    made = subprocess.run([*request, *names, "-keyout", "-", "-out", "-"], capture_output=True, check=True)
    file.write_bytes(made.stdout)
    return file


def serving(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_a_certificate_that_is_trusted_is_accepted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with FaultServer([resets()], tls=serving(certificate)) as server:
        model = endpoint(server)
        assert model.generate(numbered(3)) == [Generated(f"you said prompt {i}", "stop", 7) for i in range(3)]
    assert server.connections == 2


def test_tls_goes_through_a_tunnel_of_the_proxy(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("VERAX_API_KEY", "a-key-of-some-length")
    with FaultServer() as proxy, FaultServer(tls=serving(certificate)) as server:
        through(proxy, monkeypatch, "HTTPS_PROXY")
        model = endpoint(server)
        assert model.generate(numbered(2)) == [Generated(f"you said prompt {i}", "stop", 7) for i in range(2)]
    assert proxy.tunnels == [f"127.0.0.1:{server.port}"]
    assert proxy.asked == [], "the proxy reads neither prompts nor the key"
    assert len(server.asked) == model.requests == 2


def test_a_tunnel_that_the_proxy_rejects_ends_the_run(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer() as proxy, FaultServer(tls=serving(certificate)) as server:
        proxy.rejects_tunnels = True
        through(proxy, monkeypatch, "HTTPS_PROXY")
        model = endpoint(server, retries=1)
        with pytest.raises(UserError, match="can't be reached: 403 Forbidden; check the proxy settings"):
            model.generate(numbered(1))
    assert (len(proxy.tunnels), server.connections, model.requests) == (2, 0, 0)


def test_a_server_without_tls_is_not_reached_by_https() -> None:
    with FaultServer() as server:
        model = Endpoint(f"https://127.0.0.1:{server.port}", "small", retries=0)
        with pytest.raises(UserError, match=r"can't be reached: .*SSL"):
            model.generate(numbered(1))
    assert (server.asked, model.requests) == ([], 0)


def test_a_certificate_that_nobody_signed_or_of_somebody_else_is_not(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultServer(tls=serving(certificate)) as server:
        with pytest.raises(UserError, match=r"certificate of 127.0.0.1:[0-9]+ can't be verified: self-signed"):
            endpoint(server).generate(numbered(2))
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with pytest.raises(UserError, match=r"certificate of localhost:[0-9]+ can't be verified: .*[Hh]ostname"):
            Endpoint(f"https://localhost:{server.port}", "small").generate(numbered(2))
    assert server.asked == []


INTERRUPTED = """
import signal, sys
from verax.models.endpoint import Endpoint
from verax.models.generator import GeneratePass, Prompt

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs in the background inherits that it is ignored
model = Endpoint(sys.argv[1], "small", concurrency=3)
try:
    model.generate([GeneratePass(Prompt(f"prompt {i}")) for i in range(9)], lambda i, a: print(i, a.text, flush=True))
except KeyboardInterrupt:
    print("stopped", model.requests, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGINT to send")
def test_an_interrupt_stops_promptly_and_what_is_answered_was_handed_over() -> None:
    slow = {f"prompt {i}": after(30) for i in range(2, 9)}
    with FaultServer(by_prompt=slow) as server:
        command = [sys.executable, "-c", INTERRUPTED, server.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            first = {process.stdout.readline(), process.stdout.readline()}
            assert first == {"0 you said prompt 0\n", "1 you said prompt 1\n"}
            while server.busy < 3:
                assert process.poll() is None
                sleep(0.02)
            process.send_signal(signal.SIGINT)
            began = monotonic()
            assert process.stdout.read() == "stopped 5\n"
            assert process.wait(20) == 0
            assert monotonic() - began < 15
            assert process.stderr.read() == ""
    assert len(server.asked) == 5


def test_answers_that_came_before_an_interrupt_are_handed_over() -> None:
    kept: list[int] = []
    with FaultServer() as server:

        def each(number: int, answer: object) -> None:
            kept.append(number)
            if len(kept) == 1:
                while len(server.asked) < 3 or server.busy:
                    sleep(0.02)
                sleep(0.3)  # the others have been read meanwhile
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            endpoint(server, concurrency=3).generate(numbered(3), each)
    assert sorted(kept) == [0, 1, 2]


def test_an_interrupt_leaves_no_request_and_no_thread_behind() -> None:
    kept: list[object] = []

    def each(number: int, answer: object) -> None:
        kept.append(answer)
        while len(server.asked) < 2:  # the other one; ours waits until this is over
            sleep(0.02)
        raise KeyboardInterrupt

    with FaultServer([echo()], default=after(30)) as server:
        with pytest.raises(KeyboardInterrupt):
            endpoint(server, concurrency=2, retries=0).generate(numbered(9), each)
        assert [thread for thread in threading.enumerate() if thread.name == "verax endpoint"] == []
    assert len(kept) == 1, "a request that we cut is no lost answer"
    assert len(server.asked) == 2
