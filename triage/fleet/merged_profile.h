/* SPDX-License-Identifier: Apache-2.0 */
/* merged_profile.h - the profiles of many stalls (stall_profile.h) added up, and those of other stalls to compare with.
 * Pure.
 *
 * One tree: a node is a function in a chain of callers, with the time of all stalls on this side and on the other.
 * Bounded: a tree has at most SBX_MERGED_NODES_MAX nodes. After that, time goes to the innermost node that exists, and
 * `is_cut` is set.
 *
 * Addresses of pages identify a node by its path: the number stays the same when stalls are added or removed. */
#ifndef SBX_MERGED_PROFILE_H
#define SBX_MERGED_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stall_profile.h"

enum {
    SBX_MERGED_NODES_MAX = 1 << 16,
    SBX_MERGED_DEPTH_MAX = 512,
    SBX_MERGED_WEIGHT_MAX = 1 << 20, /* a larger weight of a stall is reduced to this */
};

enum sbx_merged_side {
    SBX_MERGED_HERE = 0,
    SBX_MERGED_BASE = 1, /* the stalls to compare with */
    SBX_MERGED_SIDES = 2,
};

struct sbx_merged_node {
    const char *name;                           /* owned by the profile; "" of the root */
    uint64_t path;                              /* a hash of the names from the root to it; 0 only for the root */
    uint32_t parent, first_child, next_sibling; /* 0: none */
    uint32_t depth;                             /* root: 0 */
    double self_us[SBX_MERGED_SIDES], total_us[SBX_MERGED_SIDES]; /* total: with all nodes below; once settled */
    double by_state_us[SBX_STALL_PROFILE_STATES];                 /* the total of HERE, by enum sbx_span_state */
    uint32_t stalls[SBX_MERGED_SIDES];                            /* number of stalls with this node */
};

struct sbx_merged_profile {
    struct sbx_merged_node *nodes; /* the first is the root */
    uint32_t count, capacity;
    uint32_t *slots; /* hash of (parent, name) -> node; 0 empty; a power of two of them */
    uint32_t slot_count;
    uint32_t stalls[SBX_MERGED_SIDES]; /* number of stalls that were added */
    double weight[SBX_MERGED_SIDES];   /* number of stalls that these stand for */
    bool is_cut;
};

/* Returns 0 or -ENOMEM. Finish releases; a zeroed value is fine. */
int sbx_merged_profile_init(struct sbx_merged_profile *profile);
void sbx_merged_profile_finish(struct sbx_merged_profile *profile);

/* Add one stall that stands for `weight`. Returns 0, -EPROTO if the text is not valid (then nothing was added), or
 * -ENOMEM. */
int sbx_merged_profile_add(struct sbx_merged_profile *profile, const char *text, size_t bytes, uint32_t weight,
                           enum sbx_merged_side side);

/* Compute the totals, and sort children by time, longest first. Nothing may be added after that. */
void sbx_merged_profile_settle(struct sbx_merged_profile *profile);

/* The node with this path; 0, which is the root, if there is none. */
uint32_t sbx_merged_profile_find(const struct sbx_merged_profile *profile, uint64_t path);

/* Find all calls of `function`. `callees` gets what these calls called, added up below one node. `callers` gets the
 * chains of callers, from the function outwards. If a call lies inside another call of the function, the outermost
 * counts. Both are initialized here and settled (finish them). `profile` must be settled. Returns the number of chains
 * with the function, or -ENOMEM. */
int sbx_merged_profile_around(const struct sbx_merged_profile *profile, const char *function,
                              struct sbx_merged_profile *callers_out, struct sbx_merged_profile *callees_out);

/* Functions that have time of their own, sorted by it (both sides together), the longest first. */
struct sbx_merged_function {
    const char *name; /* owned by the profile */
    double self_us[SBX_MERGED_SIDES],
        total_us[SBX_MERGED_SIDES]; /* total: a call inside of itself does not count twice */
};
/* Returns the number of functions, `max` at most; 0 also if memory runs out. `profile` must be settled. */
size_t sbx_merged_profile_functions(const struct sbx_merged_profile *profile, struct sbx_merged_function *rows,
                                    size_t max);

/* The share of this side's time in functions whose name contains `text`, ignoring case: 0..1. A chain counts once. */
double sbx_merged_profile_share_of(const struct sbx_merged_profile *profile, const char *text);
bool sbx_merged_name_has(const char *name, const char *text);

/* Visit the nodes below `from` in the order of drawing: returns the node after `node`, or 0. `is_entered`: visit the
 * nodes below `node`, too. */
uint32_t sbx_merged_profile_next(const struct sbx_merged_profile *profile, uint32_t from, uint32_t node,
                                 bool is_entered);

#endif
