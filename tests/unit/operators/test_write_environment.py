"""What a Spark job inherits: not the deployment's key."""

from pathlib import Path

from floe.config.secrets.deployment_key import IN_ENVIRONMENT
from floe.operators.write import WriteFilesOperator
from tests.support.tables.lake import Lake


def test_spark_job_inherits_no_deployment_key(tmp_path: Path) -> None:
    write = WriteFilesOperator(task_id="write", connector=Lake(tmp_path).connector())
    write._prepare(tmp_path / "order.json", {})
    assert write.env_vars is not None
    assert {name: write.env_vars.get(name) for name in IN_ENVIRONMENT} == dict.fromkeys(IN_ENVIRONMENT, "")
