"""Scores on Ray Data: rows of traces in, rows of verdicts out. Workers need this package installed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow

from mcptest._rows import COLUMNS, Job
from mcptest._score import Gates, options

if TYPE_CHECKING:
    from ray.data import Dataset

# Groups that are merged together: enough for every worker to have some.
_BUCKETS = 256

SCHEMA = pyarrow.schema([(name, pyarrow.string()) for name in COLUMNS])
"""The columns of a score. ``line`` is the JSON that ``mcptest score`` prints."""


def score(
    ds: Dataset,
    gates: Gates | None = None,
    *,
    column: str,
    group_by: str | None = None,
    outcome: str | None = None,
    outcome_pass: object = None,
    format: str | None = None,  # noqa: A002
    server_prefix: Sequence[str] = (),
) -> Dataset:
    """Judge the traces of a data set, whose ``column`` has them as JSON text.

    The other arguments are those of :func:`mcptest.score`. The result has the columns of ``SCHEMA``: a row per trace, and a row
    per group of runs. Verdicts, metrics and failures are those of one process. Ray keeps no order of blocks, so the runs of a
    group are merged in the order of their lines, and ``carry`` in the line of a group has them in that order.
    """
    job = Job.of(gates, options(group_by, outcome, outcome_pass, format, server_prefix))

    def score_block(block: pyarrow.Table) -> pyarrow.Table:
        rows = [row for part in job.score([block.column(column).to_pylist()]) for row in part]
        # Rows of a group meet; a trace without a group goes anywhere.
        keys = [zlib.crc32((row["line"] if row["group"] is None else row["group"]).encode()) % _BUCKETS for row in rows]
        return _table(rows).append_column("bucket", pyarrow.array(keys, pyarrow.int32()))

    def merge_bucket(block: pyarrow.Table) -> pyarrow.Table:
        rows = sorted(block.drop_columns(["bucket"]).to_pylist(), key=lambda row: row["line"])
        return _table([row for part in job.merge([rows]) for row in part])

    scored = ds.map_batches(score_block, batch_format="pyarrow", batch_size=None)
    return scored.groupby("bucket").map_groups(merge_bucket, batch_format="pyarrow")


def _table(rows: Sequence[dict[str, Any]]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist(list(rows), schema=SCHEMA)
