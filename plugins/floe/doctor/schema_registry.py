"""Checks of the schema registry: does it answer, and does it have subjects of the topics?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import quote

from floe.config.check import counted
from floe.config.converters.base import ConverterSpec
from floe.config.converters.with_registry import has_registry, registry_of
from floe.config.schema_registry.settings import RegistrySettings
from floe.doctor.check import About, Case, Clock, Finding
from floe.schema_registry.service import RegistryService, not_a_registry, parsed_json
from floe.schema_registry.transport import HttpAnswer

MAX_TOPICS = 20
CONNECT_SECONDS, READ_SECONDS = 5.0, 10.0
_MISSING = (40401, 40402, 40403)


def find_registry(case: Case, about: About) -> Iterator[Finding]:
    """Ask the registry of each converter for the subjects that the topics have by default. Raises as the registry does."""
    specs = [case.connector.value_converter, case.connector.key_converter]
    with_registry = [spec for spec in specs if spec and has_registry(spec)]
    if not with_registry:
        yield about.ok("no converter of this connector needs one")
    for spec in with_registry:
        settings = registry_of(spec)
        limits = replace(settings.limits, connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries=0)
        service = RegistryService(replace(settings, limits=limits))
        if settings.api == "confluent":
            yield from _subjects(case, about, spec, service)
        else:
            answer, url = _asked(case, settings, service, "/system/info")
            yield _answered(about, answer, url)


def _subjects(case: Case, about: About, spec: ConverterSpec, service: RegistryService) -> Iterator[Finding]:
    settings = registry_of(spec)
    topics = case.known_topics[:MAX_TOPICS]
    missing, address = [], ""
    for subject in [f"{topic}-{spec.role}" for topic in topics] or ["floe"]:
        answer, url = _asked(case, settings, service, f"/subjects/{quote(subject, safe='')}/versions")
        address = url.partition("/subjects/")[0]
        if answer.status == 404 and not _is_missing(answer):
            yield _answered(about, answer, url)
            return
        if answer.status == 200 and not isinstance(parsed_json(answer, url), list):
            raise not_a_registry(answer, url)
        missing += [subject] if answer.status == 404 and topics else []
    yield about.ok(
        f"the registry at {address} answers and has {len(topics) - len(missing)} of {counted(len(topics), 'subject')}"
    )
    if missing:
        yield about.warning(
            f"the registry at {address} has no subject {', '.join(map(repr, missing[:5]))}",
            "nothing to do if producers name subjects otherwise (by record name), or have not written yet; else correct the "
            "registry's address",
        )


def _asked(case: Case, settings: RegistrySettings, service: RegistryService, path: str) -> tuple[HttpAnswer, str]:
    answer, url = service.get(path)
    here = datetime.now(UTC)
    try:
        there = parsedate_to_datetime(answer.headers.get("date", ""))
    except ValueError:
        return answer, url
    if there.tzinfo is not None:
        case.clocks.append(Clock(f"the schema registry ({settings.api})", there, here))
    return answer, url


def _answered(about: About, answer: HttpAnswer, url: str) -> Finding:
    """Return that a registry answered. Raises NotARegistry for what no registry answers."""
    if answer.status == 200:
        parsed_json(answer, url)
        return about.ok(f"the registry answers: {url}")
    return about.problem(f"{url} answered {answer.status}: no schema registry", "correct its address, the path too")


def _is_missing(answer: HttpAnswer) -> bool:
    """Whether it is Confluent's answer for a subject that is not there."""
    try:
        fields = json.loads(answer.body)
    except (ValueError, RecursionError):
        return False
    return isinstance(fields, dict) and fields.get("error_code") in _MISSING
