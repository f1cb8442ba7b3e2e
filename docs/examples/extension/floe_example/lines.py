"""A converter's declaration: records are lines of ``name=value`` pairs, whose values are text."""

from floe.config.converters.base import ConverterClass, ConverterSpec, Role
from floe.config.engine import Engine
from floe.config.keys.reader import OptionReader

_CODE = Engine("floe_example.lines_code:line_converters")


def _read(options: OptionReader, role: Role) -> ConverterSpec:
    """Read the options: there are none."""
    return ConverterSpec("example-lines", role=role, engine=_CODE)


LINES = ConverterClass(frozenset({"value"}), _read)
