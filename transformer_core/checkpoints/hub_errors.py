"""Error messages for the Hugging Face Hub."""

import errno

import httpx2
from huggingface_hub import constants
from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    RevisionResolutionError,
)

from transformer_core.errors import CheckpointError, Message
from transformer_core.reasons import reason

_LOGIN = "`hf auth login`"


def explained(error: BaseException, repo: str, revision: str | None, file: str | None = None) -> CheckpointError:
    """Return the error to show for a library error; errors unrelated to Hub, network or disk are raised again.

    Args:
        error: the error that the library raised.
        repo: the model's id.
        revision: the requested version.
        file: the file that was being downloaded.
    """
    if isinstance(error, RevisionResolutionError | LocalEntryNotFoundError) and error.__cause__ is not None:
        return explained(error.__cause__, repo, revision, file)
    if isinstance(error, HFValidationError):
        return CheckpointError(
            "there is no file or folder {repo!r}, and Hub ids have the form owner/name; give a path or an id", repo=repo
        )
    if isinstance(error, HfHubHTTPError):
        return CheckpointError(_answered(error, repo, revision))
    if isinstance(error, OfflineModeIsEnabled):
        return CheckpointError(_unreachable(repo, Message("offline mode is on: HF_HUB_OFFLINE")))
    if isinstance(error, httpx2.HTTPError | ConnectionError | TimeoutError | LocalEntryNotFoundError):
        return CheckpointError(_unreachable(repo, Message("no connection")))
    if isinstance(error, OSError):
        return CheckpointError(_not_written(error, repo, file))
    raise error


def _answered(error: HfHubHTTPError, repo: str, revision: str | None) -> Message:
    """Return the message for an error response of the Hub."""
    status = error.response.status_code
    if isinstance(error, GatedRepoError):
        return Message(
            "{repo} is gated: request access at {place}, log in with {login}, and load it again",
            repo=repo,
            place=f"{constants.ENDPOINT}/{repo}",
            login=_LOGIN,
        )
    if isinstance(error, RevisionNotFoundError):
        return Message(
            "{repo} has no version {revision!r}; leave out @{revision} to get the latest", repo=repo, revision=revision
        )
    if isinstance(error, RepositoryNotFoundError):
        form = "" if "/" in repo else Message("ids have the form owner/name, such as openai-community/gpt2; ")
        return Message(
            "there is no file or folder {repo!r} and no such model on the Hub; {form}if it is private, log in with "
            "{login}",
            repo=repo,
            form=form,
            login=_LOGIN,
        )
    if isinstance(error, DisabledRepoError):
        return Message("{repo} was disabled on the Hub; choose another model", repo=repo)
    if status == 401:
        return Message(
            "the Hub does not accept this machine's login for {repo}; log in again with {login}",
            repo=repo,
            login=_LOGIN,
        )
    if status == 403:
        return Message(
            "this machine is not allowed to read {repo}; log in with {login}, using a token that has access",
            repo=repo,
            login=_LOGIN,
        )
    if status == 429:
        seconds = error.response.headers.get("Retry-After", "")
        moment = Message("in {seconds} seconds", seconds=seconds) if seconds.isdigit() else Message("in a few minutes")
        return Message(
            "too many requests to the Hub; load {repo} again {moment}, or log in with {login}",
            repo=repo,
            moment=moment,
            login=_LOGIN,
        )
    if status >= 500:
        return Message("the Hub has a server error (HTTP {status}); load {repo} again later", status=status, repo=repo)
    place = f"{constants.ENDPOINT}/{repo}"
    return Message(
        "the Hub refused access to {repo} (HTTP {status}); see {place}", repo=repo, status=status, place=place
    )


def _unreachable(repo: str, why: Message) -> Message:
    """Return the message for a model that is not cached while the Hub is unreachable."""
    return Message(
        "there is no file or folder {repo!r}, the model is not in the Hub's cache, and the Hub cannot be "
        "reached ({why}); load it once while online, or give a path on this machine",
        repo=repo,
        why=why,
    )


def _not_written(error: OSError, repo: str, file: str | None) -> Message:
    """Return the message for a file that was not written completely."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Message(
            "the disk of {cache} is full; free some space for {repo}, or set HF_HOME to another folder",
            cache=constants.HF_HUB_CACHE,
            repo=repo,
        )
    if error.errno is not None:
        return Message(
            "{cache} cannot be written ({error}); set HF_HOME to a writable folder",
            cache=constants.HF_HUB_CACHE,
            error=reason(error),
        )
    return Message(
        "{file} of {repo} was downloaded with the wrong size and was discarded; load the model again",
        file=file or repo,
        repo=repo,
    )
