"""Agents of simulatability: what they learn from, what they find out, and that a kill costs them nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from rich.console import Console
from transformers.utils import logging

from support import hidden_place, tiny
from support.killed import deaths_of
from verax.api import Run, evaluate, open_run
from verax.data.text import split_words
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.run.execute_run import execute_run
from verax.run.prepare import prepare
from verax.run.providers.agents import AgentsProvider, Elsewhere, Split, train
from verax.run.spec import parse_spec
from verax.stats.simulation import simulated_f1
from verax.train.agent import Agent, AgentData, AgentInput, find_start
from verax.train.loop import FineTuning
from verax.train.resume import Resume, read_weights
from verax.types import Attribution, Estimate, Kind, Passes, Score, Undefined, UserError

PAIR = hidden_place.DecisivePair()
QUICK = {"insertion": "text", "seeds": 1, "epochs": 1, "learning_rate": 5e-3}
KILLED = 9


@pytest.fixture(scope="session")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint whose decisive word is hidden."""
    logging.disable_progress_bar()
    return hidden_place.save_model(tmp_path_factory.mktemp("hidden") / "model")


@pytest.fixture
def run(hidden: Path, tmp_path: Path) -> Callable[..., Run]:
    """A run on the model whose decisive word is hidden."""

    def carried_out(n: int = 30, out: str = "run", **changes: Any) -> Run:
        given: dict[str, Any] = {
            "data": hidden_place.texts(n),
            "methods": [PAIR],
            "metrics": [{"simulatability": QUICK}],
        }
        given |= {"model": load_model(hidden)} | changes
        return evaluate(given.pop("model"), given.pop("data"), **given, out=tmp_path / out, progress=False)

    return carried_out


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Agent]:
    """The agents that are trained, as they come."""
    agents: list[Agent] = []
    train = Agent.train

    def noted(self: Agent, *arguments: Any) -> None:
        agents.append(self)
        train(self, *arguments)

    monkeypatch.setattr(Agent, "train", noted)
    return agents


def rows(run: Run, metric: str = "simulatability") -> dict[tuple[str, str], Score]:
    return {(s.method, s.instance_id): s for s in run.score_rows() if s.metric.startswith(metric)}


def of_method(run: Run, method: str) -> tuple[Estimate, Estimate]:
    """SF and RSF of a method."""
    measured = [score for score in rows(run).values() if score.method == method and score.value is not None]
    model = np.array([score.series["model"][0] for score in measured], int)
    agents = np.array([[score.series["with"], score.series["without"]] for score in measured], int)
    return simulated_f1(model, agents)


def test_the_model_of_these_tests_is_decided_by_the_word_that_they_say(hidden: Path) -> None:
    model, data = load_model(hidden), hidden_place.texts(50)
    for instance in data.instances:
        x = Subject(instance, model)
        (logits,) = model.logits([_row(x)])
        assert model.labels[int(logits.argmax())] == instance.parts[0].words[hidden_place.decisive(instance)]


def _row(x: Subject) -> Any:
    from verax.models.encoding import PerturbedInput

    return PerturbedInput(x.encoding, x.state)


def test_decisive_words_let_agents_foresee_what_random_words_do_not(run: Callable[..., Run]) -> None:
    """144 texts to learn from are too few to find out the hidden order, and plenty to read off a word that is shown."""
    recipe = {"insertion": "text", "seeds": 2, "epochs": 12, "learning_rate": 5e-3}
    found = run(240, methods=[PAIR, "leave_one_out"], metrics=[{"simulatability": recipe}])
    for method in ("DecisivePair", "leave_one_out"):
        sf, rsf = of_method(found, method)
        assert sf.value > 0.95
        assert rsf.low is not None
        assert rsf.low > 0.2
    drawn = [score for score in rows(found).values() if score.method == "random" and score.value is not None]
    assert (len(drawn), {len(score.series["with"]) for score in drawn}) == (48, {2})
    _, rsf = of_method(found, "random")
    assert rsf.low is not None
    assert rsf.high is not None
    assert rsf.low <= 0 <= rsf.high < 0.2
    value = {row["method"]: row["mean"] for row in found.study("leaderboard").records()}
    assert (value["DecisivePair"] or 0) > 0.2 > (value["random"] or 0)


def test_no_gold_label_is_seen(run: Callable[..., Run], trained: list[Agent]) -> None:
    found = run(60, out="a", data=hidden_place.texts(60, labels=("hot",)))
    first = len(trained)
    other = run(60, out="b", data=hidden_place.texts(60, labels=("cold", "nonsense", "hot")))
    assert [agent.key for agent in trained[:first]] == [agent.key for agent in trained[first:]]
    assert {where: score.series for where, score in rows(found).items()} == {
        where: score.series for where, score in rows(other).items()
    }
    predictions = {row.instance_id: row.label for row in found.predictions()}
    by_text = {tuple(p.raw for p in i.parts): i.id for i in found.inputs()}
    plain = next(agent for agent in trained if agent.data.train[0].texts in by_text)
    for part in plain.data:
        assert all(one.predicted == predictions[by_text[one.texts]] for one in part)


def test_agents_share_their_parts_and_those_without_explanations_are_trained_once(
    run: Callable[..., Run], trained: list[Agent]
) -> None:
    two = {**QUICK, "seeds": 2}
    found = run(40, metrics=[{"simulatability": two}, {"simulatability": {**two, "insertion": "symbol"}}])
    # random and the pair, in two insertions, and none; two seeds each
    assert len(trained) == len({agent.key for agent in trained}) == 2 * (2 * 2 + 1)
    assert {tuple(map(len, agent.data)) for agent in trained} == {(24, 8, 8)}
    named = {tuple(tuple(one.predicted for one in part) for part in agent.data) for agent in trained}
    assert len(named) == 1
    scores = [score for score in found.score_rows() if score.value is not None]
    held_out = {score.instance_id for score in scores}
    assert len(held_out) == 8
    assert len(scores) == 8 * 2 * 2
    assert {s.reason for s in found.score_rows() if s.instance_id not in held_out} == {"not_held_out"}
    counts = found.tables.card["counts"]
    assert counts["rows"] == counts["done"] + counts["skipped"] == 40 * (1 + 2 + 2 * 2)
    starts = {facts["start"] for facts in found.tables.card["agents"].values()}
    assert starts == {"weights drawn anew in the architecture of the model"}
    for agent in trained:
        assert agent.answers() is not None
    assert not list((found.folder / "agents").glob("*.resume"))


def test_what_is_there_is_not_trained_again(run: Callable[..., Run], trained: list[Agent]) -> None:
    first = run()
    assert len(trained) == 3
    assert rows(run()) == rows(first)
    assert len(trained) == 3
    run(methods=[PAIR, "leave_one_out"])
    assert len(trained) == 4, "the agent without explanations is there already"
    run(metrics=[{"simulatability": {**QUICK, "epochs": 2}}])
    assert len(trained) == 7


def test_an_instance_stays_in_its_part_whoever_else_is_there() -> None:
    ids = [f"i{n}" for n in range(100)]
    parts = Split.of(ids, ids, 0)
    assert [len(part) for part in parts] == [60, 20, 20]
    assert sorted(one for part in parts for one in part) == sorted(ids)
    assert parts.taught[:3] == ("i47", "i73", "i66"), "whoever splits again must get the same"
    assert Split.of(ids[::-1], ids, 0) == parts
    assert Split.of(ids, ids, 1) != parts
    some = Split.of(ids, set(ids[:50]), 0)
    assert all(set(few) <= set(many) for few, many in zip(some, parts, strict=True))


@dataclass(frozen=True)
class Sparse:
    """Explains one text in `every`, and says why not else."""

    every: int = 2

    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "made for a test"

    def passes(self, n: int) -> Passes:
        return Passes(0, 0)

    def __call__(self, x: Subject) -> Attribution:
        if int(x.instance.id.split()[1]) % self.every:
            raise Undefined("shy", "not this one")
        import numpy as np

        return Attribution(x.units, np.arange(float(x.n_units)))


def test_a_method_without_some_explanations_is_measured_on_the_others(
    run: Callable[..., Run], trained: list[Agent]
) -> None:
    found = run(100, methods=[PAIR, Sparse(), Sparse(every=20)])
    some = [score for (method, _), score in rows(found).items() if method == "Sparse"]
    assert sum(score.reason == "shy" for score in some) == 50
    held_out = {one for (method, one), score in rows(found).items() if method == "random" and score.value is not None}
    measured = {score.instance_id for score in some if score.value is not None}
    assert measured == {one for one in held_out if int(one.split()[1]) % 2 == 0}
    sizes = [sum(map(len, agent.data)) for agent in trained]
    assert sorted(sizes) == [50, 50, 100, 100, 100], "it has an agent without explanations of its own"
    few = [score for (method, _), score in rows(found).items() if method == "Sparse(every=20)"]
    assert {score.reason for score in few} == {"shy", "too_few_instances"}
    assert any("where each needs at least 5" in score.detail for score in few)


def test_an_input_that_is_too_long_with_its_explanation_is_left_out(run: Callable[..., Run]) -> None:
    """48 tokens are read: 40 words, and 3 marks around them, but not 4 words more with their 2 separators."""
    data = hidden_place.texts(60)
    first = data.instances[0]
    long = replace(first, parts=(first.parts[0], split_words(" ".join(["boat"] * 27))))
    found = run(data=replace(data, instances=(long, *data.instances[1:])))
    reasons = {s.method: (s.reason, s.detail) for s in found.score_rows() if s.instance_id == first.id}
    assert reasons["DecisivePair"][0] == "too_long"
    assert "49 tokens with the inserted explanation, the agents read 48" in reasons["DecisivePair"][1]


def test_killed_at_any_point_of_the_training_the_run_ends_as_if_nothing_had_been(tmp_path: Path) -> None:
    """Kill -9 at steps of the optimiser and at changes of files, before or after them; three agents of three epochs."""
    deaths = [("_step", 2, "before"), ("_step", 4, "after"), ("replace_by", 1, "before"), ("replace_by", 2, "after")]
    deaths += [("_step", 14, "before"), ("write_json", 1, "before"), ("write_json", 2, "after")]
    program = Path(__file__).with_name("dying_agents.py")
    killed, whole = deaths_of(program, str(tmp_path), json.dumps(deaths))
    assert (whole["ended"], whole["again"], whole["before"], whole["after"]) == (0, 0, 9, 0)
    expected = rows(Run(tmp_path / f"run-{len(deaths)}"))
    assert sum(score.value is not None for score in expected.values()) == 2 * 6
    for number, one in enumerate(killed):
        assert (one["ended"], one["again"]) == (KILLED, 0), one
        assert one["before"] + one["after"] in {9, 10}, one
        folder = tmp_path / f"run-{number}"
        assert rows(Run(folder)) == expected, one
        assert sorted(path.suffix for path in (folder / "agents").iterdir()) == [".json"] * 3, one


def test_a_model_that_is_a_function_is_refused_before_anything_is_computed(
    run: Callable[..., Run], tmp_path: Path
) -> None:
    asked: list[int] = []

    def answer(texts: Any) -> Any:
        asked.append(len(texts))
        return [[1 / len(hidden_place.LABELS)] * len(hidden_place.LABELS)] * len(texts)

    model = load_model(answer, labels=hidden_place.LABELS)
    with pytest.raises(UserError, match="is a callable: give a checkpoint"):
        run(model=model)
    assert sum(asked) <= 1, "by the check of its answers alone"
    assert not (tmp_path / "run").exists()


def test_too_few_instances_are_refused_before_anything_is_asked(run: Callable[..., Run], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="got 24, at least 25 are needed"):
        run(24)
    assert not (tmp_path / "run").exists()


def test_a_model_that_always_says_the_same_can_not_be_learned_from(run: Callable[..., Run]) -> None:
    data = hidden_place.texts(120)
    hot = [one for one in data.instances if one.parts[0].words[hidden_place.decisive(one)] == "hot"]
    made = run(data=replace(data, instances=tuple(hot[:30])))
    reasons = {(score.reason, score.detail) for score in made.score_rows()}
    assert {reason for reason, _ in reasons} == {"too_few_instances"}
    assert all("names 'hot' for all" in detail and "nothing to learn" in detail for _, detail in reasons)


def test_a_class_that_only_the_held_out_have_is_refused() -> None:
    ids = [f"i{n}" for n in range(30)]
    parts = Split.of(ids, ids, 0)
    named = {one: ("yes", "no")[place % 2] for place, one in enumerate(parts.taught + parts.chosen_on)}
    named |= dict.fromkeys(parts.held_out, "yes")
    assert parts.problem(named) is None
    complaint = parts.problem({**named, parts.held_out[0]: "maybe"})
    assert complaint is not None
    assert "'maybe' for none of the 18 that agents learn from, of 30 in all" in complaint


def test_a_base_is_used_and_never_the_explained_model(
    run: Callable[..., Run], hidden: Path, tmp_path: Path, trained: list[Agent]
) -> None:
    with pytest.raises(UserError, match=r"base: .* is the explained model itself"):
        run(metrics=[{"simulatability": {**QUICK, "base": str(hidden)}}])
    with pytest.raises(UserError, match=r"simulatability: base: .* no folder '/nowhere/at all'"):
        run(metrics=[{"simulatability": {**QUICK, "base": "/nowhere/at all"}}])
    base = tiny.save("bert", tmp_path / "base")
    found = run(metrics=[{"simulatability": {**QUICK, "base": str(base)}}])
    assert {agent.start.folder for agent in trained} == {base}
    assert [facts["start"] for facts in found.tables.card["agents"].values()] == [str(base)]


def test_agents_start_from_what_the_model_was_made_from_while_it_is_there(tmp_path: Path) -> None:
    base, model = tiny.save("bert", tmp_path / "base"), tiny.save("bert", tmp_path / "model", seed=1)
    fresh = find_start(load_model(model), None)
    assert fresh.name is None
    (model / "training.json").write_text(json.dumps({"base": str(base)}))
    start = find_start(load_model(model), None)
    assert (start.folder, start.name) == (base, str(base))
    assert start.key != fresh.key
    for file in base.iterdir():
        file.unlink()
    assert find_start(load_model(model), None) == fresh
    (model / "training.json").write_text("[]")
    assert find_start(load_model(model), None) == fresh


def test_fresh_weights_are_drawn_by_the_seed_and_not_those_of_the_model(hidden: Path) -> None:
    start = find_start(load_model(hidden), None)
    one, again, other = (start.load(seed)[0].state_dict() for seed in (0, 0, 1))
    explained = load_model(hidden)._model.state_dict()  # type: ignore[attr-defined]
    assert all(bool((one[name] == again[name]).all()) for name in one)
    name = "bert.encoder.layer.0.attention.self.value.weight"
    assert not bool((one[name] == other[name]).all())
    assert not bool((one[name] == explained[name]).any())


@pytest.mark.parametrize("architecture", [name for name in tiny.ARCHITECTURES if name != "gpt2"])
def test_agents_of_every_architecture_learn(
    architecture: str, checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    start = find_start(load_model(checkpoint(architecture)), None)
    shown = tuple(
        AgentInput((f"the << {w} >> [#1] boat", "sails"), start.labels[i % 3]) for i, w in enumerate("abcdef")
    )
    epochs: list[int] = []
    agent = Agent(start, FineTuning(epochs=2, batch_size=4), AgentData(shown, shown, shown[:5]), tmp_path / "agents")
    assert agent.answers() is None
    agent.train(epochs.append)
    assert epochs == [1, 2]
    named = agent.answers()
    assert named is not None
    assert len(named) == 5
    assert set(named) <= {0, 1, 2}


def test_damaged_answers_are_told(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    agent = Agent(find_start(load_model(checkpoint("bert")), None), FineTuning(), AgentData((), (), ()), tmp_path)
    (tmp_path / f"{agent.key}.json").write_text("{")
    with pytest.raises(UserError, match=r"is damaged: "):
        agent.answers()


def test_a_model_in_memory_needs_a_base(run: Callable[..., Run]) -> None:
    model, tokenizer = tiny.build("bert")
    with pytest.raises(UserError, match="simulatability: base: the base of a model in memory is unknown"):
        run(model=load_model(model, tokenizer=tokenizer), data=hidden_place.texts(30, labels=tiny.LABELS))


def test_what_can_not_be_padded_is_refused(run: Callable[..., Run], classifier: Callable[..., Classifier]) -> None:
    with pytest.raises(UserError, match="has no padding token"):
        run(model=classifier("gpt2", "float32"), data=hidden_place.texts(30, labels=tiny.LABELS))


def test_the_cost_is_told_before_it_starts(hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    said = io.StringIO()
    spec = parse_spec({"model": "m", "data": "d", "methods": ["random"], "metrics": [{"simulatability": QUICK}]})
    prepared = prepare(spec, load_model(hidden), hidden_place.texts(30), methods=[PAIR])
    (line,) = [line for provider in prepared.providers if (line := provider.announcement()) is not None]
    assert line.startswith("then at most 3 agents are trained")
    monkeypatch.setattr(Agent, "train", stop)
    with pytest.raises(KeyboardInterrupt):
        execute_run(prepared, tmp_path / "run", command="", console=Console(file=said, width=200))
    told = "3 agents to train, 3 epochs and 54 instances in all; they start from weights drawn anew"
    assert told in said.getvalue()


def test_agents_that_collapse_to_one_class_are_warned_of(run: Callable[..., Run]) -> None:
    """A learning rate of almost nothing leaves fresh agents at one class; with a good one none is named."""
    found = run(40, metrics=[{"simulatability": QUICK | {"learning_rate": 1e-9}}])
    series = [score.series for score in found.score_rows() if score.value is not None and score.method == "random"]
    assert len({one["model"] for one in series}) == 2
    assert len({one["without"] for one in series}) == 1, "the agents of this test collapse"
    lines = [line for line in found.manifest.warnings if "collapsed to one class" in line]
    assert any("1 of 1 agents without explanations collapsed" in line for line in lines)
    assert len(lines) == len(set(lines)) <= 3
    learned = run(240, out="good", metrics=[{"simulatability": QUICK | {"epochs": 12}}], methods=[PAIR])
    assert not any("that see DecisivePair" in line for line in learned.manifest.warnings)


def test_states_of_agents_are_small_and_only_the_latest(
    run: Callable[..., Run], trained: list[Agent], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the last epoch no optimiser is stored; states of other agents and of finished ones are removed.

    A kill may come after the answers of an agent were stored, and before its state was removed.
    """
    sizes: list[tuple[int, bool]] = []
    save = Resume.save

    def noted(self: Resume, model: Any, optimiser: Any, facts: Any) -> None:
        save(self, model, optimiser, facts)
        names = list(read_weights(self.folder / "epoch.safetensors")[0])
        sizes.append((facts["epoch"], any(name.startswith("optimiser.") for name in names)))
        others = {folder.name for folder in self.folder.parent.glob("*.resume")}
        assert others == {self.folder.name}

    monkeypatch.setattr(Resume, "save", noted)
    run(30, metrics=["complexity"])
    stale = tmp_path / "run" / "agents" / f"{'0' * 64}.resume"
    stale.mkdir(parents=True)
    (stale / "epoch.safetensors").write_bytes(b"old")
    run(30, metrics=[{"simulatability": QUICK | {"epochs": 2}}])
    assert set(sizes) == {(0, True), (1, False)}
    assert not list((tmp_path / "run" / "agents").glob("*.resume"))
    left = tmp_path / "run" / "agents" / f"{trained[-1].key}.resume"
    left.mkdir()
    (left / "epoch.safetensors").write_bytes(b"old")
    train([(trained[-1], "finished")], Console(quiet=True))
    assert not left.exists()


def test_the_key_of_a_score_names_the_lessons() -> None:
    provider: Any = AgentsProvider.__new__(AgentsProvider)
    metric: Any = SimpleNamespace(label="simulatability")
    provider.starts = {metric.label: SimpleNamespace(key="start")}
    keys = set()
    for lessons in ({}, {metric.label: SimpleNamespace(key="a")}, {metric.label: SimpleNamespace(key="b")}):
        provider._elsewhere = lessons
        keys.add(provider.key(metric))
    assert len(keys) == 3


@pytest.mark.parametrize("link", ["agents", "agents/x.resume"])
def test_nothing_outside_a_received_run_is_written_or_removed(
    run: Callable[..., Run], tmp_path: Path, link: str
) -> None:
    run(30, metrics=["complexity"])
    (tmp_path / "mine" / "y.resume").mkdir(parents=True)
    (tmp_path / "mine" / "notes").write_text("precious")
    (tmp_path / "mine" / "y.resume" / "notes").write_text("precious")
    (tmp_path / "run" / link).parent.mkdir(exist_ok=True)
    (tmp_path / "run" / link).symlink_to(tmp_path / "mine")
    with pytest.raises(UserError, match="is a symbolic link"):
        run(30, metrics=[{"simulatability": QUICK}])
    assert len(list((tmp_path / "mine").rglob("*"))) == 3


def test_a_link_in_place_of_the_answers_of_agents_is_set_aside(run: Callable[..., Run], tmp_path: Path) -> None:
    run(30, metrics=["complexity"])
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "run" / "agents").mkdir()
    (tmp_path / "run" / "agents" / "x.json").symlink_to(tmp_path / "mine")
    run(30, metrics=[{"simulatability": QUICK}])
    assert not (tmp_path / "run" / "agents" / "x.json").is_symlink()
    assert (tmp_path / "mine").read_text() == "precious"


def test_agents_learn_from_another_split_and_all_inputs_are_held_out(
    run: Callable[..., Run], trained: list[Agent], tmp_path: Path
) -> None:
    """Fewer inputs than could be split suffice then; texts that are held out are no lessons."""
    everything = hidden_place.texts(240)
    first = replace(everything, instances=everything.instances[:200])
    rest = replace(everything, instances=everything.instances[190:210])
    run(out="first", data=first, metrics=["complexity"])
    recipe = QUICK | {"epochs": 12, "lessons": str(tmp_path / "first")}
    found = run(out="rest", data=rest, metrics=[{"simulatability": recipe}])
    scores = [score for score in rows(found).values() if score.method == "DecisivePair"]
    assert [score.reason for score in scores] == [None] * 20
    sf, _ = of_method(found, "DecisivePair")
    assert sf.value > 0.9
    agent = trained[0]
    assert tuple(map(len, agent.data)) == (142, 48, 20)
    shown = [{one.texts for one in part} for part in agent.data]
    assert not shown[2] & (shown[0] | shown[1])
    known = Elsewhere(open_run(tmp_path / "first")).key
    assert known == Elsewhere(open_run(tmp_path / "first")).key
    run(out="first", data=rest, metrics=["complexity"])
    assert known != Elsewhere(open_run(tmp_path / "first")).key, "scores depend on the lessons in the folder"
    other = hidden_place.save_model(tmp_path / "other")
    (other / "config.json").write_text((other / "config.json").read_text().replace('"hot"', '"warm"'))
    with pytest.raises(UserError, match=r"lessons: .* explains another model"):
        run(out="third", data=rest, model=load_model(other), metrics=[{"simulatability": recipe}])
    with pytest.raises(UserError, match="has no explanations by saliency"):
        run(out="fourth", data=rest, methods=[PAIR, "saliency"], metrics=[{"simulatability": recipe}])
