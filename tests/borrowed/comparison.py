# SPDX-License-Identifier: Apache-2.0
"""comparison.py - the verdicts of a job alone and recorded, and what is to be said about a difference.

A difference is looked at again before it counts: the job runs up to `repeats` times more, alone and recorded. What becomes of it:

  explained    explained.tsv names suite and case (a pattern), with the reason
  flaky alone  without the recorder the case was seen with different verdicts too
  at times     recorded it also came out as it does alone
  differs      it never did

The last two count against us.

In the daily part a job runs recorded first. Where every case passes, or is skipped that known_skips.tsv says is skipped alone as well, there is
nothing that it could differ from, and it does not run alone."""
import fnmatch
import pathlib


def read_explained(path):
    """Lines of suite, pattern of cases, reason; tabs between them."""
    explained = []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            suite, pattern, reason = line.split("\t")
            explained.append((suite, pattern, reason))
    return explained


def read_known_skips(path):
    """Lines of suite, pattern of cases; a tab between them."""
    return [tuple(line.split("\t")) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()
            if line.strip() and not line.startswith("#")]


def is_as_known(suite, cases, known_skips):
    """Did every case come to what it is known to come to alone?"""
    patterns = [pattern for of, pattern in known_skips if of == suite]
    return bool(cases) and all(verdict == "pass" or verdict == "skip" and any(fnmatch.fnmatchcase(case, pattern) for pattern in patterns)
                               for case, verdict in cases.items())


def reason_for(explained, suite, case):
    return next((reason for of, pattern, reason in explained if of == suite and fnmatch.fnmatchcase(case, pattern)), None)


def differing(alone, recorded):
    return sorted(case for case in alone.keys() | recorded.keys() if alone.get(case) != recorded.get(case))


def compare(suite, explained, run_alone, run_recorded, repeats, known_skips=None):
    """run_alone() and run_recorded() run the job and return its {case: verdict}. With known_skips, a job that comes to what is known is not
    run alone. Returns the verdicts alone, those recorded, and {case: (kind, verdicts alone, verdicts recorded, reason)}."""
    recorded = []
    if known_skips is not None:
        recorded.append(run_recorded())
        if is_as_known(suite, recorded[0], known_skips):
            return recorded[0], recorded[0], {}
    alone = [run_alone()]
    recorded = recorded or [run_recorded()]
    cases = differing(alone[0], recorded[0])
    for _ in range(repeats):
        if all(reason_for(explained, suite, case) for case in cases):
            break
        alone.append(run_alone())
        recorded.append(run_recorded())
        # A case whose verdict changes alone is flaky: no more of it is to be learned.
        if all(len({run.get(case) for run in alone}) > 1 for case in cases):
            break
    differences = {}
    for case in cases:
        seen_alone = [run.get(case, "missing") for run in alone]
        seen_recorded = [run.get(case, "missing") for run in recorded]
        reason = reason_for(explained, suite, case)
        kind = "explained" if reason else "flaky alone" if len(set(seen_alone)) > 1 else \
            "at times" if set(seen_alone) & set(seen_recorded) else "differs"
        differences[case] = (kind, seen_alone, seen_recorded, reason or "")
    return alone[0], recorded[0], differences
