"""Asking a registry: over all its addresses, again after faults that may pass, with the client's credentials."""

from __future__ import annotations

import logging
import ssl
from typing import Final

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from floe.config.registry.settings import Address, RegistrySettings
from floe.config.secrets.mask import hide
from floe.registry.answers import PassingFault, mapped_faults, message_of, not_a_registry, passing_fault
from floe.registry.authorization import Authorization
from floe.registry.exceptions import RegistryRefused, RegistryUnreachable
from floe.registry.tls import registry_context
from floe.registry.transport import Answer, Transport

log = logging.getLogger(__name__)

_ACCEPTED: Final = "application/vnd.schemaregistry.v1+json, application/json, */*; q=0.5"
_FORGIVEN: Final = (200, 404)


class RegistryService:
    """The HTTP side of one registry."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        self._transport = Transport(settings.limits, settings.proxy)
        self._authorization = Authorization(settings, self._transport)
        self._context: ssl.SSLContext | None = None
        self._addresses = settings.addresses

    def get(self, path: str) -> tuple[Answer, str]:
        """Return the answer to GET, 200 or 404, and the whole address that gave it.

        All addresses are asked, beginning with the last that answered; after a pause again, as often as the settings
        say. Raises RegistryUnreachable after that, and at once RegistryRefused, RegistryMisconfigured, NotARegistry.
        """
        limits = self._settings.limits
        backoff = wait_exponential(limits.first_wait, limits.max_wait) + wait_random(0, limits.first_wait / 2)

        def wait(state: RetryCallState) -> float:
            asked = getattr(state.outcome.exception(), "retry_after", 0.0) if state.outcome else 0.0
            return max(backoff(state), min(asked, limits.max_wait))

        def say(state: RetryCallState) -> None:
            log.warning("%s; retrying in %.1f s", hide(_why(state)), state.upcoming_sleep)

        def give_up(state: RetryCallState) -> tuple[Answer, str]:
            attempts = f"{state.attempt_number} attempt{'s' if state.attempt_number > 1 else ''}"
            msg = f"the schema registry did not give a schema in {attempts}: {hide(_why(state))}. Nothing was announced"
            raise RegistryUnreachable(msg) from None

        retrying = Retrying(
            retry=retry_if_exception_type(PassingFault),
            wait=wait,
            stop=stop_after_attempt(limits.retries + 1),
            before_sleep=say,
            retry_error_callback=give_up,
        )
        return retrying(self._ask_all, path)

    def _ask_all(self, path: str) -> tuple[Answer, str]:
        faults: list[PassingFault] = []
        for address in self._addresses:
            try:
                answer = self._ask(address, path)
            except PassingFault as fault:
                faults.append(fault)
                continue
            if faults:
                self._addresses = (address, *(one for one in self._addresses if one != address))
            return answer, address.url + path
        raise PassingFault("; ".join(dict.fromkeys(map(str, faults))), max(fault.retry_after for fault in faults))

    def _ask(self, address: Address, path: str) -> Answer:
        url = address.url + path
        answer = self._send(address, url)
        if answer.status == 401 and self._authorization.renew():
            answer = self._send(address, url)
        if fault := passing_fault(answer, url):
            raise fault
        if answer.status in (401, 403):
            raise RegistryRefused(self._refusal(address, url, answer))
        if answer.status not in _FORGIVEN:
            raise not_a_registry(answer, url)
        return answer

    def _send(self, address: Address, url: str) -> Answer:
        if self._context is None and url.startswith("https:"):
            self._context = registry_context(self._settings.tls)
        headers = {"Accept": _ACCEPTED, "User-Agent": "floe", **dict(self._settings.headers)}
        headers |= self._authorization.headers(address)
        with mapped_faults(url):
            return self._transport.request(url, headers, self._context)

    def _refusal(self, address: Address, url: str, answer: Answer) -> str:
        key = self._authorization.refused_key(address)
        where = f"Check {self._settings.prefix}{key}" if key else "No credentials are configured for it: set them"
        return (
            f"the schema registry refuses the client: {url} answered {answer.status}, {message_of(answer)}. Nothing was "
            f"announced. {where}"
        )


def _why(state: RetryCallState) -> str:
    return str(state.outcome.exception()) if state.outcome is not None else ""
