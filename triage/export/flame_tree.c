/* SPDX-License-Identifier: Apache-2.0 */
/* flame_tree.c - stacks added up: for each chain of callers, how long it was seen and in which state. */
#include "flame_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queued_stacks.h"

enum {
    FIRST_NODES = 16
};

int sbx_flame_tree_init(struct sbx_flame_tree *tree)
{
    *tree = (struct sbx_flame_tree){.capacity = FIRST_NODES, .slot_count = 2 * FIRST_NODES};
    tree->nodes = calloc(tree->capacity, sizeof *tree->nodes);
    tree->slots = calloc(tree->slot_count, sizeof *tree->slots);
    if (tree->nodes == NULL || tree->slots == NULL) {
        sbx_flame_tree_finish(tree);
        return -ENOMEM;
    }
    tree->count = 1;
    tree->nodes[0].name = "";
    return 0;
}

void sbx_flame_tree_finish(struct sbx_flame_tree *tree)
{
    free(tree->nodes);
    free(tree->slots);
    *tree = (struct sbx_flame_tree){0};
}

static const char *module_of(const struct sbx_location *location)
{
    return location == NULL ? "" : location->module;
}

/* FNV-1a over the parent and both names. */
static uint32_t hash_key(uint32_t parent, const char *name, const char *module)
{
    uint32_t hash = (2166136261u ^ parent) * 16777619u;
    hash = (hash ^ (parent >> 8)) * 16777619u;
    for (const char *text = name; *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    }
    hash *= 16777619u;
    for (const char *text = module; *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    }
    return hash ^ hash >> 15;
}

/* The slot with the node of this key, or the empty slot where it belongs. There always is one, because at most half of
 * the slots are in use. */
static uint32_t *find_slot(const struct sbx_flame_tree *tree, uint32_t parent, const char *name, const char *module)
{
    uint32_t at = hash_key(parent, name, module) & (tree->slot_count - 1);
    for (;; at = (at + 1) & (tree->slot_count - 1)) {
        uint32_t node = tree->slots[at];
        if (node == 0 || (tree->nodes[node].parent == parent && strcmp(tree->nodes[node].name, name) == 0 &&
                          strcmp(module_of(tree->nodes[node].location), module) == 0)) {
            return &tree->slots[at];
        }
    }
}

static int grow(struct sbx_flame_tree *tree)
{
    uint32_t capacity = tree->capacity * 2, slot_count = tree->slot_count * 2;
    struct sbx_flame_node *nodes = realloc(tree->nodes, capacity * sizeof *nodes);
    if (nodes == NULL) {
        return -ENOMEM;
    }
    tree->nodes = nodes;
    tree->capacity = capacity;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) {
        return -ENOMEM;
    }
    free(tree->slots);
    tree->slots = slots;
    tree->slot_count = slot_count;
    for (uint32_t node = 1; node < tree->count; node++) {
        const struct sbx_flame_node *self = &tree->nodes[node];
        *find_slot(tree, self->parent, self->name, module_of(self->location)) = node;
    }
    return 0;
}

/* Set *parent to its child with this name; the child is made if it does not exist. *parent is unchanged if the tree is
 * full. */
static int step_down(struct sbx_flame_tree *tree, uint32_t *parent, const char *name,
                     const struct sbx_location *location)
{
    uint32_t *slot = find_slot(tree, *parent, name, module_of(location));
    if (*slot != 0) {
        *parent = *slot;
        return 0;
    }
    if (tree->count == SBX_FLAME_NODES_MAX) {
        tree->cut = true;
        return 0;
    }
    if (tree->count == tree->capacity) {
        int result = grow(tree);
        if (result != 0) {
            return result;
        }
        slot = find_slot(tree, *parent, name, module_of(location));
    }
    uint32_t node = tree->count++;
    tree->nodes[node] = (struct sbx_flame_node){
        .name = name,
        .location = location,
        .parent = *parent,
        .next_sibling = tree->nodes[*parent].first_child,
        .depth = tree->nodes[*parent].depth + 1,
    };
    tree->nodes[*parent].first_child = node;
    *slot = node;
    *parent = node;
    return 0;
}

int sbx_flame_tree_find(struct sbx_flame_tree *tree, const struct sbx_piece *piece, uint32_t *node_out)
{
    uint32_t node = 0;
    bool whole = true; /* every frame so far has a node */
    for (size_t i = 0; i < piece->path_count && whole; i++) {
        const struct sbx_location *location = piece->path[i].location;
        bool joined = tree->joins_unnamed && !location->named && location->module[0] != '\0';
        uint32_t caller = node;
        int result = step_down(tree, &node, joined ? "" : location->function, location);
        if (result != 0) {
            return result;
        }
        whole = node != caller;
    }
    if (piece->wait != NULL && whole) {
        int result = step_down(tree, &node, piece->wait, NULL);
        if (result != 0) {
            return result;
        }
    }
    *node_out = node;
    return 0;
}

int sbx_flame_tree_add(struct sbx_flame_tree *tree, const struct sbx_piece *piece, int64_t weight_ns)
{
    uint32_t node;
    int result = sbx_flame_tree_find(tree, piece, &node);
    if (result != 0) {
        return result;
    }
    tree->nodes[node].self_ns += weight_ns;
    for (;; node = tree->nodes[node].parent) {
        tree->nodes[node].total_ns += weight_ns;
        tree->nodes[node].by_state_ns[piece->state] += weight_ns;
        tree->nodes[node].observations += piece->looks;
        if (node == 0) {
            return 0;
        }
    }
}

struct window {
    struct sbx_flame_tree *tree;
    int64_t begin_ns, end_ns;
};

static int add_piece(void *context, const struct sbx_piece *piece)
{
    const struct window *window = context;
    if (piece->state == SBX_SPAN_IDLE || piece->end_ns < window->begin_ns || piece->begin_ns > window->end_ns) {
        return 0;
    }
    int64_t begin_ns = piece->begin_ns > window->begin_ns ? piece->begin_ns : window->begin_ns;
    int64_t end_ns = piece->end_ns < window->end_ns ? piece->end_ns : window->end_ns;
    return sbx_flame_tree_add(window->tree, piece, end_ns - begin_ns);
}

int sbx_flame_tree_add_thread(struct sbx_flame_tree *tree, const struct sbx_thread_spans *spans,
                              const struct sbx_call_paths *paths, int64_t begin_ns, int64_t end_ns)
{
    struct window window = {.tree = tree, .begin_ns = begin_ns, .end_ns = end_ns};
    return sbx_span_pieces_visit(spans, paths, add_piece, &window);
}

int sbx_flame_tree_add_queued(struct sbx_flame_tree *tree, const struct sbx_report *report, uint32_t thread,
                              const struct sbx_thread_spans *spans, const struct sbx_call_paths *paths,
                              int64_t begin_ns, int64_t end_ns)
{
    struct window window = {.tree = tree, .begin_ns = begin_ns, .end_ns = end_ns};
    return sbx_queued_pieces_visit(report, thread, spans, paths, add_piece, &window);
}

static int compare_by_name(const struct sbx_flame_node *a, const struct sbx_flame_node *b)
{
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : strcmp(module_of(a->location), module_of(b->location));
}

static int compare_name_pointers(const void *left, const void *right)
{
    return compare_by_name(*(const struct sbx_flame_node *const *)left, *(const struct sbx_flame_node *const *)right);
}

static int compare_time_pointers(const void *left, const void *right)
{
    const struct sbx_flame_node *a = *(const struct sbx_flame_node *const *)left;
    const struct sbx_flame_node *b = *(const struct sbx_flame_node *const *)right;
    return a->total_ns != b->total_ns ? (a->total_ns > b->total_ns ? -1 : 1) : compare_by_name(a, b);
}

int sbx_flame_tree_sort(struct sbx_flame_tree *tree, enum sbx_flame_order order)
{
    struct sbx_flame_node **children = malloc(tree->count * sizeof(struct sbx_flame_node *));
    if (children == NULL) {
        return -ENOMEM;
    }
    for (uint32_t node = 0; node < tree->count; node++) {
        size_t count = 0;
        for (uint32_t child = tree->nodes[node].first_child; child != 0; child = tree->nodes[child].next_sibling) {
            children[count++] = &tree->nodes[child];
        }
        qsort(children, count, sizeof *children,
              order == SBX_FLAME_BY_NAME ? compare_name_pointers : compare_time_pointers);
        uint32_t *link = &tree->nodes[node].first_child;
        for (size_t i = 0; i < count; i++) {
            *link = (uint32_t)(children[i] - tree->nodes);
            link = &children[i]->next_sibling;
        }
        *link = 0;
    }
    free(children);
    return 0;
}

uint32_t sbx_flame_tree_hottest(const struct sbx_flame_tree *tree, double share)
{
    double enough = share * (double)tree->nodes[0].total_ns;
    uint32_t node = 0;
    for (;;) {
        uint32_t best = 0;
        for (uint32_t child = tree->nodes[node].first_child; child != 0; child = tree->nodes[child].next_sibling) {
            if (best == 0 || tree->nodes[child].total_ns > tree->nodes[best].total_ns) {
                best = child;
            }
        }
        if (best == 0 || (double)tree->nodes[best].total_ns < enough) {
            return node;
        }
        node = best;
    }
}

uint32_t sbx_flame_tree_named(const struct sbx_flame_tree *tree, uint32_t node)
{
    while (node != 0 && tree->nodes[node].location != NULL && !tree->nodes[node].location->named) {
        node = tree->nodes[node].parent;
    }
    return node;
}

uint32_t sbx_flame_tree_application(const struct sbx_flame_tree *tree, uint32_t node)
{
    const struct sbx_flame_node *nodes = tree->nodes;
    while (node != 0 && (nodes[node].location == NULL || !nodes[node].location->app || !nodes[node].location->named)) {
        node = nodes[node].parent;
    }
    return node;
}

void sbx_flame_node_label(const struct sbx_flame_node *node, char *out, size_t out_bytes)
{
    bool joined = node->name[0] == '\0' && node->location != NULL;
    bool in_brackets = joined && node->location->module[0] == '['; /* the module already has brackets: "[generated]" */
    if (joined && !in_brackets) {
        snprintf(out, out_bytes, "[%s]", node->location->module);
    } else {
        snprintf(out, out_bytes, "%s", joined ? node->location->module : node->name);
    }
}

enum sbx_span_state sbx_flame_node_state(const struct sbx_flame_node *node)
{
    enum sbx_span_state most = SBX_SPAN_UNKNOWN;
    for (enum sbx_span_state state = 0; state < SBX_SPAN_STATES; state++) {
        if (node->by_state_ns[state] > node->by_state_ns[most]) {
            most = state;
        }
    }
    return most;
}
