/* SPDX-License-Identifier: Apache-2.0 */
/* known_names.c - what well-known names of functions and modules tell. */
#include "known_names.h"

#include <ctype.h>
#include <string.h>

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool begins_with_one(const char *name, const char *const *prefixes)
{
    for (; name != NULL && *prefixes != NULL; prefixes++) {
        if (begins_with(name, *prefixes)) {
            return true;
        }
    }
    return false;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; name != NULL && *names != NULL; names++) {
        if (strcmp(name, *names) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- base library ---- */

bool sbx_is_base_module(const struct sbx_stall_module *module, const char *module_name)
{
    static const char *const names[] = {
        /* C and C++ */
        "libc.so", "ld-linux", "ld-musl", "libpthread.so", "libm.so", "libmvec.so", "libdl.so", "librt.so",
        "libresolv.so", "libutil.so", "libanl.so", "libnss_", "libstdc++.so", "libc++", "libgcc_s.so", "libatomic.so",
        "libgomp.so", "libunwind",
        /* allocators and sanitizers */
        "libjemalloc.so", "libtcmalloc", "libmimalloc.so", "libtbbmalloc.so", "libasan.so", "libubsan.so", "libtsan.so",
        "liblsan.so", "libgc.so",
        /* parts of event loops and of calls through tables */
        "libglib-2.0.so", "libgobject-2.0.so", "libgthread-2.0.so", "libgio-2.0.so", "libffi.so", "libuv.so",
        "libevent", "libev.so", "libdbus-1.so", "libsystemd.so", "libQt5Core.so", "libQt6Core.so", NULL};
    return module->kind == SBX_MODULE_KIND_AGENT || module->kind == SBX_MODULE_KIND_VDSO ||
           module->kind == SBX_MODULE_KIND_OTHER || begins_with_one(module->name, names) ||
           (module->kind != SBX_MODULE_KIND_APP && begins_with_one(module_name, names));
}

/* The last part of a qualified name, without its parameters: "app::Clock::now() const" is "now". */
static size_t find_last_part(const char *function, const char **part_out)
{
    static const char unnamed[] = "(anonymous namespace)::"; /* this "(" begins no parameters */
    size_t end = strcspn(function, "(<[");
    while (strncmp(function + end, unnamed, sizeof unnamed - 1) == 0) {
        end += sizeof unnamed - 1;
        end += strcspn(function + end, "(<[");
    }
    size_t begin = end;
    while (begin > 0 && function[begin - 1] != ':' && function[begin - 1] != ' ') {
        begin--;
    }
    *part_out = function + begin;
    return end - begin;
}

/* The next word of a name, in small letters: "nowMs" and "now_ms" are "now" and "ms". Empty at the end, or if the word
 * is longer than all known words. */
static size_t take_word(const char *part, size_t bytes, size_t at, char word[16])
{
    size_t length = 0;
    while (at < bytes && !isalpha((unsigned char)part[at])) {
        at++;
    }
    while (at < bytes && length < 15 && isalpha((unsigned char)part[at]) &&
           (length == 0 || !isupper((unsigned char)part[at]) || isupper((unsigned char)part[at - 1]))) {
        word[length++] = (char)tolower((unsigned char)part[at++]);
    }
    word[length] = '\0';
    return at;
}

/* Does a function read a clock, by its name? Every word of the name says so ("now_ms", "cpu_seconds", "monotonicTime"),
 * or every word but the first if the others leave no doubt ("app_now_ms", "app_read_clock"; but save_now() saves, and
 * wait_ms() waits). If a function reads the time again and again, the caller is the one to name, not the clock
 * function. */
static bool is_clock_name(const char *function)
{
    static const char *const clocks[] = {"now",     "time",         "clock",  "clk",       "timestamp",
                                         "gettime", "gettimeofday", "hrtime", "monotonic", NULL};
    static const char *const units[] = {"ms",           "us",           "ns",          "usec",   "msec",   "nsec",
                                        "sec",          "secs",         "seconds",     "millis", "micros", "nanos",
                                        "milliseconds", "microseconds", "nanoseconds", NULL};
    static const char *const asks[] = {"get", "read", "current", "cur", NULL};
    static const char *const others[] = {"my",     "wall",   "mono",    "real",   "realtime", "thread", "process",
                                         "steady", "system", "in",      "of",     "as",       "cpu",    "hr",
                                         "hires",  "high",   "precise", "since",  "epoch",    "f",      "d",
                                         "i",      "u",      "t",       "double", "float",    "int",    NULL};
    const char *part;
    size_t bytes = find_last_part(function, &part);
    bool has_clock = false, has_now = false, has_unit = false, is_asked = false, has_prefix = false;
    for (size_t at = 0, words = 0; at < bytes; words++) {
        char word[16];
        at = take_word(part, bytes, at, word);
        if (word[0] == '\0') {
            continue;
        }
        bool is_clock = is_one_of(word, clocks), is_unit = is_one_of(word, units), is_ask = is_one_of(word, asks);
        if (!is_clock && !is_unit && !is_ask && !is_one_of(word, others)) {
            if (words > 0) {
                return false;
            }
            has_prefix = true;
        }
        has_clock |= is_clock;
        has_now |= strcmp(word, "now") == 0;
        has_unit |= is_unit;
        is_asked |= is_ask;
    }
    return has_prefix ? (has_now && has_unit) || (has_clock && is_asked) : has_clock || has_unit;
}

bool sbx_only_queues(const char *function)
{
    static const char *const verbs[] = {"post",   "push",  "enqueue", "submit", "schedule", "queue",   "dispatch",
                                        "invoke", "defer", "add",     "put",    "send",     "emplace", "append",
                                        "async",  "spawn", "execute", "call",   "run",      NULL};
    static const char *const others[] = {
        "task", "tasks",  "job",      "jobs", "work",    "item",     "event",   "message", "msg",
        "idle", "timer",  "callback", "cb",   "func",    "function", "closure", "to",      "in",
        "on",   "into",   "for",      "pool", "thread",  "threads",  "main",    "loop",    "ui",
        "gui",  "worker", "later",    "soon", "delayed", "after",    "back",    "front",   "new",
        "the",  "my",     "do",       "and",  "impl",    "internal", NULL};
    static const char own[] = "stallbox::"; /* the C++ wrapper of the public header, compiled into the program */
    const char *part;
    if (strncmp(function, own, sizeof own - 1) == 0) {
        return true;
    }
    size_t bytes = find_last_part(function, &part);
    bool has_verb = false;
    for (size_t at = 0; at < bytes;) {
        char word[16];
        at = take_word(part, bytes, at, word);
        if (word[0] == '\0') {
            continue;
        }
        bool is_verb = is_one_of(word, verbs);
        if (!is_verb && !is_one_of(word, others)) {
            return false;
        }
        has_verb |= is_verb;
    }
    return has_verb;
}

/* Prefixes of "std::sort<...>(...)". Demangling may put a return type before the name of a template. */
bool sbx_is_base_function(const struct sbx_location *location)
{
    static const char *const prefixes[] = {
        "std::",
        "__gnu_cxx::",
        "core::",
        "alloc::",
        "operator new",
        "operator delete",
        "__gthread_",
        "__gthrw_",
        "stallbox_lua_" /* Lua's binding to this library, compiled into the application */,
        "uv__" /* inside libuv, also if it is a part of the executable as in node */,
        NULL};
    static const char *const names[] = {
        "_start", "__libc_start_main" /* callers of main */, "uv_run",
        /* PostgreSQL's wait for all events (latch.c), and for a lock on a table or row (proc.c, lock.c) */
        "WaitEventSetWait", "WaitLatch", "WaitLatchOrSocket", "ProcSleep", "LockAcquireExtended", "LockAcquire", NULL};
    static const char *const folders[] = {"/usr/include/", "/usr/lib/gcc", "/usr/local/include/", "/rustc/", NULL};
    const char *function = location->function;
    size_t name_end = strcspn(function, "<("), begin = name_end;
    while (begin > 0 && function[begin - 1] != ' ') {
        begin--;
    }
    return begins_with_one(function, prefixes) || begins_with_one(function + begin, prefixes) ||
           is_one_of(function, names) || begins_with_one(location->file, folders) || is_clock_name(function);
}

/* ---- managed runtimes ---- */

/* Java's provider marks a method that had been compiled and runs without compiled code. */
static bool is_deoptimized_mark(const struct sbx_location *location)
{
    return strcmp(location->module, "java") == 0 && strcmp(location->function, "(deoptimized)") == 0;
}

bool sbx_is_runtime_library(const struct sbx_location *location)
{
    /* The packages that come with every JDK. Lambdas, method handles and reflection are classes that the virtual
     * machine makes. */
    static const char *const java[] = {"java.",    "javax.",       "jdk.",         "sun.",
                                       "com.sun.", "org.xml.sax.", "org.w3c.dom.", NULL};
    if (location->named && location->file != NULL &&
        strcmp(location->module, "python") == 0) { /* libstallbox-cpython.so sets this file */
        return begins_with(location->file, "python3.") || begins_with(location->file, "<frozen ") ||
               begins_with(location->file, "<gc>");
    }
    if (location->named && location->file != NULL && strcmp(location->module, "javascript") == 0) {
        return begins_with(location->file,
                           "node:"); /* node's own scripts; libstallbox-v8.so names collections in the same way */
    }
    return location->named && strcmp(location->module, "java") == 0 &&
           (begins_with_one(location->function, java) || strstr(location->function, "$$Lambda.") != NULL ||
            begins_with(location->function, "$Proxy.") || is_deoptimized_mark(location));
}

bool sbx_is_handing_library(const struct sbx_location *location)
{
    static const char *const java[] = {"java.util.concurrent.",   "java.util.Timer",    "java.lang.Thread.",
                                       "java.lang.Object.notify", "jdk.internal.misc.", NULL};
    static const char *const python[] = {"/threading.py", "/queue.py", "/concurrent/futures/", NULL};
    bool is_python = strcmp(location->module, "python") == 0;
    if (!sbx_is_runtime_library(location)) {
        return false;
    }
    for (int i = 0; is_python && python[i] != NULL; i++) {
        if (strstr(location->file, python[i]) != NULL) {
            return true;
        }
    }
    return !is_python && begins_with_one(location->function, java);
}

enum sbx_cause sbx_cause_of_runtime_wait(const char *function)
{
    static const char *const sleeps[] = {"java.lang.Thread.sleep", "pg_sleep", NULL};
    /* Monitors, and waits for a lock of java.util.concurrent. await() and Object.wait() do not wait for a lock. */
    static const char *const locks[] = {"ObjectMonitor::enter(",
                                        "ObjectMonitor::EnterI(",
                                        "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire",
                                        "java.util.concurrent.locks.AbstractQueuedLongSynchronizer.acquire",
                                        "java.util.concurrent.locks.StampedLock.acquire",
                                        "ProcSleep" /* PostgreSQL: waits for another session */,
                                        NULL};
    static const char *const waits[] = {"java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await",
                                        "java.lang.Object.wait", "java.util.concurrent.Semaphore.acquire",
                                        "java.util.concurrent.CountDownLatch.await", NULL};
    return is_one_of(function, sleeps)        ? SBX_CAUSE_SLEEP
           : begins_with_one(function, locks) ? SBX_CAUSE_LOCK
           : begins_with_one(function, waits) ? SBX_CAUSE_WAIT
                                              : SBX_CAUSE_UNKNOWN;
}

bool sbx_is_direct_memory_wait(const struct sbx_location *location)
{
    return location->named && strcmp(location->module, "java") == 0 &&
           strcmp(location->function, "java.nio.Bits.reserveMemory") == 0;
}

bool sbx_is_class_initialisation(const char *function)
{
    return begins_with(function, "InstanceKlass::initialize_impl(");
}

bool sbx_is_loop_function(const char *function)
{
    static const char *const names[] = {"g_main_loop_run",
                                        "g_main_context_dispatch",
                                        "g_main_context_iteration",
                                        "g_application_run",
                                        "gtk_main",
                                        "gtk_dialog_run",
                                        "uv_run",
                                        "uv_loop_run",
                                        "event_base_loop",
                                        "event_base_dispatch",
                                        "event_loop",
                                        "ev_run",
                                        "sd_event_loop",
                                        "sd_event_run",
                                        "glutMainLoop",
                                        "wl_event_loop_dispatch",
                                        NULL};
    static const char *const prefixes[] = {"QEventLoop::exec",
                                           "QCoreApplication::exec",
                                           "QApplication::exec",
                                           "QEventDispatcherGlib::processEvents",
                                           "QEventDispatcherUNIX::processEvents",
                                           "boost::asio::detail::scheduler::run",
                                           "asio::detail::scheduler::run",
                                           NULL};
    return is_one_of(function, names) || begins_with_one(function, prefixes);
}

bool sbx_is_interpreter(const char *app_name)
{
    static const char *const prefixes[] = {"python", "node",   "ruby", "perl",  "php",   "lua",  "java",
                                           "mono",   "dotnet", "gjs",  "guile", "beam.", "deno", NULL};
    return begins_with_one(app_name, prefixes);
}

/* ---- the purpose of a function ---- */

/* Entry points of the collectors, from their sources: V8, HotSpot, Boehm, Lua, CPython, CRuby, Go, OCaml, Mono, PHP. */
const char *sbx_collector_of(const char *function)
{
    static const struct {
        const char *prefix, *runtime;
    } collectors[] = {
        {"v8::internal::Heap::CollectGarbage", "V8"},
        {"v8::internal::Heap::CollectAllGarbage", "V8"},
        {"v8::internal::Heap::CollectAllAvailableGarbage", "V8"},
        {"v8::internal::Heap::PerformGarbageCollection", "V8"},
        {"v8::internal::Heap::PreciseCollectAllGarbage", "V8"},
        {"v8::internal::MarkCompactCollector::", "V8"},
        {"v8::internal::Scavenger", "V8"},
        {"v8::internal::IncrementalMarking::", "V8"},
        {"VM_GC_Operation::", "HotSpot"},
        {"VM_G1Collect", "HotSpot"},
        {"VM_GenCollect", "HotSpot"},
        {"VM_ParallelGC", "HotSpot"},
        {"SafepointSynchronize::block(", "HotSpot"}, /* stopped for a collection, or asked for one */
        {"SafepointMechanism::process", "HotSpot"},
        {"VMThread::execute(", "HotSpot"},
        {"GC_try_to_collect", "Boehm"},
        {"GC_gcollect", "Boehm"},
        {"GC_collect_or_expand", "Boehm"},
        {"GC_collect_a_little", "Boehm"},
        {"GC_stopped_mark", "Boehm"},
        {"luaC_step", "Lua"},
        {"luaC_fullgc", "Lua"},
        {"singlestep", "Lua"},
        {"lj_gc_step", "LuaJIT"},
        {"lj_gc_fullgc", "LuaJIT"},
        {"(garbage collection)", "CPython"},
        {"(garbage collector)", "V8"},
        {"gc_collect_main", "CPython"},
        {"gc_collect_generations", "CPython"},
        {"gc_collect_with_callback", "CPython"},
        {"PyGC_Collect", "CPython"},
        {"_PyGC_Collect", "CPython"},
        {"garbage_collect", "CRuby"},
        {"gc_marks", "CRuby"},
        {"gc_sweep", "CRuby"},
        {"rb_gc_start", "CRuby"},
        {"runtime.gcStart", "Go"},
        {"runtime.gcAssistAlloc", "Go"},
        {"runtime.gcMarkTermination", "Go"},
        {"caml_major_collection_slice", "OCaml"},
        {"caml_empty_minor_heap", "OCaml"},
        {"caml_gc_", "OCaml"},
        {"sgen_perform_collection", "Mono"},
        {"sgen_stop_world", "Mono"},
        {"zend_gc_collect_cycles", "PHP"},
        {"gc_possible_root_when_full", "PHP"},
    };
    for (size_t i = 0; i < sizeof collectors / sizeof collectors[0]; i++) {
        if (begins_with(function, collectors[i].prefix)) {
            return collectors[i].runtime;
        }
    }
    return NULL;
}

bool sbx_is_deoptimization(const struct sbx_location *location)
{
    static const char *const machine[] = {"Deoptimization::",
                                          "DeoptimizationScope::",
                                          "vframeArray::",
                                          "CodeCache::flush_dependents",
                                          "CodeCache::mark_dependents",
                                          "MHN_setCallSiteTarget",
                                          "MethodHandles::flush_dependent",
                                          "MethodHandles::mark_dependent",
                                          "JavaThread::deoptimize_marked_methods",
                                          NULL};
    if (location->logical) {
        return is_deoptimized_mark(location);
    }
    return begins_with_one(location->function, machine);
}

/* glibc's own names of one function: "__GI___libc_read", "__read_nocancel", "fstatat64". */
static size_t copy_bare_name(const char *function, char *out, size_t room)
{
    static const char *const decorations[] = {"__GI_", "__libc_", "__new_", "__", "_IO_", "_", NULL};
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; decorations[i] != NULL && !again; i++) {
            if (begins_with(function, decorations[i])) {
                function += strlen(decorations[i]);
                again = true;
            }
        }
    }
    size_t length = strcspn(function, "@(");
    length = length < room ? length : room - 1;
    memcpy(out, function, length);
    out[length] = 0;
    static const char *const endings[] = {"_nocancel", "64", "_time64", NULL};
    for (size_t i = 0; endings[i] != NULL; i++) {
        size_t bytes = strlen(endings[i]);
        if (length > bytes && strcmp(out + length - bytes, endings[i]) == 0) {
            length -= bytes;
            out[length] = 0;
        }
    }
    return length;
}

enum sbx_cause sbx_cause_of_libc_function(const char *function)
{
    static const char *const io[] = {"read",       "write",         "pread",     "pwrite",
                                     "readv",      "writev",        "preadv",    "pwritev",
                                     "open",       "openat",        "close",     "creat",
                                     "lseek",      "stat",          "fstat",     "lstat",
                                     "fstatat",    "statx",         "xstat",     "fxstat",
                                     "lxstat",     "access",        "faccessat", "readlink",
                                     "readlinkat", "getdents",      "rename",    "renameat",
                                     "unlink",     "unlinkat",      "mkdir",     "rmdir",
                                     "link",       "symlink",       "truncate",  "ftruncate",
                                     "fallocate",  "fsync",         "fdatasync", "sync",
                                     "syncfs",     "msync",         "sendfile",  "copy_file_range",
                                     "splice",     "statfs",        "fstatfs",   "flock",
                                     "fcntl",      "posix_fadvise", "readahead", "inotify_add_watch",
                                     "chmod",      "utimensat",     NULL};
    static const char *const network[] = {"connect",  "accept", "accept4",  "send",       "sendto",     "sendmsg",
                                          "sendmmsg", "recv",   "recvfrom", "recvmsg",    "recvmmsg",   "shutdown",
                                          "bind",     "listen", "socket",   "setsockopt", "getsockopt", NULL};
    static const char *const memory[] = {"mmap", "munmap", "mremap",  "mprotect", "madvise", "brk",
                                         "sbrk", "mlock",  "munlock", "mlockall", "mincore", NULL};
    static const char *const process[] = {"fork",        "vfork",  "clone", "clone3",  "clone_internal",
                                          "posix_spawn", "execve", "wait4", "waitpid", "waitid",
                                          "pipe",        "pipe2",  "kill",  NULL};
    char name[40];
    copy_bare_name(function, name, sizeof name);
    return is_one_of(name, io)        ? SBX_CAUSE_IO
           : is_one_of(name, network) ? SBX_CAUSE_NETWORK
           : is_one_of(name, memory)  ? SBX_CAUSE_MEMORY
           : is_one_of(name, process) ? SBX_CAUSE_IPC
                                      : SBX_CAUSE_UNKNOWN;
}

/* Whether a word of the name begins with `word`: at the name's beginning, after a character that is no letter, or as a
 * capital after a small letter. */
static bool has_word(const char *name, const char *word)
{
    size_t bytes = strlen(word);
    for (const char *at = name; *at != 0; at++) {
        if (strncasecmp(at, word, bytes) != 0) {
            continue;
        }
        bool begins = at == name || !isalpha((unsigned char)at[-1]) ||
                      (islower((unsigned char)at[-1]) && isupper((unsigned char)at[0]));
        if (begins) {
            return true;
        }
    }
    return false;
}

enum sbx_cause sbx_cause_of_futex_user(const char *function)
{
    static const char *const waits[] = {"cond", "wait", "event", "sem",   "barrier", "latch", "future",
                                        "join", "park", "once",  "queue", "channel", NULL};
    static const char *const locks[] = {"mutex", "lock", "rwlock", "spinlock", "lll", "acquire", NULL};
    size_t bytes = strcspn(function, "(<");
    char name[160];
    bytes = bytes < sizeof name ? bytes : sizeof name - 1;
    memcpy(name, function, bytes);
    name[bytes] = 0;
    const char *last = name; /* the last two parts of a qualified name: "Condvar::wait" */
    for (size_t at = bytes, seen = 0; at > 1; at--) {
        if (name[at - 1] == ':' && name[at - 2] == ':' && ++seen == 2) {
            last = name + at;
            break;
        }
    }
    const char *plain = strrchr(last, ':') != NULL ? strrchr(last, ':') + 1 : last;
    if (begins_with(plain + strspn(plain, "_"), "futex_")) {
        return SBX_CAUSE_UNKNOWN; /* the system call itself: a lock waits in futex_wait(), too */
    }
    for (size_t i = 0; locks[i] != NULL; i++) {
        if (has_word(last, locks[i]) && !has_word(last, "cond") && !has_word(last, "condvar")) {
            return SBX_CAUSE_LOCK; /* also for mutex_lock_wait() */
        }
    }
    for (size_t i = 0; waits[i] != NULL; i++) {
        if (has_word(last, waits[i])) {
            return SBX_CAUSE_WAIT;
        }
    }
    return SBX_CAUSE_UNKNOWN;
}

/* A function's name and its meaning. */
struct meaning {
    const char *function, *text;
};

static const char *meaning_of(const char *function, const struct meaning *meanings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(function, meanings[i].function) == 0) {
            return meanings[i].text;
        }
    }
    return NULL;
}

/* From the sources of the run-times: Python/ceval_gil.c and pystate.c, thread.c of CRuby, otherlibs/systhreads of
 * OCaml. */
const char *sbx_interpreter_lock_of(const char *function)
{
    static const struct meaning locks[] = {
        {"take_gil", "CPython"},
        {"PyEval_RestoreThread", "CPython"},
        {"PyEval_AcquireThread", "CPython"},
        {"PyEval_AcquireLock", "CPython"},
        {"PyGILState_Ensure", "CPython"},
        {"_PyEval_EvalFrameDefault", "CPython"}, /* take_gil() may be inlined or stripped */
        {"PyEval_SaveThread", "CPython"},        /* drop_gil(): gives it away and waits until it is taken */
        {"gvl_acquire", "CRuby"},
        {"thread_sched_to_running", "CRuby"},
        {"caml_leave_blocking_section", "OCaml"},
        {"caml_acquire_domain_lock", "OCaml"},
    };
    return meaning_of(function, locks, sizeof locks / sizeof locks[0]);
}

const char *sbx_script_language_of(const char *function)
{
    static const struct meaning loops[] = {
        {"_PyEval_EvalFrameDefault", "Python"},
        {"PyEval_EvalCode", "Python"},
        {"Builtins_InterpreterEntryTrampoline", "JavaScript"},
        {"Builtins_JSEntryTrampoline", "JavaScript"},
        {"Builtins_JSEntry", "JavaScript"},
        {"vm_exec_core", "Ruby"},
        {"rb_vm_exec", "Ruby"},
        {"luaV_execute", "Lua"},
        {"lua_pcall", "Lua"},
        {"lua_pcallk", "Lua"},
        {"lua_callk", "Lua"},
        {"execute_ex", "PHP"},
        {"Perl_runops_standard", "Perl"},
    };
    return meaning_of(function, loops, sizeof loops / sizeof loops[0]);
}

const char *sbx_remark_on_function(const char *function)
{
    static const struct meaning remarks[] = {
        {"sqlite3InvokeBusyHandler",
         "SQLite asks again and again for a lock that another connection or process has on the database"},
        {"sqliteDefaultBusyCallback",
         "SQLite asks again and again for a lock that another connection or process has on the database"},
        {"ProcSleep", "another session of PostgreSQL has the lock: pg_locks and pg_blocking_pids() tell which"},
    };
    return meaning_of(function, remarks, sizeof remarks / sizeof remarks[0]);
}

bool sbx_is_bus_function(const char *function)
{
    static const char *const prefixes[] = {
        "dbus_connection_", "dbus_pending_call_", "_dbus_connection_",        "g_dbus_",
        "sd_bus_call",      "QDBusConnection::",  "QDBusAbstractInterface::", NULL};
    return begins_with_one(function, prefixes);
}

/* child_process.execSync() of node, QProcess, GSubprocess: they poll for the child's pipes and the child's end. */
bool sbx_is_child_function(const char *function)
{
    static const char *const prefixes[] = {"node::SyncProcessRunner::",
                                           "spawnSync" /* and in node's own scripts, if the native code has no names */,
                                           "QProcess::waitFor",
                                           "java.lang.ProcessImpl.waitFor",
                                           "QProcess::execute",
                                           "g_spawn_sync",
                                           "g_spawn_command_line_sync",
                                           "g_subprocess_",
                                           "boost::process::",
                                           "Poco::ProcessHandle",
                                           NULL};
    return begins_with_one(function, prefixes);
}

/* GCC and Clang write "f(int)::{lambda(int)#1}::operator()(int) const", or in types "f(int)::<lambda(int)>". If only
 * debug information names it: "f::{lambda}::operator()". */
bool sbx_is_lambda_of(const char *inner, const char *outer)
{
    const char *mark = strstr(inner, "::{lambda");
    mark = mark != NULL ? mark : strstr(inner, "::<lambda");
    static const char unnamed[] = "(anonymous namespace)";
    size_t bytes = 0; /* without its parameters */
    while (outer[bytes] != '\0' && (outer[bytes] != '(' || begins_with(outer + bytes, unnamed))) {
        bytes += outer[bytes] == '(' ? sizeof unnamed - 1 : 1;
    }
    if (mark == NULL || strncmp(inner, outer, bytes) != 0) {
        return false;
    }
    return inner + bytes == mark || (inner + bytes < mark && inner[bytes] == '(');
}

bool sbx_is_lookup_function(const char *function)
{
    static const char *const prefixes[] = {
        "getaddrinfo", "gethostbyname",  "gethostbyaddr", "getnameinfo", "__res_",       "res_query", "res_search",
        "res_nsend",   "__res_context_", "_nss_dns_",     "_nss_mdns",   "_nss_resolve", NULL};
    return begins_with_one(function, prefixes);
}
