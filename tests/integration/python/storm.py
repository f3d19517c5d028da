# storm.py LIBRARY SECONDS [timers] - signals a thousand times a second in everything that makes and ends frames; with `timers` two thousand more in each
# thread by a timer of its own, and the same in forked children. Each signal walks the stack it met.
import asyncio
import ctypes
import functools
import gc
import os
import re
import sys
import threading
import time

library = ctypes.PyDLL(sys.argv[1])
why = ctypes.create_string_buffer(80)
TIMER_US = 500
NO_TIMER = 4 # a status of a child
has_timers = len(sys.argv) > 3


def generate(depth):
    if depth:
        yield from generate(depth - 1)
    yield depth


class Thing:
    def __init__(self, number):
        self.number = number

    def __lt__(self, other):
        return self.number < other.number

    def __del__(self):
        pass


def recurse(depth):
    return depth if depth == 0 else recurse(depth - 1)


async def coroutine(depth):
    if depth:
        await coroutine(depth - 1)
    await asyncio.sleep(0)
    recurse(20)


async def gather():
    library.compare_awaited(None, None, 0, None, 0)  # a handler does not look for the module
    await asyncio.wait_for(asyncio.gather(*(coroutine(n) for n in range(5))), 100)


def work(n):
    list(generate(6))
    sorted([Thing(3), Thing(1), Thing(2)])
    recurse(n % 100)
    list(map(lambda x: x * x, range(20)))
    re.sub("a", lambda m: "b", "banana" * 3)
    exec(compile("def f(x):\n  return [y for y in range(x)]\nf(10)", "<made %d>" % (n % 50), "exec"), {})
    try:
        int("x")
    except ValueError:
        pass
    functools.reduce(lambda a, b: a + b, range(30))
    if n % 50 == 0:
        asyncio.run(gather())
        thread = threading.Thread(target=recurse, args=(50,))
        thread.start()
        thread.join()
    if n % 200 == 0:
        gc.collect()


def counts():
    walks, frames, nameless = ctypes.c_long(), ctypes.c_long(), ctypes.c_long()
    library.storm_counts(ctypes.byref(walks), ctypes.byref(frames), ctypes.byref(nameless))
    return walks.value, frames.value, nameless.value


def fork():
    """A child that works until it was met some times; what it ended with: 0, or NO_TIMER of a machine that has no more timers for it."""
    child = os.fork()
    if child == 0:
        status = 3
        try:
            if library.storm_forked(TIMER_US) != 0:
                os._exit(NO_TIMER)
            end, n = time.monotonic() + 30, 1
            while counts()[0] < 20 and time.monotonic() < end:
                work(n % 40 + 1)
                n += 1
            walks, _, nameless = counts()
            status = 1 if walks < 20 else 2 if nameless else 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def loop(end, forks=None):
    if has_timers and library.storm_thread_begin(TIMER_US) != 0:
        sys.exit("a thread has no timer")
    n = 0
    while time.monotonic() < end:
        work(n)
        if has_timers and forks is not None and n % 60 == 0:
            forks.append(fork())
        n += 1
    if has_timers:
        library.storm_thread_end()


for _ in range(500):
    if library.stallbox_runtime_attach(why, 80) == 1:
        break
    time.sleep(0.002)
else:
    sys.exit("it was not attached: " + why.value.decode())
end = time.monotonic() + float(sys.argv[2])
library.storm_begin(1000)
others = [threading.Thread(target=loop, args=(end,)) for _ in range(2)]
forks = []
for other in others:
    other.start()
loop(end, forks)
for other in others:
    other.join()
limit = time.monotonic() + 30
while library.storm_awaiting() == 0 and time.monotonic() < limit:
    asyncio.run(gather())
library.storm_end()
walks, frames, nameless = counts()
failed = [status for status in forks if status not in (0, NO_TIMER)]
print("%d walks, %d frames, %d of them without a name; %d of those who awaited; %d children, %d of them had no timer, %d failed%s"
      % (walks, frames, nameless, library.storm_awaiting(), len(forks), forks.count(NO_TIMER), len(failed),
         ": ended with %s" % sorted(set(failed)) if failed else ""))
sys.exit(1 if walks < 20 or nameless or library.storm_awaiting() == 0 or (has_timers and forks.count(0) == 0) or failed else 0)
