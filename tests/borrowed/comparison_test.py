#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""comparison_test.py - of a daily job that comes to what is known no second run is made; of any other there is."""
import sys
import unittest

sys.dont_write_bytecode = True  # not into the sources

import comparison

KNOWN_SKIPS = [("suite", "job: test_of_windows"), ("other", "*")]


class Job:
    """A job that comes to these verdicts, in the order of its runs, and how often it was run each way."""

    def __init__(self, alone, recorded):
        self.verdicts = {"alone": alone, "recorded": recorded}
        self.runs = {"alone": 0, "recorded": 0}

    def run(self, way):
        self.runs[way] += 1
        return self.verdicts[way][min(self.runs[way], len(self.verdicts[way])) - 1]

    def compare(self, known_skips):
        _, _, differences = comparison.compare("suite", [], lambda: self.run("alone"), lambda: self.run("recorded"), 2, known_skips)
        return {case: kind for case, (kind, *_) in differences.items()}


class TestDailyPart(unittest.TestCase):
    def test_a_job_that_passes_recorded_is_not_run_alone(self):
        job = Job([{"a": "pass"}], [{"a": "pass"}])
        self.assertEqual(job.compare(KNOWN_SKIPS), {})
        self.assertEqual(job.runs, {"alone": 0, "recorded": 1})

    def test_a_case_that_fails_recorded_is_run_alone_and_differs(self):
        job = Job([{"a": "pass", "b": "pass"}], [{"a": "pass", "b": "fail"}])
        self.assertEqual(job.compare(KNOWN_SKIPS), {"b": "differs"})
        self.assertEqual(job.runs, {"alone": 3, "recorded": 3})

    def test_a_case_that_fails_both_ways_is_no_difference(self):
        job = Job([{"a": "fail"}], [{"a": "fail"}])
        self.assertEqual(job.compare(KNOWN_SKIPS), {})
        self.assertEqual(job.runs, {"alone": 1, "recorded": 1})

    def test_a_skip_that_is_known_needs_no_run_alone(self):
        job = Job([{"job: test_of_windows": "skip"}], [{"job: test_of_windows": "skip", "a": "pass"}])
        self.assertEqual(job.compare(KNOWN_SKIPS), {})
        self.assertEqual(job.runs["alone"], 0)

    def test_a_skip_that_nobody_knows_is_looked_at_alone(self):
        job = Job([{"a": "pass"}], [{"a": "skip"}])
        self.assertEqual(job.compare(KNOWN_SKIPS), {"a": "differs"})

    def test_a_job_without_a_case_is_looked_at_alone(self):
        job = Job([{"a": "pass"}], [{}])
        self.assertEqual(job.compare(KNOWN_SKIPS), {"a": "differs"})

    def test_the_whole_runs_each_job_both_ways(self):
        job = Job([{"a": "pass"}], [{"a": "pass"}])
        self.assertEqual(job.compare(None), {})
        self.assertEqual(job.runs, {"alone": 1, "recorded": 1})


if __name__ == "__main__":
    unittest.main()
