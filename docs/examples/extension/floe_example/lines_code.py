"""The code of the converter: it parses one value, and leaves the rest to what reads objects."""

from floe.config.converters.base import ConverterSpec
from floe_job.convert.base import Converters
from floe_job.convert.context import ConverterContext
from floe_job.convert.objects import ObjectConverters
from floe_job.exceptions import Malformed


def line_converters(spec: ConverterSpec, context: ConverterContext) -> Converters:
    """Return what reads lines; ``spec.options`` has the options that the declaration read."""
    return ObjectConverters(parse)


def parse(value: bytes) -> dict[str, str]:
    """Parse a line. Raises Malformed: the record becomes a dead letter, and no other one."""
    try:
        pairs = [pair.split("=", 1) for pair in value.decode().split()]
        found = dict(pairs)
    except ValueError:
        problem = f"not a line of name=value pairs: {value[:30]!r}"
        raise Malformed(problem) from None
    if len(found) < len(pairs):  # no value is lost
        problem = f"a name comes twice: {value[:30]!r}"
        raise Malformed(problem)
    return found
