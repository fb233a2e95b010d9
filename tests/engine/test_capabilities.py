"""What components ask of models, and what models provide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from support.rigged import NLI, Rigged
from verax.engine.protocols import Method, check_capabilities, kinds_of, requirements
from verax.methods.answering import MTRe, STRa
from verax.methods.attention import AttentionAttribution
from verax.methods.gradients import Saliency
from verax.methods.louvain import Louvain
from verax.methods.occlusion import LeaveOneOut
from verax.metrics.faithfulness.erasure import Comprehensiveness
from verax.metrics.faithfulness.in_distribution import InDistribution
from verax.metrics.free_text.bleu import Bleu
from verax.models.black_box import BlackBox
from verax.models.classifier import Classifier
from verax.models.self_explainer import SelfExplainer
from verax.models.subject import Subject
from verax.models.wording import shipped_wording
from verax.types import Instance, Passes, UserError

BOX = BlackBox(lambda texts: [[0.5, 0.5]] * len(texts), labels=("a", "b"), name="box", version="1")


@dataclass(frozen=True)
class Undeclared:
    """A plug-in that says only how many passes it needs."""

    backward: int = 1

    kind: ClassVar[str] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "a test"

    def passes(self, n: int) -> Passes:
        return Passes(1, self.backward * n)

    def __call__(self, x: Subject) -> Any:
        raise NotImplementedError


def text_model(*, likelihoods: bool) -> SelfExplainer:
    generator = Rigged()
    generator.gives_likelihoods = likelihoods
    return SelfExplainer("spoken", generator, generator, NLI, shipped_wording("trained", NLI, 2), "mt_re")


def test_requirements_are_declared_or_follow_from_kind_and_passes() -> None:
    assert requirements(LeaveOneOut()) == requirements(Comprehensiveness()) == {"outputs"}
    assert requirements(Saliency()) == {"outputs", "gradients"}
    assert requirements(MTRe()) == requirements(Bleu()) == {"text"}
    assert requirements(STRa()) == {"text", "likelihood"}
    assert requirements(Undeclared()) == {"outputs", "gradients"}
    assert requirements(Undeclared(0)) == {"outputs"}
    assert requirements(Louvain(AttentionAttribution())) == {"outputs", "attention_gradients"}
    assert isinstance(MTRe(), Method)
    assert kinds_of(Bleu()) == {"text"}
    assert kinds_of(Comprehensiveness()) == {"token", "token_interaction", "span_interaction"}


def test_models_say_what_they_can_be_asked(classifier: Callable[..., Classifier]) -> None:
    encoded = {"outputs", "hidden", "embeddings", "gradients", "attention", "attention_gradients"}
    assert classifier("bert").capabilities == encoded
    assert BOX.capabilities == {"outputs"}
    assert text_model(likelihoods=True).capabilities == {"text", "likelihood"}
    assert text_model(likelihoods=False).capabilities == {"text"}


@pytest.mark.parametrize(
    ("component", "sentence"),
    [
        (Saliency(), "m needs gradients; the model 'box' provides only class outputs"),
        (Undeclared(), "m needs gradients; the model 'box' provides only class outputs"),
        (InDistribution(), "m needs hidden states; the model 'box' provides only class outputs"),
        (STRa(), "m needs free text and likelihoods of text; the model 'box' provides only class outputs"),
        (
            Louvain(AttentionAttribution()),
            "m needs gradients of attention maps; the model 'box' provides only class outputs",
        ),
    ],
)
def test_a_mismatch_is_one_sentence(component: Any, sentence: str) -> None:
    assert check_capabilities(component, BOX, "m") == [sentence]


def test_what_fits_is_not_mentioned(classifier: Callable[..., Classifier]) -> None:
    for component in (Saliency(), Louvain(AttentionAttribution()), InDistribution(), Undeclared()):
        assert check_capabilities(component, classifier("bert")) == []
    assert check_capabilities(MTRe(), text_model(likelihoods=False)) == []
    assert check_capabilities(LeaveOneOut(), text_model(likelihoods=True), "leave_one_out") == [
        "leave_one_out needs class outputs; the model 'spoken' provides only free text, likelihoods of text"
    ]


def test_an_input_of_a_model_that_reads_only_text_is_not_encoded() -> None:
    from verax.data.text import split_words

    x = Subject(Instance("x", (split_words("a boat"),)), text_model(likelihoods=True))
    with pytest.raises(UserError, match="the model 'spoken' answers questions about text only"):
        x.n_units  # noqa: B018 - raises
