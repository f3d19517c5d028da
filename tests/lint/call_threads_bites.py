#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""call_threads_bites.py - call_threads.py finds each thing it is there to find, in trees that are made up for it."""

import os
import subprocess
import sys
import tempfile
import unittest

RULE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "call_threads.py")
TABLE = """# a remark
capture/points/hook.c      theirs
agent/watch.c              ours
    theirs  said_by_the_program
    start   begin
capture/handler/copy.c     copies
"""
TREE = {
    "capture/port/sandbox_filter.c": """const uint16_t sbx_calls_on_their_threads[] = {
    SYS_futex, /* the bell */
    SYS_fstat,
};
static const uint16_t calls_by_file[] = {SYS_openat, SYS_close};
const uint16_t sbx_calls_on_our_threads[] = {
    SYS_openat, SYS_close, SYS_unlinkat, SYS_fcntl,
};
const uint16_t sbx_calls_for_asking[] = {
    SYS_timer_create,
};
""",
    "capture/port/raw.h": """static inline void raw_close(int fd)
{
    sbx_raw_syscall(SYS_close, fd, 0);
}

static inline void raw_close_twice(int fd)
{
    raw_close(fd);
}
""",
    "capture/points/hook.c": """/* open() in a remark is no call, and "unlink(" is none. */
static int hook_open(int fd)
{
    return real_open(fd) + fstat(fd, &status);
}
""",
    "capture/handler/copy.c": """static int copy(void)
{
    return open("/proc/self/mem", O_RDONLY);
}
""",
    "agent/watch.c": """static void work(void)
{
    unlink("file");
}

static void said_by_the_program(void)
{
    syscall(SYS_futex, &word);
}

static void begin(void)
{
    getxattr("file", 0, 0);
}
""",
}


def judge(changes=(), table=TABLE, library=None):
    """Exit status and words of call_threads.py on TREE with these changes."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in (TREE | dict(changes)).items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        with open(os.path.join(root, "table.txt"), "w", encoding="utf-8") as file:
            file.write(table)
        built = []
        if library is not None:
            built = [os.path.join(root, "library.so")]
            with open(os.path.join(root, "library.c"), "w", encoding="utf-8") as file:
                file.write(library)
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", built[0], os.path.join(root, "library.c")],
                           check=True)
        done = subprocess.run([sys.executable, RULE, root, os.path.join(root, "table.txt"), *built],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def more(path, body):
    """One more function at the end of a file of TREE."""
    return {path: TREE[path] + f"\nstatic void more(void)\n{{\n    {body}\n}}\n"}


class Bites(unittest.TestCase):
    def expect(self, words, *arguments, **named):
        status, said = judge(*arguments, **named)
        self.assertEqual(status, 1, said)
        self.assertIn(words, said)

    def test_a_tree_whose_calls_are_judged_passes(self):
        self.assertEqual(judge()[0], 0, judge()[1])

    def test_a_call_by_number_of_our_threads_in_a_hook_is_found(self):
        self.expect("capture/points/hook.c: more() calls fcntl (theirs)",
                    more("capture/points/hook.c", "sbx_raw_syscall(SYS_fcntl, fd, F_GETFL);"))

    def test_a_call_by_number_over_two_lines_is_found(self):
        self.expect("capture/points/hook.c: more() calls fcntl (theirs)",
                    more("capture/points/hook.c", "sbx_raw_syscall(\n        SYS_fcntl, fd, F_GETFL);"))

    def test_a_call_by_name_in_a_hook_is_found(self):
        self.expect("capture/points/hook.c: more() calls unlinkat (theirs)",
                    more("capture/points/hook.c", 'unlink("file");'))

    def test_a_call_in_a_macro_is_found(self):
        self.expect("capture/points/hook.c: a macro() calls unlinkat (theirs)",
                    {"capture/points/hook.c": '#define GO unlink("file")\n' + TREE["capture/points/hook.c"]})

    def test_a_call_below_two_functions_of_headers_is_found(self):
        self.expect("capture/points/hook.c: more() calls close (theirs)",
                    more("capture/points/hook.c", "raw_close_twice(fd);"))

    def test_a_call_that_no_list_has_is_found_on_our_own_threads(self):
        self.expect("agent/watch.c: more() calls getxattr (ours)",
                    more("agent/watch.c", 'getxattr("file", 0, 0);'))

    def test_a_function_that_runs_elsewhere_is_held_to_that(self):
        self.expect("agent/watch.c: work() calls unlinkat (theirs)",
                    table=TABLE.replace("said_by_the_program", "said_by_the_program work"))

    def test_reading_stacks_by_file_is_for_that_file_alone(self):
        self.expect("capture/handler/copy.c: copy() calls openat (theirs)", table=TABLE.replace("copies", "theirs"))

    def test_a_list_on_one_line_does_not_swallow_the_next(self):
        self.expect("capture/handler/copy.c: more() calls unlinkat (copies)",
                    more("capture/handler/copy.c", 'unlink("file");'))

    def test_a_file_that_nobody_decided_on_is_found(self):
        self.expect("agent/new.c: makes unlinkat; the table does not say on whose threads",
                    more("agent/watch.c", "") | {"agent/new.c": TREE["agent/watch.c"][:TREE["agent/watch.c"].index("\n\n")]})

    def test_rows_that_are_of_no_use_any_more_are_found(self):
        self.expect("agent/gone.c: stands in the table, and is no file", table=TABLE + "agent/gone.c  ours\n")
        self.expect("agent/watch.c: gone() makes no system call, and stands in the table",
                    table=TABLE.replace("begin", "begin gone"))
        self.expect("capture/points/hook.c: makes no system call, and stands in the table",
                    {"capture/points/hook.c": "static int nothing;\n"})

    def test_a_filter_without_its_lists_is_found(self):
        path = "capture/port/sandbox_filter.c"
        self.expect("has no list sbx_calls_for_asking", {path: TREE[path].replace("for_asking", "for_nothing")})

    def test_a_function_of_libc_of_which_nothing_is_known_is_found(self):
        self.assertEqual(judge(library="#include <unistd.h>\nint it(void) { return close(0); }\n")[0], 0)
        self.expect("nice: taken from the C library",
                    library="#include <unistd.h>\nint it(void) { return nice(1); }\n")

    def test_what_the_table_does_not_mean_is_refused(self):
        self.expect("not understood", table=TABLE + "agent/x.c  nobody\n")


if __name__ == "__main__":
    unittest.main()
