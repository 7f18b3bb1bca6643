"""Workers that are killed: what was acknowledged is stored, once, and the state is the log's."""

from router_kills import killed


def test_25_kills(tmp_path):
    killing = killed(tmp_path, seed=1, kills=25)
    assert killing.acknowledged > 100
    assert killing.compared > 10
