"""The code that is not floe's, of users' transforms and of extensions, compared with what a plan was made with."""

from typing import NoReturn

from floe.config import Connector
from floe.config.exceptions import ExtensionUnusable
from floe.config.extension_code import VERSION
from floe.config.sections.transforms import python_classes
from floe.config.transforms.python_class import SourceProblem
from floe.model.exceptions import CodeChanged
from floe.model.plan import Plan


def check_code(plan: Plan, connector: Connector) -> dict[str, str]:
    """Check the modules that are not floe's and that Spark's workers run; return them by the names of their files.

    Raises CodeChanged where they are others than the plan's: what is read twice must give the same rows twice.
    """
    files: dict[str, str] = {}
    for own in python_classes(connector.transforms):
        try:
            present, source = own.read()
        except SourceProblem as error:
            _refuse(plan, f"the transform {own.path!r}", f"cannot be found now: {error}")
        _compare(plan, f"the transform {own.path!r}", own.path, (present.version, present.sha256))
        files |= source.files
    try:
        packages = connector.extension_sources()
    except ExtensionUnusable as error:
        _refuse(plan, "an extension", f"cannot be found now: {error}")
    for package, source in packages.items():
        _compare(plan, f"the extension {package!r}", package, (VERSION, source.sha256))
        files |= source.files
    return files


def _compare(plan: Plan, what: str, name: str, present: tuple[int, str]) -> None:
    planned = plan.code.get(name)
    if planned is None:
        _refuse(plan, what, "is none that the plan was made with")
    if present != tuple(planned):
        _refuse(
            plan,
            what,
            f"has version {present[0]} and hash {present[1][:12]} now, and had version {planned[0]} and hash "
            f"{planned[1][:12]} when the plan was made",
        )


def _refuse(plan: Plan, what: str, problem: str) -> NoReturn:
    msg = (
        f"the code of {what} {problem}. Plan {plan.plan_id} is not written: a record that is read twice must "
        "give the same row. Nothing was announced. Trigger a new run, which plans with the present code; or put the "
        "former code back and clear this task"
    )
    raise CodeChanged(msg)
