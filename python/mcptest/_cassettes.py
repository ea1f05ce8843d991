"""Recorded runs next to their test, and the lock that lets one process record them.

The program reads and writes them: they are cassettes like those of suites, with a digest, and ``mcptest cassette`` takes them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
import warnings
from pathlib import Path
from types import TracebackType
from typing import IO

from mcptest._engine import ENGINE
from mcptest._record import Recording
from mcptest.errors import EditedWarning, InputError, RecordError


class Cassettes:
    """The recorded runs of one test: ``cassettes/FILE/TEST/pytest/N.json`` in the folder of the test."""

    def __init__(self, test_file: Path, test: str, inputs: dict[str, object]) -> None:
        """Name the recordings of a test, and what they depend on."""
        self.test = test
        self.key = f"{test_file.resolve()}::{test}"
        self._inputs = inputs
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
            found = ENGINE.call("cassettes.load", {"of": self._of, "inputs": self._inputs, "runs": runs})["runs"]
        except InputError as error:
            raise InputError(self._shown(str(error))) from None
        return [Cassette(self._shown(run["path"]), run["text"], run["edited"]) for run in found]

    def write(self, recordings: list[Recording]) -> None:
        """Write the runs of a test, and remove older ones."""
        runs = [{"trace": recording.trace, "observed": recording.observed} for recording in recordings]
        try:
            ENGINE.call("cassettes.save", {"of": self._of, "inputs": self._inputs, "runs": runs})
        except InputError as error:
            raise RecordError(self._shown(str(error))) from None


class Cassette:
    """A recorded run."""

    def __init__(self, path: str, text: str, is_edited: bool) -> None:
        """Warn about a run that was edited."""
        self.path = path
        self.text = text
        if is_edited:
            message = f"{path}: this recording was edited after it was recorded, and the edit was accepted"
            warnings.warn(message, EditedWarning, stacklevel=2)


class RecordingLock:
    """Held while a test is recorded. Other processes of the same run of pytest wait, and then use the recording."""

    def __init__(self, cassettes: Cassettes, session: str) -> None:
        """Name the lock of a test."""
        self._path = _lock_path(cassettes)
        self._session = session
        self._file: IO[str] | None = None
        self.is_done = False

    def __enter__(self) -> RecordingLock:
        """Wait for the lock."""
        folder = self._path.parent
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            if folder.lstat().st_uid != os.getuid():
                raise RecordError(f"cannot lock the recording of a test: {folder} belongs to another user")
            self._file = open(self._path, "a+", encoding="utf-8")
        except OSError as error:
            raise RecordError(f"cannot lock the recording of a test: {error}") from error
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self.is_done = _state(self._path, self._session) is not None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Let the next one in."""
        if self._file is not None:
            self._file.close()

    def done(self, failure: str) -> None:
        """Tell the others how the recording went; an empty text means well."""
        self._path.write_text(json.dumps([self._session, failure]), encoding="utf-8")

    @staticmethod
    def failure(cassettes: Cassettes, session: str) -> str | None:
        """Return why this run of pytest could not record a test."""
        return _state(_lock_path(cassettes), session)


def _lock_path(cassettes: Cassettes) -> Path:
    name = hashlib.sha256(os.fsencode(cassettes.key)).hexdigest()[:32]
    return Path(tempfile.gettempdir()) / f"mcptest-{os.getuid()}" / f"{name}.lock"


def _state(path: Path, session: str) -> str | None:
    """Return what this run of pytest left there; None if nothing."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found[1] if isinstance(found, list) and len(found) == 2 and found[0] == session else None
