"""Whole runs over a real connection: what comes is kept, what does not come is a reason and is asked again."""

from __future__ import annotations

import json
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event, get_ident
from time import sleep
from typing import Any

import pytest
import yaml

from support.answering import answers_by_rule, bodies, rule_of, wants_label
from support.fault_server import (
    Asked,
    Fault,
    FaultServer,
    Handler,
    after,
    completion,
    resets,
    resets_mid_body,
    says,
    sends,
)
from support.stored import forget_hashes
from support.text_runs import PAIRS, content, counterfactual, write_data, write_words
from verax.models.endpoint import choice, endpoint
from verax.models.endpoint.client import FAILURES_IN_A_ROW, THREAD
from verax.models.generator import ChosenLabel
from verax.report.page import write_report
from verax.results.run import Run
from verax.store.read import read_rows
from verax.studies.free_text import STUDY
from verax.types import Generated

QUICK = {"first_wait": 0.01, "request_timeout": 20.0, "retries": 1, "concurrency": 3}


@pytest.fixture
def ask(verax: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Run the pairs over an endpoint by the command line, into one folder."""

    def run(
        url: str, metrics: Any = ("bleu",), limit: int = 6, methods: Any = None, data: Any = PAIRS, **endpoint: Any
    ) -> Any:
        spec = content(
            tmp_path,
            data=str(write_data(tmp_path / "given.jsonl", data)),
            model={"name": "m", "endpoint": {"url": url, **QUICK, **endpoint}},
            metrics=list(metrics),
            methods=methods,
        )
        (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
        return verax("run", "spec.yaml", "--out", "run", "--limit", limit)

    return run


def kept(place: Path) -> list[Generated]:
    return [row for _, row in read_rows(place / "run") if isinstance(row, Generated)]


def one_line(said: Any) -> str:
    """What a run that ends early says: its plan, and one line why."""
    assert said.code == 2, said
    assert "Traceback" not in said.err
    return str(said.err.strip().splitlines()[-1])


def by_text(faults: dict[str, Fault]) -> Fault:
    """The rule, but for prompts that hold certain words."""

    def fault(handler: Handler, asked: Asked) -> None:
        chosen = next((one for text, one in faults.items() if text in asked.user), answers_by_rule())
        chosen(handler, asked)

    return fault


def babble(handler: Handler, asked: Asked) -> None:
    """No class, where one is wanted."""
    says("who knows" if wants_label(asked.user) else rule_of(asked.user))(handler, asked)


def test_every_answer_is_kept_and_asked_for_once(ask: Callable[..., Any], tmp_path: Path) -> None:
    with FaultServer(default=answers_by_rule()) as server:
        assert ask(server.url, [counterfactual(tmp_path), "bleu"]).code == 0
        first = bodies(server)
        assert ask(server.url, [counterfactual(tmp_path), "bleu"]).code == 0
    assert len(first) == len(set(first)) == len(kept(tmp_path))
    assert len(server.asked) == len(first), "the second run asks nothing"
    assert server.peak <= 3
    run = Run(tmp_path / "run")
    assert Counter(nle.method for nle in run.texts()) == {"explain_then_answer": 6, "answer_then_explain": 6}
    assert {(nle.label_source, nle.probabilities) for nle in run.texts()} == {("parsed", ())}
    tested = [score for score in run.score_rows() if score.trial_log is not None]
    assert {score.value for score in tested} == {1.0}
    assert {trial.label_source for score in tested if score.trial_log for trial in score.trial_log.trials} == {"parsed"}
    assert run.tables.card["model"]["architecture"] == "endpoint"
    assert run.tables.card["counts"]["failed"] == 0
    assert all(one.body["model"] == "m" and one.body["temperature"] == 0 for one in server.asked)


def test_the_repeat_floor_asks_the_unedited_input_again_and_pays_once(ask: Callable[..., Any], tmp_path: Path) -> None:
    """Every third time the server is asked for the class of an unedited input it gives another one."""
    times: Counter[str] = Counter()

    def wavers(handler: Handler, asked: Asked) -> None:
        plain = any(f"{premise}" in asked.user and hypothesis in asked.user for premise, hypothesis, _ in PAIRS)
        times[asked.user] += plain and wants_label(asked.user)
        wavering = times[asked.user] and times[asked.user] % 3 == 0
        says("entailment" if wavering else rule_of(asked.user))(handler, asked)

    test = counterfactual(tmp_path)
    test["counterfactual_test"]["repeats"] = 5
    with FaultServer(default=wavers) as server:
        for _ in range(2):
            assert ask(server.url, [test], methods=["answer_then_explain"], concurrency=1).code == 0
    assert Counter(times.values())[6] == 6, "the class of each input is asked for six times, in two runs together"
    run = Run(tmp_path / "run")
    logs = [score.trial_log for score in run.score_rows() if score.trial_log]
    assert [(log.repeats, log.self_flips) for log in logs] == [(5, 2)] * 6
    (row,) = run.study("free_text").counterfactual
    assert (row.self_flips.value, row.repeats) == (0.4, 30)
    said = verax_show(tmp_path / "run")
    assert "40.0 % of the answers to unedited inputs change when they are asked again" in said


def verax_show(folder: Path) -> str:
    found = STUDY.apply([Run(folder)])
    assert found is not None
    return "\n".join(found.sentences)


def chats(handler: Handler, asked: Asked) -> None:
    """Writes half of a label; its first token is that of the rule's."""
    label = rule_of(asked.user)
    body = completion(label[:5] if wants_label(asked.user) else label)
    if "top_logprobs" in asked.body:
        tops = [{"token": "I", "logprob": -3.0}, {"token": label[:3], "logprob": -0.1}]
        body["choices"][0]["logprobs"] = {"content": [{"token": label[:3], "logprob": -0.1, "top_logprobs": tops}]}
    sends(json.dumps(body).encode())(handler, asked)


def test_classes_by_first_tokens_are_kept_like_any_answer(ask: Callable[..., Any], tmp_path: Path) -> None:
    with FaultServer(default=chats) as server:
        for _ in range(2):
            assert ask(server.url, [counterfactual(tmp_path), "bleu"], logprobs=7).code == 0
    assert len(bodies(server)) == len(set(bodies(server))) == len(kept(tmp_path)), "the second run asks nothing"
    run = Run(tmp_path / "run")
    assert {nle.label_source for nle in run.texts()} == {"first_token"}
    assert {max(nle.probabilities) for nle in run.texts()} == {1.0}
    trials = [trial for score in run.score_rows() if score.trial_log for trial in score.trial_log.trials]
    assert {trial.label_source for trial in trials} == {"first_token"}
    assert {score.value for score in run.score_rows() if score.trial_log is not None} == {1.0}
    page = write_report(tmp_path / "run").read_text()
    assert "by the first token" in page
    assert "read from the answer" not in page


def test_a_kept_answer_that_can_no_longer_be_read_is_asked_for_once_more(
    ask: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if an earlier version had read a class where this one reads none: no other answer is paid for again."""
    with FaultServer(default=answers_by_rule()) as server:
        with monkeypatch.context() as earlier:
            earlier.setattr(choice, "read_choice", lambda *_: ChosenLabel("neutral", "parsed"))
            hazy = by_text({"Two men fix a car.": babble})
            with FaultServer(default=hazy) as old:
                assert ask(old.url, methods=["answer_then_explain"]).code == 0
        assert len(old.asked) == len(kept(tmp_path)) == 12
        monkeypatch.setattr(endpoint, "READING", "3")
        for _ in range(2):
            assert ask(server.url, methods=["answer_then_explain"]).code == 0
    assert len(server.asked) == 1
    assert wants_label(server.asked[0].user)
    assert "Two men fix a car." in server.asked[0].user
    assert len(kept(tmp_path)) == 13


def test_first_tokens_are_paid_for_and_explanations_are_not_again(ask: Callable[..., Any], tmp_path: Path) -> None:
    with FaultServer(default=answers_by_rule()) as server:
        assert ask(server.url, methods=["answer_then_explain"]).code == 0
        before = len(server.asked)
        assert ask(server.url, methods=["answer_then_explain"], logprobs=3).code == 0
    later = server.asked[before:]
    assert len(later) == 6
    assert all(wants_label(one.user) and one.body["top_logprobs"] == 3 for one in later)


def test_a_larger_limit_pays_for_the_new_inputs_alone(ask: Callable[..., Any], tmp_path: Path) -> None:
    with FaultServer(default=answers_by_rule()) as server:
        for limit in (1, 3, 6):
            assert ask(server.url, limit=limit).code == 0
    assert len(bodies(server)) == len(set(bodies(server))) == 6 * 4


def test_a_cap_ends_the_run_and_a_larger_one_goes_on(ask: Callable[..., Any], tmp_path: Path) -> None:
    with FaultServer(default=answers_by_rule()) as server:
        line = one_line(ask(server.url, max_requests=7))
        assert "max_requests: all 7 requests" in line
        assert "answers so far are kept" in line
        assert len(server.asked) == len(kept(tmp_path)) == 7
        one_line(ask(server.url, max_requests=7))
        assert len(server.asked) == len(kept(tmp_path)) == 14
        assert ask(server.url, max_requests=10).code == 0
    assert len(bodies(server)) == len(set(bodies(server))) == 24
    run = Run(tmp_path / "run")
    assert run.tables.card["counts"]["skipped"] == 0
    assert run.tables.card["requests"] == 24, "of all runs together"


def test_one_slow_answer_holds_up_one_input_alone(ask: Callable[..., Any], tmp_path: Path) -> None:
    """The server holds one answer back until the other 39 inputs have been asked everything: in rounds it never is."""
    pairs = [(f"The gardener waters rose {number}.", "A woman sleeps.", "neutral") for number in range(40)]
    all_asked, in_time = Event(), list[bool]()

    def fault(handler: Handler, asked: Asked) -> None:
        if sum("rose 7." not in one.user for one in list(server.asked)) == 39 * 4:
            all_asked.set()
        if "rose 7." in asked.user and wants_label(asked.user) and "Reason:" not in asked.user:
            in_time.append(all_asked.wait(40))
        answers_by_rule()(handler, asked)

    with FaultServer(default=fault) as server:
        said = ask(server.url, limit=40, data=pairs, concurrency=32, request_timeout=60.0)
    assert said.code == 0, said.err
    assert in_time == [True]
    assert len(bodies(server)) == len(set(bodies(server))) == len(kept(tmp_path)) == 40 * 4
    assert server.peak <= 32
    assert Run(tmp_path / "run").tables.card["counts"] == {"rows": 160, "done": 160, "failed": 0, "skipped": 0}


def test_a_key_that_is_not_accepted_ends_the_run_and_what_was_under_way_is_kept(
    ask: Callable[..., Any], tmp_path: Path
) -> None:
    refused = Event()

    def fault(handler: Handler, asked: Asked) -> None:
        if "car" in asked.user:
            while server.busy < 3:  # until two others are under way
                sleep(0.01)
            sends(b"{}", status=401)(handler, asked)
            refused.set()
        else:
            refused.wait(20)
            answers_by_rule()(handler, asked)

    with FaultServer(default=fault) as server:
        assert "key_env: the endpoint requires a key" in one_line(ask(server.url))
    assert len(server.asked) == 3
    assert len(kept(tmp_path)) == 2
    assert not [thread for thread in threading.enumerate() if thread.name == THREAD]


def test_passing_trouble_passes(ask: Callable[..., Any], tmp_path: Path) -> None:
    script = [sends(b"", ("Retry-After", "0"), status=429), sends(b"{}", status=500), resets(), resets_mid_body()]
    with FaultServer(script, default=answers_by_rule()) as server:
        assert ask(server.url, retries=5).code == 0
    assert len(server.asked) == Run(tmp_path / "run").tables.card["requests"] == 24 + len(script)
    assert Run(tmp_path / "run").tables.card["counts"] == {"rows": 24, "done": 24, "failed": 0, "skipped": 0}


BAD: dict[str, tuple[Fault, str]] = {
    "rose": (sends(b"<html>not JSON</html>"), "bad_answer"),
    "dog": (says(None, refusal="I would rather not."), "refused"),
    "car": (after(30.0), "timeout"),
    "bread": (sends(b'{"error": "no"}', status=400), "bad_request"),
    "boat": (babble, "unparsed_answer"),
}


def test_bad_answers_are_reasons_and_are_asked_again(ask: Callable[..., Any], tmp_path: Path) -> None:
    metrics = [counterfactual(tmp_path), "bleu"]
    healthy = PAIRS[5][0].partition(" paints")[0]
    faults = {text: fault for text, (fault, _) in BAD.items()}
    with FaultServer(default=by_text(faults)) as server:
        said = ask(server.url, metrics, methods=["answer_then_explain"], retries=0, request_timeout=3.0)
    assert said.code == 0, said.err
    run = Run(tmp_path / "run")
    assert [skip.reason for skip in run.skips()] == [reason for _, reason in BAD.values()]
    assert not any(skip.failed for skip in run.skips())
    assert [nle.instance_id for nle in run.texts()] == ["6"]
    assert run.tables.card["counts"]["skipped"] == 15
    assert "refused 3" in said.out, "they are told by reason"
    assert {row.text for row in kept(tmp_path)} <= {"neutral", "contradiction", *map(rule_of, ("", "crimson"))}
    assert all("who knows" not in row.text for row in kept(tmp_path))
    answered = {body for body in bodies(server) if healthy in body}
    with FaultServer(default=answers_by_rule()) as server:
        assert ask(server.url, metrics, methods=["answer_then_explain"]).code == 0
    assert not answered & set(bodies(server)), "what was answered is not paid again"
    assert len(bodies(server)) == len(set(bodies(server)))
    again = Run(tmp_path / "run")
    assert again.tables.card["counts"] == {"rows": 18, "done": 18, "failed": 0, "skipped": 0}
    assert again.skips() == []
    with FaultServer(default=answers_by_rule()) as server:
        assert ask(server.url, metrics, methods=["answer_then_explain"]).code == 0
    assert server.asked == []


def test_an_answer_that_stays_bad_is_asked_again_and_again(ask: Callable[..., Any], tmp_path: Path) -> None:
    with FaultServer(default=by_text({"wall": says(" ")})) as server:
        for runs in (1, 2, 3):
            assert ask(server.url, methods=["explain_then_answer"]).code == 0
            (skip,) = Run(tmp_path / "run").skips()
            assert (skip.instance_id, skip.reason) == ("6", "empty_answer")
            assert sum("wall" in one.user for one in server.asked) == runs
            assert Run(tmp_path / "run").tables.card["counts"] == {"rows": 12, "done": 10, "failed": 0, "skipped": 2}
    assert len(server.asked) == 10 + 3


def test_edits_without_an_answer_are_asked_again(ask: Callable[..., Any], tmp_path: Path) -> None:
    """A verdict by some of the edits is kept as such, counted, and made anew when the rest can be had."""
    metrics, methods = [counterfactual(tmp_path)], ["answer_then_explain"]
    with FaultServer(default=by_text({" tall ": sends(b"{}", status=418)})) as server:
        assert ask(server.url, metrics, methods=methods, limit=2).code == 0
    before = Run(tmp_path / "run").score_rows()
    assert all(score.value == 1.0 and score.trial_log is not None and score.trial_log.unanswered for score in before)
    with FaultServer(default=answers_by_rule()) as server:
        assert ask(server.url, metrics, methods=methods, limit=2).code == 0
    assert server.asked
    assert all(" tall " in one.user for one in server.asked), "the others are kept"
    later = Run(tmp_path / "run").score_rows()
    assert [score.value for score in later] == [1.0, 1.0]
    assert all(score.trial_log is not None and not score.trial_log.unanswered for score in later)
    assert len(later) == len(before), "a reader sees the newest verdict alone"


def test_an_endpoint_that_only_fails_ends_the_run(ask: Callable[..., Any], tmp_path: Path) -> None:
    with FaultServer(default=sends(b"[]")) as server:
        assert f"no answer to {FAILURES_IN_A_ROW} prompts in a row" in one_line(ask(server.url, concurrency=1))
    assert len(server.asked) == FAILURES_IN_A_ROW
    assert kept(tmp_path) == []
    with FaultServer(default=answers_by_rule()) as server:
        assert ask(server.url).code == 0
    assert Run(tmp_path / "run").tables.card["counts"]["skipped"] == 0


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(status: int, ask: Callable[..., Any], tmp_path: Path) -> None:
    with FaultServer() as elsewhere:
        away = sends(b"", ("Location", f"{elsewhere.url}/chat/completions"), status=status)
        with FaultServer(default=away) as server:
            line = one_line(ask(server.url))
    assert "redirects are not followed" in line
    assert (elsewhere.asked, elsewhere.gets, elsewhere.connections) == ([], 0, 0)
    assert kept(tmp_path) == []


@pytest.mark.parametrize(("status", "said"), [(401, "key_env: the endpoint requires a key"), (404, "url, model:")])
def test_what_befalls_every_request_ends_the_run_at_once(
    status: int, said: str, ask: Callable[..., Any], tmp_path: Path
) -> None:
    with FaultServer(default=sends(b"{}", status=status)) as server:
        assert said in one_line(ask(server.url, concurrency=1))
    assert len(server.asked) == 1


def test_nobody_there(ask: Callable[..., Any]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert f"url: 127.0.0.1:{port} can't be reached" in one_line(ask(f"http://127.0.0.1:{port}/v1", retries=0))


def test_another_address_of_the_same_model_pays_nothing(ask: Callable[..., Any]) -> None:
    with FaultServer(default=answers_by_rule()) as server:
        assert ask(server.url).code == 0
    with FaultServer() as moved:
        said = ask(moved.url, concurrency=1, retries=0)
    assert said.code == 0
    assert moved.asked == []
    assert "use another folder" in " ".join(said.err.split())


def hosts(place: Path) -> list[str]:
    return list(Run(place / "run").tables.card["model"]["hosts"])


def test_answers_of_several_addresses_are_warned_of_as_long_as_they_are_kept(
    ask: Callable[..., Any], tmp_path: Path
) -> None:
    with FaultServer(default=answers_by_rule()) as first, FaultServer(default=answers_by_rule()) as second:
        both = sorted(f"127.0.0.1:{server.port}" for server in (first, second))
        assert "use another folder" not in ask(first.url, limit=2).err
        for limit in (4, 4, 6):
            said = ask(second.url, limit=limit)
            assert f"answers of 127.0.0.1:{first.port} are kept as those of 127.0.0.1:{second.port}" in said.err
            assert hosts(tmp_path) == both
        assert f"answers of 127.0.0.1:{second.port} are kept" in ask(first.url).err
    (line,) = Run(tmp_path / "run").tables.card["warnings"]
    assert "use another folder" in line


def test_a_card_with_the_last_address_alone_is_read(ask: Callable[..., Any], tmp_path: Path) -> None:
    with FaultServer(default=answers_by_rule()) as server, FaultServer(default=answers_by_rule()) as moved:
        assert ask(server.url, limit=2).code == 0
        card = json.loads((tmp_path / "run" / "run.json").read_text())
        del card["model"]["hosts"]
        forget_hashes(tmp_path / "run")
        (tmp_path / "run" / "run.json").write_text(json.dumps(card))
        assert f"answers of 127.0.0.1:{server.port} are kept" in ask(moved.url).err
        assert hosts(tmp_path) == sorted(f"127.0.0.1:{one.port}" for one in (server, moved))


def test_an_address_that_was_never_reached_has_answered_nothing(ask: Callable[..., Any], tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with FaultServer(default=answers_by_rule()) as server:
        for limit in (3, 6):
            one_line(ask(nobody, retries=0))
            said = ask(server.url, limit=limit)
            assert "use another folder" not in said.err
            assert hosts(tmp_path) == [f"127.0.0.1:{server.port}"]


def test_the_preset_by_flags_alone(verax: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WNSEARCHDIR", str(write_words(tmp_path / "wordnet")))
    data = write_data(tmp_path / "pairs.jsonl")
    with FaultServer(default=answers_by_rule()) as server:
        where = ("--endpoint", server.url, "--data", data, "--limit", 2, "--out", "run")
        said = verax("run", "--preset", "nle", "--model", "some/model", *where)
    assert said.code == 0, said.err
    run = Run(tmp_path / "run")
    assert {one.body["model"] for one in server.asked} == {"some/model"}
    assert [one["name"] for one in run.tables.card["methods"]] == ["explain_then_answer", "answer_then_explain"]
    assert [one["name"] for one in run.tables.card["metrics"]] == ["counterfactual_test", "reconstruction_test", "bleu"]
    assert f"--endpoint {server.url}" in run.tables.card["command"]
    assert run.tables.card["counts"]["rows"] == 2 * 2 * 4
    assert run.tables.card["counts"]["failed"] == 0


def test_ctrl_c_keeps_what_came(ask: Callable[..., Any], tmp_path: Path) -> None:
    main_thread, left = get_ident(), iter(range(10, 0, -1))

    def fault(handler: Handler, asked: Asked) -> None:
        if next(left, 0) == 3:
            signal.pthread_kill(main_thread, signal.SIGINT)
        answers_by_rule()(handler, asked)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
    try:
        with FaultServer(default=fault) as server:
            said = ask(server.url, concurrency=1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert said.code == 130
    assert "finished work is stored" in said.err
    paid, came = bodies(server), kept(tmp_path)
    assert len(paid) - 2 <= len(came) <= len(paid) < 24
    with FaultServer(default=answers_by_rule()) as server:
        assert ask(server.url).code == 0
    assert len(server.asked) == 24 - len(came)
