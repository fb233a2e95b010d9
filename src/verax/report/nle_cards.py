"""Cards of instances under test: the input, what each set-up says of it, and how each test came out."""

from __future__ import annotations

from verax.report.content import Content
from verax.report.instances import missing, people_said
from verax.report.labels import is_wrong
from verax.report.nle_trials import decisive, folded
from verax.report.nle_words import FOUND, VERDICTS, setup_name
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import count, plural
from verax.stats.nle_rows import ConsistencyTest, Verdict, consistency_tests, verdict
from verax.types import Instance, Nle, Score

_SIGNS: dict[Verdict, str] = {
    "inconsistent": "✗",
    "consistent": "✓",
    "no_counterfactual": "○",
    "no_reconstruction": "○",
    "not_tested": "–",
}


def instance_card(content: Content, instance: Instance) -> Html:
    """One instance with all set-ups."""
    gold = None if instance.label is None else tag("p", "gold ", tag("strong", instance.label, dir="auto"))
    return tag(
        "article",
        tag("header", tag("h4", instance.id, dir="auto"), gold),
        tag("div", [tag("p", part.raw, dir="auto") for part in instance.parts], class_="input"),
        people_said(instance),
        [_setup(content, instance, label) for label in content.setups],
        class_="instance explained",
    )


def title_of(test: ConsistencyTest) -> str:
    """How a test is called: `Counterfactual, random`."""
    if test.kind == "counterfactual":
        return f"Counterfactual, {test.name}"
    return "Reconstruction" if test.name == "reconstruction" else f"Reconstruction, {test.name}"


def _setup(content: Content, instance: Instance, label: str) -> Html:
    nle = content.texts.get((instance.id, label))
    scores = {score.metric: score for score in content.scores.get(instance.id, ()) if score.method == label}
    found = [(test, scores[test.metrics[0]]) for test in consistency_tests(content.card) if test.metrics[0] in scores]
    return tag(
        "section",
        tag("h5", tag("span", setup_name(label), dir="auto", class_="label"), _predicted(instance, nle)),
        missing(label, content.skips.get(instance.id, ())) if nle is None else tag("blockquote", nle.text, dir="auto"),
        _notes(nle),
        [_test(instance, nle, test, score) for test, score in found],
        class_="set-up",
        data_setup=label,
    )


def _predicted(instance: Instance, nle: Nle | None) -> Html | None:
    if nle is None:
        return None
    wrong = tag("span", "✗ wrong", class_="flag wrong") if is_wrong(instance, nle.label, nle.labels) else None
    found = tag("span", FOUND[nle.label_source], class_="flag") if nle.label_source in FOUND else None
    return join(" predicts ", tag("strong", nle.label, dir="auto"), wrong, found)


def _notes(nle: Nle | None) -> Html | None:
    """Facts that were kept with the explanation."""
    if nle is None or not nle.notes:
        return None
    return tag("p", ", ".join(f"{key}: {note}" for key, note in nle.notes.items()), class_="note", dir="auto")


def _test(instance: Instance, nle: Nle | None, test: ConsistencyTest, score: Score) -> Html:
    found = verdict(score)
    card = score.trial_log
    trial = None if card is None or card.decisive is None else card.trials[card.decisive]
    return tag(
        "div",
        tag("p", tag("b", title_of(test), dir="auto"), " ", _flag(found), class_="outcome"),
        _told(score, found),
        None if card is None or trial is None else decisive(instance, nle, card, trial),
        None if card is None else folded(instance, card),
        class_="test",
        data_verdict=found,
        data_test=test.metrics[0],
    )


def _flag(found: Verdict) -> Html:
    return tag("span", f"{_SIGNS[found]} {VERDICTS[found]}", class_=f"verdict {found}")


def _told(score: Score, found: Verdict) -> Html | None:
    """What was tried, or why there is no verdict."""
    said = [str(score.reason)] if found == "not_tested" else []
    said += [score.detail] if score.detail else []
    edits = [] if score.trial_log is None else [trial for trial in score.trial_log.trials if trial.kind == "edit"]
    if score.trial_log is not None and edits:
        flips = sum(trial.flipped for trial in edits)
        said.append(f"{plural(score.trial_log.tried, 'edit')} tried; {count(flips)} of them change the prediction.")
    if score.trial_log is not None and score.trial_log.unanswered:
        missing = plural(sum(score.trial_log.unanswered.values()), "edit")
        said.append(f"The model gave no answer to {missing} ({', '.join(score.trial_log.unanswered)}).")
    return tag("p", " ".join(said), class_="note", dir="auto") if said else None
