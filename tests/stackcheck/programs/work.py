# SPDX-License-Identifier: Apache-2.0
# work.py SECONDS - a Python program that spends its time in its C parts: json, re, sqlite3, hashlib, sort callbacks, threads.
import ctypes
import functools
import hashlib
import json
import re
import sqlite3
import sys
import threading
import time
import xml.parsers.expat
import zlib

ends = time.monotonic() + float(sys.argv[1])


def recurse(depth):
    return 1 if depth == 0 else recurse(depth - 1) + 1


def texts(seed):
    document = {"name": "x" * seed, "list": [{"n": i, "f": i / 7} for i in range(100)]}
    text = json.dumps(document, indent=1)
    assert json.loads(text)["list"][99]["n"] == 99
    re.sub(r"(\d+)\.(\d+)", lambda match: match.group(2) + match.group(1), text)
    sorted(range(300), key=functools.cmp_to_key(lambda a, b: (a * 7919) % 101 - (b * 7919) % 101))
    zlib.decompress(zlib.compress(text.encode() * 4))
    hashlib.sha256(text.encode() * 50).hexdigest()
    depth = []
    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: depth.append(name)
    parser.Parse("<a>" * 30 + "</a>" * 30, True)
    try:
        recurse(200 + seed)
        raise ValueError(seed)
    except ValueError:
        pass


def database():
    connection = sqlite3.connect(":memory:")
    connection.create_function("half", 1, lambda value: value / 2)
    connection.execute("create table t (a integer primary key, b text)")
    connection.executemany("insert into t values (?, ?)", ((i, str(i * 7919)) for i in range(500)))
    connection.execute("select sum(half(a)), group_concat(b) from t where b like '%7%' group by a % 7").fetchall()


def callbacks():
    libc = ctypes.CDLL(None)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    values = (ctypes.c_int * 50)(*[(i * 7919) % 101 for i in range(50)])
    libc.qsort(values, 50, 4, kind(lambda a, b: a[0] - b[0]))  # through libffi


def work(index):
    while time.monotonic() < ends:
        texts(index)
        database()
        callbacks()
        time.sleep(0.001)


threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for thread in threads:
    thread.start()
work(3)
for thread in threads:
    thread.join()
