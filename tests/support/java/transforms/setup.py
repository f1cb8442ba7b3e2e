"""What records go through: a chain of transforms, and the converters before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from floe.config.keys.reader import Settings
from floe.config.sections.transform_reader import read_transforms
from floe.config.sections.transforms import TransformSpec

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"
BYTES_CONVERTER = "org.apache.kafka.connect.converters.ByteArrayConverter"

Options = Mapping[str, str]


@dataclass(frozen=True)
class Condition:
    """A predicate. ``type``: the Java class."""

    type: str
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """A transform. ``type``: the Java class; ``negate``: apply it where the condition fails."""

    type: str
    options: Options = field(default_factory=dict)
    condition: Condition | None = None
    negate: bool = False


@dataclass(frozen=True)
class Reader:
    """A converter. ``type``: the Java class."""

    type: str
    options: Options = field(default_factory=dict)


SCHEMALESS = Reader(JSON_CONVERTER, {"schemas.enable": "false"})
WITH_SCHEMA = Reader(JSON_CONVERTER, {"schemas.enable": "true"})
TEXT = Reader(STRING_CONVERTER)
BYTES = Reader(BYTES_CONVERTER)


@dataclass(frozen=True)
class Setup:
    """A chain with its converters."""

    steps: Sequence[Step]
    value: Reader = SCHEMALESS
    key: Reader = SCHEMALESS

    def request(self) -> dict[str, Any]:
        """Return it as ``TransformCheck.java`` reads it, without records."""
        steps = [
            {
                "type": step.type,
                "options": dict(step.options),
                "predicate": None if step.condition is None else _json(step.condition),
                "negate": step.negate,
            }
            for step in self.steps
        ]
        readers = {
            role: {"class": one.type, "options": dict(one.options)}
            for role, one in (("key", self.key), ("value", self.value))
        }
        return {"transforms": steps, **readers}

    def specs(self) -> tuple[tuple[TransformSpec, ...], list[str]]:
        """Return the transforms as floe reads them, and its problems with them."""
        settings = Settings(self._properties())
        return read_transforms(settings), settings.problems

    def _properties(self) -> dict[str, str]:
        names = [f"t{place}" for place in range(len(self.steps))]
        found = {"transforms": ",".join(names)}
        conditions: list[str] = []
        for name, step in zip(names, self.steps, strict=True):
            found[f"transforms.{name}.type"] = step.type
            found |= {f"transforms.{name}.{key}": value for key, value in step.options.items()}
            if step.condition is not None:
                alias = f"p{len(conditions)}"
                conditions.append(alias)
                found[f"transforms.{name}.predicate"] = alias
                found[f"transforms.{name}.negate"] = str(step.negate).lower()
                found[f"predicates.{alias}.type"] = step.condition.type
                found |= {f"predicates.{alias}.{key}": value for key, value in step.condition.options.items()}
        return found | ({"predicates": ",".join(conditions)} if conditions else {})


def _json(condition: Condition) -> dict[str, Any]:
    return {"type": condition.type, "options": dict(condition.options)}
