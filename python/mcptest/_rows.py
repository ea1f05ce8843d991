"""Scores as rows, for engines that split a corpus: each part is scored by itself, then groups are merged.

A part gives a row per trace and a row per group. Merging takes all rows of a group, from every part, and judges its runs
together, as ``mcptest score --merge`` does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcptest._score import Gates, Session, load_gates
from mcptest.errors import InputError

COLUMNS = ("kind", "id", "group", "verdict", "line")
"""What a row says: ``trace`` or ``group``, then what the line says, then the line of ``mcptest score`` itself."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """How a corpus is scored. It is sent to every worker."""

    gates: dict[str, Any] | None
    folder: str | None
    options: tuple[str, ...]
    merge_options: tuple[str, ...]

    @classmethod
    def of(cls, gates: Gates | None, options: Sequence[str]) -> Job:
        """Read the gates once, so that workers do not need the file."""
        loaded, folder = (None, None) if gates is None else load_gates(gates)
        # Every worker has a processor of its own.
        one = ("--jobs=1",)
        merge = tuple(option for option in options if option.startswith("--outcome"))
        return cls(loaded, folder, (*options, *one), ("--merge", *merge, *one))

    def score(self, batches: Iterable[list[Any]]) -> Iterator[list[Row]]:
        """Score the records of one part."""
        with Session(self.gates, self.options, folder=self.folder) as session:
            for batch in batches:
                # As in files, a blank line is not a record.
                records = [record for record in batch if not isinstance(record, str) or record.strip()]
                yield [_row(line) for line in session.add(records)]
            lines, _ = session.finish()
            yield [_row(line) for line in lines]

    def merge(self, batches: Iterable[list[Row]]) -> Iterator[list[Row]]:
        """Judge groups from the rows of all parts. Rows of traces are passed on."""
        with Session(self.gates, self.merge_options, folder=self.folder) as session:
            for batch in batches:
                session.add([row["line"] for row in batch if row["group"] is not None])
                yield [row for row in batch if row["kind"] == "trace"]
            lines, end = session.finish()
            # Records that could not be read have rows that say so. Rows that are lost or foreign are another matter.
            if any(code in end["messages"] for code in ("error[not-score-output]", "error[gates-mismatch]")):
                raise InputError(end["messages"])
            yield [_row(line) for line in lines]


def _row(line: bytes) -> Row:
    found = json.loads(line)
    kind = "trace" if "index" in found else "group"
    text = line.decode()
    return {
        "kind": kind,
        "id": found.get("id"),
        "group": found.get("group"),
        "verdict": found["verdict"],
        "line": text,
    }
