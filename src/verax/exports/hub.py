"""Uploading a dataset of explanations to the Hugging Face hub."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from verax.exports.dataset import write_dataset
from verax.results.run import Run
from verax.types import UserError
from verax.types.errors import first_line

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_REFUSED = {
    401: "the token is not valid (401)",
    403: "the token may not write there (403); it needs write access to the namespace",
    404: "there is no such repository or namespace, or the token may not see it (404)",
}


def push_dataset(
    run: Run, repository: str, *, private: bool = False, token_env: str | None = None, licence: str | None = None
) -> str:
    """Upload a run as a dataset, in one commit; the repository is created if it does not exist.

    Args:
        repository: `name` or `namespace/name`.
        private: whether a new repository is private.
        token_env: environment variable with the token; by default that of `hf auth login` or `HF_TOKEN`.
        licence: see `write_dataset`.

    Returns:
        The address of the dataset.
    """
    check_repository(repository)
    token = _token(token_env)
    from huggingface_hub import HfApi  # noqa: PLC0415 - takes half a second

    api = HfApi(token=token, library_name="verax", library_version=run.manifest.verax)
    with tempfile.TemporaryDirectory(prefix="verax-push-") as folder, _plain_errors(repository, api.endpoint):
        write_dataset(run, Path(folder), repository, licence=licence)
        with _quietly():
            url = _upload(api, repository, Path(folder), private=private, message=f"Explanations of {run.name}")
    return url


def _upload(api: HfApi, repository: str, folder: Path, *, private: bool, message: str) -> str:
    """Create the repository if need be, and commit the files of a folder to it."""
    url = api.create_repo(repository, repo_type="dataset", private=private or None, exist_ok=True)
    api.upload_folder(repo_id=url.repo_id, repo_type="dataset", folder_path=folder, commit_message=message)
    return str(url)


def check_repository(name: str) -> None:
    """Reject a name that the hub would not accept."""
    from huggingface_hub.errors import HFValidationError  # noqa: PLC0415 - as above
    from huggingface_hub.utils._validators import validate_repo_id  # noqa: PLC0415

    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise UserError(
            f"{name!r} is no name of a repository, such as my-name/my-dataset: {first_line(error)}"
        ) from None


def _token(variable: str | None) -> str:
    """The token, which is never printed."""
    if variable is not None:
        token = os.environ.get(variable)
        if not token:
            raise UserError(f"--token-env: the environment variable {variable} is not set")
        return token
    from huggingface_hub import get_token  # noqa: PLC0415 - as above

    known = get_token()
    if known is None:
        raise UserError("no token: log in with `hf auth login`, set HF_TOKEN, or name a variable with --token-env")
    return known


@contextmanager
def _plain_errors(repository: str, endpoint: str) -> Iterator[None]:
    """What the hub or the network refuses, as one line."""
    from httpx2 import HTTPError  # noqa: PLC0415 - as above
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled  # noqa: PLC0415

    try:
        yield
    except (HTTPError, ConnectionError, RuntimeError) as raised:
        error: BaseException = raised
        if isinstance(raised, RuntimeError) and raised.__cause__ is not None:  # as the client wraps what a file met
            error = raised.__cause__
        if isinstance(error, OfflineModeIsEnabled):
            reason = "the network is switched off; unset HF_HUB_OFFLINE"
        elif isinstance(error, HfHubHTTPError):
            status = error.response.status_code
            reason = _REFUSED.get(status, f"{error.server_message or first_line(error)} ({status})")
        elif isinstance(error, HTTPError | ConnectionError):
            reason = f"the hub cannot be reached: {first_line(error) or type(error).__name__}"
        else:
            raise
        raise UserError(f"{repository} was not uploaded to {endpoint}: {reason}") from None


@contextmanager
def _quietly() -> Iterator[None]:
    """No progress bars of the client."""
    from huggingface_hub.utils.tqdm import (  # noqa: PLC0415 - as above
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
