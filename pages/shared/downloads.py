"""Models as files to download: packed into a temporary file, and sent from there piece by piece.

Streamlit's own button holds the whole file in memory, for as long as the session lasts, so it serves small files only.
"""

from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from transformer_core.errors import HeadlightError

if TYPE_CHECKING:
    from pages.shared.models import ModelCard

PIECE = 1 << 18  # bytes held in memory at a time


def address(card: "ModelCard") -> str:
    """Return where the model can be had as a zip file."""
    return f"/download/{quote(card.name, safe='')}.zip"


def send(request: Request) -> Response:
    """Answer with a model's folder as a zip file."""
    from pages.shared import models
    from transformer_core.checkpoints.archive import pack

    name = request.path_params["name"]
    card = models.available().get(name)
    if card is None:
        return PlainTextResponse("There is no such model any more.", status_code=404)
    file = TemporaryFile()  # noqa: SIM115  # closed once it is sent
    try:
        pack(models.place_of(card.path), file)
    except HeadlightError as error:
        file.close()
        return PlainTextResponse(f"{error}.", status_code=500)
    headers = {
        "content-length": str(file.tell()),
        "content-disposition": f"attachment; filename*=UTF-8''{quote(name)}.zip",
        "cache-control": "no-store",
    }
    return StreamingResponse(_pieces(file), media_type="application/zip", headers=headers)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        while piece := file.read(PIECE):
            yield piece


ROUTE = Route("/download/{name}.zip", send)
