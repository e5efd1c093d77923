"""A sample of the leak matrix in the browser: a viewer sees in a place what the oracle says, and no more."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from keepword.postgres import migrate
from keepword.postgres.keys import NewKey, make_key
from keepword.postgres.pool import Pool
from leaks import oracle
from leaks.conftest import make_probes
from leaks.kinds import KINDS
from leaks.oracle import Where
from leaks.settling import make_world
from leaks.viewers import viewers
from patience import PATIENT

CELLS = 200


def _world(conninfo: str, owner):
    async def settle():
        pool = Pool(conninfo, PATIENT)
        await pool.open()
        try:
            return await make_world(owner, pool)
        finally:
            await pool.close()

    # a thread of its own: the browser's loop runs in this one
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(settle())).result()


def test_the_browser_shows_a_viewer_what_the_oracle_says(open_tab, make_service, show):
    service = make_service().start()
    with migrate.owner(service.conninfo) as owner:
        make_probes(owner)
        world = _world(service.conninfo, owner)
        (memories,) = (kind for kind in KINDS if kind.table == "memories")
        things = list(memories.things(world))
        cells = [(viewer, name) for viewer in viewers(world, ("reader",), bound=True) for name in world.talks]
        pairs = -(-CELLS // len(things)) * 2
        looked, tab = 0, open_tab(service.url)
        for viewer, name in cells[:: max(1, len(cells) // pairs)][:pairs]:
            key = make_key(owner, NewKey(world.tenant, "reader", viewer.agent, viewer.user)).text
            tab.go_signed_in(f"memories?conversation={name}&fresh={uuid4().hex}", key)
            tab.settle()
            seen = set(tab.page.locator("td.main a").all_inner_texts())
            expected = oracle.seen(world, oracle.reach(world, viewer, Where("in", name)), things)
            assert seen == expected, f"{viewer} in {name}"
            looked += len(things)
    show(f"the browser and the oracle: {looked} cells, 0 mismatches")
    assert looked >= CELLS
