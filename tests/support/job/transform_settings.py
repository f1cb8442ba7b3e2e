"""All classes of settings of transforms that floe ships."""

from __future__ import annotations

from floe.config.transforms import python_class, transform_classes
from floe.config.transforms.options import TransformOptions

__all__ = ["all_settings"]


def all_settings() -> list[type[TransformOptions]]:
    """Return the settings of floe's own transforms that name code."""
    assert transform_classes.TRANSFORMS and python_class.PythonClass  # their modules are loaded
    return [kind for kind in _below(TransformOptions) if kind.__module__.startswith("floe.") and "engine" in vars(kind)]


def _below(options: type[TransformOptions]) -> list[type[TransformOptions]]:
    return [kind for one in options.__subclasses__() for kind in (one, *_below(one))]
