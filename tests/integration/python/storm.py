# storm.py LIBRARY SECONDS - signals a thousand times a second in everything that makes and ends frames; each walks the stack it met.
import asyncio
import ctypes
import functools
import gc
import re
import sys
import threading
import time

library = ctypes.PyDLL(sys.argv[1])
why = ctypes.create_string_buffer(80)


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


async def gather():
    await asyncio.gather(*(coroutine(n) for n in range(5)))


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


def loop(end):
    n = 0
    while time.monotonic() < end:
        work(n)
        n += 1


for _ in range(500):
    if library.stallbox_runtime_attach(why, 80) == 1:
        break
    time.sleep(0.002)
else:
    sys.exit("it was not attached: " + why.value.decode())
end = time.monotonic() + float(sys.argv[2])
library.storm_begin(1000)
others = [threading.Thread(target=loop, args=(end,)) for _ in range(2)]
for other in others:
    other.start()
loop(end)
for other in others:
    other.join()
walks, frames, nameless = ctypes.c_long(), ctypes.c_long(), ctypes.c_long()
library.storm_end(ctypes.byref(walks), ctypes.byref(frames), ctypes.byref(nameless))
print("%d walks, %d frames, %d of them without a name" % (walks.value, frames.value, nameless.value))
sys.exit(1 if walks.value < 20 or nameless.value * 1000 > frames.value else 0)
