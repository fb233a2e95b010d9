"""MLflow: https://mlflow.org."""

from __future__ import annotations

import os
import re

from verax.loggers.record import LoggedRun
from verax.registry import registered

_LONGEST_PARAM, _LONGEST_TAG = 6000, 8000
_FORBIDDEN = re.compile(r"[^\w\-. :/]", re.ASCII)
"""Characters that names of MLflow cannot have; labels of methods have them."""


@registered("mlflow", "A run of MLflow with parameters, estimates, tables and the report.", needs="mlflow")
def log_to_mlflow(logged: LoggedRun) -> str:
    """Log a run where MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME say; the experiment is `verax` by default."""
    import mlflow  # noqa: PLC0415 - an extra, and heavy

    if not {"MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID", "MLFLOW_RUN_ID"} & os.environ.keys():
        mlflow.set_experiment("verax")
    tags = {_name(key): text[:_LONGEST_TAG] for key, text in logged.tags.items()}
    with mlflow.start_run(run_name=logged.name, tags=tags) as run:
        mlflow.log_params({_name(key): text[:_LONGEST_PARAM] for key, text in logged.params.items()})
        mlflow.log_metrics({_name(key): value for key, value in logged.metrics.items()})
        for name, table in logged.tables.items():
            mlflow.log_dict({"title": table.title, "rows": table.records()}, f"tables/{_name(name)}.json")
        mlflow.log_artifact(str(logged.report))
    return f"{mlflow.get_tracking_uri()}, run {run.info.run_id}"


def _name(key: str) -> str:
    """A key with the characters that MLflow allows: `lime(samples=5)` is `lime.samples.5`."""
    return re.sub(r"\.+", ".", _FORBIDDEN.sub(".", key)).strip(".")
