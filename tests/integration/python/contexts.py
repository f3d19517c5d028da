# SPDX-License-Identifier: Apache-2.0
# contexts.py - what a program can see of contexts, callbacks and tasks: the same with and without a recorder (same_test.sh).
import asyncio
import contextvars
import functools
import gc
import importlib
import inspect
import os
import sys
import threading
import time
import weakref

from observed import error_of, fail, lines, told

number = contextvars.ContextVar("number", default=0)


def set_number(value, *more, **names):
    number.set(value)
    return value, more, sorted(names.items()), number.get()


def calls():
    context = contextvars.copy_context()
    told("run", context.run(set_number, 5, 6, key=7), number.get(), context[number])
    told("no callable", error_of(context.run))
    told("not callable", error_of(context.run, 5))
    for error in (ValueError("a"), SystemExit(3), KeyboardInterrupt("b"), StopIteration("c")):
        told("raises", error_of(context.run, fail, error))
    told("again", context.run(error_of, context.run, len, ""))
    told("not a context", error_of(contextvars.Context.run, 5, len, ""))
    told("subclass", error_of(type, "Own", (contextvars.Context,), {}))
    told("arguments", error_of(contextvars.copy_context, 5))
    told("method", contextvars.Context.run, contextvars.Context.run.__doc__, contextvars.Context.__init__ is not None)
    told("function", repr(contextvars.copy_context), error_of(inspect.signature, contextvars.copy_context))
    told("partial", functools.partial(context.run, set_number)(9))
    told("nested", context.run(lambda: contextvars.copy_context().run(set_number, 11)), context[number])
    told("deep", error_of(deeper, 0))


def deeper(depth):
    return depth if depth == 200 else contextvars.copy_context().run(deeper, depth + 1)


class Cycle:
    pass


def lives():
    context = contextvars.copy_context()
    reference = weakref.ref(context)
    told("alive", reference() is context)
    del context
    told("dead", reference())
    context, cycle = contextvars.copy_context(), Cycle()
    holder = contextvars.ContextVar("holder")
    context.run(holder.set, cycle)
    cycle.context = context
    references = weakref.ref(context), weakref.ref(cycle)
    del context, cycle
    gc.collect()
    told("cycle", *(reference() for reference in references))
    value = object()
    before = sys.getrefcount(value), sys.getrefcount(set_number)
    for _ in range(20000):
        contextvars.copy_context().run(set_number, value)
        error_of(contextvars.copy_context().run, fail, ValueError(value))
    told("references", sys.getrefcount(value) - before[0], sys.getrefcount(set_number) - before[1])
    told("tracked", gc.is_tracked(contextvars.copy_context()))


def threads():
    results = []

    def work(index):
        for value in range(2000):
            if contextvars.copy_context().run(set_number, value)[3] != value or number.get() != 0:
                results.append(index)

    running = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    told("threads", results)


def forked():
    child = os.fork()
    if child == 0:
        kept = [contextvars.copy_context() for _ in range(100)]
        os._exit(0 if all(context.run(set_number, 4)[3] == 4 for context in kept) else 1)
    told("forked", os.waitpid(child, 0)[1])


def interpreters():
    others = importlib.import_module("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    code = '''
import contextvars
other = contextvars.ContextVar("other", default=0)
for i in range(500):
    context = contextvars.copy_context()
    context.run(other.set, i)
    assert context[other] == i and other.get() == 0
'''
    for _ in range(5):
        interpreter = others.create()
        told("interpreter", others.run_string(interpreter, code))
        others.destroy(interpreter)


class Task(asyncio.Task):
    pass


async def step(value, error=None):
    number.set(value)
    await asyncio.sleep(0)
    if error is not None:
        raise error
    return number.get()


async def tasks():
    loop = asyncio.get_running_loop()
    seen = []
    loop.set_exception_handler(lambda loop, context: seen.append(str(context.get("exception"))))
    number.set(1)
    loop.call_soon(set_number, 2)
    loop.call_soon(lambda: seen.append(number.get()))
    loop.call_soon(fail, ValueError("callback"))
    own = contextvars.copy_context()
    own.run(number.set, 30)
    loop.call_soon(lambda: seen.append(number.get()), context=own)
    loop.call_later(0.001, lambda: seen.append(("later", number.get())))
    loop.call_soon(seen.append, "cancelled").cancel()
    told("gather", await asyncio.gather(step(3), step(4), step(5, ValueError("task")), return_exceptions=True))
    told("task", await Task(step(6), loop=loop), number.get())
    told("not a coroutine", error_of(asyncio.Task, 5, loop=loop))
    cancelled = loop.create_task(step(7))
    cancelled.cancel()
    told("cancelled", await asyncio.gather(cancelled, return_exceptions=True))
    if sys.version_info >= (3, 9):
        told("thread", await asyncio.to_thread(set_number, 8), number.get())
    await asyncio.sleep(0.01)
    told("seen", seen)
    future = asyncio.run_coroutine_threadsafe(step(9), loop)
    told("chained", await asyncio.wrap_future(future), number.get())
    if sys.version_info >= (3, 11):
        shared = contextvars.copy_context()
        await asyncio.gather(*(loop.create_task(step(value, None), context=shared) for value in (20, 21)))
        told("shared", shared[number])
    if sys.version_info >= (3, 12):
        loop.set_task_factory(asyncio.eager_task_factory)
        eager = loop.create_task(step(40))
        told("eager", eager.done(), await eager, await loop.create_task(asyncio.sleep(0, 5)))
        loop.set_task_factory(None)


def run_last():
    end = time.thread_time() + 0.4
    while time.thread_time() < end:
        for _ in range(3000):  # after some 25 ms of work: tests/stalls/python/stalls.py says why
            sum(range(500))


def ask_last(loop):
    loop.call_soon(run_last)


async def main():
    for _ in range(10):
        await asyncio.sleep(0.03)
    calls()
    lives()
    threads()
    forked()
    interpreters()
    await tasks()
    if len(sys.argv) > 1:  # under a recorder: it is there. Of a kind there is one snapshot a second
        await asyncio.sleep(1.2)
        ask_last(asyncio.get_running_loop())
        await asyncio.sleep(0)
        await asyncio.sleep(0.1)


asyncio.run(main())
print("\n".join(lines))
