# What late_start.py imports.
import asyncio
import time


def crunch(seconds):
    total, end = 0, time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(400000):  # after some 25 ms of work: tests/stalls/python/stalls.py says why
            total += i * i
    return total


async def handler(seconds):
    await asyncio.sleep(0.1)
    return crunch(seconds)
