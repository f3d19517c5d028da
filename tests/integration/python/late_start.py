# late_start.py SECONDS FOLDER - an event loop whose program lies in a folder that is added when the loop runs already, as servers do it.
import asyncio
import sys
import time


def warm_up(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(3000):  # after some 25 ms of work: tests/stalls/python/stalls.py says why
            sum(range(500))


async def main():
    for _ in range(8):
        await asyncio.sleep(0.05)
    warm_up(0.22)
    await asyncio.sleep(1.2)
    sys.path.insert(0, sys.argv[2])
    import late_shop

    await late_shop.handler(float(sys.argv[1]))
    await asyncio.sleep(0.1)


asyncio.run(main())
