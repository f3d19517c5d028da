#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""limits_bite - the judge of instruction counts fails when something has become dearer, and only then."""
import importlib.machinery
import importlib.util
import os
import sys
import tempfile

loader = importlib.machinery.SourceFileLoader("bench_instructions", sys.argv[1])
sys.dont_write_bytecode = True
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_instructions", loader))
loader.exec_module(bench)
bench.compiler = lambda: "x86_64; one compiler"

ROWS = [("hook", "malloc, free", 15, 8, 0, 139), ("capture", "stack unchanged", 600, 220, 0, None),
        ("capture", "libunwind alone", 9, 9, 0, None), ("hook", "sem_post: a question and its answer", 1000, 100, 12, 400)]


def judged(rows):
    return bench.judge(path, rows)


def changed(index, **new):
    rows = [dict(zip(("what", "name", "instructions", "lines", "atomics", "bare"), row)) for row in ROWS]
    rows[index].update(new)
    return [tuple(row.values()) for row in rows]


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "limits")
    bench.write_limits(path, ROWS)
    cases = [
        ("the same", ROWS, 0),
        ("one instruction more", changed(0, instructions=16), 0),
        ("two instructions more", changed(0, instructions=17), 1),
        ("three in a hundred more", changed(1, instructions=618), 0),
        ("four in a hundred more", changed(1, instructions=624), 1),
        ("many more cache lines", changed(1, lines=230), 1),
        ("one atomic more", changed(0, atomics=1), 1),
        ("cheaper", changed(1, instructions=300), 0),
        ("libunwind is not ours", changed(2, instructions=900), 0),
        ("a wait that takes a tenth more", changed(3, instructions=1100, lines=140, atomics=13), 0),
        ("a wait that takes more than that", changed(3, instructions=1102), 1),
        ("a wait with two atomics more", changed(3, atomics=14), 1),
        ("something new", ROWS + [("hook", "new", 1, 1, 0, 1)], 1),
        ("something gone", ROWS[1:], 1),
    ]
    wrong = [what for what, rows, status in cases if judged(rows) != status]
    bench.compiler = lambda: "x86_64; another compiler"
    if judged(changed(0, instructions=900)) != bench.SKIPPED:
        wrong.append("another compiler")
if wrong:
    sys.exit("limits_bite: judged wrongly: " + ", ".join(wrong))
