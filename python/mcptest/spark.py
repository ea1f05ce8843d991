"""Scores on Apache Spark: rows of traces in, rows of verdicts out.

Executors need this package installed. Nothing is collected on the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow
from pyspark import TaskContext
from pyspark.sql import functions

from mcptest._rows import COLUMNS, Job
from mcptest._score import Gates, options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCHEMA = "kind string, id string, `group` string, verdict string, line string"
"""The columns of a score. ``line`` is the JSON that ``mcptest score`` prints."""

# Where a row comes from: parts of a group are merged in the order of the input.
_PLACED = SCHEMA + ", part int, place long"


def score(
    df: DataFrame,
    gates: Gates | None = None,
    *,
    column: str | None = None,
    group_by: str | None = None,
    outcome: str | None = None,
    outcome_pass: object = None,
    format: str | None = None,  # noqa: A002
    server_prefix: Sequence[str] = (),
) -> DataFrame:
    """Judge the traces of a data frame.

    ``column`` has the traces as JSON text, as ``spark.read.text`` gives them; it may be omitted if there is only one column.
    Other columns are ignored. The other arguments are those of :func:`mcptest.score`. The result has the columns of ``SCHEMA``:
    a row per trace, and a row per group of runs. Groups may be spread over any number of partitions.
    """
    job = Job.of(gates, options(group_by, outcome, outcome_pass, format, server_prefix))
    if column is None:
        if len(df.columns) != 1:
            raise ValueError(f"say which column has the traces: {', '.join(df.columns)}")
        column = df.columns[0]

    def score_part(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        part, place = TaskContext.get().partitionId(), 0
        for rows in job.score(batch.column(0).to_pylist() for batch in batches):
            arrays = [*_arrays(rows), _int([part] * len(rows), 32), _int(range(place, place + len(rows)), 64)]
            place += len(rows)
            yield pyarrow.RecordBatch.from_arrays(arrays, [*COLUMNS, "part", "place"])

    def merge_part(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for rows in job.merge(batch.to_pylist() for batch in batches):
            yield pyarrow.RecordBatch.from_arrays(_arrays(rows), list(COLUMNS))

    scored = df.select(functions.col(column)).mapInArrow(score_part, _PLACED)
    # Rows of a group meet; a trace without a group goes anywhere.
    key = functions.coalesce(functions.col("group"), functions.concat_ws("/", "part", "place"))
    together = scored.repartition(key).sortWithinPartitions("part", "place")
    return together.mapInArrow(merge_part, SCHEMA)


def _arrays(rows: Sequence[dict[str, Any]]) -> list[pyarrow.Array]:
    return [pyarrow.array([row[name] for row in rows], pyarrow.string()) for name in COLUMNS]


def _int(values: Sequence[int], bits: int) -> pyarrow.Array:
    return pyarrow.array(values, pyarrow.int32() if bits == 32 else pyarrow.int64())
