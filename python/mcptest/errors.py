"""What can go wrong. Messages are those of the command line, with their codes: ``mcptest explain CODE`` explains each."""


class McptestError(Exception):
    """Something could not be done. No trace was judged."""


class InputError(McptestError, ValueError):
    """Traces, gates or options that cannot be used."""


class EngineError(McptestError, RuntimeError):
    """The program behind this package is missing, has another version, or has ended."""


class RecordError(McptestError, RuntimeError):
    """A block could not be recorded."""


class CheckFailed(AssertionError):
    """A trace did not pass. The message is what the terminal would show."""


class EditedWarning(UserWarning):
    """A recording that was edited, with the edit accepted by ``mcptest cassette accept``."""


class GatesWarning(UserWarning):
    """A gates file that can be used but looks like a mistake."""
