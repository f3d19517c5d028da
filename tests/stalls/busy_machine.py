# SPDX-License-Identifier: Apache-2.0
"""busy_machine - what a score asks of a machine that has too much to do, and how it tries a missed case again there."""
import os


def is_busy():
    """More than scripts/test makes of it alone, which is some eight a processor, half of them at a priority below everything else."""
    return os.getloadavg()[0] > 10 * os.cpu_count()


def attempts():
    """How a case is run until it is told rightly: the options of `stallbox run` for each time. Twice as it ships. On a busy machine a third time with a larger
    budget: there a look takes several times as long, because each finds its caches cold, and programs get little of it, so the default budget is spent
    before the stall (docs/GOVERNOR.md). What is judged is what the looks tell."""
    yield []
    yield []
    if is_busy():
        yield ["--max-cpu-permille", "50"]


def is_of_the_machine(told):
    """Had the thread no processor for so long, on a machine that has too much to do? Then it did stall, and its program is healthy all the same."""
    return told["cause"] == "cpu_contention" and is_busy()


def told_of_healthy(run):
    """What is told of a healthy program, which `run` runs and reports. Had it no processor for so long, it has another chance: a quarter of a second may pass without one where other tests run beside it."""
    told = [one for one in run(0) if not is_of_the_machine(one)]
    if told and all(one["cause"] == "cpu_contention" for one in told):
        told = [one for one in run(1) if not is_of_the_machine(one)]
    return told
