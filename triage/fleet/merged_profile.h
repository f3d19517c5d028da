/* SPDX-License-Identifier: Apache-2.0 */
/* merged_profile.h - the profiles of many stalls (stall_profile.h) added up, and those of others to compare them with. Pure.
 *
 * One tree: a node is a function in a chain of callers, with the time of all stalls on this side and on the other. Bounded:
 * a tree has at most SBX_MERGED_NODES_MAX nodes; what would be more is time of the innermost node that could still be had, and
 * `is_cut` says so.
 *
 * Nodes are named by their path in addresses of pages: the number stays the same when stalls come or go. */
#ifndef SBX_MERGED_PROFILE_H
#define SBX_MERGED_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stall_profile.h"

enum {
    SBX_MERGED_NODES_MAX = 1 << 16,
    SBX_MERGED_DEPTH_MAX = 512,
    SBX_MERGED_WEIGHT_MAX = 1 << 20, /* a stall that stands for more is taken for so many */
};

enum sbx_merged_side {
    SBX_MERGED_HERE = 0,
    SBX_MERGED_BASE = 1, /* what it is compared with */
    SBX_MERGED_SIDES = 2,
};

struct sbx_merged_node {
    const char *name;                           /* owned by the profile; "" of the root */
    uint64_t path;                              /* a hash of the names from the root to it; never 0 but of the root */
    uint32_t parent, first_child, next_sibling; /* 0: none */
    uint32_t depth;                             /* root: 0 */
    double self_us[SBX_MERGED_SIDES], total_us[SBX_MERGED_SIDES]; /* total: of it and all below; once settled */
    double by_state_us[SBX_STALL_PROFILE_STATES];                 /* the total of HERE, by enum sbx_span_state */
    uint32_t stalls[SBX_MERGED_SIDES];                            /* that it was met in */
};

struct sbx_merged_profile {
    struct sbx_merged_node *nodes; /* the first is the root */
    uint32_t count, capacity;
    uint32_t *slots; /* hash of (parent, name) -> node; 0 empty; a power of two of them */
    uint32_t slot_count;
    uint32_t stalls[SBX_MERGED_SIDES]; /* that were added */
    double weight[SBX_MERGED_SIDES];   /* how many they stand for */
    bool is_cut;
};

/* Returns 0 or -ENOMEM. Finish releases; a zeroed value is fine. */
int sbx_merged_profile_init(struct sbx_merged_profile *profile);
void sbx_merged_profile_finish(struct sbx_merged_profile *profile);

/* Add one stall that stands for `weight`. Returns 0, -EPROTO when the text is none (then nothing of it was added), or -ENOMEM. */
int sbx_merged_profile_add(struct sbx_merged_profile *profile, const char *text, size_t bytes, uint32_t weight,
                           enum sbx_merged_side side);

/* Sum up what was added, and put the longest children first. Afterwards nothing is added. */
void sbx_merged_profile_settle(struct sbx_merged_profile *profile);

/* The node with this path; 0, which is the root, when there is none. */
uint32_t sbx_merged_profile_find(const struct sbx_merged_profile *profile, uint64_t path);

/* Where `function` is: every call of it with what it called, added up below one node (`callees`), and the chains of its callers, from
 * it outwards (`callers`). Of a call inside of itself the outermost counts. Both are initialized here and settled (finish them).
 * `profile` is settled. Returns how many chains it was found in, or -ENOMEM. */
int sbx_merged_profile_around(const struct sbx_merged_profile *profile, const char *function,
                              struct sbx_merged_profile *callers_out, struct sbx_merged_profile *callees_out);

/* Functions that have time of their own, on both sides together, the most first: */
struct sbx_merged_function {
    const char *name; /* the profile's */
    double self_us[SBX_MERGED_SIDES],
        total_us[SBX_MERGED_SIDES]; /* total: a call inside of itself does not count twice */
};
/* Returns how many, `max` at most; 0 also without memory. `profile` is settled. */
size_t sbx_merged_profile_functions(const struct sbx_merged_profile *profile, struct sbx_merged_function *rows,
                                    size_t max);

/* How much of the time on this side is in functions whose name has `text`, in upper or lower case: 0..1. A chain counts once. */
double sbx_merged_profile_share_of(const struct sbx_merged_profile *profile, const char *text);
bool sbx_merged_name_has(const char *name, const char *text);

/* Go through the nodes below `from` in the order of drawing: the one behind `node`, or 0. `is_entered`: below `node` too. */
uint32_t sbx_merged_profile_next(const struct sbx_merged_profile *profile, uint32_t from, uint32_t node,
                                 bool is_entered);

#endif
