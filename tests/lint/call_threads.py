#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""call_threads.py - each system call of the recorder is judged for the thread that makes it.

usage: call_threads.py SOURCE-ROOT TABLE [LIBRARY]

TABLE says of each file of capture/ and agent/ that makes system calls, and of functions in it, on whose threads they run;
capture/port/sandbox_filter.c has the list of calls that a filter is judged by, for each. With LIBRARY, every function that the
library takes from the C library must be known here: by the system calls that it makes, or as one that makes none."""

import os
import re
import subprocess
import sys

FILTER = "capture/port/sandbox_filter.c"
THEIRS, BY_FILE = "sbx_calls_on_their_threads", "calls_by_file"
OURS, ASKING = "sbx_calls_on_our_threads", "sbx_calls_for_asking"
# Whose thread: the lists by which a filter is judged that is in force there. None: no such filter can be in force then.
THREADS = {
    "theirs": (THEIRS,),
    "copies": (THEIRS, BY_FILE),
    "asking": (THEIRS, ASKING),
    "ours": (THEIRS, OURS, ASKING),
    "start": None,
    "leaving": None,
    "unfiltered": None,
    "tools": None,
}

# The system calls behind functions of the C library, by the names that are the same on every architecture.
CALLS = {
    "access": "faccessat", "close": "close", "closedir": "close", "clock_gettime": "clock_gettime",
    "dlopen": "openat read pread64 fstat mmap mprotect munmap close", "dlmopen": "openat read fstat mmap mprotect close",
    "fcntl": "fcntl", "fdopendir": "fcntl fstat", "flock": "flock", "fchmod": "fchmod", "fstat": "fstat",
    "fstatat": "newfstatat", "fstatvfs": "fstatfs", "fsync": "fsync", "ftruncate": "ftruncate", "futimens": "utimensat",
    "getdents64": "getdents64", "geteuid": "geteuid", "getpid": "getpid", "getppid": "getppid",
    "getrandom": "getrandom", "getrlimit": "prlimit64", "getsockopt": "getsockopt", "gettid": "gettid",
    "getuid": "getuid", "getxattr": "getxattr", "kill": "kill", "lseek": "lseek", "lstat": "newfstatat",
    "madvise": "madvise", "mkdir": "mkdirat", "mkdirat": "mkdirat", "mmap": "mmap", "mprotect": "mprotect",
    "munmap": "munmap", "nanosleep": "clock_nanosleep", "clock_nanosleep": "clock_nanosleep", "open": "openat",
    "openat": "openat", "opendir": "openat fstat", "posix_fallocate": "fallocate", "prctl": "prctl",
    "pread": "pread64", "pwrite": "pwrite64", "pthread_create": "clone3 mmap mprotect", "pthread_detach": "",
    "pthread_join": "futex munmap", "pthread_getattr_np": "sched_getaffinity prlimit64",
    "pthread_mutex_lock": "futex", "pthread_mutex_unlock": "futex", "pthread_mutex_trylock": "",
    "pthread_mutex_clocklock": "futex", "pthread_mutex_timedlock": "futex", "pthread_sigmask": "rt_sigprocmask",
    "read": "read", "readdir": "getdents64", "readlink": "readlinkat", "readlinkat": "readlinkat",
    "recv": "recvfrom", "rename": "renameat", "renameat": "renameat", "send": "sendto", "sigaction": "rt_sigaction",
    "signal": "rt_sigaction", "sigaltstack": "sigaltstack", "sigprocmask": "rt_sigprocmask", "socket": "socket",
    "stat": "newfstatat", "statvfs": "statfs", "unlink": "unlinkat", "unlinkat": "unlinkat", "write": "write",
    "sched_yield": "sched_yield", "usleep": "clock_nanosleep", "poll": "ppoll", "setpriority": "setpriority",
}
# Those that make none; or that a point only passes on to: the program's own calls.
QUIET = re.compile(
    r"_.*|mem\w+|str\w+|sn?printf|v?snprintf|dl_iterate_phdr|dladdr|dlsym|dlvsym|environ|getauxval|getenv|atoi|"
    r"gnu_get_libc_version|qsort|sig(addset|andset|emptyset|fillset|ismember)|std(in|out|err)|v?d?v?f?printf|sysconf|"
    r"pthread_(attr_\w+|key_\w+|self|setspecific|getspecific|mutexattr_\w+|mutex_init|rwlock_try\w+|spin_\w+)|"
    r"mtx_trylock|setjmp|longjmp")

COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|//[^\n]*', re.S)
BY_NUMBER = re.compile(r"(?<!\w)(?:sbx_raw_syscall|syscall)\s*\(\s*SYS_(\w+)")


def code_of(path):
    """A file without what is no code; lines stay lines."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return COMMENT.sub(lambda found: "\n" * found[0].count("\n") if found[0][0] == "/" else '""', text)


def functions_of(code):
    """The bodies of a file's functions by their names, and what lies outside of them under ''."""
    bodies, name, outside, body = {"": ""}, None, [], []
    for line in code.split("\n"):
        if name is not None:
            body.append(line)
            if line == "}":
                bodies[name] = bodies.get(name, "") + "\n".join(body)
                name = None
        elif line == "{":
            head = []
            for before in reversed(outside):
                if not before or before[-1] in ";}" or before[0] in "#}":
                    break
                head.insert(0, before)
            head = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", " ".join(head))
            found = re.search(r"(\w+)\s*\(", head)
            if found:
                name, body = found[1], []
                del outside[len(outside) - len(head.split("\n")):]
            else:
                outside.append(line)
        else:
            outside.append(line)
    bodies[""] = "\n".join(outside)
    return bodies


def called(body, known):
    """The system calls that a body makes, by number or by the name of a known function."""
    calls = set(BY_NUMBER.findall(body))
    for found in re.finditer(r"(?<![\w.>])(\w+)\s*\(", body):
        calls |= known.get(found[1], frozenset())
    return calls


def files_of(root, suffix):
    for room in ("capture", "agent"):
        for folder, _, names in sorted(os.walk(os.path.join(root, room))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if name.endswith(suffix) and path != FILTER:
                    yield path


def inline_functions(root):
    """What the functions in headers call: it is called by who calls them."""
    known = {name: frozenset(calls.split()) for name, calls in CALLS.items()}
    bodies = {}
    for path in files_of(root, ".h"):
        for name, body in functions_of(code_of(os.path.join(root, path))).items():
            if name:
                bodies[name] = bodies.get(name, "") + body
    for _ in range(8):  # one calls another
        known |= {name: frozenset(called(body, known)) | known.get(name, frozenset()) for name, body in bodies.items()}
    return known


def read_table(path):
    """File -> (whose thread, {function: whose thread})."""
    table, row = {}, None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split("#")[0].split()
            if not words:
                continue
            if line[0].isspace():
                if row is None or words[0] not in THREADS or len(words) < 2:
                    sys.exit(f"{path}:{number}: not understood")
                row[1].update({name: words[0] for name in words[1:]})
            else:
                if len(words) != 2 or words[1] not in THREADS or words[0] in table:
                    sys.exit(f"{path}:{number}: not understood, or a file that stands above")
                row = table[words[0]] = (words[1], {})
    return table


def read_lists(root):
    code = code_of(os.path.join(root, FILTER))
    lists = {}
    for name in (THEIRS, BY_FILE, OURS, ASKING):
        found = re.search(rf"\b{name}\[\]\s*=\s*{{(.*?)}};", code, re.S)
        lists[name] = set(re.findall(r"SYS_(\w+)", found[1])) if found else set()
        if not lists[name]:
            sys.exit(f"{FILTER}: has no list {name}")
    return lists


def complaints_of_file(root, path, row, lists, known):
    bodies = functions_of(code_of(os.path.join(root, path)))
    others = {name: calls for name, calls in known.items() if name not in bodies}  # a function of its own of that name
    calls = {name: called(body, others) for name, body in bodies.items()}
    if not any(calls.values()):
        return [f"{path}: makes no system call, and stands in the table"] if row is not None else []
    if row is None:
        return [f"{path}: makes {' '.join(sorted(set().union(*calls.values())))}; the table does not say on whose threads"]
    whose, exceptions = row
    said = [f"{path}: {name}() makes no system call, and stands in the table"
            for name in exceptions if not calls.get(name)]
    for name, made in calls.items():
        thread = exceptions.get(name, whose)
        if THREADS[thread] is not None:
            judged = set().union(*(lists[one] for one in THREADS[thread]))
            said += [f"{path}: {name or 'a macro'}() calls {call} ({thread}), which no filter is judged by"
                     for call in sorted(made - judged)]
    return said


def taken_from_libc(library):
    done = subprocess.run([os.environ.get("NM", "nm"), "-D", "--undefined-only", library],
                          capture_output=True, text=True, check=True)
    return {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}


def main(root, table_path, library=None):
    table, lists, known = read_table(table_path), read_lists(root), inline_functions(root)
    paths = list(files_of(root, ".c"))
    said = [f"{path}: stands in the table, and is no file" for path in table if path not in paths]
    for path in paths:
        said += complaints_of_file(root, path, table.get(path), lists, known)
    if library is not None:
        said += [f"{name}: taken from the C library, and call_threads.py does not know what it calls"
                 for name in sorted(taken_from_libc(library)) if name not in CALLS and name != "syscall" and not QUIET.fullmatch(name)]
    for line in said:
        print(f"call_threads: {line}", file=sys.stderr)
    if not said:
        print(f"call_threads: {len(table)} files make system calls, each judged for its thread")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
