"""The request that Airflow parses floe's DAG files now, by which a connector is a DAG within seconds."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from airflow.configuration import conf
from airflow.models.dag import DagModel, DagTag
from airflow.models.dagbag import DagPriorityParsingRequest
from airflow.models.dagbundle import DagBundleModel
from airflow.utils.session import create_session
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import Session

from floe.api.dag_states import TAG

log = logging.getLogger(__name__)

FILES: Final = ("sink.py", "replay.py")


def request_parsing() -> None:
    """Ask for all files with DAGs of connectors. Harmless if the same was asked for already, and if it fails.

    Airflow parses the files again in any case, only later.
    """
    try:
        with create_session() as session:
            places = _places(session)
        for bundle, file in sorted(places):
            _request(bundle, file)
    except SQLAlchemyError as error:
        log.warning("The change of a connector waits for Airflow's next parsing of %s: %s", FILES, type(error).__name__)


def _request(bundle: str, file: str) -> None:
    try:
        with create_session() as session:
            session.add(DagPriorityParsingRequest(bundle_name=bundle, relative_fileloc=file))
    except IntegrityError:
        log.debug("The parsing of %s is asked for already", file)


def _places(session: Session) -> set[tuple[str, str]]:
    """Return bundle and path of the files that made floe's DAGs; of the usual files where there is no DAG yet."""
    query = (
        select(DagModel.bundle_name, DagModel.relative_fileloc)
        .join(DagTag, DagTag.dag_id == DagModel.dag_id)
        .where(DagTag.name == TAG, DagModel.bundle_name.is_not(None), DagModel.relative_fileloc.is_not(None))
        .distinct()
    )
    known = {(str(bundle), str(file)) for bundle, file in session.execute(query) if Path(str(file)).name in FILES}
    if {Path(file).name for _, file in known} == set(FILES):
        return known
    folder = Path(conf.get("core", "dags_folder"))
    bundles = session.scalars(select(DagBundleModel.name).where(DagBundleModel.active.is_(True))).all()
    return known | {(bundle, file) for bundle in bundles for file in FILES if (folder / file).is_file()}
