"""What an error of a catalog means, and which of floe's errors it becomes: decided in one place."""

import errno

import pytest
from botocore.exceptions import ClientError
from botocore.exceptions import SSLError as OfAws
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    ForbiddenError,
    NoSuchTableError,
    RESTError,
    UnauthorizedError,
    ValidationError,
)
from requests.exceptions import ConnectTimeout, InvalidProxyURL, InvalidURL, MissingSchema, SSLError

from floe.catalogs.errors import Answer, CatalogErrors, answer_of
from floe.catalogs.exceptions import (
    CatalogFailed,
    CatalogLoginRefused,
    CatalogMisconfigured,
    CatalogUnreachable,
    TableMissing,
    TableRefused,
    TableUnsuitable,
)
from floe.catalogs.providers.glue.provider import GlueProvider
from floe.exceptions import Retryable, Terminal

ERRORS = CatalogErrors("lake", lambda: "http://here:1")
COMMIT = "commit to table 'db.t'"


@pytest.mark.parametrize(
    ("error", "asking", "committing"),
    [
        (CommitFailedException("409"), Answer.CONFLICT, Answer.CONFLICT),
        (UnauthorizedError("401"), Answer.REFUSED, Answer.REFUSED),
        (ForbiddenError("403"), Answer.REFUSED, Answer.REFUSED),
        (TableRefused("no"), Answer.REFUSED, Answer.REFUSED),
        (PermissionError("warehouse"), Answer.REFUSED, Answer.UNKNOWN),
        (ValidationError("schema"), Answer.REFUSED, Answer.REFUSED),
        (CommitStateUnknownException("504"), Answer.UNREACHABLE, Answer.UNKNOWN),
        (RESTError("500"), Answer.UNREACHABLE, Answer.UNKNOWN),
        (ConnectionError("reset"), Answer.UNREACHABLE, Answer.UNKNOWN),
        (KeyError("x"), Answer.UNKNOWN, Answer.UNKNOWN),
        (TypeError("can't modify"), Answer.UNKNOWN, Answer.UNKNOWN),
        (OSError(errno.ENAMETOOLONG, "File name too long"), Answer.REFUSED, Answer.UNKNOWN),
        (OSError(errno.ENOSPC, "No space left on device"), Answer.UNREACHABLE, Answer.UNKNOWN),
        (OSError("AWS Error NETWORK_CONNECTION during HeadObject"), Answer.UNREACHABLE, Answer.UNKNOWN),
        (OSError("AWS Error ACCESS_DENIED during PutObject operation"), Answer.REFUSED, Answer.UNKNOWN),
        (OSError("Permanent error (UNAUTHENTICATED) google"), Answer.REFUSED, Answer.UNKNOWN),
        (FileNotFoundError("metadata.json"), Answer.UNKNOWN, Answer.UNKNOWN),
        (ConnectTimeout("late"), Answer.UNREACHABLE, Answer.UNKNOWN),
        (InvalidURL("http:///"), Answer.REFUSED, Answer.UNKNOWN),
        (NoSuchTableError("gone"), Answer.REFUSED, Answer.UNKNOWN),
    ],
)
def test_answer_of_an_error_depends_on_what_was_sent(error: Exception, asking: Answer, committing: Answer) -> None:
    assert answer_of(error, was_sent=False) is asking
    assert answer_of(error, was_sent=True) is committing


@pytest.mark.parametrize(
    ("error", "becomes", "text"),
    [
        (CommitFailedException("409"), CommitFailedException, "409"),
        (TableRefused("rolled back"), TableRefused, "rolled back"),
        (ForbiddenError("403"), TableRefused, "not allowed to commit to table 'db.t'.*grants"),
        (ValidationError("no such spec"), TableRefused, r"metadata that a commit .* not valid \(no such spec\)"),
        (OSError("reset"), CatalogUnreachable, r"outcome of a commit to table 'db\.t' is unknown \(OSError: reset\)"),
        (TableMissing("gone"), CatalogUnreachable, "is unknown"),
    ],
)
def test_error_of_a_commit_is_no_guess(error: Exception, becomes: type[Exception], text: str) -> None:
    with pytest.raises(becomes, match=text), ERRORS.during(COMMIT, committing=True):
        raise error


def test_error_that_no_row_knows_is_told_by_its_own_words() -> None:
    with pytest.raises(CatalogFailed) as caught, ERRORS.during("load table 'db.t'", of_table=True):
        raise TypeError("an odd one")  # noqa: EM101
    assert "TypeError: an odd one. floe does not know this error of catalog 'lake' at http://here:1" in str(
        caught.value
    )
    assert "is up" not in str(caught.value)


def test_refusal_of_a_table_is_of_that_table_alone() -> None:
    with (
        pytest.raises(TableUnsuitable, match=r"refuses to create table 'db\.t'"),
        ERRORS.during("create table 'db.t'", of_table=True),
    ):
        raise NoSuchTableError("no")  # noqa: EM101
    with pytest.raises(CatalogMisconfigured), ERRORS.during("list tables"):
        raise NoSuchTableError("no")  # noqa: EM101


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            SSLError("(Caused by SSLError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed')))"),
            "certificate is not trusted here .*REQUESTS_CA_BUNDLE",
        ),
        (
            OfAws(endpoint_url="https://glue", error="certificate verify failed"),
            "certificate is not trusted.*AWS_CA_BUNDLE",
        ),
        (
            OSError("AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 60, SSL peer certificate"),
            "certificate is not trusted here .*SSL_CERT_FILE",
        ),
        (InvalidProxyURL("http:///"), "Nothing was sent. Correct the address, the proxy"),
        (MissingSchema("catalog.example"), "Nothing was sent. Correct the address, the proxy"),
        (OSError(errno.EROFS, "Read-only file system"), "The warehouse must be writable"),
        (ClientError({"Error": {"Code": "403", "Message": "<html>"}}, "GetTable"), "Check the catalog's credentials"),
    ],
)
def test_what_no_table_can_change_is_told_as_a_setting(error: Exception, text: str) -> None:
    errors = CatalogErrors("lake", lambda: "", GlueProvider().classify)
    with (
        pytest.raises(CatalogMisconfigured, match=text) as caught,
        errors.during("create table 'db.t'", of_table=True),
    ):
        raise error
    assert "Correct the name" not in str(caught.value)


@pytest.mark.parametrize(
    "code", ["401", "403", "UnrecognizedClientException", "InvalidSignatureException", "ExpiredToken"]
)
def test_login_that_aws_does_not_take_is_no_tables_fault(code: str) -> None:
    errors = CatalogErrors("lake", lambda: "", GlueProvider().classify)
    refusal = ClientError({"Error": {"Code": code, "Message": "m"}}, "GetTable")
    with (
        pytest.raises(CatalogLoginRefused, match="not allowed to load"),
        errors.during("load table 'db.t'", of_table=True),
    ):
        raise refusal
    denied = ClientError({"Error": {"Code": "AccessDeniedException", "Message": "m"}}, "GetTable")
    with pytest.raises(CatalogMisconfigured) as caught, errors.during("load table 'db.t'", of_table=True):
        raise denied
    assert not isinstance(caught.value, CatalogLoginRefused)


def test_refusals_are_final_and_unknown_outcomes_are_not() -> None:
    with pytest.raises(Terminal), ERRORS.during(COMMIT, committing=True):
        raise ForbiddenError
    with pytest.raises(Retryable), ERRORS.during(COMMIT, committing=True):
        raise OSError


@pytest.mark.parametrize(
    ("answer", "becomes"),
    [
        (Answer.CONFLICT, CommitFailedException),
        (Answer.REFUSED, TableRefused),
        (Answer.UNREACHABLE, CatalogUnreachable),
        (Answer.UNKNOWN, CatalogUnreachable),
    ],
)
def test_catalog_that_knows_more_decides_what_an_error_means(answer: Answer, becomes: type[Exception]) -> None:
    class LockHeld(Exception):
        pass

    def classify(error: Exception, *, was_sent: bool) -> Answer:
        return answer if isinstance(error, LockHeld) else answer_of(error, was_sent=was_sent)

    errors = CatalogErrors("lake", lambda: "", classify)
    with pytest.raises(becomes), errors.during(COMMIT, committing=True):
        raise LockHeld
    with pytest.raises(CatalogMisconfigured), errors.during("load table 'db.t'"):
        raise ForbiddenError


def test_error_with_a_secret_hides_it_in_commits_too() -> None:
    from floe.config.secrets.mask import learn

    learn({"s3.secret-access-key": "hunter2hunter2"})
    with pytest.raises(CatalogUnreachable) as caught, ERRORS.during(COMMIT, committing=True):
        raise OSError("https://x?sig=hunter2hunter2")  # noqa: EM101
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
