"""The counterfactual test: does an explanation mention the words that changed the prediction?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, NamedTuple

from verax.engine.protocols import AnsweringMethod, RunFacts
from verax.engine.questions import QuestionGenerator, split_results, together
from verax.metrics.free_text.editing import (
    DrawingEditor,
    Editor,
    Insertion,
    Proposals,
    SelectiveEditor,
    random_insertions,
)
from verax.metrics.free_text.linguistics import PIPELINE, linguistics
from verax.metrics.free_text.mention import Match, SemanticMatch, WordMatch
from verax.metrics.free_text.random_editor import RandomEditor
from verax.models.classifier import Encoder
from verax.models.subject import Subject
from verax.stats.drawing import evenly_spaced
from verax.types import (
    CUT_OFF,
    Instance,
    Kind,
    Measured,
    MeasuredProperty,
    Nle,
    NoPasses,
    Trial,
    TrialLog,
    Undefined,
    UserError,
    require_at_least,
)

PAIR = 2
REPORTED: tuple[Match, ...] = ("any", "content")
"""Rules that are recorded whichever decides."""


class _Edit(NamedTuple):
    """An edit to try, and the classes that it was proposed for."""

    kind: Literal["edit", "noise"]
    insertion: Insertion
    aims: tuple[str, ...]


@dataclass(frozen=True)
class CounterfactualTest(NoPasses):
    """1 if the explanation of every edit that changes the prediction mentions the edit, 0 if that of one does not.

    A test of consistency, not a proof of faithfulness. Every edit that leads to another class than the original one
    counts, whichever class it was made for. An explanation that is cut off, refused or empty tests nothing: such an
    edit is not tested, and neither is an input if its own explanation was cut off. There is no value without an edit
    that changes the prediction and is tested. Two controls are recorded: random words (from all inputs, or drawn by
    the editor if it is a random one), which are explained whatever is predicted, show how often an edit is mentioned at
    random; the unedited input, asked again, shows how often the prediction changes by itself.

    Args:
        match: what counts as mentioned, see `WordMatch`.
        noise: number of random edits.
        repeats: how often the unedited input is asked again; a deterministic model is not, since it never changes.
        semantic: a match by meaning, which is recorded next to that of words and does not affect the value.
        parts: parts that may be edited, all by default.
        pipeline: name of the spaCy pipeline for words and lemmas.
    """

    editor: Editor = field(default_factory=RandomEditor)
    match: Match = "any"
    noise: int = 4
    repeats: int = 4
    semantic: SemanticMatch | None = None
    seed: int = 0
    parts: tuple[int, ...] | None = None
    pipeline: str = PIPELINE

    name: ClassVar[str] = "counterfactual_test"
    display: ClassVar[str] = "Counterfactual test"
    summary: ClassVar[str] = "Whether explanations mention inserted words that flip the prediction; a consistency test."
    cost: ClassVar[str] = "positions x candidates answers (16), a text per flip; repeats at an endpoint"
    measures: ClassVar[MeasuredProperty] = "consistency"
    kinds: ClassVar[frozenset[Kind]] = frozenset({"text"})
    version: ClassVar[int] = 3
    reference: ClassVar[str] = "Atanasova et al. 2023, Section 2.1"
    higher_is_better: ClassVar[bool] = True
    ranked: ClassVar[bool] = False
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        require_at_least("counterfactual_test", 0, noise=self.noise, repeats=self.repeats, seed=self.seed)
        if self.parts is not None and (not self.parts or min(self.parts) < 0):
            raise UserError(f"counterfactual test: parts must be numbers from 0 on, got {list(self.parts)}")
        WordMatch(self.match)

    @property
    def needs(self) -> frozenset[str]:
        """The words of all inputs are needed only if random edits are drawn from them."""
        drawn = self.noise and not isinstance(self.editor, DrawingEditor)
        return frozenset({"setup", "encoder"} | ({"vocabulary"} if drawn else set()))

    @property
    def provenance(self) -> Mapping[str, str]:
        """Everything that determines edits and mentions besides the parameters."""
        parts = {"editor": self.editor.provenance, "match": WordMatch(self.match, self.pipeline).provenance}
        if self.semantic is not None:
            parts["semantic"] = self.semantic.provenance
        return {f"{part} {name}": value for part, facts in parts.items() for name, value in facts.items()}

    def max_inputs(self, parts: int, labels: int) -> int:
        """Each edit, random ones included, and each repetition is one more input."""
        edits = self.editor.max_inputs(parts if self.parts is None else len(self.parts), labels)
        return edits + self.noise + self.repeats

    def __call__(
        self,
        x: Subject,
        nle: Nle,
        *,
        setup: AnsweringMethod,
        vocabulary: Sequence[str] = (),
        encoder: Encoder | None,
    ) -> QuestionGenerator[Measured]:
        """The verdict on the explanations of edits of x; `vocabulary` are the words of all inputs, with repetition."""
        self._check_parts(x.instance)
        if CUT_OFF in nle.notes:
            raise Undefined(CUT_OFF, "the explanation of the unedited input reached the maximum length")
        wanted = [label for label in nle.labels if label != nle.label]
        proposals = yield from self.editor.propose(x, wanted, self.parts)
        edits = (*_edits(proposals), *self._noise(x.instance, proposals, vocabulary))
        ends = yield from together(self._try(x, edit, nle.label, setup, encoder) for edit in edits)
        answered, problems = split_results(ends)
        tried = sum(edit.kind == "edit" for edit in edits)
        if tried and not any(trial.kind == "edit" for trial in answered):
            raise problems[0]
        # a classifier whose reasons are known does not say that it is deterministic
        repeats = 0 if getattr(x.model, "deterministic", True) else self.repeats
        again = yield from together(setup.answer(x.repeated(number)) for number in range(1, repeats + 1))
        answers, _ = split_results(again)
        log = TrialLog(
            tried,
            tuple(trial for trial in answered if trial.kind == "noise" or trial.flipped),
            Counter(problem.reason for problem in problems),
            threshold=None if self.semantic is None else self.semantic.threshold,
            repeats=len(answers),
            self_flips=sum(answer.label != nle.label for answer in answers),
        )
        return _verdict(log)

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
        if isinstance(self.editor, SelectiveEditor):
            self.editor.check(run.model.labels, len(first.parts))

    def _check_parts(self, instance: Instance) -> None:
        count = len(instance.parts)
        if self.parts is not None and max(self.parts) >= count:
            raise UserError(f"counterfactual test: parts must be from 0 to {count - 1}, got {list(self.parts)}")

    def _noise(self, instance: Instance, proposals: Proposals, vocabulary: Sequence[str]) -> list[_Edit]:
        """Random edits that resemble some of the editor's, or those of a random editor."""
        if isinstance(self.editor, DrawingEditor):
            drawn = self.editor.draw(instance, count=self.noise, seed=self.seed, parts=self.parts)
        else:
            drawn = random_insertions(
                instance,
                [proposal.insertion.words for proposal in evenly_spaced(proposals, self.noise)],
                vocabulary,
                count=self.noise,
                seed=self.seed,
                stops=linguistics(self.pipeline).stop_words,
                parts=self.parts,
            )
        return [_Edit("noise", insertion, ("",)) for insertion in drawn]

    def _try(
        self, x: Subject, edit: _Edit, before: str, setup: AnsweringMethod, encoder: Encoder | None
    ) -> QuestionGenerator[Trial]:
        """The prediction for an edit; with an explanation if it changes the prediction or is a random edit."""
        edited = edit.insertion.apply(x.instance)
        subject = x.edited(edited)
        answer = yield from setup.answer(subject)
        trial = Trial(
            edit.kind,
            tuple(part.raw for part in edited.parts),
            answer.label,
            answer.label != before,
            answer.label_source,
            edit.insertion.span,
            edit.insertion.text,
            answer.label if answer.label in edit.aims else edit.aims[0],
        )
        if edit.kind == "edit" and not trial.flipped:
            return trial
        try:
            answer = yield from setup.explain(subject, answer)
        except Undefined as undefined:
            return replace(trial, untested=undefined.reason)
        text = answer.text or ""
        if CUT_OFF in answer.notes:
            return replace(trial, explanation=text, untested=CUT_OFF)
        rules = dict.fromkeys((self.match, *REPORTED))
        found = {rule: WordMatch(rule, self.pipeline).mention(edit.insertion, edited, text) for rule in rules}
        mention = found[self.match]
        trial = replace(
            trial,
            explanation=text,
            mentioned=mention.mentioned,
            mentions={rule: found[rule].mentioned for rule in REPORTED},
            rule=mention.rule,
            by=mention.by,
        )
        if self.semantic is None:
            return trial
        if encoder is None:
            raise TypeError("the counterfactual test was called without the encoder of its semantic match")
        try:
            cosine = yield from self.semantic.similarity(encoder, edit.insertion, edited, text)
        except Undefined:
            return trial
        return replace(trial, similarity=cosine)


def _verdict(log: TrialLog) -> Measured:
    """Equation 1: one counterfactual whose explanation does not mention the edit is enough."""
    flips = [number for number, trial in enumerate(log.trials) if trial.kind == "edit"]
    tested = [number for number in flips if log.trials[number].mentioned is not None]
    silent = [number for number in tested if not log.trials[number].mentioned]
    if tested:
        return Measured(0.0 if silent else 1.0, trial_log=replace(log, decisive=(*silent, *tested)[0]))
    if flips:
        detail = f"none of {len(flips)} edits that change the prediction has an explanation that can be tested"
        return Measured(None, reason=log.trials[flips[0]].untested, detail=detail, trial_log=log)
    detail = f"none of {log.tried} edits changes the prediction" if log.tried else "the editor proposes no edit"
    return Measured(None, reason="no_counterfactual", detail=detail, trial_log=log)


def _edits(proposals: Proposals) -> list[_Edit]:
    """Each distinct edit, with all classes that it was proposed for."""
    aims: dict[Insertion, list[str]] = {}
    for insertion, wanted in proposals:
        aims.setdefault(insertion, []).append(wanted)
    return [_Edit("edit", insertion, tuple(several)) for insertion, several in aims.items()]
