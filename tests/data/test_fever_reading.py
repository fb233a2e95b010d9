"""FEVER with gold evidence in its published JSONL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.published import refusal, write_jsonl
from verax.data.load import load_dataset


def claim(number: int, text: str, label: str, *evidence: tuple[str, int, str]) -> dict[str, Any]:
    return {
        "claim": text,
        "label": label,
        "evidence": [list(sentence) for sentence in evidence],
        "id": str(number),
        "verifiable": "VERIFIABLE",
        "original_id": 100 + number,
    }


CLAIMS = (
    claim(
        1,
        "Mont Évron is in Föhrland.",
        "SUPPORTS",
        ("Mont_Évron", 0, "Mont Évron -LRB- [ eˈvʁɔ̃ ] -RRB- is a hill ."),
        ("Mont_Évron", 3, " It lies in Föhrland ."),
    ),
    claim(2, "Ada Bo sings.", "NOT ENOUGH INFO", ("Ada_Bo", 1, "Ada Bo paints .")),
    claim(3, "Ada Bo is a cook.", "REFUTES", ("Ada_Bo", 1, "Ada Bo paints .")),
)


def test_a_claim_comes_with_the_sentences_of_its_evidence(tmp_path: Path) -> None:
    dataset = load_dataset(write_jsonl(tmp_path / "valid.jsonl", *CLAIMS), split="validation")
    assert [[part.raw for part in x.parts] for x in dataset.instances] == [
        ["Mont Évron is in Föhrland.", "Mont Évron -LRB- [ eˈvʁɔ̃ ] -RRB- is a hill . It lies in Föhrland ."],
        ["Ada Bo sings.", "Ada Bo paints ."],
        ["Ada Bo is a cook.", "Ada Bo paints ."],
    ]
    assert [(x.id, x.label, x.human) for x in dataset.instances] == [
        ("1", "SUPPORTS", None),
        ("2", "NOT ENOUGH INFO", None),
        ("3", "REFUTES", None),
    ]
    assert dataset.labels == ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
    assert (dataset.metric, dataset.maskable, dataset.provenance["split"]) == ("macro_f1", (1,), "validation")


def test_a_claim_with_several_evidences_has_an_instance_for_each(tmp_path: Path) -> None:
    again = {**CLAIMS[2], "evidence": [["Ada_Bo", 4, "She has never cooked ."]]}
    path = write_jsonl(tmp_path / "a.jsonl", *CLAIMS, again, again)
    assert [x.id for x in load_dataset(path).instances] == ["1", "2", "3", "3/2", "3/3"]
    assert [x.id for x in load_dataset(path, limit=4).instances] == ["1", "2", "3", "3/2"]


def test_a_number_is_an_id_and_other_fields_are_not_needed(tmp_path: Path) -> None:
    row = {name: CLAIMS[0][name] for name in ("claim", "label", "evidence")} | {"id": 7}
    assert load_dataset(write_jsonl(tmp_path / "a.jsonl", row)).instances[0].id == "7"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "SUPPORT"}, "field 'label': unknown label 'SUPPORT'; did you mean 'SUPPORTS'?"),
        ({"claim": None}, "field 'claim': expected text, got null"),
        (
            {"evidence": "Ada Bo paints ."},
            "field 'evidence': expected a list of [page, number, sentence], got the text",
        ),
        ({"evidence": ["Ada"]}, "field 'evidence[0]': expected [page, number, sentence], got the text 'Ada'"),
        (
            {"evidence": [["A", 1, "b"], ["A", 2]]},
            "field 'evidence[1]': expected [page, number, sentence], got a list of 2",
        ),
        ({"evidence": [["A", 1, None]]}, "field 'evidence[0]': expected a sentence as the third item, got null"),
        ({"id": None}, "field 'id': expected an id, got an empty value"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_field(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", CLAIMS[0], CLAIMS[1] | change)
    assert refusal(path).startswith(f"{path}:2: {message}")


@pytest.mark.parametrize("change", [{"evidence": "Ada Bo paints ."}, {"evidence": ["Ada", "Bo"]}, {"label": "yes"}])
def test_claims_of_another_form_are_a_plain_table(change: dict[str, Any], tmp_path: Path) -> None:
    row = {"claim": "Ada sings.", "evidence": [], "label": "SUPPORTS", "id": "x"} | change
    dataset = load_dataset(write_jsonl(tmp_path / "a.jsonl", row))
    assert (dataset.instances[0].id, dataset.metric) == ("x", "accuracy")


def test_a_malformed_line_is_refused(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", CLAIMS[0])
    path.write_text(path.read_text("utf-8") + '{"claim": \n', "utf-8")
    assert refusal(path).startswith(f"{path}:2: not JSON: ")
