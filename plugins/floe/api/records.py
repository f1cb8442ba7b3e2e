"""The status records that are kept in Airflow's Variables, read by one query."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from airflow.models.crypto import get_fernet
from airflow.models.variable import Variable
from cryptography.fernet import InvalidToken
from sqlalchemy import select
from sqlalchemy.orm import Session

from floe.status.record import StatusRecord
from floe.status.record_codec import key_of, parse


@dataclass(frozen=True, slots=True)
class StoredText:
    """The value of a connector's Variable, as it is in the database."""

    name: str
    value: str
    is_encrypted: bool


@dataclass(frozen=True, slots=True)
class KeptStatus:
    """What is kept of a connector: its record, or why there is none to show."""

    record: StatusRecord | None
    problem: str | None = None


def kept_status(session: Session, connectors: Collection[str]) -> dict[str, KeptStatus]:
    """Return what is kept of connectors; those of which nothing is kept are left out."""
    return {name: read(text) for name, text in stored_texts(session, connectors).items()}


def stored_texts(session: Session, connectors: Collection[str]) -> dict[str, StoredText]:
    """Return the values of the Variables of connectors, of those that have one.

    Rows, not models: a model hands its value to Airflow's masker of secrets, which keeps it for ever.
    """
    table = Variable.__table__
    names = {key_of(name): name for name in connectors}
    query = select(table.c.key, table.c.val, table.c.is_encrypted).where(table.c.key.in_(names))
    rows = session.execute(query)
    return {names[key]: StoredText(names[key], value, bool(encrypted)) for key, value, encrypted in rows}


def read(stored: StoredText) -> KeptStatus:
    """Decrypt and parse a stored text; one that cannot be read says why."""
    try:
        text = get_fernet().decrypt(stored.value.encode()).decode() if stored.is_encrypted else stored.value
    except (InvalidToken, UnicodeError):
        return KeptStatus(
            None, "its status record cannot be decrypted: was core.fernet_key changed? Run floe.status again"
        )
    try:
        record = parse(text)
    except ValueError as error:
        return KeptStatus(None, f"its status record cannot be read: {error}")
    if record.status.name != stored.name:
        other = record.status.name[:250]
        return KeptStatus(None, f"its status record is that of another connector, {other!r}. Run floe.status again")
    return KeptStatus(record)
