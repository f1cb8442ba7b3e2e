"""Plans as Airflow keeps them, in XCom and in the task state store: sealed when stored, verified when read."""

from __future__ import annotations

import base64
import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from floe.config import Connector, KeyClass, restore_config
from floe.config.names import REPLAY_SUFFIX
from floe.config.secrets.deployment_key import CONN_ID, FERNET_VARIABLE, NO_KEY, VARIABLE
from floe.config.secrets.mask import clip
from floe.model.exceptions import SealBroken
from floe.model.plan import Plan
from floe.model.plan_seal import DeploymentKey, PlanKey, RunName, is_sealed
from floe.operators import task_context
from floe.operators.connections import kafka_settings, resolved
from floe.operators.exceptions import PlanMissing
from floe.operators.failures import keep_secret

if TYPE_CHECKING:
    from airflow.sdk import Context


log = logging.getLogger(__name__)

NOT_OURS = "Nothing was read, written or committed by it. Trigger a new run, and find out who may edit XCom in Airflow."


class RunPlan(NamedTuple):
    """The plan of a run, the connector as the plan froze it with its values, and the key of its announcements.

    ``key`` is None for a plan without a seal: its announcements are not signed. ``fields``: the plan as it is stored.
    """

    plan: Plan
    connector: Connector
    key: PlanKey | None
    fields: dict[str, Any]


def sealed(plan: Plan, connector: Connector, context: Context) -> RunPlan:
    """Return a new plan as it is to be stored: sealed for this run, where the deployment has a key."""
    fields = plan.to_json()
    key = deployment_key()
    if key is None:
        return RunPlan(plan, connector, None, fields)
    return RunPlan(plan, connector, key.plan_key(plan.plan_id), key.seal(fields, run_name(context)))


def warn_without_key() -> None:
    """Log in a plan task that nothing is sealed, where that is so."""
    if deployment_key() is None:
        log.warning("%s", NO_KEY)


def opened(fields: object, context: Context, file: Connector) -> RunPlan:
    """Read a stored plan. What a task reads back is input: it counts only as this run's plan task stored it.

    ``file``: the connector as its file says. Raises SealBroken, ConfigRestoreError.
    """
    if not isinstance(fields, dict):
        msg = f"what this run has as its plan is {clip(str(fields), 80)!r}, which no plan task stored. {NOT_OURS}"
        raise SealBroken(msg)
    deployment = deployment_key()
    key = _verified(fields, context, deployment)
    try:
        plan = Plan.from_json(fields)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        msg = f"what this run has as its plan cannot be read ({type(error).__name__}: {clip(str(error), 200)}). {NOT_OURS}"
        raise SealBroken(msg) from error
    if deployment is not None and key is None:
        is_replay = run_name(context).dag_id.endswith(REPLAY_SUFFIX)
        _check_sealed(plan, deployment, file, KeyClass.REPLAY if is_replay else KeyClass.LIVE)
        log.warning("plan %s was made before plans were sealed; it is used as it is", plan.plan_id)
    return RunPlan(plan, resolved(restore_config(plan.config, file)).with_code(plan.code), key, fields)


def pulled(context: Context, file: Connector) -> RunPlan:
    """Return the plan that the run's plan task left in XCom. Raises PlanMissing, SealBroken, ConfigRestoreError."""
    fields = context["ti"].xcom_pull(task_ids=task_context.PLAN_TASK)
    if not fields:
        msg = "this run has no plan: clear its plan task too, or trigger a new run"
        raise PlanMissing(msg)
    return opened(fields, context, file)


def announced_slices(context: Context, plan: Plan) -> list[str]:
    """Return the slices that the write task reported as announced; none where it left nothing.

    It decides no more than what the commit waits for. Raises SealBroken for what no write task of this plan leaves.
    """
    written = context["ti"].xcom_pull(task_ids=task_context.WRITE_TASK)
    if written is None:
        return []  # the write task failed
    found = written.get("announced") if isinstance(written, dict) else None
    known = {plan.slice_id(slice_) for slice_ in plan.slices}
    if not isinstance(found, list) or not all(isinstance(one, str) and one in known for one in found):
        msg = (
            f"the write task of this run left {clip(str(written), 200)!r} in XCom, not a list of slices of plan "
            f"{plan.plan_id}: it was changed. Nothing was committed. Clear the write task: it finds what was announced."
        )
        raise SealBroken(msg)
    return found


def _verified(fields: Mapping[str, Any], context: Context, deployment: DeploymentKey | None) -> PlanKey | None:
    if not is_sealed(fields):
        return None
    if deployment is None:
        msg = (
            "the plan of this run is sealed, but this worker has no deployment key to verify it by: give all of Airflow's "
            "workers the same one (docs/how-to/deploy.md, “The deployment key”), then clear this task. Nothing was done."
        )
        raise SealBroken(msg)
    return deployment.unseal(fields, run_name(context))


def _check_sealed(plan: Plan, deployment: DeploymentKey, file: Connector, allowed: KeyClass) -> None:
    """Compare a plan without a seal with what cannot be edited in Airflow."""
    from floe.kafka.admin import Cluster
    from floe.planning.unsealed_plan import check_sealed, has_signed_records

    # by the file's addresses: the plan's own are not trusted yet
    now = resolved(file)
    settings = kafka_settings(now)
    positions = Cluster.of_control(settings).positions(file.group_id)
    check_sealed(plan, file, allowed, positions, has_signed=has_signed_records(deployment, file, settings))


# Finding the deployment's key: the environment, else a connection, else Airflow's Fernet key.


FERNET_BYTES = 32


def deployment_key() -> DeploymentKey | None:
    """Return the key of this deployment; None where it has none. Raises SealBroken for a key that is too short.

    From here on it is hidden in what this task logs and raises.
    """
    for find, origin in (
        (_variable, f"the environment variable {VARIABLE}"),
        (_password, f"the password of the Airflow connection {CONN_ID!r}"),
        (_fernet_key, f"Airflow's Fernet key ({FERNET_VARIABLE})"),
    ):
        text = find()
        if text:
            for part in text.split(","):
                keep_secret({VARIABLE: part.strip()})
            return DeploymentKey.of(text, origin)
    return None


def run_name(context: Context) -> RunName:
    """Name the run of a task."""
    return RunName(context["ti"].dag_id, context["ti"].run_id)


def _variable() -> str | None:
    return os.environ.get(VARIABLE)


def _password() -> str | None:
    from airflow.sdk import BaseHook
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        password: str | None = BaseHook.get_connection(CONN_ID).password
    except AirflowNotFoundException:
        return None  # any other error is raised: a key that cannot be read now is not a key that is not there
    return password


def _fernet_key() -> str | None:
    """Return Airflow's Fernet keys; None where one of them is none.

    A worker without an ``airflow.cfg`` of its own reads the template's placeholder ``{FERNET_KEY}`` here.
    """
    from airflow.sdk.configuration import conf

    found: str = conf.get("core", "fernet_key", fallback="") or ""
    return found if all(_is_fernet_key(part.strip()) for part in found.split(",")) else None


def _is_fernet_key(text: str) -> bool:
    """Whether a text is 32 bytes in URL-safe base64, as the Fernet specification has it."""
    try:
        return len(base64.b64decode(text, altchars=b"-_", validate=True)) == FERNET_BYTES
    except ValueError:
        return False
