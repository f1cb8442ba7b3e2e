"""A transform's declaration: records go where their field ``do`` says, and get a mark."""

from dataclasses import dataclass
from typing import ClassVar

from floe.config.engine import Engine
from floe.config.transforms.options import TransformClass, TransformEngine, TransformOptions


@dataclass(frozen=True)
class Steering(TransformOptions):
    """``mark``: what a record gets that goes on."""

    engine: ClassVar = TransformEngine(Engine("floe_example.steer_code:Steer"))

    mark: str = "seen"


STEER = TransformClass("example.Steer", ("mark",), lambda problems, prefix, keys: Steering(keys.get("mark", "seen")))
