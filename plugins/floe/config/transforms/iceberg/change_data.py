"""The settings of the sink's transforms of change data: ``DebeziumTransform`` and ``DmsTransform``."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.options import TopicKept, TransformClass, of_job

_PATTERN: Final = "cdc.target.pattern"


@dataclass(frozen=True)
class DebeziumChange(TopicKept):
    """``target_pattern``: of the name of the table that a change is for, with ``{db}`` and ``{table}``; "" for both."""

    engine: ClassVar = of_job("iceberg.debezium:DebeziumChanges", reads="columns")

    target_pattern: str = ""

    @property
    def reads_keys(self) -> bool:
        return True

    @property
    def writes_changes(self) -> bool:
        return True


@dataclass(frozen=True)
class DmsChange(TopicKept):
    """It has no settings."""

    engine: ClassVar = of_job("iceberg.dms:DmsChanges")

    @property
    def writes_changes(self) -> bool:
        return True


def _read_debezium(problems: list[str], prefix: str, keys: Properties) -> DebeziumChange:
    return DebeziumChange(OptionReader(keys, prefix).text(_PATTERN))


def _read_dms(problems: list[str], prefix: str, keys: Properties) -> DmsChange:
    return DmsChange()


CLASSES: Final = (
    TransformClass("org.apache.iceberg.connect.transforms.DebeziumTransform", (_PATTERN,), _read_debezium),
    TransformClass("org.apache.iceberg.connect.transforms.DmsTransform", (), _read_dms),
)
