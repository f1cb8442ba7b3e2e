"""Private names of PySpark 4.1."""

from typing import Any, Final

from floe.private_names import PrivateName

PRIVATE_NAMES: Final = (
    PrivateName(
        "pyspark:SparkContext._jvm",
        "stopping a context of a local Spark takes a second or more, and its JVM has nothing left to do",
        "a context that can be stopped without waiting",
    ),
)


def jvm_of(context: Any) -> Any:
    """Return the gateway to a context's JVM."""
    return context._jvm
