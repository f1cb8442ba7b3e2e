"""The code that reads a kind of bytes, which is loaded when it is first used: a worker needs one format."""

from floe.config.converters.base import ConverterSpec
from floe.config.converters.kinds import ENGINES
from floe_job.convert.base import Converters
from floe_job.convert.context import ConverterContext


def converters_of(spec: ConverterSpec, context: ConverterContext) -> Converters:
    """Make the converters that read what ``spec`` describes. Raises ValueError for a kind that nothing reads."""
    engine = spec.engine or ENGINES.get(spec.kind)
    if engine is None:
        problem = f"no converter reads {spec.kind!r}; known: {', '.join(sorted(ENGINES))}"
        raise ValueError(problem)
    made: Converters = engine(spec, context)
    return made
