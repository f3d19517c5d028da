# SPDX-License-Identifier: Apache-2.0
"""verdicts.py - what suites print, as {case: verdict}. A verdict is "pass", "fail", "skip", or how the program ended."""
import hashlib
import re

TAP_LINE = re.compile(r"^(not )?ok\b[ \t]*(\d+)?[ \t]*(?:- )?(.*)$")


def put(cases, name, verdict):
    """Names are not always used once: the second of a name is name#2."""
    number, unique = 1, name
    while unique in cases:
        number += 1
        unique = f"{name}#{number}"
    cases[unique] = verdict


def of_tap(job_name):
    """Lines "ok 1 - what", "not ok 2 what", "# SKIP", "# TODO"; a test that is to do may fail. Numbers are the names: what
    stands behind them often has times and paths in it."""
    def read(result):
        cases, number = {}, 0
        for line in result.output.splitlines():
            match = TAP_LINE.match(line)
            if not match:
                continue
            number = int(match[2]) if match[2] else number + 1
            note = match[3].upper()
            verdict = "skip" if re.search(r"# *SKIP", note) else \
                "pass" if not match[1] else "todo" if re.search(r"# *TODO", note) else "fail"
            put(cases, f"{job_name} {number}", verdict)
        if cases and (result.status or 0) > 0 and "fail" not in cases.values():
            cases[f"{job_name} ends"] = result.ended()
        return cases
    return read


def of_status(job_name, skipped=77):
    """A program that is one case. Automake's word for "not here" is 77."""
    def read(result):
        return {job_name: "skip" if result.status == skipped else "fail" if (result.status or 0) > 0 else result.ended()}
    return read


def of_status_and_output(job_name, wash=lambda text: text):
    """One case that says how it went by what it prints: any other output is another verdict."""
    def read(result):
        text = wash(result.output).strip()
        if result.status == 0 and not text:
            return {job_name: "pass"}
        return {job_name: f"{result.ended()}, prints {hashlib.sha256(text.encode()).hexdigest()[:8]}"}
    return read


def of_lines(pattern, words):
    """A regular expression with the groups `case` and `verdict`; `words` makes a verdict of what the suite calls it."""
    compiled = re.compile(pattern, re.MULTILINE)

    def read(result):
        cases = {}
        for match in compiled.finditer(result.output):
            put(cases, match["case"].strip(), words.get(match["verdict"], "fail"))
        return cases
    return read
