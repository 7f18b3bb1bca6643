"""What subscribers are told live: one message per problem and tick, shared by all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

TICK = 0.5  # seconds
BEAT = 15.0  # seconds without a message, after which a comment keeps proxies from closing
MOST_UNREAD = 64  # messages that a slow subscriber may leave unread


class Subscription:
    """The messages for one subscriber, as server-sent events."""

    def __init__(self, problem: str | None) -> None:
        self.problem = problem
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(MOST_UNREAD)

    def offer(self, message: bytes | None) -> None:
        """Add a message; a subscriber that does not read is told to come back."""
        try:
            self._queue.put_nowait(message)
        except asyncio.QueueFull:
            while not self._queue.empty():
                self._queue.get_nowait()
            self._queue.put_nowait(None)

    async def messages(self) -> AsyncGenerator[bytes, None]:
        """Yield messages until the end."""
        yield b"retry: 1000\n\n"
        while True:
            try:
                async with asyncio.timeout(BEAT):
                    message = await self._queue.get()
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if message is None:
                return
            yield message


class Subscribers:
    """All subscribers of a worker.

    Examples
    --------
    >>> subscribers = Subscribers(most=1)
    >>> one, two = subscribers.subscribe(None), subscribers.subscribe("llm")
    >>> one is None, two is None
    (False, True)
    """

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._subscriptions: set[Subscription] = set()
        self._is_closed = False

    def __len__(self) -> int:
        """Return the number of subscribers."""
        return len(self._subscriptions)

    def subscribe(self, problem: str | None) -> Subscription | None:
        """Return a new subscription; None if there are too many, or the end is near."""
        if len(self._subscriptions) >= self._most or self._is_closed:
            return None
        made = Subscription(problem)
        self._subscriptions.add(made)
        return made

    def leave(self, subscription: Subscription) -> None:
        """Forget a subscriber."""
        self._subscriptions.discard(subscription)

    def publish(self, problem: str, event: str, data: bytes, number: int) -> None:
        """Send a message to all who follow a problem."""
        message = b"event: %s\nid: %d\ndata: %s\n\n" % (event.encode(), number, data)
        for subscription in tuple(self._subscriptions):
            if subscription.problem in (None, problem):
                subscription.offer(message)

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        for subscription in tuple(self._subscriptions):
            subscription.offer(None)
