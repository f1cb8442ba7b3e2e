"""Which providers there are: the worker file's, else those of the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from floe.config.properties import Properties
from floe.config.providers.allow_list import VARIABLE, AllowList, allow_list
from floe.config.providers.base import ProviderContext, ValueMissing
from floe.config.worker_file import NO_FILE, WorkerFile

KAFKA = "org.apache.kafka.common.config.provider."


def of_worker(**keys: str) -> AllowList:
    return allow_list(WorkerFile("/w", Properties(keys)), {VARIABLE: "var"})


def of_environment(text: str) -> AllowList:
    return allow_list(NO_FILE, {VARIABLE: text})


def test_the_worker_files_providers_have_its_names():
    allowed = of_worker(
        **{
            "config.providers": "secrets, e",
            "config.providers.secrets.class": f"{KAFKA}FileConfigProvider",
            "config.providers.secrets.param.allowed.paths": "/run/secrets",
            "config.providers.e.class": "EnvVarConfigProvider",
        }
    )
    assert allowed.problem("secrets") is None and allowed.problem("e") is None
    assert "'var' is not allowed here, the worker file /w" in str(allowed.problem("var"))


def test_the_environment_counts_without_config_providers():
    assert of_worker(**{"rest.port": "1"}).problem("var") is None
    assert "VARIABLE" not in str(of_worker(**{"config.providers": ""}).problem("var"))
    assert of_worker(**{"config.providers": ""}).problem("var") is not None


def test_without_any_list_the_problem_says_what_to_set():
    problem = AllowList().problem("file")
    assert problem is not None and f"{VARIABLE}=env,file=/run/secrets" in problem and "config.providers" in problem


@pytest.mark.parametrize("class_name", ["com.example.VaultProvider", ""])
def test_another_class_is_a_problem_of_its_references(class_name):
    allowed = of_worker(**{"config.providers": "v", "config.providers.v.class": class_name})
    assert f"config.providers.v.class {class_name!r}" in str(allowed.problem("v"))
    with pytest.raises(ValueMissing, match="none that floe has"):
        allowed.make("v", ProviderContext())


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        ("env,vault", "vault", "which is no provider of floe: it has env, file, dir, conn, var"),
        ("file", "file", "without a folder: write file=/run/secrets"),
        ("dir=", "dir", "without a folder"),
        ("file=run/secrets", "file", "no absolute path"),
        ("env=(a", "env", "env in FLOE_CONFIG_PROVIDERS: "),
    ],
)
def test_a_wrong_entry_is_a_problem_of_its_references(text, name, problem):
    assert problem in str(of_environment(text).problem(name))


def test_folders_of_an_entry_have_colons_between(tmp_path: Path):
    (tmp_path / "token").write_text("t")
    allowed = of_environment(f"dir=/run/secrets:{tmp_path}, env=MY_.*")
    assert allowed.make("dir", ProviderContext()).get(str(tmp_path), "token") == "t"
    with pytest.raises(ValueMissing, match=r"not allowed by allowlist\.pattern 'MY_\.\*'"):
        allowed.make("env", ProviderContext({"A": "b"})).get("", "A")
