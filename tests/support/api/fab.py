"""Airflow's FAB auth manager: an environment that has it, and its users, each with rights on DAGs by a role.

FAB is no package of floe's: the environment is made of the one that runs the tests, and of FAB's own packages.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

from stack.exceptions import Unsuitable
from tests.support.repository import ROOT

FAB = "apache-airflow-providers-fab==3.10.2"
MANAGER = "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager"

READER, EDITOR, RUNNER, BYSTANDER = "Readers", "Editors", "Runners", "Bystanders"
"""Roles that have rights on some DAGs by the connectors' files, and none on all DAGs."""

USERS = {
    "reader": (READER,),
    "editor": (EDITOR,),
    "runner": (RUNNER,),
    "bystander": (BYSTANDER,),
    "viewer": ("Viewer",),
    "user": ("User",),
    "op": ("Op",),
    "admin": ("Admin",),
}
"""Roles by user."""

_ENTITIES = ("DAG Runs", "Task Instances", "Task Logs")


def environment(folder: Path) -> str:
    """Return the Python of an environment with FAB, made in ``folder``. Raises Unsuitable where pip cannot get it."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (site / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    command = [str(python), "-m", "pip", "install", "--quiet", "--no-input", FAB, "-c", str(ROOT / "constraints.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": ""})
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        message = f"{FAB} could not be installed: {last}"
        raise Unsuitable(message)
    return str(python)


def is_in_use() -> bool:
    """Whether Airflow's configuration in this process names FAB."""
    return os.environ.get("AIRFLOW__CORE__AUTH_MANAGER") == MANAGER


def add_users(session: Any, passwords: dict[str, str]) -> None:
    """Add roles and users to the database; run in the server's process, before DAGs are parsed."""
    from airflow.providers.fab.www.app import create_app

    app = create_app(enable_plugins=False)
    with app.app_context():
        from airflow.api_fastapi.app import get_auth_manager

        manager = get_auth_manager().security_manager  # type: ignore[attr-defined]
        for name in (READER, EDITOR, RUNNER, BYSTANDER):
            role = manager.add_role(name)
            rights = [("can_read", "Website"), *(("can_read", entity) for entity in _ENTITIES)]
            if name == RUNNER:
                rights += [("can_edit", "DAG Runs"), ("can_edit", "Task Instances")]
            for action, resource in rights:
                manager.add_permission_to_role(role, manager.create_permission(action, resource))
        for user, roles in USERS.items():
            known = [manager.find_role(role) for role in roles]
            manager.add_user(user, user, user, f"{user}@example.com", known, password=passwords[user])
    session.commit()


if __name__ == "__main__":
    print(environment(Path(sys.argv[1])))
