"""Make Airflow ready to start: migrate its database, write its user's password. May be run again."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

PASSWORDS = "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"
USERS = "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"
PASSWORD = "AIRFLOW_ADMIN_PASSWORD"  # noqa: S105 - the name of a variable


def write_passwords(file: Path, users: str, password: str) -> None:
    """Give each user of ``name:role,…`` the password, in the file that Airflow's simple auth manager reads."""
    names = [user.split(":")[0].strip() for user in users.split(",")]
    fresh = file.with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps(dict.fromkeys(names, password)) + "\n")
    fresh.replace(file)


def main() -> None:
    """Migrate first: a database that does not answer is the likelier failure."""
    subprocess.run(["airflow", "db", "migrate"], check=True)
    write_passwords(Path(os.environ[PASSWORDS]), os.environ[USERS], os.environ[PASSWORD])


if __name__ == "__main__":
    main()
