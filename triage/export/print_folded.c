/* SPDX-License-Identifier: Apache-2.0 */
/* print_folded.c - stacks added up, one per line: the format of flamegraph.pl, inferno and speedscope.
 *
 *   thread;outermost;...;leaf MICROSECONDS
 *
 * All threads over the history (thread_spans.h), without idle time. A wait is one more frame: what was waited in. Lines
 * are sorted bytewise, and threads of one name are added up, so that two prints of one report are equal. */
#include "exporters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call_path.h"
#include "clean_text.h"
#include "flame_tree.h"
#include "report.h"
#include "thread_spans.h"

enum {
    NS_PER_US = 1000
};
static const size_t LINES_BYTES_MAX = 64 << 20; /* one line tells that more were left out */

struct line {
    char *text; /* owned */
    int64_t us;
};

struct lines {
    struct line *lines;
    size_t count, capacity, bytes;
    int64_t left_out_us;
};

/* A semicolon separates frames, so a name must not contain one. Returns the new length. */
static size_t put_frame(char *line, size_t length, size_t line_bytes, const char *name)
{
    if (length > 0 && length + 1 < line_bytes) {
        line[length++] = ';';
        line[length] = '\0';
    }
    size_t count = sbx_clean_text(name, line + length, line_bytes - length);
    for (size_t i = 0; i < count; i++) {
        if (line[length + i] == ';') {
            line[length + i] = ',';
        }
    }
    return length + count;
}

/* The line of `node`. Given: free. NULL if memory runs out. */
static char *make_line(const struct sbx_flame_tree *tree, uint32_t node, const char *label)
{
    uint32_t chain[SBX_CALL_PATH_MAX + 1];
    size_t depth = 0, line_bytes = strlen(label) + 1;
    for (uint32_t at = node; at != 0 && depth < sizeof chain / sizeof chain[0]; at = tree->nodes[at].parent) {
        chain[depth++] = at;
        line_bytes += strnlen(tree->nodes[at].name, SBX_CLEAN_TEXT_BYTES) + 1;
    }
    char *line = malloc(line_bytes);
    if (line == NULL) {
        return NULL;
    }
    size_t length = put_frame(line, 0, line_bytes, label);
    while (depth > 0) {
        length = put_frame(line, length, line_bytes, tree->nodes[chain[--depth]].name);
    }
    return line;
}

static int add_line(struct lines *lines, const struct sbx_flame_tree *tree, uint32_t node, const char *label)
{
    int64_t us = tree->nodes[node].self_ns / NS_PER_US;
    if (us == 0) {
        return 0;
    }
    if (lines->bytes >= LINES_BYTES_MAX) {
        lines->left_out_us += us;
        return 0;
    }
    if (lines->count == lines->capacity) {
        size_t capacity = lines->capacity == 0 ? 256 : lines->capacity * 2;
        struct line *grown = realloc(lines->lines, capacity * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        lines->lines = grown;
        lines->capacity = capacity;
    }
    char *text = make_line(tree, node, label);
    if (text == NULL) {
        return -ENOMEM;
    }
    lines->bytes += strlen(text) + 1;
    lines->lines[lines->count++] = (struct line){.text = text, .us = us};
    return 0;
}

static int add_thread(struct lines *lines, const struct sbx_report *report, const struct sbx_call_paths *paths,
                      uint32_t thread, int64_t begin_ns, bool is_async)
{
    struct sbx_thread_spans spans;
    struct sbx_flame_tree tree = {0};
    int result = sbx_thread_spans_init(&spans, report->stall, thread);
    if (result != 0) {
        return result;
    }
    result = sbx_flame_tree_init(&tree);
    if (result != 0) {
        goto finish_spans;
    }
    result = is_async ? sbx_flame_tree_add_queued(&tree, report, thread, &spans, paths, begin_ns, INT64_MAX)
                      : sbx_flame_tree_add_thread(&tree, &spans, paths, begin_ns, INT64_MAX);
    char label[128];
    sbx_thread_label(report->stall, thread, label, sizeof label);
    for (uint32_t node = 1; node < tree.count && result == 0; node++) {
        result = add_line(lines, &tree, node, label);
    }
    sbx_flame_tree_finish(&tree);
finish_spans:
    sbx_thread_spans_finish(&spans);
    return result;
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(((const struct line *)left)->text, ((const struct line *)right)->text);
}

static int write_lines(struct lines *lines, FILE *out)
{
    if (lines->count > 0) {
        qsort(lines->lines, lines->count, sizeof *lines->lines, compare_lines);
    }
    for (size_t i = 0; i < lines->count;) {
        int64_t us = 0;
        const char *text = lines->lines[i].text;
        for (; i < lines->count && strcmp(lines->lines[i].text, text) == 0; i++) {
            us += lines->lines[i].us;
        }
        if (fprintf(out, "%s %lld\n", text, (long long)us) < 0) {
            return errno != 0 ? -errno : -EIO;
        }
    }
    if (lines->left_out_us > 0 && fprintf(out, "[stacks left out] %lld\n", (long long)lines->left_out_us) < 0) {
        return errno != 0 ? -errno : -EIO;
    }
    return fflush(out) == 0 ? 0 : -errno;
}

static int print_folded(const struct sbx_report *report, FILE *out, bool is_async)
{
    struct sbx_call_paths *paths = sbx_call_paths_create(report);
    if (paths == NULL) {
        return -ENOMEM;
    }
    struct lines lines = {0};
    int64_t begin_ns = sbx_history_begin_ns(report->stall, report->verdict.interval_begin_ns);
    int result = 0;
    for (uint32_t thread = 0; thread < report->stall->thread_count && result == 0; thread++) {
        result = add_thread(&lines, report, paths, thread, begin_ns, is_async);
    }
    if (result == 0) {
        result = write_lines(&lines, out);
    }
    for (size_t i = 0; i < lines.count; i++) {
        free(lines.lines[i].text);
    }
    free(lines.lines);
    sbx_call_paths_destroy(paths);
    return result;
}

int sbx_print_folded(const struct sbx_report *report, FILE *out)
{
    return print_folded(report, out, false);
}

int sbx_print_async_folded(const struct sbx_report *report, FILE *out)
{
    return print_folded(report, out, true);
}
