# awaiting.py LIBRARY - tasks that await each other in all ways that asyncio has, and in the middle the question who awaits the one that
# runs. What is right the test says itself, by the interpreter's own answers about each coroutine (cr_frame, cr_await).
import asyncio
import ctypes
import gc
import sys
import time

library = ctypes.PyDLL(sys.argv[1])
why = ctypes.create_string_buffer(80)
wrong = []
seen = {}


def attach():
    for _ in range(500):
        result = library.stallbox_runtime_attach(why, 80)
        if result != 0:
            return result
        time.sleep(0.002)
    return 0


def suspended(coroutine):
    """The frames of a suspended coroutine and of what it awaits, innermost first."""
    frames = []
    while coroutine is not None:
        if hasattr(coroutine, "cr_frame"):
            frames.append(coroutine.cr_frame)
            coroutine = coroutine.cr_await
        elif hasattr(coroutine, "gi_frame"):
            frames.append(coroutine.gi_frame)
            coroutine = coroutine.gi_yieldfrom
        elif hasattr(coroutine, "ag_frame"):
            frames.append(coroutine.ag_frame)
            coroutine = coroutine.ag_await
        elif type(coroutine).__name__ in ("async_generator_asend", "coroutine_wrapper"):
            coroutine = next(o for o in gc.get_referents(coroutine) if hasattr(o, "ag_frame") or hasattr(o, "cr_frame"))
        else:
            break
    return frames[::-1]


def ask(case, *awaiting):
    """Is the running task awaited by these tasks, outwards?"""
    frames = [frame for task in awaiting for frame in suspended(task.get_coro())]
    codes = (ctypes.c_void_p * len(frames))(*(id(frame.f_code) for frame in frames))
    lines = (ctypes.c_int * len(frames))(*(frame.f_lineno for frame in frames))
    found = (ctypes.c_int * 64)()
    result = library.compare_awaited(codes, lines, len(frames), found, 64)
    seen[case] = seen.get(case, 0) + 1
    if result != 1:
        wrong.append((case, [(f.f_code.co_name, f.f_lineno) for f in frames], [line for line in found if line]))


async def leaf(case, awaiting):
    await asyncio.sleep(0.001)
    ask(case, *awaiting)
    return deeper(case, awaiting)


def deeper(case, awaiting):
    ask(case, *awaiting)
    return 1


async def inner(future):
    return await future


async def middle(future):
    for _ in range(1):
        value = await inner(
            future)
    return value


class Awaitable:
    def __init__(self, coroutine):
        self.coroutine = coroutine

    def __await__(self):
        return self.coroutine.__await__()


async def values(task):
    yield 0
    await inner(task)
    yield 1


async def over(task):
    async for value in values(task):
        pass
    return value


class Classic:
    """A generator that is awaited, as old libraries have them."""

    def __init__(self, task):
        self.task = task

    def __await__(self):
        yield from self.task.__await__()


async def classic(task):
    await Classic(task)


async def chain(length):
    awaiting = []
    task = asyncio.ensure_future(leaf("chain of %d" % length, awaiting))
    tasks = [task]
    for _ in range(length):
        tasks.append(asyncio.ensure_future(middle(tasks[-1])))
    awaiting.extend((tasks[1:] + [asyncio.current_task()])[:15])  # what is followed, the running one not counted
    await tasks[-1]


async def circle():
    """Two tasks that wait for each other, and one of them for the one that runs."""
    awaiting = []
    task = asyncio.ensure_future(leaf("circle", awaiting))
    others = []

    async def both():
        await asyncio.wait([task, others[1]])

    async def back():
        await others[0]

    others.append(asyncio.ensure_future(both()))
    others.append(asyncio.ensure_future(back()))
    awaiting.extend(others)
    while not task.done():
        await asyncio.sleep(0.001)
    for other in others:
        other.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def print_nothing(done):
    pass


async def alone():
    await asyncio.sleep(0)
    ask("not awaited")


async def main():
    me = asyncio.current_task()
    ask("main")
    await asyncio.ensure_future(leaf("straight", [me]))
    await middle(asyncio.ensure_future(leaf("deeper", [me])))
    await Awaitable(middle(asyncio.ensure_future(leaf("wrapped", [me]))))
    await over(asyncio.ensure_future(leaf("asynchronous generator", [me])))
    await classic(asyncio.ensure_future(leaf("generator", [me])))
    await asyncio.gather(*(leaf("gather", [me]) for _ in range(3)))
    await asyncio.gather(asyncio.gather(leaf("gather in gather", [me]), leaf("gather in gather", [me])))
    await asyncio.wait_for(asyncio.ensure_future(leaf("wait_for", [me])), 100)
    await asyncio.wait([asyncio.ensure_future(leaf("wait", [me]))])
    await asyncio.shield(leaf("shield", [me]))
    task = asyncio.ensure_future(leaf("more callbacks", [me]))
    task.add_done_callback(lambda done: None)
    task.add_done_callback(print_nothing)
    await asyncio.sleep(0)
    await task
    if hasattr(asyncio, "TaskGroup"):
        async with asyncio.TaskGroup() as group:
            group.create_task(leaf("group", [me]))
    for length in (1, 3, 15, 18):
        await chain(length)
    free = asyncio.ensure_future(alone())
    await asyncio.sleep(0.005)
    await free
    await circle()


result = attach()
print(why.value.decode(), result)
if result != 1:
    sys.exit(3 if result < 0 else 4)
for _ in range(20):
    asyncio.run(main())
ask("no loop")
for what in wrong[:6]:
    print(what)
print("%d questions in %d cases, %d wrong" % (sum(seen.values()), len(seen), len(wrong)))
sys.exit(1 if wrong or len(seen) < 17 else 0)
