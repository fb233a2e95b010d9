"""Corpus BLEU from summed counts, against sacrebleu."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.stats.bleu import corpus_bleu, counts_of

sacrebleu = pytest.importorskip("sacrebleu")

sentences = st.lists(st.sampled_from(["the", "dog", "runs", "an", "animal", "moves", "."]), max_size=9).map(" ".join)


def summed(corpus):
    rows = []
    for hypothesis, references in corpus:
        found = sacrebleu.sentence_bleu(hypothesis, references)
        rows.append([*found.counts, *found.totals, found.sys_len, found.ref_len])
    return np.array(rows, float).sum(axis=0)


@given(st.lists(st.tuples(sentences, st.lists(sentences, min_size=2, max_size=2)), min_size=1, max_size=6))
def test_it_is_sacrebleus(corpus):
    by_reference = [[references[place] for _, references in corpus] for place in range(2)]
    expected = sacrebleu.corpus_bleu([hypothesis for hypothesis, _ in corpus], by_reference).score
    assert corpus_bleu(summed(corpus)) == pytest.approx(expected, abs=1e-9)


def test_counts_are_joined_in_the_order_in_which_they_are_summed():
    found = sacrebleu.sentence_bleu("the dog runs .", ["an animal runs ."])
    series = {"lengths": (found.sys_len, found.ref_len), "total": found.totals, "correct": found.counts}
    assert counts_of(series) == [*found.counts, *found.totals, found.sys_len, found.ref_len]
    assert counts_of({**series, "total": found.totals[:3]}) is None
    del series["correct"]
    assert counts_of(series) is None


def test_many_corpora_at_once():
    same = [9, 8, 7, 6, 9, 8, 7, 6, 9, 9]
    short = [4, 3, 2, 1, 4, 3, 2, 1, 4, 8]
    found = corpus_bleu(np.array([same, short, [0] * 10], float))
    assert found == pytest.approx([100, 100 * np.exp(-1), 0])
