"""Stages of a takeover."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.runs.pipeline import MakePipeline
from tests.support.runs.takeover_stage import TABLES, Stage


@pytest.fixture
def make_stage(pipeline: MakePipeline, admin: AdminClient, topic: Callable[..., str]) -> Callable[..., Stage]:
    def make(**keys: Any) -> Stage:
        control = keys.pop("control", None) or topic(name="control")
        more = {"iceberg.tables": TABLES, "iceberg.control.topic": control, **keys}
        return Stage(pipeline(**more), admin)

    return make


@pytest.fixture
def stage(make_stage: Callable[..., Stage]) -> Stage:
    one = make_stage()
    one.play()
    return one
