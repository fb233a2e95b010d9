"""How much half precision changes explanations: rank correlation of each method's scores with those in float32.

    python -m bench.precision                              # float16, 20 inputs of the shipped model
    python -m bench.precision --dtype bfloat16 --limit 50

The last column is the share of inputs whose correlation is below 0.9. Methods that draw at random have the same seed.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import spearmanr

from verax import explain, load_dataset, load_model
from verax.types import Undefined

METHODS = (
    "leave_one_out",
    "occlusion",
    "lime",
    "shapley_sampling",
    "kernel_shap",
    "beam",
    "saliency",
    "input_x_gradient",
    "integrated_gradients",
    "gradient_vocabulary",
    "activation",
    "attention",
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="world/nli")
    parser.add_argument("--data", default="world/nli")
    parser.add_argument("--dtype", default="float16", choices=("float16", "bfloat16", "float64"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--limit", type=int, default=20)
    given = parser.parse_args()
    models = [load_model(given.model, dtype=dtype, device=given.device) for dtype in ("float32", given.dtype)]
    instances = load_dataset(given.data, split="test", limit=given.limit).instances
    print(f"{given.model}, {len(instances)} inputs, {given.dtype} and float32 on {models[0].about['device']}")
    print("| method | mean | lowest | below 0.9 |\n| --- | --- | --- | --- |")
    for method in METHODS:
        correlations = []
        for instance in instances:
            try:
                first, second = (explain(model, instance, method=method, seed=0).highlight.scores for model in models)
            except Undefined:
                continue
            correlations.append(spearmanr(first, second).statistic)
        values = np.array(correlations)
        print(f"| {method} | {values.mean():.4f} | {values.min():.4f} | {(values < 0.9).mean():.0%} |", flush=True)


if __name__ == "__main__":
    main()
