"""Tutorials are read as steps; their commands are well-formed, and floe accepts their connectors."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from floe.config import parse_connector
from tests.support.tutorials.page import Step, Verb, is_shown, steps, steps_of
from tests.support.tutorials.shell import Shell

PAGES = ("start/first-connector.md", "start/pizzas.md", "start/events.md")
HEREDOC = re.compile(r"^cat > (\S+)\.json <<'EOF'\n(.*?)^EOF$", re.MULTILINE | re.DOTALL)

PAGE = """# Title

```sh
make up
```

It says:

```
Kafka runs at 127.0.0.1:9092
…
```

Save this as `a/b.json`:

```json
{}
```

```json
{"only": "shown"}
```

<!-- test: start pizzas -->

```
not an output
```

<!-- test: add a/b.json -->

```json
  "key": "value",
```
"""


def test_page_is_read_as_steps_in_its_order() -> None:
    assert steps_of(PAGE) == [
        Step(3, Verb.RUN, "bash", "make up\n", "Kafka runs at 127.0.0.1:9092\n…\n"),
        Step(16, Verb.SAVE, "a/b.json", "{}\n"),
        Step(24, Verb.START, "pizzas"),
        Step(30, Verb.ADD, "a/b.json", '  "key": "value",\n'),
    ]


@pytest.mark.parametrize("comment", ["<!-- test: jump pizzas -->", "<!-- test: start -->"])
def test_comment_that_is_no_step_is_an_error(comment: str) -> None:
    with pytest.raises(ValueError, match=r"jump|no comment of a verb"):
        steps_of(comment)


OUTPUT = """noise
+-------+----+
| store |  n |
+-------+----+
|     1 | 12 |
|     2 | 11 |
+-------+----+
"""


@pytest.mark.parametrize(
    ("expected", "is_found"),
    [
        ("+---+---+\n|store|n|\n", True),
        ("| store | n |\n…\n|  2|11|\n", True),
        ("|1|…|\n|2|11|", True),
        ("|1|13|", False),
        ("|store|n|\n|1|12|", False),
        ("tore", False),
    ],
)
def test_output_is_compared_line_by_line(expected: str, *, is_found: bool) -> None:
    assert is_shown(expected, OUTPUT) is is_found


def test_shell_keeps_variables_and_ends_at_a_failure(tmp_path: Path) -> None:
    shell = Shell(tmp_path, {"GIVEN": "1"}, tmp_path)
    try:
        assert shell.run('X=$GIVEN\nY() { cat; }\necho "got $X"').split() == ["got", "1"]
        assert shell.run("Y; echo $X >&2").split() == ["1"]
        with pytest.raises(AssertionError, match=r"the shell ended with 1 in:\necho a"):
            shell.run("echo a\nfalse\necho b")
    finally:
        shell.close()


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_tutorial_are_well_formed(page: str) -> None:
    commands = [step for step in steps(page) if step.verb is Verb.RUN]
    assert commands[0].text.startswith("make up")
    for step in commands:
        checked = subprocess.run(["bash", "-n"], input=step.text, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, f"{page}:{step.line}: {checked.stderr}"


@pytest.mark.parametrize("page", PAGES)
def test_connectors_of_a_tutorial_are_accepted(page: str) -> None:
    found = {step.what: step.text for step in steps(page) if step.verb is Verb.SAVE}
    for step in steps(page):
        found |= dict(HEREDOC.findall(step.text)) if step.verb is Verb.RUN else {}
    for name, text in found.items():
        assert parse_connector(json.loads(text), default_name=Path(name).stem).tables is not None
