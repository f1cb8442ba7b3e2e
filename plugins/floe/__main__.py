"""``python -m floe``: the command line of floe. ``python -m floe --help`` lists its commands."""

import sys

from floe.cli.parser import main

if __name__ == "__main__":
    sys.exit(main())
