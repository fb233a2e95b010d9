"""What a bag of words can tell: the measure of short cuts through a task."""

from __future__ import annotations

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from verax.types import Dataset


def accuracy(train: Dataset, test: Dataset, parts: tuple[int, ...], word: str = r"(?u)\b\w\w+\b") -> float:
    """Of a logistic regression on counts of words (what the pattern calls so) and word pairs of some of the parts."""

    def texts(data: Dataset) -> list[str]:
        return [" ".join(word for part in parts for word in i.parts[part].words) for i in data.instances]

    counts = CountVectorizer(ngram_range=(1, 2), token_pattern=word)
    model = LogisticRegression(max_iter=2000)
    model.fit(counts.fit_transform(texts(train)), [i.label for i in train.instances])
    return float(model.score(counts.transform(texts(test)), [i.label for i in test.instances]))
