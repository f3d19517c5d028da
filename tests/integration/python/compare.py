# compare.py LIBRARY ROUNDS - all that makes frames, and in the middle of each the question whether we read them rightly.
import asyncio
import ctypes
import functools
import re
import sys
import threading
import time

library = ctypes.PyDLL(sys.argv[1])
rounds = int(sys.argv[2])
why = ctypes.create_string_buffer(80)
wrong = []


def attach():
    for _ in range(500):
        result = library.stallbox_runtime_attach(why, 80)
        if result != 0:
            return result
        time.sleep(0.002)
    return 0


def now():
    result = library.compare_now()
    if result != 1:
        wrong.append((result, [(f.f_code.co_name, f.f_lineno) for f in frames(sys._getframe(1))]))
    return result


def frames(frame):
    while frame is not None:
        yield frame
        frame = frame.f_back


def recurse(depth):
    return now() if depth == 0 else recurse(
        depth - 1)


def generate(depth):
    if depth:
        yield from generate(depth - 1)
    yield now()


class Thing:
    def __init__(self):
        now()

    def __del__(self):
        now()

    def __lt__(self, other):
        now()
        return False

    @property
    def value(self):
        return now()

    def __enter__(self):
        now()
        return self

    def __exit__(self, *of):
        now()
        return True

    @functools.lru_cache
    def cached(self, n):
        return now()


async def coroutine(depth):
    if depth:
        await coroutine(depth - 1)
    await asyncio.sleep(0)
    now()


async def stream():
    for _ in range(2):
        now()
        yield 1


async def loop():
    await asyncio.gather(*(coroutine(n) for n in range(4)))
    async for _ in stream():
        now()
    await asyncio.get_running_loop().run_in_executor(None, recurse, 3)


def one_round(n):
    recurse(n % 40)
    list(generate(n % 7))
    sorted([Thing(), Thing(), Thing()])
    Thing().value
    Thing().cached(n)
    with Thing():
        raise ValueError(now())
    list(map(lambda x: now(), range(3)))
    [now() for _ in range(2)]
    {n: now() for n in range(2)}
    sum(now() for _ in range(2))
    exec(compile("def f():\n  # made\n  return now()\nf()", "<made %d>" % n, "exec"), {"now": now})
    eval("now()")
    re.sub("a", lambda m: str(now()), "banana")
    try:
        int("x")
    except ValueError:
        now()
    finally:
        now()
    if n % 10 == 0:
        asyncio.run(loop())
        thread = threading.Thread(target=recurse, args=(5,))
        thread.start()
        thread.join()
    if n % 50 == 0:
        recurse(500)


result = attach()
print(why.value.decode(), result)
if result != 1:
    sys.exit(3 if result < 0 else 4)
try:
    for n in range(rounds):
        one_round(n)
finally:
    for what in wrong[:3]:
        print(what)
print("%d stacks compared, %d wrong" % (library.compare_count(), len(wrong)))
sys.exit(1 if wrong or library.compare_count() < rounds * 10 else 0)
