"""A broker with a listener of each kind, and an authorizer: what its users may do, tests grant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from confluent_kafka.cimpl import NewTopic

from stack.services.broker import Broker
from stack.settings import LOOPBACK, free_port
from tests.support.registry.certificates import Identity
from tests.support.registry.stores import StoreFiles

USER, PASSWORD = "floe", "br0ker-passw0rd"
"""The user of all listeners: the principal is User:floe everywhere, by certificates too."""

_SECURITY = "org.apache.kafka.common.security"
_PROTOCOLS = {
    "OPEN": "PLAINTEXT",
    "SASL": "SASL_PLAINTEXT",
    "SASLTLS": "SASL_SSL",
    "MTLS": "SSL",
    "OAUTH": "SASL_PLAINTEXT",
    "EXPIRED": "SASL_SSL",
    "OTHERHOST": "SASL_SSL",
    "CONTROLLER": "PLAINTEXT",
}


@dataclass(frozen=True)
class Acl:
    """One thing that the user may do; ``name`` ends in ``*`` for all names that begin with it."""

    kind: ResourceType
    name: str
    operation: AclOperation

    @property
    def binding(self) -> AclBinding:
        """The ACL for the broker."""
        pattern = ResourcePatternType.PREFIXED if self.name.endswith("*") else ResourcePatternType.LITERAL
        of = (self.kind, self.name.removesuffix("*"), pattern, f"User:{USER}", "*")
        return AclBinding(*of, self.operation, AclPermissionType.ALLOW)

    @property
    def filter(self) -> AclBindingFilter:
        """What finds it."""
        one = self.binding
        return AclBindingFilter(
            one.restype,
            one.name,
            one.resource_pattern_type,
            one.principal,
            one.host,
            one.operation,
            one.permission_type,
        )


@dataclass(frozen=True)
class SecuredBroker:
    """``open``: a listener without a login, whose clients may do everything."""

    broker: Broker
    ports: dict[str, int]
    stores: StoreFiles
    client: Identity

    @classmethod
    def start(cls, folder: Path, properties: Mapping[str, str] | None = None) -> SecuredBroker:
        """Start the broker, with users for SCRAM; ``properties``: of the server, over its own."""
        stores = StoreFiles.make(folder)
        ports = {name: free_port() for name in _PROTOCOLS}
        at = {name: f"{name}://{LOOPBACK}:{port}" for name, port in ports.items()}
        made = {
            "listeners": ",".join(at.values()),
            "advertised.listeners": ",".join(text for name, text in at.items() if name != "CONTROLLER"),
            "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in _PROTOCOLS.items()),
            "inter.broker.listener.name": "OPEN",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "ssl.principal.mapping.rules": f"RULE:^CN=.*$/{USER}/",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": _line(stores.authority.file),
            "listener.name.mtls.ssl.client.auth": "required",
            "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
            "listener.name.oauth.oauthbearer.sasl.jaas.config": (
                f'{_SECURITY}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
            ),
        }
        identities = {
            "sasltls": stores.authority.issue("broker"),
            "mtls": stores.authority.issue("broker-mtls"),
            "expired": stores.authority.issue("expired", is_expired=True),
            "otherhost": stores.authority.issue("otherhost", "elsewhere.example"),
        }
        for name, identity in identities.items():
            store = f"listener.name.{name}.ssl.keystore"
            made |= {f"{store}.type": "PEM", f"{store}.certificate.chain": _line(identity.certificate)}
            made[f"{store}.key"] = _line(identity.key)
        for name in ("sasl", "sasltls", "expired", "otherhost"):
            listener = f"listener.name.{name}"
            made[f"{listener}.sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
            made[f"{listener}.plain.sasl.jaas.config"] = (
                f'{_SECURITY}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
            )
            for mechanism in ("scram-sha-256", "scram-sha-512"):
                made[f"{listener}.{mechanism}.sasl.jaas.config"] = f"{_SECURITY}.scram.ScramLoginModule required;"
        one = cls(
            Broker(folder / "broker", ports["OPEN"], ports["CONTROLLER"], {**made, **(properties or {})}),
            ports,
            stores,
            stores.authority.issue(USER),
        )
        one.broker.start()
        one._add_users()
        return one

    @property
    def admin(self) -> AdminClient:
        """A client that may do everything."""
        return AdminClient({"bootstrap.servers": self.broker.bootstrap})

    def servers(self, listener: str) -> dict[str, str]:
        """Return the address and the protocol of a listener."""
        return {
            "bootstrap.servers": f"{LOOPBACK}:{self.ports[listener]}",
            "security.protocol": _PROTOCOLS[listener],
        }

    def login(self, listener: str = "SASL", mechanism: str = "PLAIN", **more: str) -> dict[str, str]:
        """Return what the user's client has at a listener with SASL."""
        ca = {"ssl.ca.location": str(self.stores.authority.file)} if "SSL" in _PROTOCOLS[listener] else {}
        keys = {"sasl.mechanism": mechanism, "sasl.username": USER, "sasl.password": PASSWORD}
        return {**self.servers(listener), **keys, **ca, **more}

    def topic(self, name: str) -> str:
        """Create a topic."""
        admin = self.admin
        admin.create_topics([NewTopic(name, num_partitions=1)])[name].result(30)
        return name

    def grant(self, acls: Iterable[Acl]) -> None:
        """Let the user do something."""
        admin = self.admin
        for future in admin.create_acls([acl.binding for acl in acls]).values():
            future.result(30)

    def revoke(self, *acls: Acl) -> None:
        """Let the user do it no more."""
        admin = self.admin
        for future in admin.delete_acls([acl.filter for acl in acls]).values():
            future.result(30)

    def _add_users(self) -> None:
        admin = self.admin  # a client that nothing refers to ends before it is answered
        made: list[Any] = [
            UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
            for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
        ]
        for one in made:
            for future in admin.alter_user_scram_credentials([one]).values():
                future.result(30)


def _line(path: Path) -> str:
    return path.read_text().replace("\n", "\\n")


def least_acls(connector: str, topics: Iterable[str], dead_letters: str | None = None) -> list[Acl]:
    """Return what a connector needs, as docs/reference/kafka-security.md has it: nothing can be left out."""
    topic, operation = ResourceType.TOPIC, AclOperation
    control = f"control-{connector}"
    acls = [Acl(topic, name, operation.READ) for name in topics]
    acls += [Acl(topic, control, one) for one in (operation.READ, operation.WRITE, operation.DESCRIBE_CONFIGS)]
    acls += [Acl(ResourceType.GROUP, f"connect-{connector}", operation.READ)]
    acls += [Acl(ResourceType.TRANSACTIONAL_ID, f"floe-{connector}-*", operation.WRITE)]
    return acls + ([Acl(topic, dead_letters, operation.WRITE)] if dead_letters else [])
