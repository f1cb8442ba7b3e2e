"""`python -m tests.faults.soak [--avro] MINUTES [SEED]`: exits with 1 when the oracle finds anything."""

from __future__ import annotations

import logging
import random
import shutil
import sys
import tempfile
from pathlib import Path

from stack.progress import say
from tests.faults.soak.soak import Soak


def main(argv: list[str]) -> int:
    """Soak from the command line; the folder of a soak that is red is kept."""
    logging.disable(logging.WARNING)
    avro = "--avro" in argv
    argv = [one for one in argv if one != "--avro"]
    minutes = float(argv[0]) if argv else 10.0
    seed = int(argv[1]) if len(argv) > 1 and argv[1] else random.randrange(2**31)
    folder = Path(tempfile.mkdtemp(prefix="floe-soak-"))
    say(f"seed {seed}, {minutes:g} minutes, in {folder}")
    is_green = Soak(seed, minutes, folder, avro).run()
    if is_green:
        shutil.rmtree(folder, ignore_errors=True)
        say("green")
        return 0
    say(f"RED: seed {seed}; what is left of it is in {folder}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
