"""The code of transforms that users write in Python, compared with what a plan was made with."""

from typing import NoReturn

from floe.config import Connector
from floe.config.sections.transforms import python_classes
from floe.config.transforms.python_source import SourceProblem
from floe.model.exceptions import CodeChanged
from floe.model.plan import Plan


def check_code(plan: Plan, connector: Connector) -> None:
    """Raise CodeChanged where the code is another one than the plan's: what is read twice must give the same rows twice."""
    for own in python_classes(connector.transforms):
        planned = plan.code.get(own.path)
        try:
            present = own.present()
        except SourceProblem as error:
            _refuse(plan, own.path, f"cannot be found now: {error}")
        if planned is None:
            _refuse(plan, own.path, "is none that the plan was made with")
        if (present.version, present.sha256) != tuple(planned):
            _refuse(
                plan,
                own.path,
                f"has version {present.version} and hash {present.sha256[:12]} now, and had version {planned[0]} and hash "
                f"{planned[1][:12]} when the plan was made",
            )


def _refuse(plan: Plan, path: str, what: str) -> NoReturn:
    msg = (
        f"the code of the transform {path!r} {what}. Plan {plan.plan_id} is not written: a record that is read twice must "
        "give the same row. Nothing was announced. Trigger a new run, which plans with the present code; or put the "
        "former code back and clear this task"
    )
    raise CodeChanged(msg)
