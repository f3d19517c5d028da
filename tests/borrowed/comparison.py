# SPDX-License-Identifier: Apache-2.0
"""comparison.py - the verdicts of a job alone and recorded, and what is to be said about a difference.

A difference is looked at again before it counts: the job runs up to `repeats` times more, alone and recorded. What becomes of it:

  explained    explained.tsv names suite and case (a pattern), with the reason
  flaky alone  without the recorder the case was seen with different verdicts too
  at times     recorded it also came out as it does alone
  differs      it never did

The last two count against us."""
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


def reason_for(explained, suite, case):
    return next((reason for of, pattern, reason in explained if of == suite and fnmatch.fnmatchcase(case, pattern)), None)


def differing(alone, recorded):
    return sorted(case for case in alone.keys() | recorded.keys() if alone.get(case) != recorded.get(case))


def compare(suite, explained, run_alone, run_recorded, repeats):
    """run_alone() and run_recorded() run the job and return its {case: verdict}. Returns the verdicts alone, those recorded, and
    {case: (kind, verdicts alone, verdicts recorded, reason)}."""
    alone, recorded = [run_alone()], [run_recorded()]
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
