"""Free-text explanations under test: what the tests found in words and tables, then a card for each instance."""

from __future__ import annotations

from verax.report.content import Content
from verax.report.instances import extent
from verax.report.nle_cards import instance_card, title_of
from verax.report.nle_sheets import sheets
from verax.report.nle_words import CONSISTENCY_SAID, VERDICTS, doubts, setup_name, summed_up
from verax.report.sheet import sheet_html
from verax.results.render.markup import Html, join, tag
from verax.stats.nle_rows import consistency_tests


def section(content: Content) -> Html:
    """Nothing of a run without free-text explanations."""
    found = content.nle
    if found is None:
        return join()
    return join(
        [tag("p", line, dir="auto") for line in summed_up(found)],
        tag("p", CONSISTENCY_SAID),
        [tag("p", line, class_="alarm", dir="auto") for line in doubts(found)],
        [sheet_html(sheet, f"nle-{place}") for place, sheet in enumerate(sheets(found))],
        _cards(content),
        _explained(),
    )


def _cards(content: Content) -> Html:
    if not content.shown:
        return tag("p", "This report holds no instances.", class_="note")
    legend = tag("p", "Words that a test put in are ", tag("ins", "marked like this"), ".", class_="legend")
    return join(
        tag("h3", "Instance by instance", id="nle-cards"),
        tag("p", extent(content)),
        legend,
        _filter(content),
        tag("div", [instance_card(content, instance) for instance in content.shown], id="nle-list"),
        tag("nav", id="nle-pages", aria_label="Pages of explained instances", hidden=True, class_="pages"),
    )


def _filter(content: Content) -> Html:
    """Controls that the page's script brings to life; hidden without it."""
    verdicts: dict[str, str] = dict(VERDICTS.items())
    names = {f"={label}": setup_name(label) for label in content.setups}
    tests = {f"={test.metrics[0]}": title_of(test) for test in consistency_tests(content.card)}
    text = tag("input", type="search", id="nle-text", placeholder="words or id", autocomplete="off")
    return tag(
        "form",
        tag("label", "Text ", text),
        _choice("Verdict ", "nle-verdict", verdicts),
        _choice("Set-up ", "nle-setup", names),
        _choice("Test ", "nle-test", tests),
        tag("output", id="nle-count", aria_live="polite"),
        id="nle-filter",
        hidden=True,
        aria_label="Filter the explained instances",
        class_="filter",
    )


def _choice(title: str, anchor: str, options: dict[str, str]) -> Html:
    every = tag("option", "all", value="")
    return tag(
        "label",
        title,
        tag("select", every, [tag("option", said, value=value) for value, said in options.items()], id=anchor),
    )


def _explained() -> Html:
    """How to read it, and what it does not show."""
    said = (
        "Counterfactual test: a few words are put into the input. If they change the prediction, they are a reason for "
        "it, and an explanation of the changed input that does not mention them hides that reason.",
        "Reconstruction test: the reasons that an explanation gives are made into an input of their own. If the model "
        "predicts another class for it, the reasons given are not enough for what was predicted.",
        "Passing both is no proof. An explanation that repeats the whole input mentions whatever is put in: the noise "
        "floor shows how often words without any effect are mentioned.",
        "An explanation can give a reason in other words. The match of words does not see that; where similarity was "
        "measured it is beside, with the least that counts.",
        "How many inputs have a counterfactual depends on the editor, so compare set-ups under the same one.",
    )
    listed = tag("ul", [tag("li", line) for line in said])
    return tag("details", tag("summary", "How to read this"), listed, open=True, class_="how")
