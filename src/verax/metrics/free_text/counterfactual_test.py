"""The counterfactual test: does an explanation mention the words that changed the prediction?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, NamedTuple

from verax.engine.protocols import Answer, AnsweringMethod, RunFacts
from verax.engine.questions import QuestionGenerator, split_results, together
from verax.metrics.free_text.editor import ChanceEditor, Editor, ParticularEditor, Proposals
from verax.metrics.free_text.insertion import Insertion
from verax.metrics.free_text.linguistics import PIPELINE, linguistics
from verax.metrics.free_text.mention import Match, WordMatch
from verax.metrics.free_text.noise import random_insertions
from verax.metrics.free_text.random_editor import RandomEditor
from verax.metrics.free_text.semantic import Explained, SemanticMatch
from verax.models.classifier import Encoder
from verax.models.subject import Subject
from verax.stats.drawing import spread
from verax.types import Instance, Kind, Measured, Nle, Passes, Trial, TrialLog, Undefined, UserError

PAIR = 2


class _Edit(NamedTuple):
    """An edit to try, and the classes that it was proposed for."""

    kind: Literal["edit", "noise"]
    insertion: Insertion
    aims: tuple[str, ...]


class _Tried(NamedTuple):
    """The model's answer to an edit, and the edited input."""

    trial: Trial
    insertion: Insertion
    edited: Instance


class _Unexplained(Undefined):
    """An edit changes the prediction but has no explanation: a counterfactual that cannot be judged."""


@dataclass(frozen=True)
class CounterfactualTest:
    """1 if the explanation of every edit that changes the prediction mentions the edit, 0 if that of one does not.

    A test of consistency, not a proof of faithfulness. Every edit that leads to another class than the original one
    counts, whichever class it was made for. There is no value without such an edit, or if one of them has no
    explanation and all others are mentioned. In addition, random words (from all inputs, or drawn by the editor if it
    is a random one) are inserted and explained whatever is predicted: they estimate how often an edit is mentioned at
    random.

    Args:
        editor: proposes edits.
        match: what counts as mentioned, see `WordMatch`.
        noise: number of random edits.
        semantic: a match by meaning, which is recorded next to that of words and does not affect the value.
        seed: of the random words.
        parts: parts that may be edited, all by default.
        pipeline: name of the spaCy pipeline for words and lemmas.
    """

    editor: Editor = field(default_factory=RandomEditor)
    match: Match = "word"
    noise: int = 4
    semantic: SemanticMatch | None = None
    seed: int = 0
    parts: tuple[int, ...] | None = None
    pipeline: str = PIPELINE

    name: ClassVar[str] = "counterfactual_test"
    display: ClassVar[str] = "Counterfactual test"
    summary: ClassVar[str] = "Whether explanations mention inserted words that flip the prediction; a consistency test."
    cost: ClassVar[str] = "positions x candidates x parts (x other classes) answers, a text per flip"
    measures: ClassVar[str] = "text"
    kinds: ClassVar[frozenset[Kind]] = frozenset({"text"})
    version: ClassVar[int] = 2
    reference: ClassVar[str] = "Atanasova et al. 2023, Section 2.1"
    higher_is_better: ClassVar[bool] = True
    ranked: ClassVar[bool] = False
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        for name in ("noise", "seed"):
            if getattr(self, name) < 0:
                raise UserError(f"counterfactual test: {name} must be 0 or more, got {getattr(self, name)}")
        if self.parts is not None and (not self.parts or min(self.parts) < 0):
            raise UserError(f"counterfactual test: parts must be numbers from 0 on, got {list(self.parts)}")
        WordMatch(self.match)

    @property
    def needs(self) -> frozenset[str]:
        """The words of all inputs are needed only if random edits are drawn from them."""
        drawn = self.noise and not isinstance(self.editor, ChanceEditor)
        return frozenset({"setup", "encoder"} | ({"vocabulary"} if drawn else set()))

    @property
    def provenance(self) -> Mapping[str, str]:
        """Everything that determines edits and mentions besides the parameters."""
        parts = {"editor": self.editor.provenance, "match": WordMatch(self.match, self.pipeline).provenance}
        if self.semantic is not None:
            parts["semantic"] = self.semantic.provenance
        return {f"{part} {name}": value for part, facts in parts.items() for name, value in facts.items()}

    def passes(self, n: int) -> Passes:
        """Passes of text generators are not counted in advance."""
        return Passes(0, 0)

    def max_inputs(self, parts: int, labels: int) -> int:
        """Each edit, random ones included, is a new input."""
        return self.editor.max_inputs(parts if self.parts is None else len(self.parts), labels) + self.noise

    def __call__(
        self,
        x: Subject,
        nle: Nle,
        *,
        setup: AnsweringMethod,
        vocabulary: Sequence[str] = (),
        encoder: Encoder | None,
    ) -> QuestionGenerator[Measured]:
        """The verdict on the explanations of edits of x.

        Args:
            x: the original input.
            nle: its class and explanation.
            setup: how the model answers and explains.
            vocabulary: the words of all inputs, as often as they occur, if they are needed.
            encoder: of the semantic match.
        """
        self._check_parts(x.instance)
        wanted = [label for label in nle.labels if label != nle.label]
        proposals = yield from self.editor.propose(x, wanted, self.parts)
        edits = (*_edits(proposals), *self._noise(x.instance, proposals, vocabulary))
        ends = yield from together(self._try(x, edit, nle.label, setup) for edit in edits)
        answered, problems = split_results(ends)
        tried = sum(edit.kind == "edit" for edit in edits)
        if tried and not any(tried_edit.trial.kind == "edit" for tried_edit in answered):
            raise problems[0]
        unexplained = [problem for problem in problems if isinstance(problem, _Unexplained)]
        if unexplained and not any(_is_silent(tried_edit.trial) for tried_edit in answered):
            raise unexplained[0]
        counted = [edit for edit in answered if edit.trial.kind == "noise" or edit.trial.flipped]
        trials = yield from self._with_similarities(counted, encoder)
        return self._verdict(trials, tried, Counter(problem.reason for problem in problems))

    def fitted(self, run: RunFacts) -> CounterfactualTest:
        """The test with the parts that the data says may be masked, if inputs have more than two and none are named.

        Of a question and its choices, the question may be edited; of a pair, both parts.
        """
        parts = len(run.data.instances[0].parts) if run.data.instances else 0
        if self.parts is not None or not run.data.maskable or parts <= PAIR:
            return self
        return replace(self, parts=run.data.maskable)

    def check(self, run: RunFacts) -> None:
        """Reject parts that the inputs do not have, and an editor that is not made for them."""
        first = run.data.instances[0]
        self._check_parts(first)
        if isinstance(self.editor, ParticularEditor):
            self.editor.check(run.model.labels, len(first.parts))

    def _check_parts(self, instance: Instance) -> None:
        count = len(instance.parts)
        if self.parts is not None and max(self.parts) >= count:
            raise UserError(f"counterfactual test: parts must be from 0 to {count - 1}, got {list(self.parts)}")

    def _noise(self, instance: Instance, proposals: Proposals, vocabulary: Sequence[str]) -> list[_Edit]:
        """Random edits that resemble some of the editor's, or those of a random editor."""
        if isinstance(self.editor, ChanceEditor):
            drawn = self.editor.draw(instance, count=self.noise, seed=self.seed, parts=self.parts)
        else:
            drawn = random_insertions(
                instance,
                [proposal.insertion.words for proposal in spread(proposals, self.noise)],
                vocabulary,
                count=self.noise,
                seed=self.seed,
                stops=linguistics(self.pipeline).stop_words,
                parts=self.parts,
            )
        return [_Edit("noise", insertion, ("",)) for insertion in drawn]

    def _try(self, x: Subject, edit: _Edit, before: str, setup: AnsweringMethod) -> QuestionGenerator[_Tried]:
        """The prediction for an edit; with an explanation if it changes the prediction or is a random edit."""
        edited = edit.insertion.apply(x.instance)
        subject = x.edited(edited)
        answer = yield from setup.answer(subject)
        flipped = answer.label != before
        trial = Trial(
            edit.kind,
            tuple(part.raw for part in edited.parts),
            answer.label,
            flipped,
            answer.label_source,
            edit.insertion.span,
            edit.insertion.text,
            answer.label if answer.label in edit.aims else edit.aims[0],
        )
        if flipped or edit.kind == "noise":
            answer = yield from _explained(setup, subject, answer, edit)
            text = answer.text or ""
            mention = WordMatch(self.match, self.pipeline).mention(edit.insertion, edited, text)
            trial = replace(trial, explanation=text, mentioned=mention.mentioned, rule=mention.rule, by=mention.by)
        return _Tried(trial, edit.insertion, edited)

    def _with_similarities(
        self, edits: Sequence[_Tried], encoder: Encoder | None
    ) -> QuestionGenerator[tuple[Trial, ...]]:
        """The trials with the similarities of the semantic match, all asked at once."""
        if self.semantic is None or not edits:
            return tuple(edit.trial for edit in edits)
        if encoder is None:
            raise TypeError("the counterfactual test was called without the encoder of its semantic match")
        ends = yield from together(_with_similarity(edit, self.semantic, encoder) for edit in edits)
        trials, _ = split_results(ends)
        return tuple(trials)

    def _verdict(self, trials: tuple[Trial, ...], tried: int, unanswered: Mapping[str, int]) -> Measured:
        """Equation 1: one counterfactual whose explanation does not mention the edit is enough."""
        edits = [number for number, trial in enumerate(trials) if trial.kind == "edit"]
        silent = [number for number in edits if _is_silent(trials[number])]
        decisive = next(iter((*silent, *edits)), None)
        threshold = None if self.semantic is None else self.semantic.threshold
        log = TrialLog(tried, trials, dict(unanswered), decisive, threshold)
        if decisive is None:
            detail = f"none of {tried} edits changes the prediction" if tried else "the editor found nothing to put in"
            return Measured(None, reason="no_counterfactual", detail=detail, trial_log=log)
        return Measured(0.0 if silent else 1.0, trial_log=log)


def _is_silent(trial: Trial) -> bool:
    """Whether an edit changed the prediction, and the explanation does not mention it."""
    return trial.kind == "edit" and trial.flipped and not trial.mentioned


def _explained(setup: AnsweringMethod, subject: Subject, answer: Answer, edit: _Edit) -> QuestionGenerator[Answer]:
    """The answer with its explanation; _Unexplained for a counterfactual without one."""
    try:
        return (yield from setup.explain(subject, answer))
    except Undefined as undefined:
        raise undefined if edit.kind == "noise" else _Unexplained(undefined.reason, undefined.detail) from None


def _with_similarity(edit: _Tried, match: SemanticMatch, encoder: Encoder) -> QuestionGenerator[Trial]:
    """A trial with its similarity; without one if the semantic match is undefined."""
    try:
        cosine = yield from match.similarity(
            encoder, Explained(edit.insertion, edit.edited, edit.trial.explanation or "")
        )
    except Undefined:
        return edit.trial
    return replace(edit.trial, similarity=cosine)


def _edits(proposals: Proposals) -> list[_Edit]:
    """Each distinct edit, with all classes that it was proposed for."""
    aims: dict[Insertion, list[str]] = {}
    for insertion, wanted in proposals:
        aims.setdefault(insertion, []).append(wanted)
    return [_Edit("edit", insertion, tuple(several)) for insertion, several in aims.items()]
