"""What many tests share: tiny models on disk, and a few inputs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from verax.data.text import split_words
from verax.engine.batch_size import BatchSize
from verax.metrics.free_text.wordnet import DEBIAN, VARIABLE
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.run.cost import estimate_cost
from verax.types import Human, Instance

pytest_plugins = ["support.browser", "support.cli", "support.plug_ins", "support.reading"]
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# no test is timed: a busy machine must not make one fail
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
LABELS = ("yes", "maybe", "no")

PAIRS = (
    ("The small red boat sails.", "Nobody is watching the boat"),
    ("a tall woman in a green coat sells warm bread, and honey at the old market", "children never run"),
    ("das kleine Haus", "यह छोटा घर है"),
    ("boat", "lake"),
    ("The wind is not strong; two gulls follow the boat", "a tall woman is watching the quiet lake and the market"),
)


@pytest.fixture(scope="session", autouse=True)
def some_wordnet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A few words where no WordNet is installed: no test hangs on what a machine has."""
    if VARIABLE in os.environ or Path(DEBIAN).exists():
        yield
        return
    from support.text_runs import write_words

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(write_words(tmp_path_factory.mktemp("wordnet"))))
        yield


@pytest.fixture(scope="session", autouse=True)
def fixed_batch_sizes() -> Iterator[None]:
    """No batch or matrix product is chosen by its time: results depend on no clock, not even in their last bits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("verax.engine.engine.BatchSize", lambda tokens, **_: BatchSize(tokens, settled=True))
        patch.setattr("verax.models.packed._packing_pays", lambda _: True)
        yield


@pytest.fixture(scope="session", autouse=True)
def short_samples() -> Iterator[None]:
    """Estimates of cost time a tenth of a second of a run, not four seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(estimate_cost.__kwdefaults__, "seconds", 0.1)
        patch.setattr("verax.run.audit.SECONDS", 0.1)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_proxy() -> Iterator[None]:
    """No proxy of this machine: the servers of the tests are on loopback."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
            patch.delenv(name, raising=False)
            patch.delenv(name.upper(), raising=False)
        yield


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny checkpoint by architecture, made once."""
    from support import tiny  # torch is for those tests alone that need a model

    root = tmp_path_factory.mktemp("checkpoints")

    def folder(architecture: str) -> Path:
        path = root / architecture
        return path if path.exists() else tiny.save(architecture, path)

    return folder


@pytest.fixture(scope="session")
def classifier(checkpoint: Callable[[str], Path]) -> Callable[..., Classifier]:
    """A tiny classifier by architecture and dtype, loaded once."""
    loaded: dict[tuple[str, str], Classifier] = {}

    def load(architecture: str, dtype: str = "float64") -> Classifier:
        key = (architecture, dtype)
        if key not in loaded:
            loaded[key] = load_model(checkpoint(architecture), dtype=dtype)  # type: ignore[arg-type]
        return loaded[key]

    return load


@pytest.fixture(scope="session")
def instances() -> list[Instance]:
    """Pairs of different lengths and scripts, with a gold word in each part."""
    return [
        Instance(
            f"pair {i}",
            (split_words(premise), split_words(hypothesis)),
            LABELS[i % len(LABELS)],
            human=Human(words=((0,), (0,))),
        )
        for i, (premise, hypothesis) in enumerate(PAIRS)
    ]
