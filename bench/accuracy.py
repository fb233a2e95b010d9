"""How far sampled Shapley values are from the exact ones, at equal budgets, compared with shapiq.

    python -m bench.accuracy --json

Games of ten words: sentences of the built-in corpora under the shipped models (the logit of the prediction, words
masked or replaced by padding), and sums of unanimity games. For each game and seed the mean squared error over words is
taken; printed is its mean over games and seeds. The seeds differ from game to game, so that one lucky draw does not
count many times.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from shapiq import approximator

from verax.data.load import load_dataset
from verax.data.text import from_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.questions import Outputs, QuestionGenerator, resolve_target
from verax.methods.coalitions import (
    all_coalitions,
    growing,
    kernel_coalitions,
    permutations,
)
from verax.methods.games import Enumerated, Sampled
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.types import FloatArray, Instance, Removal, Target

WORDS = 10
BUDGETS = (64, 256, 1024)
BITS = 1 << np.arange(WORDS)


def model_games(task: str, parts: tuple[int, ...], removal: Removal, count: int) -> list[FloatArray]:
    """The value of every coalition of the first words of each part, for some sentences of a corpus: [2^WORDS] each."""
    model = load_model(f"world/{task}")
    games: list[FloatArray] = []

    def ask(x: Subject) -> QuestionGenerator[FloatArray]:
        logits: FloatArray = yield Outputs(x, all_coalitions(WORDS), removal)
        readout = yield from resolve_target(Target(), x)
        return readout(logits)

    def keep(outcome: TaskResult[FloatArray]) -> tuple[()]:
        if outcome.error is not None:
            raise outcome.error
        games.append(np.asarray(outcome.value))
        return ()

    instances = []
    for instance in load_dataset(f"world/{task}", split="test", limit=count).instances:
        cut = [from_words(part.words[:n]) for part, n in zip(instance.parts, parts, strict=True)]
        instances.append(Instance(instance.id, tuple(cut)))
    Engine().run(Task(ask(Subject(instance, model)), keep) for instance in instances)
    return games


def unanimity_games(count: int) -> list[FloatArray]:
    """Sums of 30 games each of which pays a random amount to coalitions that hold all of a random set."""
    numbers, games = np.arange(2**WORDS), []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        sets = rng.integers(2**WORDS, size=30)
        games.append(sum(rng.normal() * ((numbers & members) == members) for members in sets))
    return games


def kernel_shap(game: FloatArray, budget: int, seed: int) -> FloatArray:
    """As the method does it, on a game whose values are known."""
    if budget >= len(game):
        return Enumerated(game).shapley()
    drawn = kernel_coalitions(WORDS, budget - 2, np.random.default_rng(seed))
    return Sampled(drawn, game[drawn.keep @ BITS], game[0], game[-1]).shapley()


def shapley_sampling(game: FloatArray, budget: int, seed: int) -> FloatArray:
    """As the method does it, with as many orders as the budget allows for."""
    if budget >= len(game):
        return Enumerated(game).shapley()
    count = (budget - 2) // (WORDS - 1)
    scores = np.zeros(WORDS)
    for order in permutations(WORDS, count, np.random.default_rng(seed)):
        scores[order] += np.diff(game[growing(order) @ BITS]) / count
    return scores


def shapiqs(name: str, **options: Any) -> Callable[[FloatArray, int, int], FloatArray]:
    """One of shapiq's approximators as a function of a game, a budget and a seed."""

    def approximate(game: FloatArray, budget: int, seed: int) -> FloatArray:
        def values(coalitions: Any) -> FloatArray:
            return np.asarray(game[np.atleast_2d(coalitions).astype(bool) @ BITS] - game[0])

        made = getattr(approximator, name)(n=WORDS, random_state=seed, **options)
        return np.asarray(made.approximate(budget, values).get_n_order_values(1))

    return approximate


def measure(*, games: int, seeds: int) -> list[dict[str, Any]]:
    """The mean squared error of every estimator for every kind of game and budget."""
    families = {
        "world/nli, masked": model_games("nli", (6, 4), "mask", games),
        "world/nli, padded": model_games("nli", (6, 4), "pad", games),
        "world/opinion, masked": model_games("opinion", (10,), "mask", games),
        "unanimity": unanimity_games(games),
    }
    estimators = {
        "kernel_shap": kernel_shap,
        "shapiq KernelSHAP": shapiqs("KernelSHAP"),
        "shapiq KernelSHAP, paired": shapiqs("KernelSHAP", pairing_trick=True),
        "shapley_sampling": shapley_sampling,
        "shapiq PermutationSamplingSV": shapiqs("PermutationSamplingSV"),
    }
    rows = []
    for family, members in families.items():
        for budget in BUDGETS:
            row: dict[str, Any] = {"games": family, "budget": budget}
            for name, estimate in estimators.items():
                errors = [
                    ((estimate(game, budget, number * seeds + seed) - Enumerated(game).shapley()) ** 2).mean()
                    for number, game in enumerate(members)
                    for seed in range(seeds)
                ]
                row[name] = float(np.mean(errors))
            row["met"] = (
                row["kernel_shap"] <= row["shapiq KernelSHAP"]
                and row["shapley_sampling"] <= row["shapiq PermutationSamplingSV"]
            )
            rows.append(row)
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--games", type=int, default=8, help="of each kind")
    parser.add_argument("--seeds", type=int, default=10, help="for each game")
    options = parser.parse_args()
    rows = measure(games=options.games, seeds=options.seeds)
    if options.json:
        json.dump({"mean_squared_errors": rows, "met": all(row["met"] for row in rows)}, sys.stdout, indent=1)
        print()
        return
    for row in rows:
        errors = ", ".join(f"{name} {value:.2e}" for name, value in row.items() if isinstance(value, float))
        print(f"{row['games']}, {row['budget']} evaluations: {errors}; no worse than shapiq: {row['met']}")


if __name__ == "__main__":
    main()
