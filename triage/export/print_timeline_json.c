/* SPDX-License-Identifier: Apache-2.0 */
/* print_timeline_json.c - all that the timeline draws: every piece of every thread's time with its stack, for a page in
 * which the user can zoom.
 *
 *   {"begin_ms","end_ms","judged_ms":[begin,end],"trigger","cut",
 *    "states":[{"name","fill","ink"}],
 *    "threads":[{"thread","name","judged","culprit","messages":[[begin,end,count,judged]],
 *                "pieces":[[begin,end,state,node]]}],
 *    "nodes":[[parent,frame]],"frames":[{"function","module","file","line"}],
 *    "waits":[{"from","to","from_ms","to_ms","woke","text"}],"tasks":[{"from","to","from_ms","to_ms","text"}]}
 *
 * Times are milliseconds relative to the trigger. A node is a call in a chain of calls; `parent` is the caller's node,
 * and node 0 is "no stack". The numbers of pieces, messages and nodes are bounded: the rest is left out, and `cut` says
 * so. */
#include "exporters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call_path.h"
#include "clean_text.h"
#include "flame_tree.h"
#include "names.h"
#include "svg_writer.h"
#include "timeline_links.h"
#include "timeline_tasks.h"

enum {
    PIECES_MAX = 20000,
    NODES_MAX = 40000,
    MESSAGES_MAX = 4000, /* of all threads */
    LABEL_BYTES = 128,
};

struct drawing {
    const struct sbx_report *report;
    FILE *out;
    struct sbx_flame_tree tree; /* of all threads; nodes are chains of calls */
    struct piece {
        int64_t begin_ns, end_ns;
        uint32_t node;
        enum sbx_span_state state;
    } last; /* not written yet; begin > end: none */
    int64_t begin_ns;
    size_t pieces, messages;
    bool is_first, is_cut;
};

/* ---- words ---- */

static void put_text(FILE *out, const char *text)
{
    char clean[SBX_CLEAN_TEXT_BYTES];
    sbx_clean_text(text, clean, sizeof clean);
    fputc('"', out);
    for (const char *at = clean; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            fputc('\\', out);
        }
        fputc(*at, out);
    }
    fputc('"', out);
}

static void put_ms(FILE *out, int64_t ns)
{
    fprintf(out, "%.3f", (double)ns / 1e6);
}

static void put_separator(struct drawing *drawing)
{
    fputs(drawing->is_first ? "" : ",", drawing->out);
    drawing->is_first = false;
}

/* ---- threads ---- */

static void flush_piece(struct drawing *drawing)
{
    struct piece *last = &drawing->last;
    if (last->begin_ns >= last->end_ns) {
        return;
    }
    if (drawing->pieces == PIECES_MAX) {
        drawing->is_cut = true;
        return;
    }
    put_separator(drawing);
    fputc('[', drawing->out);
    put_ms(drawing->out, last->begin_ns);
    fputc(',', drawing->out);
    put_ms(drawing->out, last->end_ns);
    fprintf(drawing->out, ",%d,%u]", (int)last->state, last->node);
    drawing->pieces++;
}

/* Neighbours with the same stack and state are one piece. */
static int add_piece(void *context, const struct sbx_piece *piece)
{
    struct drawing *drawing = context;
    struct piece *last = &drawing->last, next = {.begin_ns = piece->begin_ns, .end_ns = piece->end_ns};
    next.begin_ns = next.begin_ns < drawing->begin_ns ? drawing->begin_ns : next.begin_ns;
    if (next.end_ns <= next.begin_ns) {
        return 0;
    }
    next.state = piece->state;
    if (drawing->tree.count < NODES_MAX) {
        int result = sbx_flame_tree_find(&drawing->tree, piece, &next.node);
        if (result != 0) {
            return result;
        }
    } else {
        drawing->is_cut = true;
    }
    if (last->node == next.node && last->state == next.state && last->end_ns == next.begin_ns) {
        last->end_ns = next.end_ns;
        return 0;
    }
    flush_piece(drawing);
    *last = next;
    return 0;
}

static void put_messages(struct drawing *drawing, const struct sbx_thread_spans *spans)
{
    uint64_t judged = drawing->report->stall->trigger.message;
    drawing->is_first = true;
    for (size_t i = 0; i < spans->message_count; i++) {
        const struct sbx_message_span *message = &spans->messages[i];
        if (message->end_ns < drawing->begin_ns) {
            continue;
        }
        if (drawing->messages++ >= MESSAGES_MAX) {
            drawing->is_cut = true;
            return;
        }
        put_separator(drawing);
        fputc('[', drawing->out);
        put_ms(drawing->out, message->begin_ns);
        fputc(',', drawing->out);
        put_ms(drawing->out, message->end_ns);
        fprintf(drawing->out, ",%llu,%s]", (unsigned long long)(message->merged > 1 ? message->merged : 1),
                judged != 0 && message->message == judged ? "true" : "false");
    }
}

static int put_thread(struct drawing *drawing, uint32_t thread, const struct sbx_call_paths *paths)
{
    const struct sbx_report *report = drawing->report;
    struct sbx_thread_spans spans;
    char label[LABEL_BYTES];
    int result = sbx_thread_spans_init(&spans, report->stall, thread);
    if (result != 0) {
        return result;
    }
    sbx_thread_label(report->stall, thread, label, sizeof label);
    fprintf(drawing->out, "{\"thread\":%u,\"name\":", thread);
    put_text(drawing->out, label);
    fprintf(drawing->out, ",\"judged\":%s,\"culprit\":%s,\"messages\":[",
            thread == report->stall->trigger.thread ? "true" : "false",
            (int64_t)thread == report->verdict.culprit_thread ? "true" : "false");
    put_messages(drawing, &spans);
    fputs("],\"pieces\":[", drawing->out);
    drawing->is_first = true;
    drawing->last = (struct piece){.begin_ns = 1};
    result = sbx_span_pieces_visit(&spans, paths, add_piece, drawing);
    flush_piece(drawing);
    fputs("]}", drawing->out);
    sbx_thread_spans_finish(&spans);
    return result;
}

/* The judged thread comes first, so that it is complete if there is too much. */
static int put_threads(struct drawing *drawing, const struct sbx_call_paths *paths)
{
    const struct sbx_stall *stall = drawing->report->stall;
    uint32_t judged = stall->trigger.thread;
    int result = judged < stall->thread_count ? put_thread(drawing, judged, paths) : 0;
    bool is_first = judged >= stall->thread_count;
    for (uint32_t thread = 0; thread < stall->thread_count && result == 0; thread++) {
        if (thread != judged) {
            fputs(is_first ? "" : ",", drawing->out);
            is_first = false;
            result = put_thread(drawing, thread, paths);
        }
    }
    return result;
}

/* ---- stacks ---- */

static void put_frame(FILE *out, const struct sbx_flame_node *node)
{
    const struct sbx_location *location = node->location;
    fputs("{\"function\":", out);
    put_text(out, node->name);
    if (location != NULL && location->module[0] != '\0') {
        fputs(",\"module\":", out);
        put_text(out, location->module);
    }
    if (location != NULL && location->file != NULL) {
        fputs(",\"file\":", out);
        put_text(out, location->file);
        fprintf(out, ",\"line\":%u", location->line);
    }
    fputc('}', out);
}

/* A function that is called in many places is written once: after sorting by text, equal functions are neighbours. */
struct named_node {
    const struct sbx_flame_node *node;
    uint32_t index, frame;
};

static int compare_words(const struct sbx_flame_node *a, const struct sbx_flame_node *b)
{
    int order = strcmp(a->name, b->name);
    if (order != 0 || a->location == b->location) {
        return order;
    }
    if (a->location == NULL || b->location == NULL) {
        return a->location == NULL ? -1 : 1;
    }
    order = strcmp(a->location->module, b->location->module);
    if (order == 0) {
        order = strcmp(a->location->file != NULL ? a->location->file : "",
                       b->location->file != NULL ? b->location->file : "");
    }
    return order != 0                               ? order
           : a->location->line != b->location->line ? (a->location->line < b->location->line ? -1 : 1)
                                                    : 0;
}

static int compare_named(const void *left, const void *right)
{
    return compare_words(((const struct named_node *)left)->node, ((const struct named_node *)right)->node);
}

static int put_stacks(struct drawing *drawing)
{
    const struct sbx_flame_tree *tree = &drawing->tree;
    struct named_node *named = calloc(tree->count, sizeof *named);
    uint32_t *frames = calloc(tree->count, sizeof *frames), frame_count = 0;
    if (named == NULL || frames == NULL) {
        free(named);
        free(frames);
        return -ENOMEM;
    }
    for (uint32_t i = 1; i < tree->count; i++) {
        named[i - 1] = (struct named_node){.node = &tree->nodes[i], .index = i};
    }
    qsort(named, tree->count - 1, sizeof *named, compare_named);
    fputs("],\"frames\":[", drawing->out);
    for (uint32_t i = 0; i + 1 < tree->count; i++) {
        if (i == 0 || compare_words(named[i - 1].node, named[i].node) != 0) {
            fputs(frame_count++ == 0 ? "" : ",", drawing->out);
            put_frame(drawing->out, named[i].node);
        }
        frames[named[i].index] = frame_count - 1;
    }
    fputs("],\"nodes\":[[0,0]", drawing->out);
    for (uint32_t i = 1; i < tree->count; i++) {
        fprintf(drawing->out, ",[%u,%u]", tree->nodes[i].parent, frames[i]);
    }
    free(named);
    free(frames);
    return 0;
}

/* ---- arrows ---- */

static int put_waits(const struct drawing *drawing)
{
    const struct sbx_report *report = drawing->report;
    FILE *out = drawing->out;
    struct sbx_wait_link *links;
    size_t count;
    char text[SBX_WAIT_ARROW_TEXT_BYTES];
    int result = sbx_wait_links_create(report->stall, &links, &count);
    if (result != 0) {
        return result;
    }
    count = sbx_wait_arrows_choose(report, links, count);
    for (size_t i = 0; i < count; i++) {
        int64_t at_ns = links[i].woke ? links[i].at_ns : links[i].end_ns;
        fprintf(out, "%s{\"from\":%u,\"to\":%u,\"from_ms\":", i == 0 ? "" : ",",
                links[i].woke ? links[i].other : links[i].waiter, links[i].woke ? links[i].waiter : links[i].other);
        put_ms(out, at_ns);
        fputs(",\"to_ms\":", out);
        put_ms(out, links[i].woke ? links[i].end_ns : at_ns);
        fprintf(out, ",\"woke\":%s,\"text\":", links[i].woke ? "true" : "false");
        sbx_wait_arrow_text(report, &links[i], text);
        put_text(out, text);
        fputc('}', out);
    }
    free(links);
    return 0;
}

static void put_tasks(const struct drawing *drawing)
{
    FILE *out = drawing->out;
    struct sbx_task_arrow arrows[SBX_TASK_ARROWS_MAX];
    char text[SBX_TASK_ARROW_TEXT_BYTES];
    size_t count = sbx_task_arrows_choose(drawing->report, drawing->begin_ns, arrows);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s{\"from\":%d,\"to\":%d,\"from_ms\":", i == 0 ? "" : ",", arrows[i].from, arrows[i].to);
        put_ms(out, arrows[i].queued_ns);
        fputs(",\"to_ms\":", out);
        put_ms(out, arrows[i].begun_ns);
        fputs(",\"text\":", out);
        sbx_task_arrow_text(drawing->report, &arrows[i], text);
        put_text(out, text);
        fputc('}', out);
    }
}

/* ---- the whole ---- */

static void put_head(const struct drawing *drawing)
{
    const struct sbx_report *report = drawing->report;
    const struct sbx_stall *stall = report->stall;
    FILE *out = drawing->out;
    int64_t end_ns = 0;
    for (size_t i = 0; i < stall->record_count; i++) {
        end_ns = stall->records[i].end_ns > end_ns ? stall->records[i].end_ns : end_ns;
    }
    fputs("{\"begin_ms\":", out);
    put_ms(out, drawing->begin_ns);
    fputs(",\"end_ms\":", out);
    put_ms(out, end_ns);
    fputs(",\"judged_ms\":[", out);
    put_ms(out, report->verdict.interval_begin_ns);
    fputc(',', out);
    put_ms(out, report->verdict.interval_end_ns);
    fputs("],\"trigger\":", out);
    put_text(out, sbx_trigger_name(stall->trigger.kind));
    fputs(",\"states\":[", out);
    for (enum sbx_span_state state = SBX_SPAN_UNKNOWN; state < SBX_SPAN_STATES; state++) {
        fprintf(out, "%s{\"name\":\"%s\",\"fill\":\"%s\",\"ink\":\"%s\"}", state == SBX_SPAN_UNKNOWN ? "" : ",",
                sbx_span_state_name(state), sbx_svg_state_fill(state), sbx_svg_state_ink(state));
    }
    fputs("],\"threads\":[", out);
}

int sbx_print_timeline_json(const struct sbx_report *report, FILE *out)
{
    struct drawing drawing = {.report = report, .out = out};
    struct sbx_call_paths *paths = sbx_call_paths_create(report);
    int result = paths == NULL ? -ENOMEM : sbx_flame_tree_init(&drawing.tree);
    drawing.begin_ns = sbx_history_begin_ns(report->stall, report->verdict.interval_begin_ns);
    if (result == 0) {
        put_head(&drawing);
        result = put_threads(&drawing, paths);
    }
    if (result == 0) {
        result = put_stacks(&drawing);
    }
    if (result == 0) {
        fputs("],\"waits\":[", out);
        result = put_waits(&drawing);
    }
    if (result == 0) {
        fputs("],\"tasks\":[", out);
        put_tasks(&drawing);
        fprintf(out, "],\"cut\":%s}\n", drawing.is_cut || drawing.tree.cut ? "true" : "false");
        result = fflush(out) != 0 ? -errno : ferror(out) ? -EIO : 0;
    }
    sbx_flame_tree_finish(&drawing.tree);
    sbx_call_paths_destroy(paths);
    return result;
}
