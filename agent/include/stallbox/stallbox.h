/* SPDX-License-Identifier: Apache-2.0 */
/* stallbox.h - the public interface of libstallbox: a flight recorder for stalls inside your application.
 *
 * Start it once and forget it:
 *
 *     #include <stallbox/stallbox.h>
 *     int main(void) { stallbox_start(NULL); ... }
 *
 * From then on the call stacks of all threads go into a fixed-size recording. When the main thread's loop does not answer
 * for `anr_ms`, when one message takes longer than `slow_message_ms`, or when you ask, the seconds before are kept as a
 * file in SPOOL/raw, from where `stallbox deliver` (or `stallbox run`) encodes, redacts and uploads them. An application
 * that cannot be changed is run as `stallbox run -- ./application` instead: the same library, preloaded.
 *
 * The library links nothing but libc, starts two threads, and never calls exit, abort or printf. Everything here may be
 * called from any thread; what may be called from a signal handler says so. All calls are harmless before the start and
 * after the stop. Usable from C99, C11, C17 and C++. */
#ifndef STALLBOX_H
#define STALLBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STALLBOX_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define STALLBOX_EXPORT __attribute__((visibility("default")))
#else
#define STALLBOX_EXPORT
#endif

/* What a call came to. Numbers are fixed; new ones are appended. */
enum stallbox_result {
    STALLBOX_OK = 0,
    STALLBOX_NOT_RUNNING = 1,     /* no recorder is running in this process */
    STALLBOX_ALREADY_RUNNING = 2, /* it was started before (by `stallbox run`, perhaps): that one stays */
    STALLBOX_BAD_ARGUMENT = 3,    /* an option is out of range, or sizeof_options is not known */
    STALLBOX_NO_MEMORY = 4,
    STALLBOX_TIMED_OUT = 5,
    STALLBOX_DECLINED = 6,        /* switched off: STALLBOX_DISABLE is set, or the process runs set-user-id */
    STALLBOX_UNSUPPORTED = 7,     /* this kernel or C library lacks something without which nothing works */
    STALLBOX_IO_FAILED = 8        /* the recording or the spool could not be created */
};

/* How to start. Zero the struct, set sizeof_options, then what you want to differ; zero means the default. The size lets
 * the struct grow without breaking programs compiled against an older header. */
struct stallbox_options {
    size_t sizeof_options;      /* sizeof(struct stallbox_options) */
    const char *spool_path;     /* borrowed until return. Default: $XDG_STATE_HOME/stallbox/spool, else
                                   ~/.local/state/stallbox/spool */
    const char *recording_path; /* folder of the recording file; borrowed until return. Default: /dev/shm/stallbox-UID,
                                   else below the temporary folder */
    uint32_t anr_ms;            /* default 5000 */
    uint32_t slow_message_ms;   /* default 1000 */
    uint32_t interval_us;       /* a thread records a sample this often at most; 1000..1000000, default 5000 */
};

/* Running totals since the start. Zero the struct and set sizeof_counts; fields beyond it are not written. */
struct stallbox_counts {
    size_t sizeof_counts;
    uint64_t captures_sync;     /* records made by the threads themselves, at capture points */
    uint64_t captures_async;    /* samples of running threads taken by signal */
    uint64_t captures_observed; /* samples of blocked threads read from outside */
    uint64_t messages;          /* messages seen on the main thread's loop */
    uint64_t snapshots;         /* snapshots written */
    uint64_t dropped;           /* everything lost, of every kind; `stallbox ctl PID status` tells the kinds */
};

/* Start recording. `options` is copied and may be NULL for the defaults. The calling thread pays some milliseconds once.
 * Returns STALLBOX_OK, or why not; the application goes on unharmed in every case. */
STALLBOX_EXPORT enum stallbox_result stallbox_start(const struct stallbox_options *options);

/* Stop: take every hook out, stop our threads and remove the recording. What is in the spool stays. Waits for a snapshot
 * in flight, at most `timeout_ms`; STALLBOX_TIMED_OUT then says that it was left behind. Not from a signal handler. */
STALLBOX_EXPORT enum stallbox_result stallbox_stop(uint32_t timeout_ms);

/* Say whether a recorder is running in this process. May be called from a signal handler. */
STALLBOX_EXPORT bool stallbox_is_running(void);

/* Keep the recent past now, as a snapshot of kind `manual`. Waits until it is durable, at most `timeout_ms`; with 0 it
 * asks and returns at once. STALLBOX_IO_FAILED when the spool could not be written. Not from a signal handler. */
STALLBOX_EXPORT enum stallbox_result stallbox_snapshot(uint32_t timeout_ms);

/* Copy the running counts, up to counts->sizeof_counts. May be called from a signal handler. */
STALLBOX_EXPORT enum stallbox_result stallbox_read_counts(struct stallbox_counts *counts);

/* Name of a result, e.g. "STALLBOX_TIMED_OUT"; "STALLBOX_UNKNOWN" for other numbers; never NULL. Signal safe. */
STALLBOX_EXPORT const char *stallbox_result_name(enum stallbox_result result);

/* Version of the library actually loaded, e.g. "0.1.0". Signal safe. */
STALLBOX_EXPORT const char *stallbox_version(void);

#ifdef __cplusplus
}
#endif
#endif
