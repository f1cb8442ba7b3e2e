"""The code of Debezium's transforms, by the class of their settings."""

from __future__ import annotations

from typing import Final

from floe.config.transforms.debezium.new_document_state import NewDocumentState
from floe.config.transforms.debezium.new_record_state import NewRecordState
from floe.config.transforms.options import TransformOptions
from floe_job.transform.base import Reads
from floe_job.transform.debezium.new_document_state import NewDocumentStates
from floe_job.transform.debezium.new_record_state import NewRecordStates
from floe_job.transform.family import Family

DEBEZIUM: Final[dict[type[TransformOptions], Family]] = {
    NewRecordState: Family(NewRecordStates, reads=Reads.COLUMNS),
    NewDocumentState: Family(NewDocumentStates),
}
