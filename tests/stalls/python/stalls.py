# SPDX-License-Identifier: Apache-2.0
# stalls.py CASE - one stall in a handler of an asyncio loop, as truth.tsv says it.
import asyncio
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

SECONDS = 0.9


def busy_until(end):
    while time.thread_time() < end:
        sum(range(500))


def summarize_orders():
    total, end = 0, time.thread_time() + SECONDS
    while time.thread_time() < end:
        for order in range(2000):
            total += order * order % 7
    return total


def count_ways(steps):
    return 1 if steps < 2 else count_ways(steps - 1) + count_ways(steps - 2)


def enumerate_paths():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        count_ways(17)


def match_address():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        re.match(r"(a+)+$", "a" * 18 + "b")


def load_catalogue():
    text = json.dumps([{"name": "n%d" % i, "price": i, "tags": ["a", "b"]} for i in range(3000)])
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        json.loads(text)


def translate_batch():
    # One long call of C code that keeps the interpreter's lock.
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        sorted(range(400000), key=abs)


def wait_for_turn():
    started.wait()
    time.sleep(0.001)


def hold_interpreter():
    started.set()
    translate_in_one_call()


def translate_in_one_call():
    re.match(r"(a+)+$", "a" * 24 + "b")


started = threading.Event()


def gil_contention():
    sys.setswitchinterval(5)
    thread = threading.Thread(target=hold_interpreter)
    thread.start()
    wait_for_turn()
    thread.join()


lock = threading.Lock()


def compact_store():
    with lock:
        started.set()
        time.sleep(SECONDS)


def read_store():
    with lock:
        pass


def lock_held():
    thread = threading.Thread(target=compact_store)
    thread.start()
    started.wait()
    read_store()
    thread.join()


def retry_upload():
    time.sleep(SECONDS)


def save_report():
    end = time.monotonic() + SECONDS
    with tempfile.TemporaryFile(dir=os.environ.get("STALLS_DISK")) as file:
        while time.monotonic() < end:
            file.write(b"x" * 65536)
            file.flush()
            os.fsync(file.fileno())


def run_converter():
    subprocess.run(["sleep", str(SECONDS)], check=True)


kept = []


def fill_cache():
    gc.disable()
    for _ in range(400000):
        entry = []
        entry.append(entry)
        kept.append(entry)


def drop_cache():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        gc.collect()


def render_rows(rows):
    for _ in range(rows):
        yield sum(range(2000))


def render_page():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        for _ in render_rows(50):
            pass


def drain_queue():
    started.set()
    busy_until(time.thread_time() + SECONDS)


def stop_worker():
    thread = threading.Thread(target=drain_queue)
    thread.start()
    started.wait()
    thread.join()


CASES = {
    "compute": summarize_orders,
    "recursion": enumerate_paths,
    "regex": match_address,
    "json": load_catalogue,
    "c_call": translate_batch,
    "gil": gil_contention,
    "lock": lock_held,
    "sleep": retry_upload,
    "fsync": save_report,
    "subprocess": run_converter,
    "gc": drop_cache,
    "generator": render_page,
    "join": stop_worker,
}


async def handle(case):
    await asyncio.sleep(0.02)
    CASES[case]()


async def main():
    for _ in range(6):
        await asyncio.sleep(0.03)
    if sys.argv[1] == "gc":
        fill_cache()
        await asyncio.sleep(0.05)
    if sys.argv[1] == "healthy":
        for _ in range(30):
            await asyncio.sleep(0.02)
            sum(range(1000))
    else:
        await handle(sys.argv[1])
    await asyncio.sleep(0.05)


asyncio.run(main())
