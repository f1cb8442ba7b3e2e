"""Tokens of OAUTHBEARER that are made in Python: for Amazon MSK by AWS's signer. Clients get a callback for them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from floe.config.kafka.msk import IS_MSK, OWN, PROFILE, ROLE, SESSION
from floe.config.secrets.mask import clip
from floe.kafka.access import NOTHING_LOST, TokenMissing, login_of
from floe.kafka.exceptions import KafkaMisconfigured

Token = tuple[str, float]
"""A token, and when it expires, in seconds since the epoch."""

_REGION: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com")
_VARIABLES: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_SESSION_NAME: Final = "floe"
_NOTHING_DONE: Final = "Nothing was read or written"


def with_tokens(conf: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a client takes: with a callback in the place of floe's own names, if it needs one.

    Raises KafkaMisconfigured.
    """
    made = {name: value for name, value in conf.items() if name not in OWN}
    if conf.get(IS_MSK):
        made["oauth_cb"] = _callback(conf)
    return made


def _callback(conf: Mapping[str, Any]) -> Callable[[str], Token]:
    region = _region(str(conf.get("bootstrap.servers", "")))
    provider = _provider()
    profile, role = str(conf.get(PROFILE, "")), str(conf.get(ROLE, ""))
    session = str(conf.get(SESSION, "")) or _SESSION_NAME

    def made() -> Token:
        if role:
            text, expires = provider.generate_auth_token_from_role_arn(region, role, session)
        elif profile:
            text, expires = provider.generate_auth_token_from_profile(region, profile)
        else:
            text, expires = provider.generate_auth_token(region)
        return text, expires / 1000

    try:
        first = [made()]  # else a client without credentials waits ten seconds, and does not say why
    except Exception as error:
        msg = (
            f"{login_of(conf)} got no token of AWS's signer for region {region!r}: {clip(str(error), 300)}. Check the "
            f"credentials of AWS where Airflow's tasks and Spark's workers run; then run again. {NOTHING_LOST}"
        )
        raise TokenMissing(msg) from error

    def token(_: str) -> Token:
        return first.pop() if first else made()

    return token


def _provider() -> Any:
    try:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # type: ignore[import-untyped]
    except ImportError as error:
        msg = (
            f"sasl.mechanism is AWS_MSK_IAM, and AWS's signer is not installed here ({error}): install "
            f"airflow-provider-floe[msk] where Airflow's tasks and Spark's workers run. {_NOTHING_DONE}"
        )
        raise KafkaMisconfigured(msg) from error
    return MSKAuthTokenProvider


def _region(servers: str) -> str:
    """Return the brokers' region, which is in the names that AWS gives them."""
    found = _REGION.search(servers)
    region = found[1] if found else next((os.environ[name] for name in _VARIABLES if os.environ.get(name)), "")
    if not region:
        msg = (
            f"sasl.mechanism is AWS_MSK_IAM, and the region is neither in bootstrap.servers ({servers[:200]!r}) nor in "
            f"{_VARIABLES[0]}: set {_VARIABLES[0]} where Airflow's tasks and Spark's workers run. {_NOTHING_DONE}"
        )
        raise KafkaMisconfigured(msg)
    return region
