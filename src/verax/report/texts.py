"""Free-text explanations, instance by instance: the input, each explanation, and the outcome of each test."""

from __future__ import annotations

from collections.abc import Sequence

from verax.report.content import Content
from verax.report.elements import human_texts, instance_count, missing, search, select, wrong_flag
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import count, number, plural
from verax.studies.free_text.cards import around_insertion
from verax.studies.free_text.outcomes import ConsistencyTest, Verdict, consistency_tests, verdict
from verax.studies.free_text.tables import method_name
from verax.types import Instance, LabelSource, Nle, Score, Trial, TrialLog

_SIGNS: dict[Verdict, str] = {
    "inconsistent": "✗",
    "consistent": "✓",
    "no_counterfactual": "○",
    "no_reconstruction": "○",
    "not_tested": "–",
}
_LABEL_SOURCES: dict[LabelSource, str] = {"first_token": "by the first token", "parsed": "parsed from the answer"}
"""How a class was determined, if not by the likelihood of its whole name."""
_RULES = {"word": "same word", "lemma": "same lemma", "substring": "letters inside a word"}
_FOLDED = 5


def section(content: Content, *, controls: bool = True) -> Html:
    """A filter and a card for each instance; empty for a run without free-text explanations.

    Args:
        controls: count, filter and pages; a page of a single instance has none.
    """
    if not content.run.text_methods:
        return join()
    if not content.instances:
        return tag("p", "This report holds no instances.", class_="note")
    legend = tag("p", "Words that a test inserted are ", tag("ins", "marked like this"), ".", class_="legend")
    return join(
        instance_count(content) if controls else None,
        legend,
        _filter(content) if controls else None,
        tag("div", [_card(content, instance) for instance in content.instances], id="nle-list"),
        tag("nav", id="nle-pages", aria_label="Pages of explained instances", hidden=True, class_="pages")
        if controls
        else None,
    )


def _filter(content: Content) -> Html:
    """Controls for the script of the page; hidden without it."""
    verdicts: dict[str, str] = {name: name.replace("_", " ") for name in _SIGNS}
    names = {f"={label}": method_name(label) for label in content.run.text_methods}
    tests = {f"={test.metrics[0]}": _title(test) for test in consistency_tests(content.manifest)}
    return tag(
        "form",
        search("nle-text"),
        select("Verdict", "nle-verdict", {"": "all", **verdicts}),
        select("Setting", "nle-setup", {"": "all", **names}),
        select("Test", "nle-test", {"": "all", **tests}),
        tag("output", id="nle-count", aria_live="polite"),
        id="nle-filter",
        hidden=True,
        aria_label="Filter the explained instances",
        class_="filter",
    )


def _card(content: Content, instance: Instance) -> Html:
    """One instance with all its explanations."""
    gold = None if instance.label is None else tag("p", "gold ", tag("strong", instance.label, dir="auto"))
    return tag(
        "article",
        tag("header", tag("h3", instance.id, dir="auto"), gold),
        tag("div", [tag("p", part.raw, dir="auto") for part in instance.parts], class_="input"),
        human_texts(instance),
        [_explanation(content, instance, label) for label in content.run.text_methods],
        class_="instance explained",
    )


def _title(test: ConsistencyTest) -> str:
    """The title of a test: `Counterfactual, random`."""
    if test.kind == "counterfactual":
        return f"Counterfactual, {test.name}"
    return "Reconstruction" if test.name == "reconstruction" else f"Reconstruction, {test.name}"


def _explanation(content: Content, instance: Instance, label: str) -> Html:
    nle = content.texts.get((instance.id, label))
    scores = {score.metric: score for score in content.scores.get(instance.id, ()) if score.method == label}
    found = [
        (test, scores[test.metrics[0]]) for test in consistency_tests(content.manifest) if test.metrics[0] in scores
    ]
    return tag(
        "section",
        tag("h4", tag("span", method_name(label), dir="auto", class_="label"), _predicted(instance, nle)),
        missing(label, content.skips.get(instance.id, ())) if nle is None else tag("blockquote", nle.text, dir="auto"),
        _notes(nle),
        [_test(instance, nle, test, score) for test, score in found],
        class_="set-up",
        data_setup=label,
    )


def _predicted(instance: Instance, nle: Nle | None) -> Html | None:
    if nle is None:
        return None
    wrong = wrong_flag(instance, nle.label, nle.labels)
    source = _LABEL_SOURCES.get(nle.label_source)
    by = tag("span", source, class_="flag") if source else None
    return join(" predicts ", tag("strong", nle.label, dir="auto"), wrong, by)


def _notes(nle: Nle | None) -> Html | None:
    """Facts that were kept with the explanation."""
    if nle is None or not nle.notes:
        return None
    return tag("p", ", ".join(f"{key}: {note}" for key, note in nle.notes.items()), class_="note", dir="auto")


def _test(instance: Instance, nle: Nle | None, test: ConsistencyTest, score: Score) -> Html:
    found = verdict(score)
    log = score.trial_log
    trial = None if log is None or log.decisive is None else log.trials[log.decisive]
    return tag(
        "div",
        tag("p", tag("b", _title(test), dir="auto"), " ", _flag(found), class_="outcome"),
        _details_of(score, found),
        None if log is None or trial is None else _decisive(instance, nle, log, trial),
        None if log is None else _folded(instance, log),
        class_="test",
        data_verdict=found,
        data_test=test.metrics[0],
    )


def _flag(found: Verdict) -> Html:
    return tag("span", f"{_SIGNS[found]} {found.replace('_', ' ')}", class_=f"verdict {found}")


def _details_of(score: Score, found: Verdict) -> Html | None:
    """The edits that were tried, or why there is no verdict."""
    words = [str(score.reason)] if found == "not_tested" else []
    words += [score.detail] if score.detail else []
    edits = [] if score.trial_log is None else [trial for trial in score.trial_log.trials if trial.kind == "edit"]
    if score.trial_log is not None and edits:
        flips = sum(trial.flipped for trial in edits)
        words.append(f"{plural(score.trial_log.tried, 'edit')} tried; {count(flips)} of them change the prediction.")
    if score.trial_log is not None and score.trial_log.unanswered:
        missing = plural(sum(score.trial_log.unanswered.values()), "edit")
        words.append(f"The model gave no answer to {missing} ({', '.join(score.trial_log.unanswered)}).")
    if score.trial_log is not None and score.trial_log.repeats:
        asked = plural(score.trial_log.repeats, "time")
        words.append(f"Asked again {asked} without an edit, it changed its answer {score.trial_log.self_flips} times.")
    return tag("p", " ".join(words), class_="note", dir="auto") if words else None


def _decisive(instance: Instance, nle: Nle | None, log: TrialLog, trial: Trial) -> Html:
    """The trial that decided: the new input, both predictions, both explanations, the rule."""
    rebuilt = trial.kind == "reconstruction"
    before = None if nle is None else nle.label
    facts = [("Rebuilt input" if rebuilt else "Edited input", _parts(instance, trial))]
    if trial.wanted:
        facts.append(("Editor aimed at", tag("strong", trial.wanted, dir="auto")))
    facts.append(("Prediction", _turned(before, trial)))
    if nle is not None:
        facts.append(("Explanation of it" if rebuilt else "Before", tag("q", nle.text, dir="auto")))
    if trial.explanation is not None:
        facts.append(("After", tag("q", trial.explanation, dir="auto")))
    facts.append(("Rule", join(_rule(trial, log))))
    facts += [(key.replace("_", " "), tag("span", value, dir="auto")) for key, value in trial.notes.items()]
    return tag("dl", [tag("div", tag("dt", key, dir="auto"), tag("dd", value)) for key, value in facts], class_="trial")


def _rule(trial: Trial, log: TrialLog) -> Html:
    if trial.kind == "reconstruction":
        given = "another class than before" if trial.flipped else "the same class as before"
        outcome = tag("strong", "inconsistent" if trial.flipped else "consistent")
        return join(outcome, f": the reasons alone give {given}")
    similar = _meaning(trial, log.threshold)
    words = tag("span", "“", tag("b", trial.words, dir="auto"), "” is ") if trial.words else None
    return tag("span", words, tag("strong", _mention(trial)), f"; {similar}" if similar else None, dir="auto")


def _turned(before: str | None, trial: Trial) -> Html:
    """The class before and after, and how it was determined, if not by likelihood."""
    was = None if before is None else [tag("strong", before, dir="auto"), " → "]
    stays = None if trial.flipped else tag("span", " (stays)", class_="quiet")
    source = _LABEL_SOURCES.get(trial.label_source)
    by = tag("span", f" ({source})", class_="quiet") if source else None
    return join(was, tag("strong", trial.predicted, dir="auto"), stays, by)


def _parts(instance: Instance, trial: Trial) -> Html:
    """The new input, a line for each part, with the inserted words marked."""
    lang = instance.parts[0].lang
    return join([tag("p", _marked(trial, number, raw, lang), dir="auto") for number, raw in enumerate(trial.parts)])


def _marked(trial: Trial, number: int, raw: str, lang: str) -> Html:
    pieces = around_insertion(trial, number, lang)
    if pieces is None:
        return join(raw)  # words that are not found again are named by the rule
    before, inserted, after = pieces
    return join(before, tag("ins", inserted), after)


def _folded(instance: Instance, log: TrialLog) -> Html:
    """All other trials, on demand: other counterfactuals, and random edits."""
    rest = [trial for place, trial in enumerate(log.trials) if place != log.decisive]
    edits = [trial for trial in rest if trial.kind != "noise"]
    noise = [trial for trial in rest if trial.kind == "noise"]
    flips, mentions = sum(trial.flipped for trial in noise), sum(trial.mentioned is True for trial in noise)
    chance = f"{plural(len(noise), 'random edit')}: {count(flips)} flip, {count(mentions)} mentioned"
    other = "more counterfactual" if log.decisive is not None else "counterfactual"
    return join(
        _more(instance, log, plural(len(edits), other), edits) if edits else None,
        _more(instance, log, chance, noise) if noise else None,
    )


def _more(instance: Instance, log: TrialLog, title: str, trials: Sequence[Trial]) -> Html:
    more = len(trials) - _FOLDED
    return tag(
        "details",
        tag("summary", title),
        tag("ul", [_item(instance, log, trial) for trial in trials[:_FOLDED]]),
        tag("p", f"and {count(more)} more, which the run keeps", class_="note") if more > 0 else None,
    )


def _item(instance: Instance, log: TrialLog, trial: Trial) -> Html:
    """A trial in short: the part that was changed, the class, the explanation and whether it mentions the words."""
    lang = instance.parts[0].lang
    span = trial.inserted
    shown = range(len(trial.parts)) if span is None or span.part >= len(trial.parts) else [span.part]
    parts = [tag("span", _marked(trial, number, trial.parts[number], lang), dir="auto") for number in shown]
    quoted = None if trial.explanation is None else [" ", tag("q", trial.explanation, dir="auto")]
    turned = [" → ", tag("strong", trial.predicted, dir="auto"), None if trial.flipped else " (stays)"]
    return tag("li", [[part, " "] for part in parts], turned, quoted, " ", _rule(trial, log))


def _mention(trial: Trial) -> str:
    """Whether the explanation mentions the inserted words, and what decided: `mentioned as “blue” (same word)`."""
    if trial.untested:
        return f"not tested ({trial.untested.replace('_', ' ')})"
    if trial.mentioned is None:
        return "not asked for an explanation" if trial.explanation is None else "not judged"
    if not trial.mentioned:
        return "not mentioned"
    by = f" as “{trial.by}”" if trial.by else ""
    return f"mentioned{by} ({_RULES.get(trial.rule, trial.rule or 'rule not recorded')})"


def _meaning(trial: Trial, threshold: float | None) -> str | None:
    """How similar the explanation is to the inserted words; None if that was not measured."""
    if trial.similarity is None:
        return None
    if threshold is None:
        return f"similarity {number(trial.similarity)}"
    side = "below" if trial.similarity < threshold else "at least"
    return f"similarity {number(trial.similarity)}, {side} the {number(threshold)} that counts as a mention by meaning"
