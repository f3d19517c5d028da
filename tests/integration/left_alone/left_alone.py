# left_alone.py FILE - writes its number to FILE.pid, waits for FILE, and then stalls in a handler of an event loop.
import asyncio
import os
import sys
import time


def crunch(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(3000):  # after some 25 ms of work: tests/stalls/python/stalls.py says why
            sum(range(500))


async def main():
    with open(sys.argv[1] + ".pid", "w") as file:
        file.write(str(os.getpid()))
    for _ in range(2000):
        if os.path.exists(sys.argv[1]):
            break
        await asyncio.sleep(0.02)
    crunch(0.6)
    await asyncio.sleep(0.1)


asyncio.run(main())
