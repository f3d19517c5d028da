/* SPDX-License-Identifier: Apache-2.0 */
/* known_names.h - what well-known names of functions and modules tell. Pure.
 *
 * Tables of names only: libraries that no application's author can change, functions that run an event loop, collect
 * garbage, or enter the kernel. Each table says where its names come from. A name in no table belongs to an
 * application. */
#ifndef SBX_KNOWN_NAMES_H
#define SBX_KNOWN_NAMES_H

#include "report.h"

/* Base library: C and C++ run-time, allocators, the cores of event loops, our own agent. By module. */
bool sbx_is_base_module(const struct sbx_stall_module *module, const char *module_name);

/* Base library by function: what of a language's own library was inlined or instantiated into the application
 * ("std::sort<...>"), everything whose source lies in a folder of system headers, the callers of main, and functions
 * whose name says that they read a clock ("now_ms"). */
bool sbx_is_base_function(const struct sbx_location *location);

/* Is it the library of a managed runtime, by the function's own name? java.util..., and what the virtual machine makes
 * itself. No author of an application can change it, so its caller is to blame. `location` is a logical frame's. */
bool sbx_is_runtime_library(const struct sbx_location *location);

/* Is it one of those that only hand work to other threads: executors, queues, threads themselves? */
bool sbx_is_handing_library(const struct sbx_location *location);

/* The cause of a wait in this function of a managed runtime, of its virtual machine, or of PostgreSQL. Used if the
 * waiting call does not tell it: HotSpot builds its monitors and its sleep from conditions, and PostgreSQL builds its
 * locks from poll(). UNKNOWN: the name says nothing. */
enum sbx_cause sbx_cause_of_runtime_wait(const char *function);

/* A function of the JDK that waits until direct memory (ByteBuffer.allocateDirect()) is freed. It makes the collector
 * look for unused buffers, and sleeps. */
bool sbx_is_direct_memory_wait(const struct sbx_location *location);

/* A function of HotSpot that runs the initialiser of a class, or waits until another thread has run it. */
bool sbx_is_class_initialisation(const char *function);

/* Does this function run an event loop? Its caller waits for the loop's end, and has no part in what one message
 * does. */
bool sbx_is_loop_function(const char *function);

/* Is this an interpreter's executable? Its functions do not belong to the application, whose code is data to it. */
bool sbx_is_interpreter(const char *app_name);

/* The run-time whose collector has this function ("V8"); NULL: none. */
const char *sbx_collector_of(const char *function);

/* A function of HotSpot that discards compiled code, or that makes HotSpot do so (sets the target of a MutableCallSite,
 * loads a class on which code had relied). Also the mark that our provider puts on functions that had been compiled and
 * run without compiled code. */
bool sbx_is_deoptimization(const struct sbx_location *location);

/* What a thread that sleeps or works in the kernel does, by the function of libc that it called: "read" is IO, "munmap"
 * is MEMORY. UNKNOWN: not one of those. */
enum sbx_cause sbx_cause_of_libc_function(const char *function);

/* What a bare futex is, by a function between it and the application: LOCK for a function that takes a lock, WAIT for a
 * condition and the like, UNKNOWN if the name says neither. */
enum sbx_cause sbx_cause_of_futex_user(const char *function);

/* The run-time whose single lock for all its threads ("CPython": the GIL) this function takes or hands over. The
 * function is the nearest one with a name to the condition that is waited for. NULL: none. */
const char *sbx_interpreter_lock_of(const char *function);

/* The language of the code that this interpreter function runs ("Python"). NULL: it is no interpreter's loop and does
 * not enter one. */
const char *sbx_script_language_of(const char *function);

/* A remark on a wait in this function, if its name alone does not explain the wait; NULL: none. */
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
