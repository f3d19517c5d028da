/* SPDX-License-Identifier: Apache-2.0 */
/* stall_profile.c - where one stall's time went, in a few dozen lines. */
#include "stall_profile.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call_path.h"
#include "flame_tree.h"
#include "stable_name.h"
#include "thread_spans.h"

static_assert((int)SBX_STALL_PROFILE_STATES == (int)SBX_SPAN_STATES, "states are numbers of the text");

enum {
    FINEST_SHARE = 200, /* a step has at least 1/200 of the time; if there are too many steps, up to 1/8 */
    COARSEST_SHARE = 8,
    NAMES_BYTES_MAX = 24 << 10, /* names of all steps; the rest of the text is numbers */
    STEPS_MAX = 256,
    NS_PER_US = 1000,
};

struct step {
    char name[SBX_STABLE_NAME_BYTES];
    int64_t self_ns[SBX_SPAN_STATES];
    uint32_t parent, first_child, last_child, next_sibling; /* 0: none */
};

struct steps {
    struct step *steps; /* the first is the thread itself */
    uint32_t count;
    size_t name_bytes;
};

/* ---- from nodes to steps ---- */

static void name_step(const struct sbx_flame_node *node, char out[SBX_STABLE_NAME_BYTES])
{
    char label[SBX_STABLE_NAME_BYTES];
    sbx_flame_node_label(node, label, sizeof label);
    if (node->location != NULL && node->location->named && !node->location->logical) {
        sbx_stable_name(label, out);
    } else {
        memcpy(out, label, sizeof label);
    }
    for (char *at = out; *at != '\0'; at++) { /* a name must not begin a new line */
        *at = (unsigned char)*at < ' ' ? ' ' : *at;
    }
}

/* The step of this name below `parent`; it is made if it does not exist. Returns `parent` itself for a recursive call,
 * and if there is no room. */
static uint32_t step_below(struct steps *steps, uint32_t parent, const char *name)
{
    if (*name == '\0' || (parent != 0 && strcmp(steps->steps[parent].name, name) == 0)) {
        return parent;
    }
    for (uint32_t at = steps->steps[parent].first_child; at != 0; at = steps->steps[at].next_sibling) {
        if (strcmp(steps->steps[at].name, name) == 0) {
            return at;
        }
    }
    if (steps->count == STEPS_MAX || steps->name_bytes + strlen(name) > NAMES_BYTES_MAX) {
        return parent;
    }
    uint32_t made = steps->count++;
    struct step *step = &steps->steps[made];
    *step = (struct step){.parent = parent};
    memcpy(step->name, name, strlen(name) + 1);
    steps->name_bytes += strlen(name);
    uint32_t last = steps->steps[parent].last_child;
    *(last != 0 ? &steps->steps[last].next_sibling : &steps->steps[parent].first_child) = made;
    steps->steps[parent].last_child = made;
    return made;
}

/* Make steps from nodes. A node with less than 1/share of the time is added to its caller. `step_of` has room for all
 * nodes. */
static void make_steps(const struct sbx_flame_tree *tree, int64_t share, uint32_t *step_of, struct steps *steps)
{
    steps->count = 1;
    steps->name_bytes = 0;
    steps->steps[0] = (struct step){.name = ""};
    step_of[0] = 0;
    for (uint32_t node = 0; node < tree->count; node++) { /* parents come before their children */
        const struct sbx_flame_node *self = &tree->nodes[node];
        if (node != 0) {
            char name[SBX_STABLE_NAME_BYTES];
            name_step(self, name);
            step_of[node] = self->total_ns < tree->nodes[0].total_ns / share
                                ? step_of[self->parent]
                                : step_below(steps, step_of[self->parent], name);
        }
        for (int state = 0; state < SBX_SPAN_STATES;
             state++) { /* a child's time is taken from the step of its caller */
            steps->steps[step_of[node]].self_ns[state] += self->by_state_ns[state];
            if (node != 0) {
                steps->steps[step_of[self->parent]].self_ns[state] -= self->by_state_ns[state];
            }
        }
    }
}

/* ---- text ---- */

static void print_step(const struct step *step, unsigned depth, FILE *out)
{
    bool is_first = true;
    fprintf(out, "%u ", depth);
    for (int state = 0; state < SBX_SPAN_STATES; state++) {
        long long us = step->self_ns[state] / NS_PER_US;
        if (us > 0) {
            fprintf(out, "%s%d:%lld", is_first ? "" : ",", state, us);
            is_first = false;
        }
    }
    fprintf(out, "%s %s\n", is_first ? "-" : "", step->name);
}

static void print_steps(const struct steps *steps, FILE *out)
{
    unsigned depth = 0;
    for (uint32_t at = 0;;) {
        print_step(&steps->steps[at], depth, out);
        if (steps->steps[at].first_child != 0) {
            at = steps->steps[at].first_child;
            depth++;
            continue;
        }
        while (at != 0 && steps->steps[at].next_sibling == 0) {
            at = steps->steps[at].parent;
            depth--;
        }
        if (at == 0) {
            return;
        }
        at = steps->steps[at].next_sibling;
    }
}

static int print_tree(const struct sbx_flame_tree *tree, FILE *out)
{
    struct steps steps = {.steps = calloc(STEPS_MAX, sizeof *steps.steps)};
    uint32_t *step_of = calloc(tree->count, sizeof *step_of);
    int result = steps.steps == NULL || step_of == NULL ? -ENOMEM : 0;
    for (int64_t share = FINEST_SHARE; result == 0; share /= 2) {
        make_steps(tree, share, step_of, &steps);
        if (steps.count <= SBX_STALL_PROFILE_STEPS || share / 2 < COARSEST_SHARE) {
            break;
        }
    }
    if (result == 0) {
        print_steps(&steps, out);
        result = ferror(out) != 0 ? -EIO : 0;
    }
    free(steps.steps);
    free(step_of);
    return result;
}

int sbx_print_stall_profile(const struct sbx_report *report, FILE *out)
{
    struct sbx_thread_spans spans = {0};
    struct sbx_flame_tree tree = {0};
    const struct sbx_verdict *verdict = &report->verdict;
    if (report->stall->trigger.thread >= report->stall->thread_count ||
        verdict->interval_end_ns <= verdict->interval_begin_ns) {
        return 0;
    }
    struct sbx_call_paths *paths = sbx_call_paths_create(report);
    int result = paths == NULL ? -ENOMEM : sbx_flame_tree_init(&tree);
    tree.joins_unnamed = true;
    if (result == 0) {
        result = sbx_thread_spans_init(&spans, report->stall, report->stall->trigger.thread);
    }
    if (result == 0) {
        result = sbx_flame_tree_add_thread(&tree, &spans, paths, verdict->interval_begin_ns, verdict->interval_end_ns);
    }
    if (result == 0 && tree.nodes[0].total_ns > 0) {
        result = print_tree(&tree, out);
    }
    sbx_thread_spans_finish(&spans);
    sbx_flame_tree_finish(&tree);
    sbx_call_paths_destroy(paths);
    return result;
}
