/* SPDX-License-Identifier: Apache-2.0 */
/* known_names.h - what the names of functions and modules tell that everybody knows. Pure.
 *
 * Tables of names only: libraries that no application's author can mend, functions that run an event loop, that collect
 * garbage, that enter the kernel. Each says where its names come from. What is not in a table is an application's. */
#ifndef SBX_KNOWN_NAMES_H
#define SBX_KNOWN_NAMES_H

#include "report.h"

/* Base library: C and C++ run-time, allocators, the cores of event loops, our own agent. By module. */
bool sbx_is_base_module(const struct sbx_stall_module *module, const char *module_name);

/* The same by function: what of a language's own library was inlined or instantiated into the application
 * ("std::sort<...>"), everything whose source lies in a folder of system headers, what called main, and what reads a clock by
 * every word of its name ("now_ms"). */
bool sbx_is_base_function(const struct sbx_location *location);

/* The library of a managed runtime, by the function's own name: java.util..., and what the machine makes itself. No
 * author of an application can mend it, and what called it is to blame. `location` is a logical frame's. */
bool sbx_is_runtime_library(const struct sbx_location *location);

/* Of those, what only hands work to other threads: executors, queues, threads themselves. */
bool sbx_is_handing_library(const struct sbx_location *location);

/* What a wait in this function of a managed runtime, of the machine below it, or of PostgreSQL is for, where the call that waits does
 * not tell: a condition is what HotSpot makes its monitors and its sleep of, and a poll what PostgreSQL makes its locks of. UNKNOWN: the name says nothing. */
enum sbx_cause sbx_cause_of_runtime_wait(const char *function);

/* A function of the JDK's that waits until direct memory (ByteBuffer.allocateDirect()) is given back: it has the collector look for unused buffers, and sleeps. */
bool sbx_is_direct_memory_wait(const struct sbx_location *location);

/* Of HotSpot: it runs the initialiser of a class, or waits until another thread has. */
bool sbx_is_class_initialisation(const char *function);

/* Runs an event loop: what called it waits for the loop's end, and has no part in what one message does. */
bool sbx_is_loop_function(const char *function);

/* An interpreter's executable: its functions are not the application's, whose code is data to it. */
bool sbx_is_interpreter(const char *app_name);

/* The run-time whose collector this function is ("V8"); NULL: it is none. */
const char *sbx_collector_of(const char *function);

/* Of HotSpot: it gives compiled code up, or has been asked to (the target of a MutableCallSite was set, a class was loaded on which code had relied); or the
 * mark that a provider of ours puts on what had been compiled and runs without that. */
bool sbx_is_deoptimization(const struct sbx_location *location);

/* What a thread that sleeps or works in the kernel is there for, by the function of libc it went through: "read" is IO,
 * "munmap" is MEMORY. UNKNOWN: not one of those. */
enum sbx_cause sbx_cause_of_libc_function(const char *function);

/* What a function between a bare futex and the application says the futex is: LOCK for one that takes a lock, WAIT for
 * a condition and the like, UNKNOWN when its name says neither. */
enum sbx_cause sbx_cause_of_futex_user(const char *function);

/* The run-time whose one lock for all its threads ("CPython": the GIL) this function takes or hands over, when it is
 * the nearest one with a name to a condition that is waited for; NULL: none. */
const char *sbx_interpreter_lock_of(const char *function);

/* The language whose code this function runs, the code itself being data to it ("Python"); NULL: it is no interpreter's
 * loop and does not enter one. */
const char *sbx_script_language_of(const char *function);

/* What a wait in this function is about, where its name alone does not say so to everybody; NULL: nothing to remark. */
const char *sbx_remark_on_function(const char *function);

/* Asks another process over a bus and waits for the answer. */
bool sbx_is_bus_function(const char *function);

/* Runs another program and waits for it. */
bool sbx_is_child_function(const char *function);

/* Is function `inner` a lambda that was written in function `outer`? */
bool sbx_is_lambda_of(const char *inner, const char *outer);

/* Looks up a name of the network. */
bool sbx_is_lookup_function(const char *function);

/* Whether a function only puts work into a queue, by every word of its name: "push_job", "ThreadPool::enqueue". */
bool sbx_only_queues(const char *function);

#endif
