"""The job request: the input of the Spark job from the write task, in a file that only its owner can read.

It contains the plan, the connector's keys with their secrets, and the settings of its Kafka clients. None of them is
ever in an argument list. The job writes its result to a file beside it.
"""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

from floe.config import Connector, Properties, parse_connector
from floe.config.providers.reference import resolved_part
from floe.config.secrets.mask import SHORTEST, learn
from floe.kafka.settings import KafkaSettings
from floe.model.plan import Plan, Slice
from floe.model.plan_seal import PlanKey


@dataclass(frozen=True)
class JobRequest:
    """A plan and all that is needed to run it. ``done``: ids of slices that need no writing any more.

    ``key``: signs the plan's announcements; None for a plan without a seal.
    """

    plan: Plan
    connector: Connector
    settings: KafkaSettings
    key: PlanKey | None
    done: frozenset[str] = frozenset()

    @property
    def todo(self) -> tuple[Slice, ...]:
        """The slices to write."""
        return tuple(slice_ for slice_ in self.plan.slices if self.plan.slice_id(slice_) not in self.done)

    def save(self, path: Path) -> None:
        """Write to a new file with mode 0600."""
        text = json.dumps(
            {
                "plan": self.plan.to_json(),
                "name": self.connector.name,
                "connector": dict(self.connector.properties),
                "references": dict(self.connector.references),
                "kafka": self.settings.to_json(),
                "key": self.key.secret.hex() if self.key is not None else None,
                "done": sorted(self.done),
            }
        )
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)

    def learn_secrets(self) -> None:
        """Have this process hide the secrets of the connector file and of its clients."""
        learn(self.connector.properties)
        referred = {key: text for key, text in self.connector.references.items() if text}
        learn({f"{key}.secret": _secret_of(text, self.connector.properties[key]) for key, text in referred.items()})
        learn(self.settings.secrets)
        if self.key is not None:
            learn({"plan.secret": self.key.secret.hex()})

    @classmethod
    def take(cls, path: Path) -> "JobRequest":
        """Read what :meth:`save` wrote and remove the file, before it is parsed: it contains secrets."""
        text = path.read_text()
        path.unlink()
        fields = json.loads(text)
        made = parse_connector(fields["connector"], fields["name"], narrowed=True)
        connector = replace(made, references=Properties(fields["references"]))
        key = PlanKey(bytes.fromhex(fields["key"])) if fields["key"] is not None else None
        settings = KafkaSettings.from_json(fields["kafka"])
        return cls(Plan.from_json(fields["plan"]), connector, settings, key, frozenset(fields["done"]))


@dataclass(frozen=True)
class JobResult:
    """How a job ended: the slices that it announced, and floe's error if it raised one.

    ``timed_out``: the slices whose write took too long; then the error is the time-out. ``code``: the error's.
    """

    announced: tuple[str, ...] = ()
    error: str | None = None
    retryable: bool = False
    timed_out: tuple[str, ...] = ()
    code: str = ""

    @property
    def exit_code(self) -> int:
        """The exit code of the driver's process."""
        return 0 if self.error is None else 1

    @staticmethod
    def path_of(request: Path) -> Path:
        """Name the result's file."""
        return request.with_suffix(".outcome")

    def save(self, path: Path) -> None:
        """Write to a file."""
        fields = {
            "announced": list(self.announced),
            "error": self.error,
            "retryable": self.retryable,
            "timed_out": list(self.timed_out),
            "code": self.code,
        }
        path.write_text(json.dumps(fields))

    @classmethod
    def load(cls, path: Path) -> "JobResult | None":
        """Read what :meth:`save` wrote; None when the job ended before it could."""
        if not path.exists():
            return None
        fields = json.loads(path.read_text())
        timed_out = tuple(fields["timed_out"])
        return cls(tuple(fields["announced"]), fields["error"], bool(fields["retryable"]), timed_out, fields["code"])


@dataclass(frozen=True)
class SliceMark:
    """A file beside the request that names the slice that the driver writes, for the process that ends the driver."""

    path: Path

    @classmethod
    def of(cls, request: Path) -> "SliceMark":
        return cls(request.with_suffix(".slice"))

    def set(self, slice_id: str) -> None:
        """Name the slice that is begun."""
        part = self.path.with_suffix(".part")
        part.write_text(slice_id)
        part.replace(self.path)

    def get(self) -> str | None:
        """Return the slice that was begun last; None when none was."""
        return self.path.read_text() if self.path.exists() else None


def _secret_of(text: str, value: str) -> str:
    """Return what is hidden of a value that a reference is in: what that means, or all of it if that is short."""
    part = resolved_part(text, value)
    return part if len(part) >= SHORTEST else value
