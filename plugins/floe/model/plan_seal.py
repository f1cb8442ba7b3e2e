"""The deployment's key: it seals plans, and each plan's announcements are signed by a key derived from it.

Everything that is signed is a list of byte strings, each after its length, so that two lists never encode alike. Keys are
derived by HMAC-SHA256 over a context of their own (RFC 5869 without the salt, which is not needed here).
"""

from __future__ import annotations

import hmac
import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple, NoReturn

from floe.model.exceptions import SealBroken

SEAL = "seal"
"""The field of a stored plan that contains its seal, beside the plan's own fields."""

FORMAT = "1"
SHORTEST_KEY = 32
"""Minimum characters of a key: other users can read what it signs and could guess a short key."""

_SEALS, _ANNOUNCEMENTS = b"floe: seals of plans", b"floe: announcements of a plan"
_LENGTH = struct.Struct(">Q")
_AGAIN = (
    "Nothing was read, written or committed by it. Trigger a new run, which makes its own plan. Find out who may edit XCom "
    "and task state in Airflow."
)


class RunName(NamedTuple):
    """The run that a plan belongs to, as Airflow knows it."""

    dag_id: str
    run_id: str


def mac_of(key: bytes, parts: Iterable[bytes]) -> str:
    """Return the HMAC-SHA256 of byte strings under a key, as hexadecimal digits."""
    mac = hmac.new(key, digestmod=sha256)
    for part in parts:
        mac.update(_LENGTH.pack(len(part)))
        mac.update(part)
    return mac.hexdigest()


@dataclass(frozen=True)
class PlanKey:
    """The key that signs the announcements of one plan. Only Airflow's tasks and the Spark driver have it."""

    secret: bytes = field(repr=False)

    def sign(self, parts: Iterable[bytes]) -> str:
        """Return the MAC of byte strings."""
        return mac_of(self.secret, parts)

    def __reduce__(self) -> NoReturn:
        msg = "the key of a plan is not for Spark's workers: it cannot be pickled"
        raise TypeError(msg)


@dataclass(frozen=True)
class DeploymentKey:
    """The key of a deployment. ``secrets``: the newest first; the first one signs, all of them verify."""

    secrets: tuple[bytes, ...] = field(repr=False)
    origin: str

    @classmethod
    def of(cls, text: str, origin: str) -> DeploymentKey:
        """Read a key, or several separated by commas; ``origin`` says where it is set. Raises SealBroken for short ones."""
        secrets = tuple(one.strip().encode() for one in text.split(",") if one.strip())
        if not secrets or min(map(len, secrets)) < SHORTEST_KEY:
            msg = (
                f"{origin} holds a key of fewer than {SHORTEST_KEY} characters, which could be found by trying: set it to a "
                "random one (python3 -c 'import secrets; print(secrets.token_urlsafe(32))'), the same for all workers"
            )
            raise SealBroken(msg)
        return cls(secrets, origin)

    def plan_key(self, plan_id: str) -> PlanKey:
        """Return the key that signs the announcements of a new plan."""
        return _plan_key(self.secrets[0], plan_id)

    def plan_keys(self, plan_id: str) -> tuple[PlanKey, ...]:
        """Return the keys that may have signed a plan's announcements, derived from the current key and older ones."""
        return tuple(_plan_key(secret, plan_id) for secret in self.secrets)

    def seal(self, fields: Mapping[str, Any], run: RunName) -> dict[str, Any]:
        """Return the fields of a plan with a seal that is valid for this run only."""
        return {**fields, SEAL: f"{FORMAT}:{_seal(self.secrets[0], fields, run)}"}

    def unseal(self, fields: Mapping[str, Any], run: RunName) -> PlanKey:
        """Verify a sealed plan and return the key of its announcements.

        A plan that was sealed by an earlier key keeps that key for its announcements. Raises SealBroken for a plan that
        was changed, or is another run's.
        """
        content = {name: value for name, value in fields.items() if name != SEAL}
        found = fields.get(SEAL)
        try:
            for secret in self.secrets:
                if isinstance(found, str) and hmac.compare_digest(
                    found.encode(), f"{FORMAT}:{_seal(secret, content, run)}".encode()
                ):
                    return _plan_key(secret, str(content["plan"]))
        except (TypeError, ValueError, RecursionError) as error:
            msg = f"the plan of run {run.run_id!r} is not JSON as floe stored it ({error}): it was changed. {_AGAIN}"
            raise SealBroken(msg) from error
        msg = (
            f"the plan of run {run.run_id!r} of {run.dag_id!r} does not match its seal {str(found)[:80]!r} under "
            f"{self.origin}: it was changed in XCom or in the task state store, belongs to another run, or the key was "
            f"replaced meanwhile. {_AGAIN}"
        )
        raise SealBroken(msg)


def is_sealed(fields: Mapping[str, Any]) -> bool:
    """Say whether a stored plan has a seal; plans made before floe sealed them, or without a key, have none."""
    return SEAL in fields


def _seal(secret: bytes, fields: Mapping[str, Any], run: RunName) -> str:
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)
    key = _derived(secret, _SEALS)
    return mac_of(key, (run.dag_id.encode(), run.run_id.encode(), text.encode("utf-8", "surrogatepass")))


def _plan_key(secret: bytes, plan_id: str) -> PlanKey:
    return PlanKey(_derived(secret, _ANNOUNCEMENTS, plan_id.encode()))


def _derived(secret: bytes, *context: bytes) -> bytes:
    return bytes.fromhex(mac_of(secret, context))
