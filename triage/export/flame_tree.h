/* SPDX-License-Identifier: Apache-2.0 */
/* flame_tree.h - stacks added up: for each chain of callers, how long it was seen and in which state.
 *
 * The root is node 0 and stands for the thread. Bounded: a tree has at most SBX_FLAME_NODES_MAX nodes. After that, time
 * of deeper frames goes to the innermost node that exists, and `cut` is set. */
#ifndef SBX_FLAME_TREE_H
#define SBX_FLAME_TREE_H

#include "span_pieces.h"

enum {
    SBX_FLAME_NODES_MAX = 1 << 17
};

struct sbx_flame_node {
    const char *name;                    /* function, or what was waited in; "" if joined: see joins_unnamed */
    const struct sbx_location *location; /* of the first frame added; NULL for a wait and for the root */
    uint32_t parent;
    uint32_t first_child, next_sibling; /* 0: none */
    uint32_t depth;                     /* root: 0 */
    int64_t total_ns;                   /* of this node and all below it */
    int64_t self_ns;
    int64_t by_state_ns[SBX_SPAN_STATES]; /* total_ns, by state */
    uint64_t observations;                /* number of samples and measurements in this node and below */
};

struct sbx_flame_tree {
    struct sbx_flame_node *nodes;
    uint32_t count, capacity;
    uint32_t *slots; /* hash of (parent, name, module) -> node; 0 empty; its size is a power of two */
    uint32_t slot_count;
    bool joins_unnamed; /* set before adding: code of a module without symbols is one node per caller, not one per
                         * address. For pictures, where forty narrow boxes tell less than one wide box */
    bool cut;
};

/* Returns 0, or -ENOMEM. Finish releases; a zeroed value is fine. */
int sbx_flame_tree_init(struct sbx_flame_tree *tree);
void sbx_flame_tree_finish(struct sbx_flame_tree *tree);

/* The node of the piece's chain, made if it does not exist; if the tree is full, the innermost node that exists.
 * Returns 0 or -ENOMEM. */
int sbx_flame_tree_find(struct sbx_flame_tree *tree, const struct sbx_piece *piece, uint32_t *node_out);

/* Add `weight_ns` to the piece's chain, and one observation if the piece is evidence. Returns 0 or -ENOMEM. */
int sbx_flame_tree_add(struct sbx_flame_tree *tree, const struct sbx_piece *piece, int64_t weight_ns);

/* Add all time of a thread in [begin_ns, end_ns] that is not idle. Returns 0 or -ENOMEM. */
int sbx_flame_tree_add_thread(struct sbx_flame_tree *tree, const struct sbx_thread_spans *spans,
                              const struct sbx_call_paths *paths, int64_t begin_ns, int64_t end_ns);

/* The same, with the stacks of submitters under the work of tasks (queued_stacks.h). */
int sbx_flame_tree_add_queued(struct sbx_flame_tree *tree, const struct sbx_report *report, uint32_t thread,
                              const struct sbx_thread_spans *spans, const struct sbx_call_paths *paths,
                              int64_t begin_ns, int64_t end_ns);

/* Sort every node's children, by name or by time with the longest first. */
enum sbx_flame_order {
    SBX_FLAME_BY_NAME,
    SBX_FLAME_BY_TIME
};
int sbx_flame_tree_sort(struct sbx_flame_tree *tree, enum sbx_flame_order order);

/* The deepest node that has at least `share` of the tree's time: the function to name if there is room for only one. 0:
 * none. */
uint32_t sbx_flame_tree_hottest(const struct sbx_flame_tree *tree, double share);

/* `node`, or the nearest caller that has a name; 0: none. */
uint32_t sbx_flame_tree_named(const struct sbx_flame_tree *tree, uint32_t node);

/* `node`, or the nearest caller that has a name in the application's own modules; 0: none. */
uint32_t sbx_flame_tree_application(const struct sbx_flame_tree *tree, uint32_t node);

/* The text for the node: its name, or "[module]" for joined code without names. */
void sbx_flame_node_label(const struct sbx_flame_node *node, char *out, size_t out_bytes);

/* The state with most of the node's time. */
enum sbx_span_state sbx_flame_node_state(const struct sbx_flame_node *node);

#endif
