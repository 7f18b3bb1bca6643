from __future__ import annotations

import pytest
from serving import served, write_problem


@pytest.fixture
def client(tmp_path):
    with served(write_problem(tmp_path)) as client:
        yield client


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    """A service that refuses everything that tests send."""
    with served(write_problem(tmp_path_factory.mktemp("untouched"))) as client:
        yield client
