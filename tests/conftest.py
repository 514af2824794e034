"""For all tests: no event loop that nobody closes."""

import asyncio

# pytest-asyncio asks for the current loop to put it back later. Without this the policy makes one on that question,
# which is never closed, and its ResourceWarning fails whichever test runs when it is collected.
asyncio.set_event_loop(None)
