/* SPDX-License-Identifier: Apache-2.0 */
/* merged_profile.c - the profiles of many stalls added up. */
#include "merged_profile.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_NODES = 256,
    US_DIGITS_MAX = 15, /* some thirty years */
    NAME_BYTES_MAX = 512,
};

/* ---- the tree ---- */

int sbx_merged_profile_init(struct sbx_merged_profile *profile)
{
    *profile = (struct sbx_merged_profile){.capacity = FIRST_NODES, .slot_count = 2 * FIRST_NODES};
    profile->nodes = calloc(profile->capacity, sizeof *profile->nodes);
    profile->slots = calloc(profile->slot_count, sizeof *profile->slots);
    if (profile->nodes == NULL || profile->slots == NULL) {
        sbx_merged_profile_finish(profile);
        return -ENOMEM;
    }
    profile->count = 1;
    profile->nodes[0].name = "";
    return 0;
}

void sbx_merged_profile_finish(struct sbx_merged_profile *profile)
{
    for (uint32_t node = 1; node < profile->count; node++) {
        free((char *)(uintptr_t)profile->nodes[node].name);
    }
    free(profile->nodes);
    free(profile->slots);
    *profile = (struct sbx_merged_profile){0};
}

/* FNV-1a of the name, over the parent's: the path. */
static uint64_t path_of(uint64_t parent, const char *name, size_t bytes)
{
    uint64_t hash = (UINT64_C(0xcbf29ce484222325) ^ parent) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ (uint8_t)name[i]) * UINT64_C(0x100000001b3);
    }
    hash ^= hash >> 29;
    return hash != 0 ? hash : 1;
}

/* The slot of this child, or the empty slot where it belongs. There is an empty slot, because at most half of them are
 * in use. */
static uint32_t *find_slot(const struct sbx_merged_profile *profile, uint32_t parent, uint64_t path, const char *name,
                           size_t bytes)
{
    uint32_t at = (uint32_t)(path ^ path >> 32) & (profile->slot_count - 1);
    for (;; at = (at + 1) & (profile->slot_count - 1)) {
        uint32_t node = profile->slots[at];
        const struct sbx_merged_node *self = &profile->nodes[node];
        if (node == 0 || (self->parent == parent && self->path == path && strncmp(self->name, name, bytes) == 0 &&
                          self->name[bytes] == '\0')) {
            return &profile->slots[at];
        }
    }
}

static int grow(struct sbx_merged_profile *profile)
{
    struct sbx_merged_node *nodes = realloc(profile->nodes, 2 * (size_t)profile->capacity * sizeof *nodes);
    if (nodes == NULL) {
        return -ENOMEM;
    }
    profile->nodes = nodes;
    uint32_t *slots = calloc(2 * (size_t)profile->slot_count, sizeof *slots);
    if (slots == NULL) {
        return -ENOMEM;
    }
    free(profile->slots);
    profile->slots = slots;
    profile->capacity *= 2;
    profile->slot_count *= 2;
    for (uint32_t node = 1; node < profile->count; node++) {
        const struct sbx_merged_node *self = &profile->nodes[node];
        *find_slot(profile, self->parent, self->path, self->name, strlen(self->name)) = node;
    }
    return 0;
}

/* The child of this name, made if it does not exist; the parent itself if there is no room. */
static int step_down(struct sbx_merged_profile *profile, uint32_t parent, const char *name, size_t bytes,
                     uint32_t *node_out)
{
    uint64_t path = path_of(profile->nodes[parent].path, name, bytes);
    uint32_t *slot = find_slot(profile, parent, path, name, bytes);
    *node_out = *slot != 0 ? *slot : parent;
    if (*slot != 0) {
        return 0;
    }
    if (profile->count == SBX_MERGED_NODES_MAX || profile->nodes[parent].depth + 1 == SBX_MERGED_DEPTH_MAX) {
        profile->is_cut = true;
        return 0;
    }
    if (profile->count == profile->capacity) {
        int result = grow(profile);
        if (result != 0) {
            return result;
        }
        slot = find_slot(profile, parent, path, name, bytes);
    }
    char *copy = malloc(bytes + 1);
    if (copy == NULL) {
        return -ENOMEM;
    }
    memcpy(copy, name, bytes);
    copy[bytes] = '\0';
    uint32_t node = profile->count++;
    profile->nodes[node] = (struct sbx_merged_node){.name = copy,
                                                    .path = path,
                                                    .parent = parent,
                                                    .next_sibling = profile->nodes[parent].first_child,
                                                    .depth = profile->nodes[parent].depth + 1};
    profile->nodes[parent].first_child = node;
    *slot = node;
    *node_out = node;
    return 0;
}

/* ---- one line ---- */

struct line {
    unsigned depth;
    const char *name;
    size_t name_bytes;
    double by_state_us[SBX_STALL_PROFILE_STATES];
};

/* A number of at most `digits` digits; advances. */
static bool read_number(const char **at, const char *end, size_t digits, double *number_out)
{
    const char *begin = *at;
    *number_out = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && (size_t)(*at - begin) < digits; (*at)++) {
        *number_out = *number_out * 10 + (**at - '0');
    }
    return *at > begin;
}

static bool read_char(const char **at, const char *end, char wanted)
{
    bool is_there = *at < end && **at == wanted;
    *at += is_there;
    return is_there;
}

static bool read_times(const char **at, const char *end, struct line *line)
{
    double state, us;
    if (read_char(at, end, '-')) {
        return true;
    }
    do {
        if (!read_number(at, end, 1, &state) || state >= SBX_STALL_PROFILE_STATES || !read_char(at, end, ':') ||
            !read_number(at, end, US_DIGITS_MAX, &us)) {
            return false;
        }
        line->by_state_us[(int)state] += us;
    } while (read_char(at, end, ','));
    return true;
}

/* Read the line at *at, which ends before `end`; *at then is after its end. */
static bool read_line(const char **at, const char *end, struct line *line)
{
    double depth;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    *line = (struct line){.depth = 0};
    if (stop == NULL || !read_number(at, stop, 3, &depth) || !read_char(at, stop, ' ') || !read_times(at, stop, line) ||
        !read_char(at, stop, ' ')) {
        return false;
    }
    line->depth = (unsigned)depth;
    line->name = *at;
    line->name_bytes = (size_t)(stop - *at);
    *at = stop + 1;
    return line->name_bytes <= NAME_BYTES_MAX && memchr(line->name, '\0', line->name_bytes) == NULL;
}

static bool is_sound(const char *text, size_t bytes)
{
    const char *at = text, *end = text + bytes;
    struct line line;
    unsigned before = 0;
    if (bytes == 0 || bytes > SBX_STALL_PROFILE_BYTES) {
        return false;
    }
    for (bool is_first = true; at < end; is_first = false, before = line.depth) {
        if (!read_line(&at, end, &line) || (is_first ? line.depth != 0 : line.depth < 1 || line.depth > before + 1) ||
            line.depth >= SBX_MERGED_DEPTH_MAX) {
            return false;
        }
    }
    return true;
}

int sbx_merged_profile_add(struct sbx_merged_profile *profile, const char *text, size_t bytes, uint32_t weight,
                           enum sbx_merged_side side)
{
    uint32_t chain[SBX_MERGED_DEPTH_MAX] = {0};
    const char *at = text, *end = text + bytes;
    struct line line;
    if (!is_sound(text, bytes)) {
        return -EPROTO;
    }
    weight = weight > SBX_MERGED_WEIGHT_MAX ? SBX_MERGED_WEIGHT_MAX : weight;
    while (at < end && read_line(&at, end, &line)) {
        uint32_t node = 0, caller = line.depth > 0 ? chain[line.depth - 1] : 0;
        int result = line.depth > 0 ? step_down(profile, caller, line.name, line.name_bytes, &node) : 0;
        if (result != 0) {
            return result;
        }
        chain[line.depth] = node;
        struct sbx_merged_node *self = &profile->nodes[node];
        self->stalls[side] += line.depth == 0 || node != caller;
        for (int state = 0; state < SBX_STALL_PROFILE_STATES; state++) {
            double us = line.by_state_us[state] * weight;
            self->self_us[side] += us;
            self->by_state_us[state] += side == SBX_MERGED_HERE ? us : 0;
        }
    }
    profile->stalls[side]++;
    profile->weight[side] += weight;
    return 0;
}

/* ---- totals ---- */

static double most_of(const struct sbx_merged_node *node)
{
    return node->total_us[SBX_MERGED_HERE] + node->total_us[SBX_MERGED_BASE];
}

static int compare(const void *left, const void *right)
{
    const struct sbx_merged_node *a = *(const struct sbx_merged_node *const *)left;
    const struct sbx_merged_node *b = *(const struct sbx_merged_node *const *)right;
    double more = most_of(b) - most_of(a);
    return more > 0 ? 1 : more < 0 ? -1 : strcmp(a->name, b->name);
}

/* Longest first. If memory runs out, the order is not changed. */
static void sort_children(struct sbx_merged_profile *profile)
{
    struct sbx_merged_node **children = malloc(profile->count * sizeof(struct sbx_merged_node *));
    for (uint32_t node = 0; node < profile->count && children != NULL; node++) {
        size_t count = 0;
        for (uint32_t child = profile->nodes[node].first_child; child != 0;
             child = profile->nodes[child].next_sibling) {
            children[count++] = &profile->nodes[child];
        }
        qsort(children, count, sizeof *children, compare);
        uint32_t *link = &profile->nodes[node].first_child;
        for (size_t i = 0; i < count; i++) {
            *link = (uint32_t)(children[i] - profile->nodes);
            link = &children[i]->next_sibling;
        }
        *link = 0;
    }
    free(children);
}

void sbx_merged_profile_settle(struct sbx_merged_profile *profile)
{
    for (uint32_t node = profile->count; node-- > 0;) { /* children come after their parents */
        struct sbx_merged_node *self = &profile->nodes[node], *parent = &profile->nodes[self->parent];
        for (int side = 0; side < SBX_MERGED_SIDES; side++) {
            self->total_us[side] += self->self_us[side];
            parent->total_us[side] += node != 0 ? self->total_us[side] : 0;
        }
        for (int state = 0; state < SBX_STALL_PROFILE_STATES && node != 0; state++) {
            parent->by_state_us[state] += self->by_state_us[state];
        }
    }
    sort_children(profile);
}

uint32_t sbx_merged_profile_find(const struct sbx_merged_profile *profile, uint64_t path)
{
    for (uint32_t node = 1; node < profile->count; node++) {
        if (profile->nodes[node].path == path) {
            return node;
        }
    }
    return 0;
}

uint32_t sbx_merged_profile_next(const struct sbx_merged_profile *profile, uint32_t from, uint32_t node,
                                 bool is_entered)
{
    const struct sbx_merged_node *nodes = profile->nodes;
    if (is_entered && nodes[node].first_child != 0) {
        return nodes[node].first_child;
    }
    while (node != from && nodes[node].next_sibling == 0) {
        node = nodes[node].parent;
    }
    return node == from ? 0 : nodes[node].next_sibling;
}

/* ---- around a function ---- */

static void add_times(struct sbx_merged_node *to, const struct sbx_merged_node *from, bool is_total)
{
    for (int side = 0; side < SBX_MERGED_SIDES; side++) {
        to->self_us[side] += is_total ? from->total_us[side] : from->self_us[side];
        to->stalls[side] += from->stalls[side];
    }
}

/* A node's own time by state is its time minus that of its children. */
static void add_states(const struct sbx_merged_profile *profile, uint32_t from, bool is_total,
                       struct sbx_merged_node *to)
{
    const struct sbx_merged_node *self = &profile->nodes[from];
    for (int state = 0; state < SBX_STALL_PROFILE_STATES; state++) {
        to->by_state_us[state] += self->by_state_us[state];
        for (uint32_t child = self->first_child; child != 0 && !is_total; child = profile->nodes[child].next_sibling) {
            to->by_state_us[state] -= profile->nodes[child].by_state_us[state];
        }
    }
}

static int add_callers(const struct sbx_merged_profile *profile, uint32_t node, struct sbx_merged_profile *callers)
{
    uint32_t to = 0;
    for (uint32_t at = node; at != 0; at = profile->nodes[at].parent) {
        const char *name = profile->nodes[at].name;
        int result = step_down(callers, to, name, strlen(name), &to);
        if (result != 0) {
            return result;
        }
    }
    add_times(&callers->nodes[to], &profile->nodes[node], true);
    add_states(profile, node, true, &callers->nodes[to]);
    return 0;
}

static int add_callees(const struct sbx_merged_profile *profile, uint32_t node, struct sbx_merged_profile *callees)
{
    uint32_t chain[SBX_MERGED_DEPTH_MAX + 1] = {0};
    uint32_t depth = profile->nodes[node].depth;
    for (uint32_t at = node; at != 0; at = sbx_merged_profile_next(profile, node, at, true)) {
        const struct sbx_merged_node *self = &profile->nodes[at];
        uint32_t *to = &chain[self->depth - depth + 1];
        int result = step_down(callees, chain[self->depth - depth], self->name, strlen(self->name), to);
        if (result != 0) {
            return result;
        }
        add_times(&callees->nodes[*to], self, false);
        add_states(profile, at, false, &callees->nodes[*to]);
    }
    return 0;
}

static bool is_inside_of(const struct sbx_merged_profile *profile, uint32_t node, const char *function)
{
    for (uint32_t at = profile->nodes[node].parent; at != 0; at = profile->nodes[at].parent) {
        if (strcmp(profile->nodes[at].name, function) == 0) {
            return true;
        }
    }
    return false;
}

int sbx_merged_profile_around(const struct sbx_merged_profile *profile, const char *function,
                              struct sbx_merged_profile *callers_out, struct sbx_merged_profile *callees_out)
{
    int count = 0, result = sbx_merged_profile_init(callers_out);
    *callees_out = (struct sbx_merged_profile){0};
    if (result == 0) {
        result = sbx_merged_profile_init(callees_out);
    }
    for (uint32_t node = 1; node < profile->count && result == 0; node++) {
        if (strcmp(profile->nodes[node].name, function) != 0 || is_inside_of(profile, node, function)) {
            continue;
        }
        count++;
        result = add_callers(profile, node, callers_out);
        if (result == 0) {
            result = add_callees(profile, node, callees_out);
        }
    }
    for (int side = 0; side < SBX_MERGED_SIDES && result == 0; side++) {
        callers_out->stalls[side] = callees_out->stalls[side] = profile->stalls[side];
        callers_out->weight[side] = callees_out->weight[side] = profile->weight[side];
    }
    if (result != 0) {
        sbx_merged_profile_finish(callers_out);
        sbx_merged_profile_finish(callees_out);
        return result;
    }
    sbx_merged_profile_settle(callers_out);
    sbx_merged_profile_settle(callees_out);
    return count;
}

/* ---- functions ---- */

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const struct sbx_merged_function *)left)->name, ((const struct sbx_merged_function *)right)->name);
}

static int compare_own(const void *left, const void *right)
{
    const struct sbx_merged_function *a = left, *b = right;
    double more = b->self_us[0] + b->self_us[1] - a->self_us[0] - a->self_us[1];
    return more > 0 ? 1 : more < 0 ? -1 : strcmp(a->name, b->name);
}

size_t sbx_merged_profile_functions(const struct sbx_merged_profile *profile, struct sbx_merged_function *rows,
                                    size_t max)
{
    struct sbx_merged_function *all = calloc(profile->count, sizeof *all);
    size_t count = 0, distinct = 0;
    if (all == NULL) {
        return 0;
    }
    for (uint32_t node = 1; node < profile->count; node++) {
        const struct sbx_merged_node *self = &profile->nodes[node];
        bool is_outermost = !is_inside_of(profile, node, self->name);
        all[count] = (struct sbx_merged_function){.name = self->name};
        for (int side = 0; side < SBX_MERGED_SIDES; side++) {
            all[count].self_us[side] = self->self_us[side];
            all[count].total_us[side] = is_outermost ? self->total_us[side] : 0;
        }
        count++;
    }
    qsort(all, count, sizeof *all, compare_names);
    for (size_t i = 0; i < count; i++) {
        if (distinct > 0 && strcmp(all[distinct - 1].name, all[i].name) == 0) {
            for (int side = 0; side < SBX_MERGED_SIDES; side++) {
                all[distinct - 1].self_us[side] += all[i].self_us[side];
                all[distinct - 1].total_us[side] += all[i].total_us[side];
            }
        } else {
            all[distinct++] = all[i];
        }
    }
    qsort(all, distinct, sizeof *all, compare_own);
    distinct = distinct < max ? distinct : max;
    while (distinct > 0 &&
           all[distinct - 1].self_us[SBX_MERGED_HERE] + all[distinct - 1].self_us[SBX_MERGED_BASE] <= 0) {
        distinct--;
    }
    memcpy(rows, all, distinct * sizeof *rows);
    free(all);
    return distinct;
}

/* ---- search ---- */

bool sbx_merged_name_has(const char *name, const char *text)
{
    size_t bytes = strlen(text);
    for (; bytes > 0 && *name != '\0'; name++) {
        size_t same = 0;
        while (same < bytes && tolower((unsigned char)name[same]) == tolower((unsigned char)text[same])) {
            same++;
        }
        if (same == bytes) {
            return true;
        }
    }
    return false;
}

double sbx_merged_profile_share_of(const struct sbx_merged_profile *profile, const char *text)
{
    double found = 0, whole = profile->nodes[0].total_us[SBX_MERGED_HERE];
    uint32_t node = profile->nodes[0].first_child;
    while (node != 0) {
        bool has_it = sbx_merged_name_has(profile->nodes[node].name, text);
        found += has_it ? profile->nodes[node].total_us[SBX_MERGED_HERE] : 0;
        node = sbx_merged_profile_next(profile, 0, node, !has_it);
    }
    return whole > 0 ? found / whole : 0;
}
