"""`python -m tests.faults.soak [--avro] MINUTES [SEED]`: exits with 1 when the oracle finds anything.

A soak of more than PART minutes is several, each with the next seed. One that was interrupted goes on with the part it was
in, as long as no file of the code changes.
"""

from __future__ import annotations

import json
import logging
import math
import random
import shutil
import sys
import tempfile
from pathlib import Path

from stack.progress import say
from tests.faults.soak.soak import Soak
from tests.support.proofs import record

PART = 20.0
"""Minutes; each part has topics and tables of its own."""


def main(argv: list[str]) -> int:
    """Soak from the command line; the folder of a soak that is red is kept."""
    logging.disable(logging.WARNING)
    avro = "--avro" in argv
    argv = [one for one in argv if one != "--avro"]
    minutes = float(argv[0]) if argv else 10.0
    given = int(argv[1]) if len(argv) > 1 and argv[1] else None
    parts = max(1, math.ceil(minutes / PART))
    progress = record().with_name(f"{record().name}-soak{'-avro' if avro else ''}-{minutes:g}.json")
    seed, green = _begun(progress, given)
    for number in range(green, parts):
        if parts > 1:
            _note(progress, seed, number)
        if not _soak(seed + number, minutes / parts, avro, f", part {number + 1} of {parts}" if parts > 1 else ""):
            return 1
    progress.unlink(missing_ok=True)
    say("green")
    return 0


def _begun(progress: Path, given: int | None) -> tuple[int, int]:
    """Return the first part's seed, and how many parts are green: of an interrupted soak, unless another is wanted."""
    if progress.exists():
        seed, green = json.loads(progress.read_text())
        if given in (None, seed):
            say(f"going on after {green} part(s) that were green")
            return seed, green
    return random.randrange(2**31) if given is None else given, 0


def _note(progress: Path, seed: int, green: int) -> None:
    progress.parent.mkdir(parents=True, exist_ok=True)
    progress.write_text(json.dumps([seed, green]))


def _soak(seed: int, minutes: float, avro: bool, part: str) -> bool:
    folder = Path(tempfile.mkdtemp(prefix="floe-soak-"))
    say(f"seed {seed}, {minutes:g} minutes, in {folder}{part}")
    is_green = Soak(seed, minutes, folder, avro).run()
    if is_green:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        say(f"RED: seed {seed}; what is left of it is in {folder}")
    return is_green


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
