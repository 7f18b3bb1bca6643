"""The demonstration leaves nothing open when it ends."""

from __future__ import annotations

import asyncio

import pytest

from onepull import Router
from onepull.service import demonstration


@pytest.mark.parametrize("lost", [0.0, 1.0])
def test_pulls_in_flight_are_finished_when_it_ends(monkeypatch, lost):
    monkeypatch.setattr(demonstration, "LOST", lost)

    async def main(router):
        traffic = asyncio.create_task(demonstration.Traffic(router, pace=400.0).run())
        while router.stats().in_flight < 20:  # noqa: ASYNC110 - nobody tells it
            await asyncio.sleep(0.01)
        traffic.cancel()
        await asyncio.gather(traffic, return_exceptions=True)

    with Router(demonstration.problem(), expires=30.0, on_expiry="fail") as router:
        asyncio.run(main(router))
        stats = router.stats()
        assert stats.in_flight == sum(arm.in_flight for arm in stats.policy.arms) == 0
        made = sum(count for modes in stats.decisions.values() for count in modes.values())
        assert stats.policy.trials == made >= 20
        assert stats.expired == stats.late == 0
