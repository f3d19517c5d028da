# SPDX-License-Identifier: Apache-2.0
# stalls.py CASE - one stall in a handler of an asyncio loop, as truth.tsv says it.
import asyncio
import concurrent.futures
import fcntl
import gc
import json
import os
import queue
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

SECONDS = int(os.environ.get("STALL_MS", 900)) / 1000


# How long each computes is asked after some 25 ms of work, and not all the time: with each answer the kernel looks whether the thread's slice is over, which
# then ends between two of the scheduler's ticks; so hardly a tick meets the thread on a busy machine, and samples of what runs are taken in ticks.
def busy_until(end):
    while time.thread_time() < end:
        for _ in range(3000):
            sum(range(500))


def summarize_orders():
    total, end = 0, time.thread_time() + SECONDS
    while time.thread_time() < end:
        for order in range(300000):
            total += order * order % 7
    return total


def count_ways(steps):
    return 1 if steps < 2 else count_ways(steps - 1) + count_ways(steps - 2)


def enumerate_paths():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        count_ways(26)


def match_address():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        re.match(r"(a+)+$", "a" * 19 + "b")


def load_catalogue():
    text = json.dumps([{"name": "n%d" % i, "price": i, "tags": ["a", "b"]} for i in range(3000)])
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        for _ in range(8):
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
    re.match(r"(a+)+$", "a" * (24 if SECONDS > 0.5 else 23) + "b")


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
    for _ in range(int(400000 * SECONDS)):
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
        for _ in render_rows(600):
            pass


def drain_queue():
    started.set()
    busy_until(time.thread_time() + SECONDS)


def stop_worker():
    thread = threading.Thread(target=drain_queue)
    thread.start()
    started.wait()
    thread.join()


def score(order):
    total = 0
    for digit in range(40):
        total += order * digit % 11
    return total


def rank_orders():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        sorted(range(8000), key=score)


def parse_prices():
    # An exception in each of many rows.
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        for _ in range(16000):
            try:
                int("12,5")
            except ValueError:
                pass


stock = threading.Condition()


def count_stock():
    started.set()
    busy_until(time.thread_time() + SECONDS)
    with stock:
        stock.notify()


def reserve_item():
    with stock:
        thread = threading.Thread(target=count_stock)
        thread.start()
        stock.wait()
    thread.join()


def rebuild_index():
    started.set()
    busy_until(time.thread_time() + SECONDS)


def scan_photos():
    # Until the next one lies there, and no longer: what keeps the pool when somebody waits for it is to be the next one.
    while not is_archive_queued:
        sum(range(500))


def archive_photos():
    busy_until(time.thread_time() + SECONDS)


is_archive_queued = []


def start_backup():
    # The second is taken by a thread that does not sleep: nobody wakes it.
    executor.submit(scan_photos)
    executor.submit(archive_photos)
    is_archive_queued.append(True)


def restore_photo():
    thread = threading.Thread(target=start_backup)
    thread.start()
    thread.join()
    time.sleep(0.02)
    executor.submit(len, "").result()


def search_pool():
    # The only thread of the pool has other work.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(rebuild_index)
        started.wait()
        pool.submit(len, "").result()


def render_invoice():
    busy_until(time.thread_time() + SECONDS)


def print_invoice():
    # A thread of an executor that has worked before, and rests.
    executor.submit(render_invoice).result()


executor = concurrent.futures.ThreadPoolExecutor(1)


def convert_images():
    while True:
        images.get()()
        images.task_done()


def scale_photo():
    busy_until(time.thread_time() + SECONDS)


def import_photo():
    images.put(scale_photo)
    images.join()


images = queue.Queue()


def answer_late(listener):
    connection, _ = listener.accept()
    time.sleep(SECONDS)
    connection.sendall(b"1.08")


def fetch_rate():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer_late, args=(listener,)).start()
        with socket.create_connection(listener.getsockname()) as connection:
            connection.recv(16)


def read_export():
    with subprocess.Popen(["sh", "-c", "sleep %s; echo done" % SECONDS], stdout=subprocess.PIPE) as child:
        os.read(child.stdout.fileno(), 16)


def append_ledger():
    with tempfile.NamedTemporaryFile() as ledger:
        child = subprocess.Popen(["flock", ledger.name, "sh", "-c", "echo; sleep %s" % SECONDS], stdout=subprocess.PIPE)
        child.stdout.readline()
        fcntl.flock(ledger, fcntl.LOCK_EX)
        child.wait()


async def refresh_tile():
    sum(range(20000))


def refresh_map():
    # Many small tasks, all ready at once: the loop does not get to its poll between them.
    for _ in range(int(4000 * SECONDS)):
        pending.append(asyncio.ensure_future(refresh_tile()))


pending = []


def resize_image():
    busy_until(time.thread_time() + SECONDS)


async def read_image():
    await asyncio.sleep(0.02)
    resize_image()


async def render_thumbnail():
    return await asyncio.ensure_future(read_image())


async def render_album():
    await asyncio.gather(*(asyncio.ensure_future(asyncio.sleep(0.01)) for _ in range(3)), render_thumbnail())


async def show_album():
    await asyncio.wait_for(asyncio.ensure_future(render_album()), 100)


def ask_printer():
    time.sleep(SECONDS)


async def find_printer():
    await asyncio.sleep(0.02)
    ask_printer()


async def print_label():
    await asyncio.shield(find_printer())


async def ship_order():
    await asyncio.wait([asyncio.ensure_future(print_label())])

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
    "sort_key": rank_orders,
    "exceptions": parse_prices,
    "condition": reserve_item,
    "full_pool": search_pool,
    "busy_pool": restore_photo,
    "executor": print_invoice,
    "queue": import_photo,
    "socket": fetch_rate,
    "pipe": read_export,
    "flock": append_ledger,
    "task_flood": refresh_map,
}


def apply_feed():
    busy_until(time.thread_time() + SECONDS)
    applied.set()


def import_feed(loop):
    time.sleep(0.05)
    loop.call_soon_threadsafe(apply_feed)


applied = threading.Event()


async def follow_feed():
    thread = threading.Thread(target=import_feed, args=(asyncio.get_running_loop(),))
    thread.start()
    while not applied.is_set():
        await asyncio.sleep(0.2)
    thread.join()


def print_receipt():
    busy_until(time.thread_time() + SECONDS)


def close_order(loop):
    loop.call_soon(print_receipt)


def expire_cart(cart):
    busy_until(time.thread_time() + SECONDS)


def open_cart(loop):
    loop.call_later(0.1, expire_cart, "cart")


async def send_newsletter():
    busy_until(time.thread_time() + SECONDS)


def subscribe_reader():
    pending.append(asyncio.create_task(send_newsletter()))


async def apply_price():
    busy_until(time.thread_time() + SECONDS)


def change_price(loop):
    time.sleep(0.05)
    asyncio.run_coroutine_threadsafe(apply_price(), loop).result()


def queue_within(ask):
    async def queue():
        ask(asyncio.get_running_loop())
        await asyncio.sleep(2 * SECONDS)

    return queue


async def follow_prices():
    thread = threading.Thread(target=change_price, args=(asyncio.get_running_loop(),))
    thread.start()
    await asyncio.sleep(2 * SECONDS)
    thread.join()


async def stay_healthy(loop):
    # All that asyncio queues, and nothing of it slow.
    async def answer():
        await asyncio.sleep(0)

    def ask():
        for _ in range(20):
            asyncio.run_coroutine_threadsafe(answer(), loop).result()
            loop.call_soon_threadsafe(len, "")

    thread = threading.Thread(target=ask)
    thread.start()
    for _ in range(40):
        for _ in range(10):
            loop.call_soon(len, "")
            loop.call_later(0.01, len, "").cancel()
        await asyncio.gather(*(answer() for _ in range(10)), asyncio.to_thread(len, ""))
        await asyncio.sleep(0.005)
    thread.join()


TASKS = {
    "awaited": show_album,
    "awaited_sleep": ship_order,
    "threadsafe": follow_feed,
    "call_soon": queue_within(close_order),
    "call_later": queue_within(open_cart),
    "create_task": queue_within(lambda loop: subscribe_reader()),
    "run_coroutine": follow_prices,
}


async def handle(case):
    await asyncio.sleep(0.02)
    if case in TASKS:
        await TASKS[case]()
    else:
        CASES[case]()


async def main():
    for _ in range(6):
        await asyncio.sleep(0.03)
    if sys.argv[1] == "gc":
        fill_cache()
        await asyncio.sleep(0.05)
    if sys.argv[1] in ("executor", "busy_pool"):
        await asyncio.get_running_loop().run_in_executor(executor, len, "")
        await asyncio.sleep(0.05)
    if sys.argv[1] == "queue":
        threading.Thread(target=convert_images, daemon=True).start()
        images.put(lambda: None)
        await asyncio.sleep(0.05)
    if sys.argv[1] == "healthy":
        for _ in range(30):
            await asyncio.sleep(0.02)
            sum(range(1000))
        await stay_healthy(asyncio.get_running_loop())
        # Threads that work for long, and nobody who waits but coroutines.
        loop = asyncio.get_running_loop()
        await asyncio.gather(loop.run_in_executor(executor, render_invoice), asyncio.sleep(0.01))
        called = asyncio.Event()
        threading.Thread(target=lambda: (time.sleep(0.6), loop.call_soon_threadsafe(called.set))).start()
        await called.wait()
    else:
        await handle(sys.argv[1])
    await asyncio.sleep(0.05)


asyncio.run(main())
