"""Airflow's API server in this process, on a database of its own: its users, and DAGs and runs as rows."""

from __future__ import annotations

import base64
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.testclient import TestClient

USERS = {"viewer": "viewer", "user": "user", "op": "op", "admin": "admin", "other": "admin"}
"""Roles by user; a user's password is its name. Of ``other`` see :mod:`tests.support.api.auth`."""

PARTS = ("SchedulerJob", "DagProcessorJob", "TriggererJob")
"""Airflow's parts that send heartbeats."""

BUNDLE = "dags-folder"


@dataclass
class Site:
    """The site. ``folder``: its connectors are in ``connectors``."""

    folder: Path
    app: FastAPI

    def client(self, base: str, user: str | None = "admin", *, below: str = "", **headers: str) -> TestClient:
        """Return a client of an app, with the name and the password of a user; without credentials for None.

        ``below``: the path that Airflow is under.
        """
        from starlette.testclient import TestClient

        given = dict(headers)
        if user is not None:
            given["Authorization"] = f"Basic {base64.b64encode(f'{user}:{user}'.encode()).decode()}"
        root = f"http://testserver{below}{base}"
        return TestClient(self.app, root, raise_server_exceptions=False, root_path=below, headers=given)

    def token(self, user: str) -> str:
        """Return a token of a user."""
        from airflow.api_fastapi.app import get_auth_manager
        from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

        return str(get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=user, role=USERS[user])))

    def add_file(self, name: str, keys: Mapping[str, Any] | str) -> None:
        """Write a connector file."""
        text = keys if isinstance(keys, str) else json.dumps(keys)
        (self.folder / "connectors" / f"{name}.json").write_text(text)

    def add_dag(self, name: str, *tags: str, is_paused: bool = False, file: str = "sink.py") -> None:
        """Add a DAG as its parsing would."""
        from airflow.models.dag import DagModel, DagTag
        from airflow.utils.session import create_session

        with create_session() as session:
            dag = DagModel(dag_id=name, bundle_name=BUNDLE, relative_fileloc=file, is_paused=is_paused, is_stale=False)
            dag.tags = [DagTag(name=tag, dag_id=name) for tag in tags or ("floe", "sink")]
            session.add(dag)

    def add_run(
        self,
        name: str,
        state: str,
        tasks: Mapping[str, str] | None = None,
        errors: Mapping[str, str] | None = None,
        *,
        run_id: str | None = None,
        conf: Mapping[str, Any] | None = None,
        ended: bool | None = None,
    ) -> str:
        """Add a run, with the states of its tasks and the errors that they left.

        ``ended``: whether it has a time of its end; by default one that failed has.
        """
        from airflow.models.dagrun import DagRun
        from airflow.models.xcom import XComModel
        from airflow.utils.session import create_session
        from airflow.utils.types import DagRunType

        number = len(self.runs(name))
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
        run_id = run_id or f"scheduled__{number}"
        with create_session() as session:
            run = DagRun(
                dag_id=name, run_id=run_id, logical_date=at, run_after=at, run_type=DagRunType.SCHEDULED, conf=conf
            )
            run._state = state
            run.end_date = at + timedelta(seconds=41) if (state == "failed" if ended is None else ended) else None
            session.add(run)
            session.flush()
            for task, task_state in (tasks or {}).items():
                add_task(session, run, task, task_state)
            for task, error in (errors or {}).items():
                XComModel.set("failure", error, dag_id=name, task_id=task, run_id=run_id, session=session)
        return run_id

    def end_run(self, name: str, run_id: str, state: str, *, is_heard: bool = True) -> None:
        """End a run as the scheduler does: listeners are called in its transaction, unless it dies before (``is_heard``)."""
        from airflow.listeners.listener import get_listener_manager
        from airflow.models.dagrun import DagRun
        from airflow.utils.session import create_session
        from sqlalchemy import select

        from floe import airflow_plugin

        manager = get_listener_manager()
        for one in airflow_plugin.FloePlugin.listeners:
            manager.add_listener(one)
        from airflow.utils.sqlalchemy import prohibit_commit

        with create_session() as session, prohibit_commit(session) as guard:
            run = session.scalars(select(DagRun).where(DagRun.dag_id == name, DagRun.run_id == run_id)).one()
            run._state = state
            if is_heard:
                run.notify_dagrun_state_changed(msg=state)
            guard.commit()

    def runs(self, name: str) -> list[tuple[str, str, Any]]:
        """Return id, state and conf of the runs of a DAG, the oldest first."""
        from airflow.models.dagrun import DagRun
        from airflow.utils.session import create_session
        from sqlalchemy import select

        with create_session() as session:
            query = select(DagRun.run_id, DagRun._state, DagRun.conf).where(DagRun.dag_id == name).order_by(DagRun.id)
            return [(run_id, str(state), conf) for run_id, state, conf in session.execute(query)]

    def ended(self, name: str, run_id: str) -> str | None:
        """Return when a run ended, as JSON has it."""
        from airflow.models.dagrun import DagRun
        from airflow.utils.session import create_session
        from sqlalchemy import select

        with create_session() as session:
            at = session.scalar(select(DagRun.end_date).where(DagRun.dag_id == name, DagRun.run_id == run_id))
            return None if at is None else at.isoformat()

    def add_asset(self, uri: str, *dag_ids: str, alias: str) -> None:
        """Add an asset that DAGs write, and that an alias stands for, as parsing and a run would."""
        from airflow.models.asset import AssetAliasModel, AssetModel, TaskOutletAssetReference
        from airflow.utils.session import create_session
        from sqlalchemy import select

        with create_session() as session:
            asset = AssetModel(name=uri, uri=uri, group="asset")
            known = session.scalar(select(AssetAliasModel).where(AssetAliasModel.name == alias))
            one = known or AssetAliasModel(name=alias, group="asset")
            one.assets.append(asset)
            session.add_all([asset, one])
            session.flush()
            for dag_id in dag_ids:
                session.add(TaskOutletAssetReference(asset_id=asset.id, dag_id=dag_id, task_id="commit"))

    def named_assets(self) -> dict[str, list[str]]:
        """Return by what each asset is named, DAGs and aliases; without those that nothing names."""
        from airflow.models.asset import AssetModel
        from airflow.utils.session import create_session
        from sqlalchemy import select

        with create_session() as session:
            assets = session.scalars(select(AssetModel)).all()
            named = {
                one.uri: sorted([ref.dag_id for ref in one.producing_tasks] + [alias.name for alias in one.aliases])
                for one in assets
            }
        return {uri: names for uri, names in named.items() if names}

    def task_states(self, name: str, run_id: str) -> dict[str, str | None]:
        """Return the states of the tasks of a run."""
        from airflow.models.taskinstance import TaskInstance
        from airflow.utils.session import create_session
        from sqlalchemy import select

        with create_session() as session:
            query = select(TaskInstance.task_id, TaskInstance.state)
            query = query.where(TaskInstance.dag_id == name, TaskInstance.run_id == run_id)
            return {str(task): found for task, found in session.execute(query)}

    def has_dag(self, name: str) -> bool:
        """Whether there is a DAG."""
        from airflow.models.dag import DagModel
        from airflow.utils.session import create_session
        from sqlalchemy import select

        with create_session() as session:
            return session.scalar(select(DagModel.dag_id).where(DagModel.dag_id == name)) is not None

    def is_paused(self, name: str) -> bool:
        """Whether a DAG is paused."""
        from airflow.models.dag import DagModel
        from airflow.utils.session import create_session
        from sqlalchemy import select

        with create_session() as session:
            return bool(session.scalar(select(DagModel.is_paused).where(DagModel.dag_id == name)))

    def set_paused(self, name: str, *, is_paused: bool) -> None:
        """Pause or unpause a DAG, as Airflow's page does."""
        from airflow.models.dag import DagModel
        from airflow.utils.session import create_session
        from sqlalchemy import update

        with create_session() as session:
            session.execute(update(DagModel).where(DagModel.dag_id == name).values(is_paused=is_paused))

    def is_stale(self, name: str) -> bool:
        """Whether Airflow takes a DAG for gone."""
        from airflow.models.dag import DagModel
        from airflow.utils.session import create_session
        from sqlalchemy import select

        with create_session() as session:
            return bool(session.scalar(select(DagModel.is_stale).where(DagModel.dag_id == name)))

    def set_stale(self, name: str, *, is_stale: bool) -> None:
        """Say whether Airflow takes a DAG for gone, as its parsing would."""
        from airflow.models.dag import DagModel
        from airflow.utils.session import create_session
        from sqlalchemy import update

        with create_session() as session:
            session.execute(update(DagModel).where(DagModel.dag_id == name).values(is_stale=is_stale))

    def set_due(self, name: str, at: datetime | None) -> None:
        """Say when the next scheduled run of a DAG is due."""
        from airflow.models.dag import DagModel
        from airflow.utils.session import create_session
        from sqlalchemy import update

        with create_session() as session:
            session.execute(update(DagModel).where(DagModel.dag_id == name).values(next_dagrun_create_after=at))

    def variable(self, key: str) -> str | None:
        """Return the text of a Variable."""
        from airflow.models.variable import Variable
        from airflow.utils.session import create_session
        from sqlalchemy import select

        with create_session() as session:
            row = session.scalar(select(Variable).where(Variable.key == key))
            return None if row is None else row.get_val()

    def set_variable(self, key: str, text: str) -> None:
        """Set a Variable."""
        from airflow.models.variable import Variable

        Variable.set(key, text)

    def audit_log(self) -> list[tuple[str, str, str, dict[str, Any]]]:
        """Return the entries of Airflow's audit log: event, user, DAG and details, the oldest first."""
        from airflow.models.log import Log
        from airflow.utils.session import create_session
        from sqlalchemy import select

        with create_session() as session:
            query = select(Log.event, Log.owner, Log.dag_id, Log.extra).order_by(Log.id)
            rows = session.execute(query).all()
            return [(event, str(owner), str(dag_id), json.loads(extra or "{}")) for event, owner, dag_id, extra in rows]

    def raw_values(self) -> list[str]:
        """Return all values of Variables as they are in the database."""
        from airflow.models.variable import Variable
        from airflow.utils.session import create_session
        from sqlalchemy import select

        with create_session() as session:
            return list(session.scalars(select(Variable._val)))

    def clear(self) -> None:
        """Remove all rows and files of connectors."""
        from airflow.models.base import Base
        from airflow.utils.session import create_session

        names = (
            "xcom",
            "task_instance",
            "dag_run",
            "dag_tag",
            "dag",
            "variable",
            "log",
            "dag_priority_parsing_request",
            "job",
            "task_outlet_asset_reference",
            "asset_alias_asset",
            "asset_alias",
            "asset",
        )
        with create_session() as session:
            for name in names:
                session.execute(Base.metadata.tables[name].delete())
        for file in (self.folder / "connectors").iterdir():
            file.unlink()
        self.beat()

    def beat(self, *dead: str, at: datetime | None = None, never: bool = False) -> None:
        """Say that Airflow's parts are alive but some, whose last heartbeat was ``at``; or that they ``never`` sent one."""
        from airflow.jobs.job import Job
        from airflow.utils.session import create_session
        from sqlalchemy import delete

        from floe.api.airflow_health import forget

        later = datetime.now(UTC) + timedelta(days=1)
        with create_session() as session:
            session.execute(delete(Job))
            for part in PARTS:
                if part in dead and never:
                    continue
                job = Job(job_type=part, state="running")
                session.add(job)
                job.latest_heartbeat = (at or datetime(2026, 1, 1, tzinfo=UTC)) if part in dead else later
        forget()


@contextmanager
def airflow_site(folder: Path) -> Iterator[Site]:
    """Configure Airflow for a database in ``folder`` and give its site, then configure it back."""
    (folder / "connectors").mkdir()
    passwords = folder / "passwords.json"
    passwords.write_text(json.dumps({user: user for user in USERS}))
    changed = {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{folder / 'airflow.db'}",
        "AIRFLOW__CORE__FERNET_KEY": base64.urlsafe_b64encode(b"f" * 32).decode(),
        "AIRFLOW__CORE__AUTH_MANAGER": "tests.support.api.auth.GrantsByDag",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in USERS.items()),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
        "AIRFLOW__API_AUTH__JWT_SECRET": "the signing key of tokens in tests" * 2,
        "FLOE_CONNECTORS_DIR": str(folder / "connectors"),
    }
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from airflow import settings
        from airflow.api_fastapi.app import init_auth_manager, purge_cached_app
        from airflow.models import crypto
        from airflow.models.base import Base
        from airflow.utils.db import import_all_models
        from fastapi import FastAPI

        crypto.get_fernet.cache_clear()
        settings.dispose_orm(do_log=False)
        settings.configure_vars()
        settings.configure_orm()
        import_all_models()
        Base.metadata.create_all(settings.engine)
        _add_bundle()
        app = FastAPI()
        init_auth_manager(app)
        _mount(app)
    try:
        yield Site(folder, app)
    finally:
        purge_cached_app()
        settings.dispose_orm(do_log=False)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        crypto.get_fernet.cache_clear()


def _mount(app: FastAPI) -> None:
    """Mount floe's apps where its plugin says, before a page that answers all other paths."""
    from fastapi.responses import HTMLResponse

    from floe import airflow_plugin

    for one in airflow_plugin.FloePlugin.fastapi_apps:
        app.mount(one["url_prefix"], one["app"])
    for one in airflow_plugin.FloePlugin.fastapi_root_middlewares:
        app.add_middleware(one["middleware"])

    @app.get("/{_:path}")
    def page(_: str) -> HTMLResponse:
        return HTMLResponse("<html>Airflow</html>")


def _add_bundle() -> None:
    from airflow.models.dagbundle import DagBundleModel
    from airflow.utils.session import create_session

    with create_session() as session:
        bundle = DagBundleModel(name=BUNDLE)
        bundle.active = True
        session.add(bundle)


def add_task(session: Any, run: Any, task: str, state: str) -> None:
    """Add a task of a run."""
    from airflow.models.taskinstance import TaskInstance
    from sqlalchemy import insert

    table = TaskInstance.__table__
    from uuid import uuid4

    values = {
        "id": uuid4(),
        "dag_id": run.dag_id,
        "task_id": task,
        "run_id": run.run_id,
        "map_index": -1,
        "state": state,
        "try_number": 1,
        "max_tries": 0,
        "pool": "default_pool",
        "pool_slots": 1,
        "start_date": run.run_after,
    }
    session.execute(insert(table).values(**values))
