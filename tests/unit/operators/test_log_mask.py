"""What a task logs has no secret in it, whoever logs it."""

import io
import logging
import uuid

import airflow.sdk.log  # noqa: F401 - it sets the root logger up, as in a task

from floe.config.secrets.mask import learn
from floe.operators.failures import floe_task


def test_lines_of_libraries_are_masked_in_a_task(logged: io.StringIO) -> None:
    secret = f"canary-{uuid.uuid4().hex}/x@y"
    learn({"password": secret})

    @floe_task
    def execute(_self: object) -> None:
        log = logging.getLogger("urllib3")
        log.warning("retrying %s after %d", secret.replace("/", "%2f"), 3)
        log.warning("cut: %s", secret[:20])
        log.warning("fine: %s", "text")
        log.warning("%d is no number", "this")
        try:
            raise ValueError(secret)
        except ValueError:
            log.exception("failed")

    logging.raiseExceptions, before = False, logging.raiseExceptions
    try:
        execute(object())
    finally:
        logging.raiseExceptions = before
    text = logged.getvalue()
    assert text.startswith("retrying <hidden> after 3\ncut: <hidden>\nfine: text\n")
    assert "failed\nTraceback" in text and text.endswith("ValueError: <hidden>\n")
    assert "canary" not in text


def test_log_mask_is_installed_once(logged: io.StringIO) -> None:
    @floe_task
    def execute(_self: object) -> None:
        pass

    execute(object())
    execute(object())
    (handler,) = (one for one in logging.getLogger().handlers if getattr(one, "stream", None) is logged)
    assert len(handler.filters) == 1
