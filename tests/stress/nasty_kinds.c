/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_kinds.c - the list of kinds, with the number of threads of each. */
#include "nasty_host.h"

const struct nasty_kind nasty_kinds[] = {
    {"churn", 2, nasty_churn},                           /* short-lived threads of all stack sizes, with destructors */
    {"crowd", 1, nasty_crowd},                           /* 2,000 threads at once */
    {"cancel", 2, nasty_cancel},                         /* deferred cancellation in each kind of call */
    {"cancel_async", 1, nasty_cancel_async},             /* asynchronous cancellation */
    {"cancel_destructors", 1, nasty_cancel_destructors}, /* cancellation through C++ destructors */
    {"exceptions", 1, nasty_exceptions}, /* C++ exceptions through qsort, across threads, thrown again */
    {"plugins", 2, nasty_plugins},       /* dlopen and dlclose of C++ plugins that throw */
    {"deepbind", 1, nasty_deepbind},     /* RTLD_DEEPBIND plugins with functions of their own */
    {"children", 2, nasty_children},     /* fork, vfork, posix_spawn, raw clone, _Fork, system, popen */
    {"coroutines", 1, nasty_coroutines}, /* that yield inside a stream's write function, or are destroyed there */
    {"small_coroutines", 1, nasty_small_coroutines},         /* on stacks of 2 KiB upwards, that only compute */
    {"migrating_coroutines", 2, nasty_migrating_coroutines}, /* that go on in another thread */
    {"jumps", 2, nasty_jumps},                               /* siglongjmp out of calls, loops, handlers */
    {"coroutine_jumps", 1, nasty_coroutine_jumps},           /* siglongjmp from a coroutine to the thread's stack */
    {"signals", 1, nasty_signals},                           /* timers, kill, tgkill, sigqueue at random */
    {"small_altstacks", 1, nasty_small_altstacks},           /* alternate stacks of 2 KiB upwards */
    {"drain", 1, nasty_drain},             /* all signals blocked, taken by sigtimedwait or signalfd */
    {"realtime", 1, nasty_realtime},       /* takes each real-time signal, one after another, and releases it */
    {"urgent_data", 1, nasty_urgent_data}, /* out-of-band data, with a SIGURG that nobody handles */
    {"take_urgent", 1, nasty_take_urgent}, /* a handler for SIGURG, or none, or ignored, in turns */
    {"by_pointer", 3, nasty_by_pointer},   /* calls by dlsym() pointers, none of which may be interrupted */
    {"getrandom", 1, nasty_getrandom},     /* 8 MiB at once */
    {"compute", 1, nasty_compute_check},   /* sums and errno, which no handler may change */
    {"stdio", 2, nasty_stdio},             /* streams, read back */
    {"bytes", 1, nasty_bytes},             /* pipes and sockets that lose nothing */
    {"locks", 3, nasty_locks},             /* mutexes of every type, read-write locks, spin locks */
    {"waits", 1, nasty_waits},             /* conditions, semaphores, barriers that lose no wake-up */
    {NULL, 0, NULL},
};
