/* SPDX-License-Identifier: Apache-2.0 */
/* flame_tree.h - stacks added up: for each chain of callers, how long it was seen and in what state.
 *
 * The root is node 0 and stands for the thread. Bounded: a tree has at most SBX_FLAME_NODES_MAX nodes; time of deeper
 * frames is then given to the innermost node that could still be had, and `cut` says so. */
#ifndef SBX_FLAME_TREE_H
#define SBX_FLAME_TREE_H

#include "span_pieces.h"

enum {
    SBX_FLAME_NODES_MAX = 1 << 17
};

struct sbx_flame_node {
    const char *name;                    /* function, or what was waited in; "" when joined: see joins_unnamed */
    const struct sbx_location *location; /* of the first frame added; NULL for a wait and for the root */
    uint32_t parent;
    uint32_t first_child, next_sibling; /* 0: none */
    uint32_t depth;                     /* root: 0 */
    int64_t total_ns;                   /* of this node and all below it */
    int64_t self_ns;
    int64_t by_state_ns[SBX_SPAN_STATES]; /* total_ns, by state */
    uint64_t observations;                /* samples and measurements below, this node included */
};

struct sbx_flame_tree {
    struct sbx_flame_node *nodes;
    uint32_t count, capacity;
    uint32_t *slots; /* hash of (parent, name, module) -> node; 0 empty; a power of two of them */
    uint32_t slot_count;
    bool joins_unnamed; /* set before adding: code of a module that no symbol names is one node a caller, not one an
                           address; for pictures, where forty slivers tell less than one block */
    bool cut;
};

/* Returns 0, or -ENOMEM. Finish releases; a zeroed value is fine. */
int sbx_flame_tree_init(struct sbx_flame_tree *tree);
void sbx_flame_tree_finish(struct sbx_flame_tree *tree);

/* The node of the chain of the piece, made where there is none; the innermost one that could be had. Returns 0 or -ENOMEM. */
int sbx_flame_tree_find(struct sbx_flame_tree *tree, const struct sbx_piece *piece, uint32_t *node_out);

/* Add `weight_ns` (and one observation if the piece is evidence) to the chain of the piece. Returns 0 or -ENOMEM. */
int sbx_flame_tree_add(struct sbx_flame_tree *tree, const struct sbx_piece *piece, int64_t weight_ns);

/* Add all of a thread's time in [begin_ns, end_ns] but the idle. Returns 0 or -ENOMEM. */
int sbx_flame_tree_add_thread(struct sbx_flame_tree *tree, const struct sbx_thread_spans *spans,
                              const struct sbx_call_paths *paths, int64_t begin_ns, int64_t end_ns);

/* The same with the stacks of submitters under what ran in tasks (queued_stacks.h). */
int sbx_flame_tree_add_queued(struct sbx_flame_tree *tree, const struct sbx_report *report, uint32_t thread,
                              const struct sbx_thread_spans *spans, const struct sbx_call_paths *paths,
                              int64_t begin_ns, int64_t end_ns);

/* Sort every node's children, by name or the longest first. */
enum sbx_flame_order {
    SBX_FLAME_BY_NAME,
    SBX_FLAME_BY_TIME
};
int sbx_flame_tree_sort(struct sbx_flame_tree *tree, enum sbx_flame_order order);

/* The deepest node that has at least `share` of the tree's time: the function to name when there is room for one. 0
 * when there is none. */
uint32_t sbx_flame_tree_hottest(const struct sbx_flame_tree *tree, double share);

/* `node`, or the next one outwards that has a name; 0 when there is none. */
uint32_t sbx_flame_tree_named(const struct sbx_flame_tree *tree, uint32_t node);

/* `node`, or the next one outwards that has a name in the application's own modules; 0 when there is none. */
uint32_t sbx_flame_tree_application(const struct sbx_flame_tree *tree, uint32_t node);

/* What to write for the node: its name, or "[module]" for joined code without names. */
void sbx_flame_node_label(const struct sbx_flame_node *node, char *out, size_t out_bytes);

/* The state that has most of the node's time. */
enum sbx_span_state sbx_flame_node_state(const struct sbx_flame_node *node);

#endif
