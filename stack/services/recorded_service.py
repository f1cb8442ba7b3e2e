"""What services have in common that are processes of their own, recorded in their folder."""

from __future__ import annotations

import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from stack import processes
from stack.exceptions import StartFailed
from stack.progress import wait_until
from stack.settings import LOOPBACK

_SHOWN_LINES = 15


class RecordedService(ABC):
    """A service on loopback whose log and record are in ``folder``, so that another command finds and ends it."""

    name: ClassVar[str]
    """What messages call it; log and record are named after it."""
    ready_within: ClassVar[float] = 600.0
    stopped_within: ClassVar[float] = 20.0
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder.absolute()
        self.port = port
        file_name = self.name.replace(" ", "-")
        self.log = self.folder / f"{file_name}.log"
        self.record = self.folder / f"{file_name}.json"

    @property
    def address(self) -> str:
        """Host and port."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def process(self) -> processes.Process | None:
        """The process as recorded, running or not; None if it was never started."""
        return processes.load(self.record)

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        process = self.process
        return process is not None and processes.alive(process)

    @abstractmethod
    def start(self) -> None:
        """Start it and wait until it answers; harmless if it runs. Raises PortTaken, DownloadFailed, StartFailed."""

    def stop(self) -> None:
        """End it by its signal and wait; by SIGKILL if it does not end. Harmless if it does not run."""
        self._end(self.stop_signal)

    def kill(self) -> None:
        """End it by SIGKILL, as a machine that loses power would; `start` starts it again on its data."""
        self._end(signal.SIGKILL)

    def _launch(
        self, command: Sequence[str], is_ready: Callable[[], bool], env: Mapping[str, str] | None = None
    ) -> None:
        """Start the command and wait until it is ready; else it is stopped. Raises StartFailed with its last lines."""
        process = processes.start_recorded(command, env or os.environ, self.log, self.folder, self.record)
        try:
            in_time = wait_until(lambda: not processes.alive(process) or is_ready(), self.ready_within)
            if not (in_time and processes.alive(process)):
                raise StartFailed(self._why_not_ready(in_time))
        except BaseException:
            self.stop()
            raise

    def _why_not_ready(self, has_ended: bool) -> str:
        what = "ended" if has_ended else f"did not answer at {self.address} within {self.ready_within:.0f} s"
        tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-_SHOWN_LINES:])
        return f"the {self.name} {what}; the end of {self.log}:\n{tail}"

    def _end(self, signum: signal.Signals) -> None:
        process = self.process
        if process is not None:
            processes.stop(process, signum, self.stopped_within)
            self.record.unlink(missing_ok=True)
