"""The declaration of a transform that only adds columns: it needs no parsed record."""

from dataclasses import dataclass
from typing import ClassVar

from floe.config.engine import Engine
from floe.config.transforms.options import By, TransformClass, TransformEngine, TransformOptions


@dataclass(frozen=True)
class Label(TransformOptions):
    """One column of one text; rows with an odd offset are refused if it is ``picky``."""

    engine: ClassVar = TransformEngine(
        Engine("floe_example.label_code:LabelRecords"), columns=Engine("floe_example.label_code:LabelColumns")
    )

    column: str = "label"
    picky: bool = False

    @property
    def is_columnar(self) -> bool:
        return True

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def changes_routing(self, by: By, name: str) -> bool:
        return False

    @property
    def renames_topic(self) -> bool:
        return False


LABEL = TransformClass("example.Label", ("column",), lambda problems, prefix, keys: Label(keys.get("column", "label")))
