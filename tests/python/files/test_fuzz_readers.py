"""Readers get good files with random changes, and the inputs that once broke one."""

from pathlib import Path

import file_fuzzing
import pytest

BROKE = sorted((Path(__file__).parent / "broke").glob("*-*"))


@pytest.mark.parametrize("name", file_fuzzing.READERS)
def test_good_files_are_read(name):
    for data in file_fuzzing.READERS[name][1]:
        file_fuzzing.try_one(name, data)
    assert any(file_fuzzing.try_one(name, data) for data in file_fuzzing.READERS[name][1])


@pytest.mark.parametrize("name", file_fuzzing.READERS)
def test_random_changes(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tried, read = file_fuzzing.run(name, count=600, seed=1)
    assert tried == 600 and 0 < read < 600


@pytest.mark.parametrize("path", BROKE, ids=lambda p: p.name)
def test_what_once_broke_a_reader(path):
    file_fuzzing.try_one(path.name.split("-")[0], path.read_bytes())
