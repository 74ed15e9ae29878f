"""The folders of models: which are unusable, how models are imported, kept and deleted, and their cards."""

import re
import shutil
import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import SEEK_END, BufferedIOBase
from os.path import isfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from headlight.language import say, say_message
from pages.shared import forwards, models, owners
from pages.shared.models import ModelCard
from transformer_core.errors import CheckpointError, HeadlightError, Message
from transformer_core.reasons import reason

if TYPE_CHECKING:
    from transformer_core.checkpoints.archive import Files
    from transformer_core.checkpoints.candidates import CandidateLoss
    from transformer_core.checkpoints.tensor_files import OnProgress
    from transformer_core.model.transformer import Transformer
    from transformer_core.text.tokenizer import OwnTokenizer

SECONDS_IF_SHARED = 10.0  # for the losses of candidates, on a server that several people use
_MAX_NAME = 60  # characters

_taken: set[str] = set()  # names that imports in progress have reserved
_lock = threading.Lock()


class Unusable(NamedTuple):
    """A folder among the models that holds no usable model."""

    name: str
    reason: str
    is_foreign: bool  # a Hugging Face folder, which can be imported
    can_be_deleted: bool


def whole_card(path: str) -> dict[str, Any]:
    """Return the complete card of a model; its heads may be described later than its weights.

    Raises:
        CheckpointError: it cannot be read.
    """
    from transformer_core.checkpoints.checkpoint import read_card

    return read_card(models.place_of(path))


def import_notes(path: str) -> list[Message]:
    """Return the notes on how a model was imported; none if its card is invalid."""
    try:
        return [Message.from_json(note) for note in whole_card(path).get("notes", ())]
    except (CheckpointError, TypeError):
        return []


def n_bytes(card: ModelCard) -> int:
    """Return how many bytes the model takes on the disk; 0 if it was deleted."""
    try:
        return sum(path.stat().st_size for path in models.place_of(card.path).iterdir() if path.is_file())
    except OSError:
        return 0


def unusable(cards: Mapping[str, ModelCard]) -> list[Unusable]:
    """Return the folders among the models without a usable model, each with a sentence that says why."""
    from transformer_core.checkpoints.checkpoint import CONFIG

    return [
        Unusable(
            name=place.name,
            reason=_trouble(place),
            is_foreign=_is_foreign(place),
            can_be_deleted=isfile(place / CONFIG) and not models.is_shipped(place.name) and owners.is_mine(place),
        )
        for place in sorted(models.folder().glob("[!.]*"))
        if place.is_dir() and place.name not in cards
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class ImportRequest:
    """A model to import, and answers to what its files leave open."""

    source: str = ""  # an id of the Hugging Face Hub or a path; "": uploaded
    files: Mapping[str, BufferedIOBase] = field(default_factory=dict)  # uploaded, by name
    options: Mapping[str, Any] = field(default_factory=dict)  # as for `tc.load`

    @property
    def title(self) -> str:
        """What the user gave: a source, or the names of files."""
        names = [*self.files]
        return self.source or ", ".join(names[:3]) + (" …" if len(names) > 3 else "")

    def run(self, on_progress: "OnProgress") -> str:
        """Import the model, and return its name here.

        Raises:
            UndecidedError: its files leave questions open.
            UnknownLayoutError: the names of its weights are of no known layout.
            HeadlightError: it cannot be loaded or written.
        """
        with self._opened() as files:
            if files:
                return unpack(files, _stem(files), options=self.options, on_progress=on_progress)
        return bring_in(self.source, options=self.options, on_progress=on_progress)

    def losses(self, text: str) -> "list[CandidateLoss]":
        """Return the loss on a text for each combination of answers to the open questions.

        Raises:
            HeadlightError: the model makes no predictions, or the text is too short for it.
        """
        from transformer_core.checkpoints.archive import put
        from transformer_core.checkpoints.candidates import MOST_SECONDS, candidate_losses

        with forwards.one_of_few(), self._opened() as files, TemporaryDirectory() as folder:
            most = SECONDS_IF_SHARED if owners.is_shared() else MOST_SECONDS
            location = put(files, Path(folder)) if files else self.source
            return candidate_losses(location, text, options=self.options, max_seconds=most)

    @contextmanager
    def _opened(self) -> "Iterator[Mapping[str, BufferedIOBase]]":
        """Open the files of a model that are uploaded or in a zip file; none for another source."""
        from transformer_core.checkpoints.location import typed_path

        path = typed_path(self.source) if self.source and not owners.is_shared() else Path()
        if path.suffix.lower() == ".zip" and isfile(path):
            try:
                with path.open("rb") as file:
                    yield {path.name: file}
            except OSError as error:
                raise CheckpointError("{path} cannot be read ({error})", path=path, error=reason(error)) from error
        else:
            yield self.files


def _stem(files: Mapping[str, BufferedIOBase]) -> str:
    """Return the name of the largest file without its ending, from which the model gets its name."""
    largest = max(files, key=lambda name: files[name].seek(0, SEEK_END))
    folder, _, name = largest.replace("\\", "/").rpartition("/")
    return folder.rpartition("/")[2] or Path(name).stem


def unpack(
    files: "Files", wanted: str, *, options: Mapping[str, Any] | None = None, on_progress: "OnProgress | None" = None
) -> str:
    """Import a model from uploaded files, and return its name here, which resembles the wanted one.

    Raises:
        HeadlightError: as from `ImportRequest.run`; they are not the files of a model, or too large.
    """
    from headlight.viewing.folder import write_viewed
    from transformer_core.checkpoints.archive import unpack as unpack_folder

    with _free_name(wanted) as name:
        folder = models.folder() / name
        unpack_folder(files, folder, options=options, on_progress=on_progress, otherwise=write_viewed)
    return name


def bring_in(source: str, *, options: Mapping[str, Any] | None = None, on_progress: "OnProgress") -> str:
    """Import a model from an id of the Hugging Face Hub, a folder or a file of weights, and return its name here.

    Raises:
        HeadlightError: as from `ImportRequest.run`.
    """
    from headlight.viewing.folder import refuse_unviewable, write_viewed
    from transformer_core.checkpoints.bring_in import bring_in as bring_in_folder
    from transformer_core.checkpoints.bring_in import title_of
    from transformer_core.checkpoints.location import find

    if owners.is_shared():
        raise CheckpointError("on a shared server, models are imported as files only; its operator can import others")
    location = find(source, on_progress, on_unsupported=refuse_unviewable)
    title = title_of(str(location.name))
    is_of_file = isfile(location.folder) and title == location.folder.name
    with _free_name(Path(title).stem if is_of_file else title) as name:
        folder = models.folder() / name
        bring_in_folder(location, folder, options=options, on_progress=on_progress, otherwise=write_viewed)
    return name


class KeptModel(NamedTuple):
    """A model that was saved from a training."""

    name: str  # of its folder
    title: str
    step: int  # training step of its weights


def keep_run(run: Path, wanted: str) -> KeptModel:
    """Save the last model of a training under a name that resembles the wanted one; its heads are measured later.

    Raises:
        HeadlightError: there is nothing to keep, or no room for it.
    """
    from transformer_core.training.run.directory import keep_run as keep_run_in

    titles = {card.title for card in models.available().values()}
    with _free_name(wanted) as name:
        title = f"{wanted} ({name})" if wanted in titles else wanted
        step = keep_run_in(run, models.folder() / name, title=title)
    return KeptModel(name, title, step)


def keep_compiled(model: "Transformer", tokenizer: "OwnTokenizer", wanted: str, examples: Sequence[str]) -> str:
    """Save a model that was compiled from a program, and return the name of its folder.

    Raises:
        CheckpointError: it cannot be written.
    """
    from headlight.programs.checkpoint import save_compiled

    with _free_name(wanted) as name:
        try:
            save_compiled(models.folder() / name, model, tokenizer, title=wanted, examples=examples)
        except OSError as error:
            raise CheckpointError("it cannot be written ({error})", error=reason(error)) from None
    return name


def delete(name: str) -> None:
    """Delete a model that a user added.

    Raises:
        CheckpointError: it belongs to Headlight or to another visitor, no longer exists, or cannot be deleted.
    """
    from transformer_core.checkpoints.checkpoint import remove

    if models.is_shipped(name):
        raise CheckpointError("{name} is included with Headlight; only your own models can be deleted", name=name)
    if Path(name).name != name or name.startswith("."):
        raise CheckpointError("{name!r} is not the name of a model; choose one from the list", name=name)
    owners.check_is_mine(models.folder() / name, CheckpointError)
    remove(models.folder() / name)
    owners.forget(models.folder() / name)


@contextmanager
def _free_name(wanted: str) -> Iterator[str]:
    """Reserve a name for a folder, like the wanted one, while the model is written there, and check its card.

    Raises:
        HeadlightError: what this visitor keeps on a shared server would be too large, or the app cannot show the model.
    """
    owners.check_room(models.folder())
    without_marks = unicodedata.normalize("NFKD", wanted).encode("ascii", "ignore").decode().lower()
    plain = re.sub(r"[^a-z0-9._-]+", "-", without_marks)[:_MAX_NAME].strip("-.") or "model"
    with _lock:
        there = {path.name for path in models.folder().glob("*")} | _taken | {*models.SHIPPED}
        name = next(name for name in (plain, *(f"{plain}-{i}" for i in range(2, len(there) + 3))) if name not in there)
        _taken.add(name)
    owners.claim(models.folder() / name)
    try:
        yield name
        if name not in models.available():
            raise CheckpointError("its card.json does not match the format of a model card; leave that file out")
    except BaseException:  # including a run of the page that was cancelled
        shutil.rmtree(models.folder() / name, ignore_errors=True)
        owners.forget(models.folder() / name)
        raise
    finally:
        with _lock:
            _taken.discard(name)


def _is_foreign(place: Path) -> bool:
    """Return whether a folder is a model of another program; False if it cannot be read."""
    from transformer_core.checkpoints.checkpoint import is_foreign

    with suppress(OSError):
        return is_foreign(place)
    return False


def _trouble(place: Path) -> str:
    from transformer_core.checkpoints.checkpoint import CARD, CONFIG, WEIGHTS, existing, read_json
    from transformer_core.config import ModelConfig

    if _is_foreign(place):
        return say("It is a Hugging Face folder; import it to convert it.")
    try:
        existing(place, WEIGHTS)
        read_json(place, CARD)
        ModelConfig.from_dict(read_json(place, CONFIG))
    except HeadlightError as error:
        return say_message(error.message.replaced(f"{place}/", "").replaced(str(place), Message("It"))) + "."
    except (AttributeError, TypeError) as error:
        return f"{error}."
    except OSError as error:
        return say("It cannot be read ({error}).", error=reason(error))
    return say("Its card.json does not match the format of a model card.")
