"""The params of a run, checked before anything is read or created: names, old names, and types."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from floe.config.keys.lookup import find, is_own
from floe.config.keys.spelling import spelled_as
from floe.config.secrets.mask import clip, hide
from floe.model.exceptions import PlanRefused
from floe.operators.exceptions import ParamsRefused

if TYPE_CHECKING:
    from airflow.sdk import Context, Param

OLD_NAMES = {"adopt": "reset_topics", "forgive": "drop_backlog", "hand_back": "return_to_connect"}
"""Old names of params, with the present ones. They are accepted permanently."""

_MEANT = {
    "range": ("ranges",),
    "offset": ("ranges",),
    "offsets": ("ranges",),
    "partitions": ("ranges",),
    "limit": ("max_records",),
    "max_offsets": ("max_records",),
    "max_records_per_run": ("max_records",),
    "from": ("from_time", "start_at"),
    "begin": ("from_time", "start_at"),
    "start": ("from_time", "start_at"),
    "since": ("from_time", "start_at"),
    "until": ("to_time",),
    "to": ("to_time", "skip_to"),
    "end": ("to_time",),
    "allow_loss": ("accept_loss",),
    "on_data_loss": ("accept_loss",),
    "reset": ("reset_topics",),
    "forget": ("drop_backlog",),
    "diagnosis": ("diagnose",),
    "table": ("tables",),
    "topics": ("topic",),
    "mode": ("overlap",),
    "commit_branch": ("branch",),
}
"""What people call params, with those that mean it, of which a DAG has one."""

MAX_NAMED = 10
"""Unknown params that an error lists."""

_COMPARED_CHARACTERS = 200


def params_of(context: Context) -> dict[str, Any]:
    """Return the params of the run under their present names. Raises ParamsRefused.

    Airflow validates the params that the DAG has, and silently accepts any other name of a trigger's ``conf``.
    """
    dag, run = context["dag"], context["dag_run"]
    form = {name: dag.params.get_param(name) for name in dag.params}
    return checked(context["params"], run.conf or {}, form)


def checked(params: Mapping[str, Any], conf: Mapping[str, Any], form: Mapping[str, Param]) -> dict[str, Any]:
    """Return ``params`` under the names of ``form``; ``conf``: what the trigger gave.

    Raises ParamsRefused for a name that the form does not have, a value that is not of the param's type, an old and a
    new name with different values, and for values of the trigger that Airflow is configured to ignore.
    """
    _refuse_unknown({*params, *conf}, form)
    ignored = sorted(name for name in conf if name not in params or params[name] != conf[name])
    if ignored:
        msg = (
            f"Airflow ignores the params of a trigger here, and this run has {ignored}: core.dag_run_conf_overrides_params "
            "is False. Nothing was read or created. Set it to True, or trigger the DAG without params."
        )
        raise ParamsRefused(msg)
    present = {name: value for name, value in params.items() if name in form}
    for old, name in OLD_NAMES.items():
        if name not in form or params.get(old) is None:
            continue
        value = _validated(old, params[old], form[name])
        if (name in conf or present.get(name)) and present[name] != value:
            msg = (
                f"the params {name} ({_shown(present[name])}) and {old}, its old name ({_shown(value)}), differ. Nothing was "
                f"read or created. Trigger the DAG with {name} alone."
            )
            raise ParamsRefused(msg)
        present[name] = value
    for name, value in present.items():
        if isinstance(value, float) and "integer" in _types(form[name]):
            msg = (
                f"param {name} is {_shown(value)}: write a whole number. Nothing was read or created. Trigger the DAG again "
                "with one: this run keeps its parameters, so clearing it does not help."
            )
            raise ParamsRefused(msg)
    return present


def check_alone(params: Mapping[str, Any]) -> None:
    """Raise PlanRefused for a takeover, a return or a diagnosis, beside what it would pass over."""
    moves = [name for name in ("start_at", "skip_to") if params.get(name)]
    for name, others in (
        ("return_to_connect", [*(one for one in ("takeover", "dry_run") if params.get(one)), *moves]),
        ("takeover", moves),
        ("diagnose", [one for one in params if one not in ("diagnose", "config") and params.get(one)]),
    ):
        if params.get(name) and others:
            msg = f"{name} cannot be combined with {' or '.join(others)}. Nothing was done. Set it alone"
            raise PlanRefused(msg, code="FLOE-112")


def _refuse_unknown(names: Collection[str], form: Mapping[str, Param]) -> None:
    known = {*form, *(old for old, name in OLD_NAMES.items() if name in form)}
    unknown = sorted(set(names) - known)
    if not unknown:
        return
    listed = "; ".join(_advice(name, known) for name in unknown[:MAX_NAMED])
    more = f"; and {len(unknown) - MAX_NAMED} more" if len(unknown) > MAX_NAMED else ""
    takes = clip(", ".join(sorted(form)), 500)
    msg = (
        f"{listed}{more}. Nothing was read or created. The DAG takes: {takes}. Trigger the DAG again with a name of these: "
        "this run keeps its parameters, so clearing it does not help."
    )
    raise ParamsRefused(msg)


def _advice(name: str, known: set[str]) -> str:
    short = name[:_COMPARED_CHARACTERS]
    meant = next((one for one in _MEANT.get(short.replace("-", "_").lower(), ()) if one in known), None)
    if meant is None and (is_own(name) or find(name) is not None):
        return f'param {short!r} is not known: connector keys go into the param config, as in config={{"{short}": …}}'
    meant = meant or spelled_as(short, tuple(sorted(known)))
    hint = f": the nearest param is {OLD_NAMES.get(meant, meant)}" if meant else ""
    return f"param {short!r} is not known{hint}"


def _validated(name: str, value: Any, param: Param) -> Any:
    """Return a value that the param's schema takes; the param keeps its own."""
    from airflow.sdk import Param
    from airflow.sdk.exceptions import ParamValidationError

    try:
        return Param(None, schema=param.schema).resolve(value)
    except ParamValidationError as error:
        reason = next(iter(hide(str(error)).splitlines()), "")
        msg = f"param {name} is {_shown(value)}: {clip(reason, 300)}. Nothing was read or created."
        raise ParamsRefused(msg) from None


def _shown(value: Any) -> str:
    return clip(repr(value), 200)


def _types(param: Param) -> list[str]:
    types = param.schema.get("type", [])
    return [types] if isinstance(types, str) else list(types)
