# SPDX-License-Identifier: Apache-2.0
# queued.py - slow callbacks and tasks of asyncio, each queued in another way. The function run_NAME is slow, and ask_NAME has queued it; of what
# nobody queued, or where it is not known who did, queued.py --expect says "-".
import asyncio
import contextvars
import json
import subprocess
import sys
import threading
import time

SECONDS = 0.22
asks, nobodys = [], []
done = threading.Event()


def busy():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        for _ in range(3000):  # after some 25 ms of work: tests/stalls/python/stalls.py says why
            sum(range(500))
    done.set()


def case(ask):
    asks.append(ask)
    return ask


def case_of_nobody(ask):
    nobodys.append(ask.__name__[4:])
    return case(ask)


def on_thread(call):
    threading.Thread(target=call).start()


def run_soon():
    busy()


@case
def ask_soon(loop):
    loop.call_soon(run_soon)


def run_later(*_):
    busy()


@case
def ask_later(loop):
    loop.call_later(0.05, run_later, *[1, 2])


async def run_task():
    busy()


@case
def ask_task(loop):
    kept.append(loop.create_task(run_task()))


async def run_gather():
    busy()


@case
def ask_gather(loop):
    asyncio.gather(run_gather(), asyncio.sleep(0))


def run_threadsafe():
    busy()


@case
def ask_threadsafe(loop):
    on_thread(lambda: hand_callback_over(loop))


def hand_callback_over(loop):
    loop.call_soon_threadsafe(run_threadsafe)


async def run_remote():
    busy()


@case
def ask_remote(loop):
    on_thread(lambda: hand_coroutine_over(loop))


def hand_coroutine_over(loop):
    asyncio.run_coroutine_threadsafe(run_remote(), loop).result()


# One context for two tasks: each is its own submitter's.
async def run_shared_first():
    pass


async def run_shared():
    busy()


def share(loop):
    kept.append(loop.create_task(run_shared_first(), context=shared))


@case
def ask_shared(loop):
    share(loop)
    kept.append(loop.create_task(run_shared(), context=shared))


async def run_after_sleep():
    await asyncio.sleep(0.02)
    busy()


@case_of_nobody  # this step was not queued by who made the task
def ask_after_sleep(loop):
    kept.append(loop.create_task(run_after_sleep()))


def run_reader():
    loop = asyncio.get_event_loop()
    loop.remove_reader(child.stdout)
    busy()


@case_of_nobody  # the descriptor was ready, nobody of this process queued it
def ask_reader(loop):
    loop.add_reader(child.stdout, run_reader)
    child.stdin.write(b"\n")
    child.stdin.close()


# A callback that is cancelled leaves its context's address to the next one.
def ask_and_cancel(loop):
    for _ in range(100):
        loop.call_soon(busy).cancel()


async def run_in_old_context():
    await asyncio.sleep(0)
    contextvars.Context().run(busy)


@case_of_nobody
def ask_in_old_context(loop):
    ask_and_cancel(loop)
    kept.append(loop.create_task(run_in_old_context()))


def run_last():
    busy()


@case
def ask_last(loop):
    loop.call_soon(run_last)


def nothing():
    pass


async def nobody():
    pass


async def main():
    loop = asyncio.get_running_loop()
    for i in range(3000):  # an interpreter that is warm does some calls in other ways
        loop.call_soon(nothing)
        loop.call_later(0.001, nothing)
        kept.append(loop.create_task(nobody()))
        if i % 10 == 0:
            await asyncio.sleep(0)
    kept.clear()
    for _ in range(60):  # until the recorder has found the interpreter: it asks twice a second, and the main thread answers when it runs
        await asyncio.sleep(0.05)
    for ask in asks:
        done.clear()
        ask(loop)
        while not done.is_set():
            await asyncio.sleep(0.05)
        await asyncio.sleep(1)  # of a kind there is one snapshot a second


kept = []
shared = contextvars.copy_context()
if sys.version_info < (3, 11):
    asks.remove(ask_shared)
if sys.argv[1:] == ["--expect"]:
    names = [ask.__name__[4:] for ask in asks]
    told_as = {"threadsafe": "hand_callback_over", "remote": "hand_coroutine_over"}
    print(json.dumps({"run_" + name: None if name in nobodys else told_as.get(name, "ask_" + name) for name in names}))
else:
    child = subprocess.Popen(["sh", "-c", "read line; sleep 0.1; echo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    asyncio.run(main())
