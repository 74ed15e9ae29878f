"""A part of a page of Explore on its own: drawn in a session of Streamlit, and each of its figures with its files."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from headlight.figures import Figure

Files = Callable[[], Mapping[str, bytes]]


def _draw(part: "Any") -> None:  # its lines alone are run
    part()


def shown(part: Callable[[], object], **session: Any) -> AppTest:
    """Draw in a session that begins with these values; nothing goes wrong."""
    app = AppTest.from_function(_draw, default_timeout=60, args=(part,))
    for name, value in session.items():
        app.session_state[name] = value
    return again(app)


def again(app: AppTest) -> AppTest:
    """Run once more; nothing goes wrong."""
    app.run()
    assert not app.exception, app.exception[0].message
    return app


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure as a part of a page drew it, and all that is taken away with it."""

    figure: Figure
    name: str  # of its files
    csv: list[list[str]]  # lines of cells
    arrays: dict[str, np.ndarray]
    code: str
    state: str
    options: dict[str, Any]  # else, as `live_figure` takes them

    @classmethod
    def of(cls, figure: Figure, *, name: str, files: Files, **options: Any) -> "Drawing":
        """Take all away at once."""
        taken = {file.rpartition(".")[2]: content for file, content in files().items()}
        with np.load(io.BytesIO(taken["npz"])) as arrays:
            numbers = dict(arrays)
        lines = [line.split(",") for line in taken["csv"].decode().splitlines()]
        code, state = taken["py"].decode(), taken["json"].decode()
        return cls(figure=figure, name=name, csv=lines, arrays=numbers, code=code, state=state, options=options)

    @property
    def title(self) -> str:
        """The figure's title."""
        return str(self.figure.layout.title.text)

    def trace(self, name: str) -> Any:
        """The trace of a name."""
        return next(trace for trace in self.figure.data if trace.name == name)

    def cells(self, name: str = "") -> np.ndarray:
        """The numbers of a heatmap; 0 where it has none."""
        return np.nan_to_num(np.array(self.trace(name).z, dtype=np.float64))

    def check(self, name: str, header: list[str], values: Any, *, atol: float = 1e-6) -> None:
        """These numbers are taken away, as an array of this name and in the last column of a table."""
        np.testing.assert_allclose(self.arrays[name], values, atol=atol)
        assert self.csv[0] == header
        np.testing.assert_allclose([float(line[-1]) for line in self.csv[1:]], np.ravel(values), atol=atol)

    def column(self, number: int) -> list[str]:
        """A column of the table, without its head."""
        return [line[number] for line in self.csv[1:]]
