"""The job file is gone before anything is made of what it holds."""

from pathlib import Path

import pytest

from floe_job.runtime.job_files import JobRequest


@pytest.mark.parametrize("text", ["", "{}", "no JSON", '{"plan": 1}'])
def test_job_file_is_removed_even_if_it_is_unusable(tmp_path: Path, text: str) -> None:
    path = tmp_path / "order.json"
    path.write_text(text)
    with pytest.raises((ValueError, KeyError)):
        JobRequest.take(path)
    assert not path.exists()
