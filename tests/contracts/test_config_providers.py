"""What every config provider has to do: all of ``PROVIDERS``, and one that floe does not ship."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from floe.config.providers.allow_list import VARIABLE, allow_list
from floe.config.providers.base import ConfigProvider, ProviderClass, ProviderContext, ValueMissing
from floe.config.providers.config_providers import (
    PROVIDERS,
    ConnectionProvider,
    DirectoryProvider,
    EnvProvider,
    FileProvider,
    VariableProvider,
)
from floe.config.providers.reference import Resolver
from floe.config.worker_file import NO_FILE

SECRET = "value-0f-the-test"


@dataclass(frozen=True)
class Given:
    """A place that has the value under the reference ``path:key``. ``params``: what allows it, and what does not."""

    provider: str
    path: str
    key: str
    context: ProviderContext = field(default_factory=ProviderContext)
    allowing: Mapping[str, str] = field(default_factory=dict)
    forbidding: Mapping[str, str] = field(default_factory=dict)


def env(_: Path) -> Given:
    context = ProviderContext({"MY_TOKEN": SECRET})
    return Given("env", "", "MY_TOKEN", context, {"allowlist.pattern": "MY_.*"}, {"allowlist.pattern": "YOUR_.*"})


def file(folder: Path) -> Given:
    (folder / "x.properties").write_text(f"a.b = {SECRET}\n")
    allowing, forbidding = {"allowed.paths": f"/elsewhere,{folder}"}, {"allowed.paths": f"{folder}/x"}
    return Given("file", f"{folder}/x.properties", "a.b", ProviderContext(), allowing, forbidding)


def directory(folder: Path) -> Given:
    (folder / "token").write_text(SECRET + "\n")
    return Given(
        "dir", str(folder), "token", ProviderContext(), {"allowed.paths": str(folder)}, {"allowed.paths": "/x"}
    )


def connection(_: Path) -> Given:
    context = ProviderContext(connection=lambda name, key: SECRET if (name, key) == ("store", "password") else None)
    allowing, forbidding = {"allowlist.pattern": "store|lake"}, {"allowlist.pattern": "stor"}
    return Given("conn", "store", "password", context, allowing, forbidding)


def variable(_: Path) -> Given:
    context = ProviderContext(variable=lambda name, _: SECRET if name == "token" else None)
    return Given("var", "", "token", context, {"allowlist.pattern": "tok.*"}, {"allowlist.pattern": "x"})


@dataclass(frozen=True)
class ReversedProvider:
    """Gives each key from its end to its beginning: one that floe does not ship."""

    allowed: str

    def get(self, path: str, key: str) -> str:
        if path or key != SECRET[::-1] or self.allowed == "no":
            msg = f"{key!r} is nothing to reverse"
            raise ValueMissing(msg)
        return key[::-1]

    def is_secret(self, path: str, key: str) -> bool:
        return False


def mirrored(_: Path) -> Given:
    return Given("reversed", "", SECRET[::-1], ProviderContext(), {"allowed": "yes"}, {"allowed": "no"})


CASES: dict[str, tuple[Callable[[Path], Given], Callable[[Mapping[str, str], ProviderContext], ConfigProvider]]] = {
    "env": (env, EnvProvider.make),
    "file": (file, FileProvider.make),
    "dir": (directory, DirectoryProvider.make),
    "conn": (connection, ConnectionProvider.make),
    "var": (variable, VariableProvider.make),
    "reversed": (mirrored, lambda params, _: ReversedProvider(params.get("allowed", ""))),
}


@pytest.fixture(params=CASES)
def given(request: pytest.FixtureRequest, tmp_path: Path) -> Given:
    return CASES[request.param][0](tmp_path)


def make(given: Given, params: Mapping[str, str]) -> ConfigProvider:
    return CASES[given.provider][1](params, given.context)


def test_every_provider_has_a_case() -> None:
    assert {kind.name for kind in PROVIDERS.values()} <= CASES.keys()


def test_it_gives_the_value(given: Given) -> None:
    assert make(given, {}).get(given.path, given.key) == SECRET
    assert make(given, given.allowing).get(given.path, given.key) == SECRET


def test_it_gives_nothing_beyond_its_params(given: Given) -> None:
    with pytest.raises(ValueMissing) as caught:
        make(given, given.forbidding).get(given.path, given.key)
    assert SECRET not in str(caught.value)


def test_a_missing_value_is_named_and_no_other_shown(given: Given) -> None:
    with pytest.raises(ValueMissing) as caught:
        make(given, given.allowing).get(given.path, f"no.{given.key}")
    assert SECRET not in str(caught.value) and len(str(caught.value)) > 10


def test_a_path_that_is_wrong_is_refused(given: Given) -> None:
    for path in ("" if given.path else "x", "../x", "x\0y"):
        with pytest.raises(ValueMissing):
            make(given, {}).get(path, given.key)


def test_it_does_not_show_values(given: Given) -> None:
    assert SECRET not in repr(make(given, given.allowing))


def test_a_provider_of_ones_own_needs_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROVIDERS, "my.Reversed", ProviderClass("reversed", "allowed", CASES["reversed"][1]))
    allowed = allow_list(NO_FILE, {VARIABLE: "env,reversed=yes"})
    key, text = "iceberg.catalog.token", f"<${{reversed:{SECRET[::-1]}}}>"
    assert Resolver(allowed, ProviderContext()).resolve({key: text}).values == {key: f"<{SECRET}>"}
