"""Observations that wait: in memory and on disk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepull.client import FileQueue, MemoryQueue
from onepull.errors import StoreError

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 4)),
        st.tuples(st.just("delivered"), st.integers(0, 4)),
        st.tuples(st.just("again"), st.just(0)),
    ),
    max_size=20,
)


@given(STEPS)
def test_a_queue_keeps_what_is_not_delivered_in_order(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("queue") / "waiting"
    memory, disk = MemoryQueue(most=12), FileQueue(path, most=12)
    number, put = 0, []
    for step, count in steps:
        if step == "put":
            entries = [{"id": str(number + i)} for i in range(count)]
            number += count
            put += entries
            memory.put(entries)
            disk.put(entries)
        elif step == "delivered":
            memory.delivered(count)
            disk.delivered(count)
        else:
            disk.close()
            disk = FileQueue(path, most=12)
            kept, known = disk.first(99), memory.first(99)
            assert kept[len(kept) - len(known) :] == known  # what was delivered may come again
            disk.delivered(len(kept) - len(known))
        assert disk.first(99) == memory.first(99)
        assert len(disk) == len(memory) <= 12
    disk.close()


def test_a_line_that_was_cut_off_is_left_out(tmp_path):
    path = tmp_path / "waiting"
    path.write_bytes(b'{"id":"1"}\n{"id":"2"}\n{"id":')
    queue = FileQueue(path)
    assert queue.first(9) == [{"id": "1"}, {"id": "2"}]
    queue.put([{"id": "3"}])
    queue.close()
    assert path.read_bytes() == b'{"id":"1"}\n{"id":"2"}\n{"id":"3"}\n'


def test_files_that_are_no_queues_are_refused(tmp_path):
    path = tmp_path / "waiting"
    for text in (b"hello\n", b"[]\n", b"\xff\n"):
        path.write_bytes(text)
        with pytest.raises(StoreError, match="not a queue"):
            FileQueue(path)
        assert path.read_bytes() == text


def test_two_users_of_one_file_are_refused(tmp_path):
    queue = FileQueue(tmp_path / "waiting")
    with pytest.raises(StoreError, match="in use"):
        FileQueue(tmp_path / "waiting")
    queue.close()
    queue.close()
    FileQueue(tmp_path / "waiting").close()


def test_closing_says_how_many_observations_are_lost(tmp_path, caplog):
    for queue, said in ((MemoryQueue(), 1), (FileQueue(tmp_path / "queue"), 0)):
        caplog.clear()
        queue.put([{"id": "1"}, {"id": "2"}])
        queue.close()
        assert len(caplog.records) == said
        assert all(
            r.getMessage().endswith("are lost: 2; queue=… keeps them in a file")
            for r in caplog.records
        )
