"""Figures of a self-explaining model: how it is asked, and what is counted."""

from __future__ import annotations

from support.rigged import NLI, Rigged, instance
from verax.engine.batch_size import ON_PROCESSOR
from verax.engine.questions.text import GENERATING
from verax.jobs.training.self_explainer import measure_self_explainer
from verax.models.generator import CandidatesPass, GeneratePass, LikelihoodPass
from verax.models.self_explainer import SelfExplainer
from verax.models.wording import shipped_wording
from verax.types import Dataset, Instance

TOKENS = 256


class Long(Rigged):
    """Every pass takes up many tokens."""

    def length(self, asked: GeneratePass | LikelihoodPass | CandidatesPass) -> int:
        return TOKENS


def _data(*explained: str) -> Dataset:
    inputs = [instance("a dog runs", f"a cat {n}", name=str(n), explained=explained) for n in range(16)]
    gold = (Instance(one.id, one.parts, NLI[n % 2], human=one.human) for n, one in enumerate(inputs))
    return Dataset("pairs", tuple(gold), NLI)


def _asked(model: Rigged) -> SelfExplainer:
    return SelfExplainer("rigged", model, model, NLI, shipped_wording("trained", NLI, 2), "mt_re")


def test_batches_are_as_large_as_in_a_run() -> None:
    model = Long(answers=lambda _: NLI[0])
    measure_self_explainer(_asked(model), _data(), 16)
    rows = GENERATING * ON_PROCESSOR // TOKENS
    assert [(what, len(prompts)) for what, prompts in model.calls] == [("likelihoods", rows), ("generate", rows)]


def test_explanations_are_compared_with_those_of_people() -> None:
    model = Rigged(answers=lambda _: NLI[0], writes=lambda _: "a dog is no cat")
    found = measure_self_explainer(_asked(model), _data("a dog is no cat", "dogs run"), 10)
    assert (found.accuracy, found.inputs, found.answered, found.explained) == (0.5, 10, 10, 10)
    assert found.bleu is not None
    assert abs(found.bleu - 100) < 1e-9
    assert measure_self_explainer(_asked(model), _data(), 10).bleu is None
