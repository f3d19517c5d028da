# A handler of an event loop that computes, called by C code that Python called.
import asyncio
import time


def crunch(seconds):
    total, end = 0, time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(400000):  # after some 25 ms of work: tests/stalls/python/stalls.py says why
            total += i * i
    return total


class Shop:
    def price(self, seconds):
        return sorted([3, 1, 2], key=lambda x: crunch(seconds) if x == 1 else 0)


async def handler(seconds):
    await asyncio.sleep(0.1)
    return Shop().price(seconds)


async def main():
    for _ in range(8):
        await asyncio.sleep(0.05)
    await handler(0.22)
    await asyncio.sleep(0.1)


asyncio.run(main())
