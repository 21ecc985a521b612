"""Tables of results: sequences of rows, and frames of pandas where it is installed."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Generic, Iterable, Iterator, NamedTuple, Sequence, TypeVar, overload

from .errors import UsageError

if TYPE_CHECKING:
    import pandas

    from . import _library

Row = TypeVar("Row", bound="tuple[Any, ...]")

SHOWN = 20  # rows of a table in a notebook


def shown(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


class Table(Sequence[Row], Generic[Row]):
    """Rows, which are named tuples with the same fields. Cannot be changed."""

    def __init__(self, columns: Iterable[str], rows: Iterable[Row]) -> None:
        self.columns: tuple[str, ...] = tuple(columns)
        self._rows: tuple[Row, ...] = tuple(rows)

    @overload
    def __getitem__(self, i: int) -> Row: ...

    @overload
    def __getitem__(self, i: slice) -> "Table[Row]": ...

    @overload
    def __getitem__(self, i: str) -> list[Any]: ...

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, str):
            return self.column(i)
        return Table(self.columns, self._rows[i]) if isinstance(i, slice) else self._rows[i]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return (self.columns, self._rows) == (other.columns, other._rows) if isinstance(other, Table) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.columns, self._rows))

    def column(self, name: str) -> list[Any]:
        """The values of a column, from the first row to the last; table["top1"] is the same."""
        if name not in self.columns:
            raise UsageError(f"no column {name!r}; there are {', '.join(self.columns)}")
        i = self.columns.index(name)
        return [row[i] for row in self._rows]

    def frame(self) -> "pandas.DataFrame":
        """The table as a frame of pandas, which must be installed. Architectures are text in it."""
        import pandas

        return pandas.DataFrame({name: [value if isinstance(value, (int, float)) else str(value)
                                        for value in self.column(name)] for name in self.columns})

    def __repr__(self) -> str:
        lines = ["  ".join(self.columns)]
        lines += ["  ".join(shown(value) for value in row) for row in self._rows[:SHOWN]]
        if len(self) > SHOWN:
            lines.append(f"({len(self)} rows)")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(shown(value))}</td>" for value in row) + "</tr>"
                       for row in self._rows[:SHOWN])
        foot = f"<p>{len(self)} rows</p>" if len(self) > SHOWN else ""
        return f"<table><tr>{head}</tr>{body}</table>{foot}"


class Count(NamedTuple):
    """What something got: of `images` so many had the right class first, or among the first five."""

    images: int
    top1: int
    top5: int
    loss: float  # mean over the images

    @classmethod
    def _of(cls, found: "_library.Evaluation") -> "Count":
        return cls(found.n_images, found.top1, found.top5, found.loss)

    @property
    def accuracy(self) -> float:
        """Percent that were right."""
        return 100.0 * self.top1 / self.images
