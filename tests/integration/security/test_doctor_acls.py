"""The doctor names the ACL that is missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from floe.doctor.check import Finding, Level
from floe.doctor.diagnosis import diagnose
from floe.kafka.settings import KafkaSettings
from tests.support.kafka.secured import Acl, SecuredBroker, least_acls
from tests.support.runs.pipeline import Pipeline

pytestmark = pytest.mark.full


def problems(pizzas: Pipeline) -> dict[str, Finding]:
    found = diagnose(pizzas.connector, pizzas.settings, write=True, unknown={"spark": "not looked up"})
    kafka = ("brokers", "login", "listeners", "topics", "reading", "group", "control topic", "transactions")
    return {one.name: one for one in found if one.level is Level.PROBLEM and one.name in kafka}


@pytest.mark.parametrize(
    ("kind", "operation", "check"),
    [
        (ResourceType.TOPIC, AclOperation.READ, "reading"),
        (ResourceType.TOPIC, AclOperation.WRITE, "control topic"),
        (ResourceType.TRANSACTIONAL_ID, AclOperation.WRITE, "transactions"),
        (ResourceType.GROUP, AclOperation.READ, "group"),
    ],
)
def test_missing_acl_is_the_right_line(
    secured: SecuredBroker,
    secured_pipeline: Callable[..., Pipeline],
    kind: ResourceType,
    operation: AclOperation,
    check: str,
) -> None:
    pizzas = secured_pipeline()
    pizzas.settings = KafkaSettings.of(pizzas.connector, secured.login())
    assert problems(pizzas) == {}
    acls = least_acls(pizzas.connector.name, pizzas.connector.topics)
    acl: Acl = next(one for one in acls if (one.kind, one.operation) == (kind, operation))
    secured.revoke(acl)
    found = problems(pizzas)
    secured.grant([acl])
    assert check in found
    line = f"{found[check].text} {found[check].remedy}"
    assert acl.name.removesuffix("*") in line and "rant" in line
