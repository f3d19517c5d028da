# SPDX-License-Identifier: Apache-2.0
# observed.py - what contexts.py and pools.py saw, in lines (same_test.sh).
lines = []


def told(*words):
    lines.append(" ".join(str(word) for word in words))


def error_of(call, *arguments, **names):
    try:
        return call(*arguments, **names)
    except BaseException as error:
        return type(error).__name__ + ": " + str(error)


def fail(error):
    raise error
