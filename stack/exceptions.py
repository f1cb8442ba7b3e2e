"""Errors of the local stack.

StackError
├── Unsuitable      a tool of this machine is missing or too old
├── PortTaken       another process listens on a port that is needed
├── DownloadFailed  jars could not be fetched
├── StartFailed     a process ended, or did not answer in time
├── AlreadyAtWork   another command holds the state folder
├── RunFailed       the demo's DAG run, or what it left in the table, is not as expected
└── QueryFailed     a statement is wrong, or names what is not there
"""


class StackError(Exception):
    """Any failure of the local stack; the message names the cause and the next step."""


class Unsuitable(StackError):
    """A tool of this machine is missing or too old."""


class PortTaken(StackError):
    """Another process listens on a port that is needed."""


class DownloadFailed(StackError):
    """Jars could not be fetched."""


class StartFailed(StackError):
    """A process ended, or did not answer in time."""


class AlreadyAtWork(StackError):
    """Another command holds the state folder."""


class RunFailed(StackError):
    """A DAG run, or what it left in the table, is not as expected."""


class QueryFailed(StackError):
    """A statement is wrong, or names what is not there."""
