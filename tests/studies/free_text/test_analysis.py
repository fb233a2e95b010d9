"""Consistency tests of free-text explanations, against counts made by hand."""

from dataclasses import replace
from itertools import count

import pytest

from support import free_text as made
from verax.data.text import split_words
from verax.results.manifest import Manifest
from verax.stats.intervals import share
from verax.studies.free_text.analysis import analyse
from verax.studies.free_text.outcomes import consistency_tests, unions, verdict
from verax.types import Score, UserError


@pytest.fixture
def run(tmp_path):
    """A run of the model of this name, in a folder of its own."""
    numbers = count()

    def make(name="tiny", **changes):
        card = changes.pop("card", made.card())
        card = card | {"model": card.get("model", {}) | {"name": name}}
        return made.text_run(tmp_path / f"{next(numbers)}", card=card, **changes)

    return make


@pytest.fixture
def tables(run):
    """The result of a run."""
    return lambda **changes: analyse([run(**changes)])


def by_test(rows):
    return {(row.method, row.test): row for row in rows}


def listed(card):
    return consistency_tests(Manifest.read(card)[0])


def test_each_editor_and_their_union_by_hand(tables):
    rows = by_test(tables().counterfactual)
    assert list(rows) == [("mt_ra", "random"), ("mt_ra", "infill"), ("mt_ra", "random + infill")]
    counted = {"random": (7, 3, 2), "infill": (7, 6, 4), "random + infill": (6, 5, 4)}
    for name, (n, found, inconsistent) in counted.items():
        row = rows["mt_ra", name]
        assert row.n == n
        assert row.found == share(found, n)
        assert row.among_found == share(inconsistent, found)
        assert row.total == share(inconsistent, n)
    assert rows["mt_ra", "random"].untested == {"unparsed_answer": 1}
    assert rows["mt_ra", "random + infill"].untested == {"unparsed_answer": 2}
    assert [row.counterfactuals for row in rows.values()] == [3, 6, 3 + 6 - 1], "the one of i6 is not of the union"


def test_the_order_of_editors_in_the_card_does_not_matter(tables):
    card = made.card()
    card["metrics"].reverse()
    rows = by_test(tables(card=card).counterfactual)
    assert rows["mt_ra", "random + infill"] == by_test(tables().counterfactual)["mt_ra", "random + infill"]


def test_reconstruction_by_hand(tables):
    (row,) = tables().reconstruction
    assert (row.test, row.n, row.not_tested) == ("reconstruction", 7, 1)
    assert row.found == share(4, 7)
    assert row.among_found == share(2, 4)
    assert row.total == share(2, 7)
    assert (row.counterfactuals, row.mentioned, row.by_meaning) == (0, None, None)


def test_several_counterfactuals_of_one_instance_are_one_instance(tables):
    trials = (made.edit(mentioned=True), made.edit(mentioned=False), made.edit(mentioned=True))
    trials += (made.edit(mentioned=True, flipped=False, predicted="yes"),)
    scores = [made.score(0, made.RANDOM, "f", trials=trials, decisive=1), made.score(1, made.RANDOM, "o")]
    row = by_test(tables(scores=scores, instances=made.instances(2)).counterfactual)["mt_ra", "random"]
    assert (row.n, row.found.value, row.total.value, row.counterfactuals) == (2, 0.5, 0.5, 3)
    assert row.mentioned.value == pytest.approx(2 / 3)


def test_meaning_is_next_to_words_and_never_instead(tables):
    def silent(number, *similarities):
        trials = tuple(made.edit(mentioned=False, similarity=value) for value in similarities)
        return made.score(number, made.RANDOM, "f", trials=trials, threshold=0.8)

    scores = [silent(0, 0.9), silent(1, 0.9, 0.2), silent(2, None), silent(3, 0.8)]
    row = by_test(tables(scores=scores, instances=made.instances(4)).counterfactual)["mt_ra", "random"]
    assert row.total.value == 1
    assert row.by_meaning == share(2, 4), "only i0 and i3 say something similar for every counterfactual"
    assert row.threshold == 0.8
    assert tables().counterfactual[0].by_meaning is None


@pytest.fixture
def noisy(tables):
    """Each instance with four random edits, of which so many are mentioned."""

    def make(letters, chance):
        several = []
        for number, letter in enumerate(letters):
            edits = () if letter == "o" else (made.edit(mentioned=letter == "m"),)
            drawn = tuple(made.noise(flipped=place < 1, mentioned=place < chance) for place in range(4))
            several.append(made.score(number, made.RANDOM, letter, trials=(*edits, *drawn)))
        return tables(scores=several, instances=made.instances(len(letters))).noise

    return make


def test_the_noise_floor_by_hand(noisy):
    (row,) = noisy("mmmmmmfo", 1)
    assert (row.editor, row.edits, row.pairs) == ("random", 32, 7)
    assert (row.flips.value, row.chance.value) == (0.25, 0.25)
    assert row.mentioned.value == pytest.approx(6 / 7)
    assert row.difference.value == pytest.approx(6 / 7 - 1 / 4)
    assert row.reading == "above_chance"


@pytest.mark.parametrize(
    ("letters", "chance", "reading"),
    [
        ("mmmmmmmm", 4, "copies"),
        ("oooooooo", 2, "copies"),
        ("ffffffff", 0, "never"),
        ("mfffffff", 1, "like_chance"),
        ("mmmfffff", 1, "like_chance"),
        ("mmmmm", 0, "too_few"),
        ("oooooo", 0, None),
    ],
)
def test_how_informative_mentions_are(noisy, letters, chance, reading):
    (row,) = noisy(letters, chance)
    assert row.reading == reading


def test_random_edits_that_were_not_explained_count_as_flips_alone(tables):
    drawn = tuple(made.noise(flipped=place == 0, mentioned=False) for place in range(4))
    silent = tuple(replace(trial, mentioned=None, explanation=None) for trial in drawn)
    (row,) = tables(scores=[made.score(0, made.RANDOM, "o", trials=silent)], instances=made.instances(1)).noise
    assert (row.edits, row.flips.value, row.chance, row.reading) == (4, 0.25, None, None)


def test_random_edits_that_mean_the_same_are_counted(tables):
    drawn = tuple(made.noise(similarity=value) for value in (0.9, 0.8, 0.1, None))
    scores = [made.score(0, made.RANDOM, "m", trials=(made.edit(mentioned=True), *drawn), threshold=0.8)]
    (row,) = tables(scores=scores, instances=made.instances(1)).noise
    assert row.similar.value == pytest.approx(2 / 3)


def test_edits_without_an_answer_are_counted_over_tested_instances(tables):
    scores = [
        made.score(0, made.RANDOM, "m", unanswered={"timeout": 2}),
        made.score(1, made.RANDOM, "o", unanswered={"timeout": 1, "refused": 4}),
        made.score(2, made.RANDOM, "x"),
    ]
    row = next(one for one in tables(scores=scores).counterfactual if one.test == "random")
    assert (row.n, row.unanswered) == (2, {"timeout": 3, "refused": 4})


def test_random_edits_that_mean_the_same_are_counted_where_nothing_changes_the_prediction(tables):
    drawn = tuple(made.noise(similarity=value) for value in (0.9, 0.1))
    scores = [made.score(number, made.RANDOM, "o", trials=drawn, threshold=0.8) for number in range(2)]
    scores += [made.score(2, made.RANDOM, "x")]
    found = tables(scores=scores, instances=made.instances(3))
    assert found.noise[0].similar.value == 0.5
    row = by_test(found.counterfactual)["mt_ra", "random"]
    assert (row.threshold, row.by_meaning) == (0.8, share(0, 2))


def test_accuracy_bleu_parsed_labels_and_explanations_cut_off(tables):
    counts = {"correct": (3.0, 2.0, 1.0, 1.0), "total": (4.0, 3.0, 2.0, 1.0), "lengths": (4.0, 5.0)}
    scores = [Score(f"i{number}", "mt_ra", made.BLEU, 0.5, series=counts) for number in range(3)]
    scores += [Score("i3", "mt_ra", made.BLEU, None, "no_gold")]
    (row,) = tables(scores=scores).performance
    assert (row.n, row.judged, row.parsed, row.compared, row.cut_off) == (8, 8, 1, 3, 2)
    assert row.accuracy == share(7, 8)
    assert row.bleu.value == pytest.approx(100 * (3 / 4 * 2 / 3 * 1 / 2) ** 0.25 * 2.718281828459045**-0.25)
    (bare,) = tables(scores=[]).performance
    assert (bare.bleu, bare.compared) == (None, 0)


def test_classes_that_the_model_does_not_have_are_not_judged(tables):
    (row,) = tables(texts=made.texts(labels=("maybe", "no"))).performance
    assert (row.accuracy, row.judged) == (None, 0)
    (row,) = tables(texts=made.texts(labels=("YES", "NO"), label="Yes")).performance
    assert (row.accuracy.value, row.judged) == (1, 8)


def test_an_input_that_got_no_answer_counts_as_wrong(tables):
    """Of i0 to i7, i0 is answered wrongly; i6 and i7 get no answer; i5 failed, and i4 was not reached."""
    reasons = {"i5": "failed", "i6": "refused", "i7": "empty_answer"}
    scores = [Score(name, "mt_ra", made.BLEU, None, reason) for name, reason in reasons.items()]
    scores += [Score("i3", "mt_ra", made.BLEU, None, "failed")]
    (row,) = tables(scores=scores, texts=made.texts(4)).performance
    assert (row.n, row.judged, row.accuracy) == (4, 6, share(3, 6))
    card = made.card(model={"name": "tiny", "labels": ["yes", "no"]})
    (silent,) = tables(scores=scores, texts=[], card=card).performance
    assert (silent.n, silent.judged, silent.accuracy) == (0, 2, share(0, 2))


def two_methods(first, second):
    card = made.card(methods=[{"label": m, "name": m, "kind": "text"} for m in ("mt_ra", "st_re")])
    scores = made.scores({made.RANDOM: first}) + made.scores({made.RANDOM: second}, "st_re")
    return {"card": card, "scores": scores, "instances": made.instances(len(first)), "texts": []}


def test_methods_are_compared_over_what_both_were_tested_on(tables):
    (row,) = [row for row in tables(**two_methods("fffffffxo", "mmmmmmmfo")).comparisons if row.test == "random"]
    assert (row.first, row.second, row.n) == (("tiny", "mt_ra"), ("tiny", "st_re"), 8)
    assert (row.total_first, row.total_second) == (7 / 8, 0)
    assert row.difference.value == pytest.approx(-7 / 8)
    assert row.p == pytest.approx(2 * 2 / 2**8), "exact: seven signs that agree, and a pair that is equal"


def test_methods_that_never_differ_have_no_interval_and_p_1(tables):
    (row,) = [row for row in tables(**two_methods("ffoo", "ffoo")).comparisons if row.test == "random"]
    assert (row.difference, row.p) == ((0, None, None), 1)


def test_runs_are_compared_and_corrected_over_their_pairs(run):
    runs = [run(name, **two_methods("ffffffffff", "mmmmmmmmmm")) for name in ("a", "b")]
    rows = [row for row in analyse(runs).comparisons if row.test == "random"]
    assert len(rows) == 6
    # the same inputs differ in the same direction for all four pairs, so that one flip decides all of them
    assert sorted(row.p for row in rows) == pytest.approx([2 / 2**10] * 4 + [1, 1])


def test_tests_with_other_settings_are_not_compared(run):
    other = made.card()
    other["metrics"][0]["parameters"] = other["metrics"][0]["parameters"] | {"match": "substring"}
    found = analyse([run("a"), run("b", card=other)])
    assert {row.test for row in found.comparisons} == {"infill", "reconstruction"}


def test_searches_of_another_size_are_not_compared_but_editors_from_other_folders_are(run):
    cards = [made.card(), made.card()]
    for card, size, folder in zip(cards, (1, 16), ("mine", "yours"), strict=True):
        card["metrics"][0]["parameters"]["editor"] = {"random": {"positions": size}}
        card["metrics"][1]["parameters"]["editor"] = {"infill": {"path": folder, "positions": 4}}
    found = analyse([run(name, card=card) for name, card in zip("ab", cards, strict=True)])
    assert {row.test for row in found.comparisons} == {"infill", "reconstruction"}


def test_editors_of_one_name_go_by_their_labels_and_unions_need_the_same_settings():
    card = made.card()
    second = card["metrics"][1] | {"label": "cf_other"}
    card["metrics"].append(second)
    names = [test.name for test in listed(card)]
    assert names == ["random", made.INFILL, "reconstruction", "cf_other"]
    assert [test.name for test in unions(listed(card))] == ["random + cf_infill + cf_other"]
    second["parameters"] = second["parameters"] | {"noise": 9}
    assert [test.name for test in unions(listed(card))] == ["random + cf_infill"]


def test_verdicts():
    letters = {letter: verdict(made.score(0, made.RANDOM, letter)) for letter in "fmox"}
    assert letters == {"f": "inconsistent", "m": "consistent", "o": "no_counterfactual", "x": "not_tested"}
    assert verdict(made.score(0, made.REBUILT, "o")) == "no_reconstruction"


def test_no_counterfactual_at_all(tables):
    row = by_test(tables(scores=made.scores({made.RANDOM: "oooooooo"})).counterfactual)["mt_ra", "random"]
    assert row.found == row.total == share(0, 8)
    assert row.among_found is None
    assert row.mentioned is None


def test_one_instance(tables):
    found = tables(scores=made.scores({made.RANDOM: "f", made.INFILL: "o"}), instances=made.instances(1))
    union = by_test(found.counterfactual)["mt_ra", "random + infill"]
    assert union.total == share(1, 1) == (1.0, None, None)


def test_everything_skipped(tables):
    found = tables(scores=made.scores({made.RANDOM: "xxx"}), instances=made.instances(4), texts=[])
    row = by_test(found.counterfactual)["mt_ra", "random"]
    assert (row.n, row.found, row.among_found, row.total) == (0, None, None, None)
    assert row.untested == {"unparsed_answer": 3, "no_score": 1}
    assert found.noise == ()
    assert found.performance[0].accuracy is None


def test_a_run_without_free_text_has_no_tables(tables):
    assert tables(card={"methods": [{"label": "loo", "name": "leave_one_out", "kind": "token"}]}, texts=[]) is None
    assert tables(card={}, texts=[]) is None


def test_runs_go_by_their_models_or_else_by_their_folders(run):
    found = analyse([run("small"), run("large")])
    assert [row.model for row in found.counterfactual] == ["small"] * 3 + ["large"] * 3
    assert found.runs == 2
    twins = [run(), run()]
    assert {row.model for row in analyse(twins).counterfactual} == {str(twin.folder) for twin in twins}


def test_runs_of_other_inputs_are_refused(run):
    changed = [replace(one, parts=(split_words("Other."),)) for one in made.instances()]
    with pytest.raises(UserError, match="'i0' is not the same text"):
        analyse([run(), run(instances=changed)])
    renamed = [replace(one, id=f"new {one.id}") for one in made.instances()]
    with pytest.raises(UserError, match="share no instance"):
        analyse([run(), run(instances=renamed)])


def test_a_run_without_free_text_among_others_is_refused(run):
    bare = run(card={}, texts=[], scores=[])
    with pytest.raises(UserError, match="no free-text explanations") as refused:
        analyse([run(), bare])
    assert str(bare.folder) in str(refused.value)


def test_texts_of_a_method_that_the_card_does_not_name_are_tested_too(run):
    found = analyse([run(texts=made.texts(method="mine"), scores=made.scores(method="mine"))])
    assert {row.method for row in found.performance} == {"mt_ra", "mine"}
    assert by_test(found.counterfactual)["mine", "random"].n == 7


def test_edits_of_two_editors_on_one_input_are_resampled_together(tables):
    """Five inputs are too few for an interval, whether one editor edits them or two."""
    scores = [made.score(i, editor, "f" if i % 2 else "m") for i in range(5) for editor in (made.RANDOM, made.INFILL)]
    rows = by_test(tables(scores=scores).counterfactual)
    assert [row.flips.interval for row in rows.values()] == [None] * 3
    assert len(rows) == 3, "both editors, and their union"
