"""The request that Airflow parses the files of connectors made by REST now, by which one is a DAG within seconds."""

from __future__ import annotations

import logging
from pathlib import Path, PurePosixPath
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

FILES: Final = ("rest_sink.py", "rest_replay.py")


def request_parsing() -> None:
    """Ask for the files with DAGs of connectors made by REST. Harmless if the same was asked for already, and if it fails.

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
    """Return bundle and path of the files: beside those that made floe's DAGs, or in the folder of DAGs if there is none."""
    query = (
        select(DagModel.bundle_name, DagModel.relative_fileloc)
        .join(DagTag, DagTag.dag_id == DagModel.dag_id)
        .where(DagTag.name == TAG, DagModel.bundle_name.is_not(None), DagModel.relative_fileloc.is_not(None))
        .distinct()
    )
    folders = {(str(bundle), PurePosixPath(str(file)).parent) for bundle, file in session.execute(query)}
    if folders:
        return {(bundle, str(folder / file)) for bundle, folder in folders for file in FILES}
    folder = Path(conf.get("core", "dags_folder"))
    bundles = session.scalars(select(DagBundleModel.name).where(DagBundleModel.active.is_(True))).all()
    return {(bundle, file) for bundle in bundles for file in FILES if (folder / file).is_file()}
