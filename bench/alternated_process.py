# SPDX-License-Identifier: Apache-2.0
"""alternated_process - one process at work under `stallbox run`, its recorder put in and taken out in turn (programs/alternate.c), and
what is read out of the windows."""
import math
import os
import random
import statistics
import subprocess
import threading

from loaded_program import LOAD_CPUS, NotMeasured
from recorded_program import HERE, STALLBOX, child_of

ALTERNATE = os.path.join(HERE, "alternate")
CUT = 0.2 # of the pairs, at each end


def started(command, cpus, folder, options=(), **pipes):
    """(what runs the program, the program's process id)"""
    full = [STALLBOX, "run", "--quiet", "--spool", os.path.join(folder, "spool")] + list(options) + ["--"] + command
    log = open(os.path.join(folder, "log"), "w")
    pipes.setdefault("stdin", subprocess.DEVNULL)
    pipes.setdefault("stdout", log)
    runner = subprocess.Popen(full, stderr=log, cwd=folder, preexec_fn=lambda: os.sched_setaffinity(0, cpus), **pipes)
    log.close()
    pid = child_of(runner)
    if pid is None:
        raise NotMeasured("stallbox run started nothing")
    return runner, pid


def stop(runner, pid):
    if runner.poll() is None:
        try:
            os.kill(pid, 15)
        except ProcessLookupError:
            pass
        try:
            runner.wait(10)
        except subprocess.TimeoutExpired:
            runner.kill()
            runner.wait()


def feed(pipe, text):
    """Give the program what it reads, again and again; a text that it reads once ends there."""
    def write():
        try:
            while True:
                pipe.write(text)
                pipe.flush()
                if text == b"go\n":
                    return
        except (OSError, ValueError):
            pass
    threading.Thread(target=write, daemon=True).start()


def alternate(pid, words, stdin=subprocess.DEVNULL):
    """({(pair, "in" or "out"): (CPU ns, ns of the recorder's threads, done, wall ns, sleeps, begin ns)}, the last line's numbers)"""
    command = [ALTERNATE, str(pid)] + words
    done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, preexec_fn=lambda: os.sched_setaffinity(0, LOAD_CPUS))
    if done.returncode != 0:
        raise NotMeasured("%s: %s" % (" ".join(command), done.stderr.strip()))
    windows, end = {}, ()
    for line in done.stdout.splitlines():
        kind, *numbers = line.split()
        numbers = [int(word) for word in numbers]
        if kind == "end":
            end = numbers
        else:
            windows[numbers[0], kind] = tuple(numbers[1:])
    return windows, end


def pairs_of(windows):
    """[(in, out)], each as in `windows`"""
    pairs = [(windows[pair, "in"], windows[pair, "out"]) for pair, which in windows if which == "in" and (pair, "out") in windows]
    # In a window without a processor nothing is measured: lines may still come that were written before.
    pairs = [(ours, bare) for ours, bare in pairs if all(side[2] and side[0] > side[1] for side in (ours, bare))]
    if len(pairs) < 4:
        raise NotMeasured("only %d pairs did anything" % len(pairs))
    return pairs


def cut_mean(values):
    values = sorted(values)
    cut = int(len(values) * CUT)
    return statistics.mean(values[cut:len(values) - cut])


def interval(values):
    """95 % of the means of resamplings lie in it."""
    generator = random.Random(1)
    means = sorted(cut_mean(generator.choices(values, k=len(values))) for _ in range(2000))
    return means[49], means[1949]


def ratio_of(pairs, cpu_of):
    """(mean, lower and upper end of its interval, all) of the pairs' ratios"""
    logs = [math.log(cpu_of(ours) / ours[2]) - math.log(cpu_of(bare) / bare[2]) for ours, bare in pairs]
    mean, low, high = (math.exp(value) for value in (cut_mean(logs),) + interval(logs))
    return mean, low, high, [math.exp(value) for value in logs]
