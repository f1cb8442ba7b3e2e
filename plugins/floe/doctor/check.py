"""How a check is run: in a thread of its own, for a limited time, and whatever it raises is a finding."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import Thread

from floe.config.secrets.mask import hide
from floe.doctor.case import Case, Part
from floe.doctor.finding import About, Finding
from floe.exceptions import FloeError, with_code

REMOVAL_SECONDS = 10.0
"""How long a command that is interrupted waits for a probe to be removed."""


@dataclass(frozen=True)
class Check:
    """One check. ``find`` yields findings, and may raise.

    ``remedy``: what to do where it raises or does not answer within ``seconds``. ``part``: what has to be known for it.
    ``needs``: the checks without which it says nothing new. ``probe``: what it makes and removes, for messages.
    """

    name: str
    find: Callable[[Case, About], Iterable[Finding]]
    remedy: str
    part: Part | None = None
    needs: tuple[str, ...] = ()
    seconds: float = 30.0
    probe: str = ""

    def run(self, case: Case) -> Iterator[Finding]:
        """Yield the findings, cleaned, at least one; raises nothing. A thread that does not end in time is left behind."""
        about, is_empty = About(self.name), True
        found: queue.SimpleQueue[Finding | None] = queue.SimpleQueue()
        thread = Thread(target=self._find, args=(case, about, found), name=f"doctor: {self.name}", daemon=True)
        end, writes = time.monotonic() + self.seconds, bool(self.probe) and case.write
        try:
            thread.start()
            while (one := found.get(timeout=max(0.0, end - time.monotonic()))) is not None:
                is_empty = False
                yield one.cleaned()
            if is_empty:
                yield about.not_checked("there was nothing to look at").cleaned()
        except queue.Empty:
            remains = f"; {self.probe} may remain" if writes else ""
            yield about.problem(f"no answer within {self.seconds:g} s{remains}", self.remedy).cleaned()
        except (KeyboardInterrupt, GeneratorExit):
            if writes and thread.ident is not None:
                thread.join(REMOVAL_SECONDS)
            raise

    def _find(self, case: Case, about: About, found: queue.SimpleQueue[Finding | None]) -> None:
        try:
            for one in self.find(case, about):
                found.put(one)
        except FloeError as error:
            found.put(about.problem(with_code(str(error), error.code), self.remedy))
        except Exception as error:  # noqa: BLE001 - it is reported, and the other checks are run
            found.put(about.problem(hide(f"{type(error).__name__}: {error}"), self.remedy))
        finally:
            found.put(None)
