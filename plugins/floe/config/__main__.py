"""``python -m floe.config check FILE…`` validates connectors; ``… keys`` and ``… catalogs`` print tables of the manual.

It needs nothing but Python, and asks no network.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from floe.config.catalogs.markdown import catalog_page
from floe.config.check import check
from floe.config.keys.key import Status
from floe.config.keys.markdown import key_table, library_table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 when all is well, 1 when a connector is not."""
    parser = argparse.ArgumentParser(prog="python -m floe.config")
    commands = parser.add_subparsers(dest="command", required=True)
    checked = commands.add_parser("check", help="validate connector files without running anything")
    checked.add_argument("paths", metavar="FILE", nargs="+", type=Path, help="a connector file, or a folder of them")
    checked.add_argument("--strict", action="store_true", help="a warning about a file is an error")
    commands.add_parser("keys", help="print the keys as Markdown tables")
    commands.add_parser("catalogs", help="print the keys of catalogs as a page of Markdown")
    options = parser.parse_args(arguments)
    if options.command == "catalogs":
        print(catalog_page(), end="")
        return 0
    if options.command == "keys":
        print("\n\n".join([*(key_table(status) for status in Status), library_table()]))
        return 0
    return check(options.paths, is_strict=options.strict)


if __name__ == "__main__":
    sys.exit(main())
