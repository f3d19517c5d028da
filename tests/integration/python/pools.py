# SPDX-License-Identifier: Apache-2.0
# pools.py - what a program can see of pools of threads and of their queues: the same with and without a recorder (same_test.sh).
import asyncio
import concurrent.futures
import gc
import inspect
import logging
import os
import queue
import sys
import threading
import time
import weakref

from observed import error_of, fail, lines, told

Pool = concurrent.futures.ThreadPoolExecutor


class Item:
    pass


def queues():
    items = queue.SimpleQueue()
    told("empty", error_of(items.get_nowait), error_of(items.get, False), error_of(items.get, timeout=0.01), error_of(items.get, True, 0.01))
    told("order", [items.put(i) for i in range(5)], [items.get() for _ in range(3)], items.get_nowait(), items.get(block=True), items.empty())
    told("arguments", error_of(items.put), error_of(items.get, 1, 2, 3), error_of(items.get_nowait, 1), error_of(items.get, timeout=-1),
         error_of(items.get, timeout="a"), error_of(items.put, 1, nothing=2), error_of(items.get, nothing=2))
    told("options", items.put(1, False), items.put(2, True, 5), items.put(item=3), items.qsize(), [items.get() for _ in range(3)])
    told("unbound", queue.SimpleQueue.put(items, 4), queue.SimpleQueue.get(items), error_of(queue.SimpleQueue.get, 5), error_of(queue.SimpleQueue.put, 5, 5))
    told("method", queue.SimpleQueue.get, queue.SimpleQueue.get.__doc__, inspect.signature(queue.SimpleQueue.put))
    item = Item()
    before = sys.getrefcount(item)
    for _ in range(100):
        items.put(item)
        items.get()
    told("references", sys.getrefcount(item) - before)
    for _ in range(2000):  # an interpreter that is warm makes some calls in other ways
        items.put(item)
        items.get_nowait()
    told("warm", sys.getrefcount(item) - before, items.qsize())
    items.put(item)
    gone = weakref.ref(item)
    del item
    told("lives in the queue", gone() is not None)
    del items
    gc.collect()
    told("goes with the queue", gone() is None)


class Own(queue.SimpleQueue):
    def get(self, *arguments):
        return "own", super().get(*arguments)


def kinds():
    own = Own()
    own.put(1)
    told("subclass", own.get())
    first_in, last_in = queue.Queue(), queue.LifoQueue()
    for i in range(3):
        first_in.put(i)
        last_in.put(i)
    told("others", [first_in.get() for _ in range(3)], [last_in.get() for _ in range(3)])


def pools():
    with Pool(3) as pool:
        told("map", list(pool.map(lambda i: i * i, range(50))))
        told("raises", [error_of(pool.submit(fail, error).result) for error in (ValueError("a"), SystemExit(3), KeyboardInterrupt("b"))])
        told("many", sum(future.result() for future in [pool.submit(len, "ab") for _ in range(5000)]))
        told("within", pool.submit(lambda: pool.submit(lambda: pool.submit(len, "abc").result()).result()).result())
        told("names", sorted({future.result().split("_")[-1].isdigit() for future in [pool.submit(lambda: threading.current_thread().name) for _ in range(30)]}))
    told("over", error_of(pool.submit, len, ""))


def ends():
    held = threading.Event()
    pool = Pool(1)
    pool.submit(held.wait)
    futures = [pool.submit(len, "a" * i) for i in range(20)]
    told("cancelled", [future.cancel() for future in futures[:3]], futures[0].cancelled())
    pool.shutdown(wait=False, cancel_futures=True)
    held.set()
    told("dropped", all(future.cancelled() for future in futures))
    pool = Pool(2)
    pool.submit(len, "").result()
    gone = weakref.ref(pool)
    del pool
    gc.collect()
    told("collected", gone() is None)
    for _ in range(200):
        with Pool(1) as pool:
            pool.submit(len, "")
    told("short ones", threading.active_count())
    broken = Pool(1, initializer=fail, initargs=(ValueError("b"),))
    told("initializer", error_of(lambda: broken.submit(len, "").result()).split(":")[0])


def forked():
    with Pool(2) as pool:
        told("before", pool.submit(len, "abc").result())
        pool.submit(time.sleep, 0.2)  # a thread that the child has not
        child = os.fork()
        if child == 0:
            with Pool(2) as own:
                os._exit(7 if list(own.map(len, ["a", "bc"])) == [1, 2] and own.submit(len, "abcd").result() == 4 else 1)
        told("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), pool.submit(len, "ab").result())


async def loops():
    loop = asyncio.get_running_loop()
    told("run_in_executor", await asyncio.gather(*(loop.run_in_executor(None, len, "a" * i) for i in range(10))))
    told("to_thread", await asyncio.gather(*(asyncio.to_thread(lambda i: -i, i) for i in range(10))))
    try:
        await loop.run_in_executor(None, fail, ValueError("c"))
    except ValueError as error:
        told("awaited", error)


def run_last():
    end = time.thread_time() + 0.5
    while time.thread_time() < end:
        for _ in range(3000):  # after some 25 ms of work: tests/stalls/python/stalls.py says why
            sum(range(500))


def ask_last(pool):
    pool.submit(time.sleep, 0.1)  # the next item is taken by a thread that nobody wakes
    return pool.submit(run_last)


async def main():
    for _ in range(10):
        await asyncio.sleep(0.03)
    with Pool(1) as pool:  # the recorder knows of pools from here on
        pool.submit(len, "").result()
    for part in (queues, kinds, pools, ends, forked):
        part()
    await loops()
    if len(sys.argv) > 1:  # under a recorder: it is there. Of a kind there is one snapshot a second
        with Pool(1) as pool:
            pool.submit(len, "").result()
            await asyncio.sleep(1.2)
            ask_last(pool).result()
            await asyncio.sleep(0.1)


logging.disable(logging.CRITICAL)  # of the pool whose threads cannot begin
asyncio.run(main())
print("\n".join(lines))
