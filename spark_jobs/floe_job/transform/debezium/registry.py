"""The code of Debezium's transforms, by the class of their settings."""

from typing import Final

from floe_job.transform.family import Family, code
from floe_job.transform.reads import Reads

DEBEZIUM: Final = {
    "debezium.new_record_state.NewRecordState": Family(
        code("debezium.new_record_state", "NewRecordStates"), reads=Reads.COLUMNS
    ),
    "debezium.new_document_state.NewDocumentState": Family(code("debezium.new_document_state", "NewDocumentStates")),
}
