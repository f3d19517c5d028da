# SPDX-License-Identifier: Apache-2.0
"""mix.py - what interpreters do all day, after pyperformance's groups: json, regular expressions, dictionaries, sorting,
calls, strings, sqlite. usage: python3 mix.py SECONDS [lines] | mix.py PASSES passes | mix.py asked. Waits for a line, works, prints the passes a second; with
`lines` a line for each pass comes first. With `passes` it makes so many and ends; `asked` makes one for each line that comes, and answers with one."""
import json
import re
import sqlite3
import sys
import time


def documents():
    data = [{"id": i, "name": "user %d" % i, "tags": ["a", "b", str(i % 7)], "score": i * 1.5} for i in range(400)]
    return sum(item["id"] for item in json.loads(json.dumps(data)))


def expressions():
    text = " ".join("key%d=value%d;" % (i, i * i) for i in range(600))
    return len(re.findall(r"key(\d+)=(\w+);", text)) + len(re.sub(r"[aeiou]", "", text))


def dictionaries():
    table = {}
    for i in range(12000):
        table["k%d" % (i % 3000)] = table.get("k%d" % (i % 3000), 0) + i
    return sum(table.values())


def sorting():
    values = [(i * 7919) % 10007 for i in range(10007)]
    return sorted(values, key=lambda value: -value)[0] + sorted(map(str, values))[0].__len__()


def calls(n=19):
    return n if n < 2 else calls(n - 1) + calls(n - 2)


class Shape:
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.side


def objects():
    return sum(Shape(i).area() for i in range(8000))


def database():
    store = sqlite3.connect(":memory:")
    store.execute("create table t(a integer primary key, b text)")
    store.executemany("insert into t values(?, ?)", ((i, "row %d" % i) for i in range(2000)))
    found = store.execute("select count(*), max(length(b)) from t where b like '%7%'").fetchone()
    store.close()
    return sum(found)


def work():
    return sum(part() for part in (documents, expressions, dictionaries, sorting, calls, objects, database))


def main():
    if sys.argv[2:] == ["passes"]:
        return 0 if sum(work() for _ in range(int(sys.argv[1]))) else 1
    if sys.argv[1] == "asked":
        for _ in sys.stdin:
            print(work(), flush=True)
        return 0
    sys.stdin.readline()
    begin = time.perf_counter()
    total = passes = 0
    while time.perf_counter() - begin < float(sys.argv[1]):
        passes += 1
        total += work()
        if len(sys.argv) > 2:
            print(flush=True)
    print("%.6f" % (passes / (time.perf_counter() - begin)))
    return 0 if total else 1


sys.exit(main())
