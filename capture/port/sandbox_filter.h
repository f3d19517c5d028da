/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox_filter.h - would a seccomp filter end the program for a system call of ours? Pure.
 *
 * A program that sandboxes itself says what it will call from then on, and does not think of us. What its filter does to a
 * call is in the filter (classic BPF over struct seccomp_data, Documentation/userspace-api/seccomp_filter.rst), which only
 * its installer has: so it is judged before the kernel gets it (points/point_sandbox.c). */
#ifndef SBX_SANDBOX_FILTER_H
#define SBX_SANDBOX_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SBX_FILTER_LENGTH_MAX = 4096
}; /* BPF_MAXINSNS: the kernel takes no longer ones */

/* What may be in the accumulator in front of an instruction. */
struct sbx_filter_step {
    uint32_t value;
    uint8_t is_reached, is_known;
};

/* The system calls that the recorder makes on threads of the program, and those of its own two threads. A filter that lets
 * all of them pass, or refuses them with an error, harms nobody. */
extern const uint16_t sbx_calls_on_their_threads[], sbx_calls_on_our_threads[];
extern const size_t sbx_calls_on_their_threads_count, sbx_calls_on_our_threads_count;

/* What is called for samples of running threads alone, on the program's threads and ours: these end where that is harmful. */
extern const uint16_t sbx_calls_for_asking[];
extern const size_t sbx_calls_for_asking_count;

/* Could the filter do anything to system call `call` but let it pass or fail it with an error: kill, trap, or ask somebody?
 * What is not understood is harmful, and so is what depends on more than the number. `steps` is room for `length` of them.
 * Time is linear in `length`. */
bool sbx_filter_harms_call(const struct sock_filter *code, size_t length, uint32_t call, struct sbx_filter_step *steps);

/* Is there anything at all for which it does so? Of a filter without, no call need be judged. */
bool sbx_filter_can_harm(const struct sock_filter *code, size_t length);

/* The same of every call of ours: on the program's threads, and with `for_all_threads` on our own too. `copies_by_file`: stacks
 * are read in /proc/self/mem. */
bool sbx_filter_harms_us(const struct sock_filter *code, size_t length, bool for_all_threads, bool copies_by_file,
                         struct sbx_filter_step *steps);

/* The same of what is called for samples of running threads. */
bool sbx_filter_harms_asking(const struct sock_filter *code, size_t length, struct sbx_filter_step *steps);

#endif
