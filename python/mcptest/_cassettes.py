"""Recorded runs next to their test, and the lock that lets one process record them.

The program reads and writes them: they are cassettes like those of suites, with a digest, and ``mcptest cassette`` takes them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from mcptest._engine import ENGINE
from mcptest._record import Recording
from mcptest.errors import InputError, RecordError


class Cassettes:
    """The recorded runs of one test: ``cassettes/FILE/TEST/pytest/N.json`` in the folder of the test."""

    def __init__(self, test_file: Path, test: str, inputs: dict[str, object]) -> None:
        """Name the recordings of a test, and what they depend on."""
        self.test = test
        self.key = f"{test_file.resolve()}::{test}"
        self.inputs = inputs
        self._base = f"{test_file.parent}{os.sep}"
        self._of: dict[str, object] = {
            "file": str(test_file),
            "test": test,
            "program": "pytest",
            "record": "record it with `pytest --mcptest-record`",
        }

    def _shown(self, text: str) -> str:
        """Shorten paths to those from the current folder, as pytest shows them."""
        return text.replace(self._base, os.path.join(os.path.relpath(self._base), "").removeprefix(f".{os.sep}"))

    def start(self) -> None:
        """Check that runs can be written."""
        try:
            ENGINE.call("cassettes.start", self._of)
        except InputError as error:
            raise RecordError(self._shown(str(error))) from None

    def read(self, runs: int) -> list[Cassette]:
        """Return the recorded runs, all of them."""
        try:
            found = ENGINE.call("cassettes.load", {"of": self._of, "inputs": self.inputs, "runs": runs})["runs"]
        except InputError as error:
            raise InputError(self._shown(str(error))) from None
        return [Cassette(self._shown(run["path"]), run["text"], run["edited"]) for run in found]

    def write(self, recordings: list[Recording]) -> None:
        """Write the runs of a test, and remove older ones."""
        runs = [{"trace": recording.trace, "observed": recording.observed} for recording in recordings]
        try:
            ENGINE.call("cassettes.save", {"of": self._of, "inputs": self.inputs, "runs": runs})
        except InputError as error:
            raise RecordError(self._shown(str(error))) from None


@dataclass(frozen=True)
class Cassette:
    """A recorded run."""

    path: str
    text: str
    is_edited: bool


class FileLock:
    """Lets one process of this user at a time do something about a file."""

    def __init__(self, key: str) -> None:
        """Name the lock."""
        name = hashlib.sha256(os.fsencode(key)).hexdigest()[:32]
        self.path = Path(tempfile.gettempdir()) / f"mcptest-{os.getuid()}" / f"{name}.lock"
        self._file: IO[str] | None = None

    def __enter__(self) -> FileLock:
        """Wait for the lock."""
        folder = self.path.parent
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            if folder.lstat().st_uid != os.getuid():
                raise RecordError(f"cannot lock the recording of a test: {folder} belongs to another user")
            self._file = open(self.path, "a+", encoding="utf-8")
        except OSError as error:
            raise RecordError(f"cannot lock the recording of a test: {error}") from error
        fcntl.flock(self._file, fcntl.LOCK_EX)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Let the next one in."""
        if self._file is not None:
            self._file.close()


class RecordingState:
    """How the recording of a test went, for the other processes of the same pytest run."""

    def __init__(self, cassettes: Cassettes, session: str) -> None:
        """Name the lock of a test, which the process that records it holds."""
        self.lock = FileLock(cassettes.key)
        self._session = session

    def done(self, failure: str) -> None:
        """Tell the other processes how the recording went; an empty string means success."""
        self.lock.path.write_text(json.dumps([self._session, failure]), encoding="utf-8")

    def failure(self) -> str | None:
        """Return why this run of pytest could not record the test: an empty string if it could, None if it has not tried."""
        try:
            found = json.loads(self.lock.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found[1] if isinstance(found, list) and len(found) == 2 and found[0] == self._session else None
