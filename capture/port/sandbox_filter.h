/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox_filter.h - would a seccomp filter end the program because of a system call of the agent? Pure.
 *
 * A program that sandboxes itself lists the system calls that it will make from then on, and does not know of the
 * agent's. What the filter does to a call is in its code (classic BPF over struct seccomp_data,
 * Documentation/userspace-api/seccomp_filter.rst). Only the code that installs the filter has it. So the filter is
 * judged before the kernel gets it (points/point_sandbox.c). */
#ifndef SBX_SANDBOX_FILTER_H
#define SBX_SANDBOX_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SBX_FILTER_LENGTH_MAX = 4096
}; /* BPF_MAXINSNS: the kernel accepts no longer filters */

/* What may be in the accumulator before an instruction. */
struct sbx_filter_step {
    uint32_t value;
    uint8_t is_reached, is_known;
};

/* The system calls that the recorder makes on threads of the program, and those that it makes on its own two threads. A
 * filter harms nothing if it lets all of them pass or refuses them with an error. */
extern const uint16_t sbx_calls_on_their_threads[], sbx_calls_on_our_threads[];
extern const size_t sbx_calls_on_their_threads_count, sbx_calls_on_our_threads_count;

/* The system calls that are only made for samples of running threads, on the program's threads and the agent's. Where
 * they are harmful, such samples end. */
extern const uint16_t sbx_calls_for_asking[];
extern const size_t sbx_calls_for_asking_count;

/* Could the filter do anything to system call `call` other than let it pass or fail it with an error: kill, trap, or
 * ask another process? A filter that is not understood counts as harmful, and so does one that depends on more than
 * the number. `steps` has room for `length` elements. The time is linear in `length`. */
bool sbx_filter_harms_call(const struct sock_filter *code, size_t length, uint32_t call, struct sbx_filter_step *steps);

/* Could the filter do so for any system call? If not, no call need be judged. */
bool sbx_filter_can_harm(const struct sock_filter *code, size_t length);

/* The same for every call of the agent: on the program's threads, and, with `for_all_threads`, on its own threads too.
 * `copies_by_file`: stacks are read from /proc/self/mem. */
bool sbx_filter_harms_us(const struct sock_filter *code, size_t length, bool for_all_threads, bool copies_by_file,
                         struct sbx_filter_step *steps);

/* The same for the calls that are made for samples of running threads. */
bool sbx_filter_harms_asking(const struct sock_filter *code, size_t length, struct sbx_filter_step *steps);

#endif
