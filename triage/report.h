/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - a stall with names, and the verdict: attribute.h fills it, and printers read it.
 *
 * Pure except for reading symbol files: the tool (`stallbox report`) and the server run exactly this code. One report
 * belongs to one thread at a time. */
#ifndef SBX_REPORT_H
#define SBX_REPORT_H

#include "stall.h"

/* ---- names ---- */

/* One logical frame: with inlined calls, one address has several, innermost first. Strings live as long as the report.
 * `function` is "NAME"; if no name is known, it is "module+0xOFFSET" and `named` is false; never NULL. */
struct sbx_location {
    const char *function; /* demangled */
    const char *module;   /* base name for people: "redis-server", "libc.so.6", "build-id 0123abcd", "[generated]" */
    const char *file;     /* NULL unknown */
    uint32_t line;        /* 0 unknown */
    bool inlined, named;
    bool app;           /* in a module of kind app, or of an embedded runtime */
    bool logical;       /* of an embedded runtime: `module` is its name, such as "lua" */
    const char *source; /* source of its name: "dwarf", "symtab", "dynsym", "runtime", "none" */
};

/* A module whose symbols would help: a module of the application without debug information, any module with unnamed
 * frames, or a runtime with such frames. */
struct sbx_report_gap {
    uint32_t module;  /* index in the stall */
    const char *name; /* name for people; "": not known */
    uint32_t unnamed; /* number of frames without a name */
    bool is_runtime;  /* an embedded runtime: its names are needed, and its build-id is its number */
};

struct sbx_symbolizer; /* symbolizer.h: the source of names */

/* ---- verdict ---- */

/* clang-format off */
enum sbx_cause {
    SBX_CAUSE_UNKNOWN = 0, SBX_CAUSE_CPU, SBX_CAUSE_HIGH_FREQUENCY, SBX_CAUSE_LOCK, SBX_CAUSE_DEADLOCK, SBX_CAUSE_WAIT,
    SBX_CAUSE_SLEEP, SBX_CAUSE_IO, SBX_CAUSE_NETWORK, SBX_CAUSE_IPC, SBX_CAUSE_MEMORY, SBX_CAUSE_GC,
    SBX_CAUSE_CPU_CONTENTION, SBX_CAUSE_CRASH, SBX_CAUSE_QUEUE, SBX_CAUSE_DEOPTIMIZATION,
};
/* clang-format on */
#define SBX_CAUSE_COUNT (SBX_CAUSE_DEOPTIMIZATION + 1)
enum sbx_class {
    SBX_CLASS_ON_CPU = 1,
    SBX_CLASS_RUNNABLE = 2,
    SBX_CLASS_OFF_CPU = 3
};

struct sbx_evidence {
    const char *kind; /* short word: "blocked", "samples", "holder", "loss", ... */
    char text[240];   /* one sentence for a person */
    double value;     /* the number that it rests on */
};

/* The function that queued the stalled work. */
struct sbx_queued_by {
    bool is_known;
    int32_t thread;               /* ordinal; -1: not known any more */
    struct sbx_location location; /* function NULL if its stack is not known */
    double lay_ms;                /* time from queueing to its begin */
};

struct sbx_verdict {
    enum sbx_cause cause;
    enum sbx_class class_;          /* 0: not known, or a crash, which has no time split */
    struct sbx_location location;   /* the function to blame; function "" if unknown */
    uint32_t stack;                 /* callstack of that function; 0 none */
    double confidence;              /* 0..1 */
    int32_t culprit_thread;         /* ordinal, -1 none */
    const char *culprit_function;   /* "" none */
    struct sbx_location culprit_at; /* the same with its file and line, where they are known */
    double culprit_certainty;       /* 0..1: how sure are the identity and the actions of the culprit; the source of the
                                     * knowledge is separate */
    uint32_t cycle_count;           /* `deadlock`: number of threads; else 0 */
    char culprit_doing[48];         /* what it did meanwhile, after "which": "was in fsync", "computed"; "" not known */
    struct sbx_queued_by queued_by;
    uint32_t
        awaited_stack; /* callstack of the functions that awaited the thread's work, the nearest first; 0: none, or not
                        * known */
    double lay_ns;     /* `queue`: how long the awaited task lay in its queue during the wait */
    struct sbx_evidence evidence[16];
    size_t evidence_count;
    int64_t interval_begin_ns, interval_end_ns; /* the judged interval, relative to the trigger */
    /* The judged thread in this interval. on_cpu + runnable + off_cpu + unknown is the interval; off_cpu is the sum of
     * off_cpu_by and idle. */
    double on_cpu_ms, runnable_ms, off_cpu_ms, unknown_ms;
    bool runnable_is_counted;              /* by the kernel; false: it is the remaining time */
    double idle_ms;                        /* the loop waited for work */
    double off_cpu_by_ms[SBX_CAUSE_COUNT]; /* by cause: enum sbx_cause */
    uint64_t messages;
    char headline[240]; /* "main thread slept 2.0 s in debugCommand (nanosleep)" */
};

/* ---- the whole ---- */

struct sbx_report {
    const struct sbx_stall *stall;  /* borrowed until destroy */
    struct sbx_location *locations; /* flat; those of frame f: [location_begin[f], location_begin[f + 1]) */
    uint32_t *location_begin;       /* frame_count + 1 entries */
    struct sbx_report_gap *gaps;    /* in the order of the stall's modules */
    uint32_t gap_count;
    const char **watch_names; /* by watch of the stall; NULL: no name is known */
    const char **kind_names;  /* SBX_OP_MAX entries, by message kind; NULL: no name is known */
    uint32_t message_kind;    /* of the judged message, as the application numbers it; 0: not told */
    const char *scene_name;   /* of the scene in the trigger; NULL: not known */
    struct sbx_verdict verdict;
    int64_t packed_ns; /* when the payload's file was written, by the wall clock; 0 not known. Set by the caller */
    char app_name[64]; /* the given name (run --app), else the executable's name */
    char executable_name[64]; /* from a path if one is known, else its build-id in short hex */
    uint64_t app_id;          /* 40 bits, the same for all builds of the application; 0: not known */
    struct sbx_arena *arena;  /* owns every string */
};

/* The name of a watch of the stall; NULL if only its hash is known. */
static inline const char *sbx_report_watch_name(const struct sbx_report *report, uint32_t watch)
{
    return report->watch_names != NULL ? report->watch_names[watch] : NULL;
}

enum {
    SBX_KIND_TEXT_BYTES = 80
};

/* The text for messages of a kind: "render" in quotes, or "of kind 7" if only its number is known. "" for kind 0. */
void sbx_report_kind_text(const struct sbx_report *report, uint32_t kind, char text_out[SBX_KIND_TEXT_BYTES]);
/* The text for the application's scene: its name, else "scene 7"; "" if it told none. */
void sbx_report_scene_text(const struct sbx_report *report, char text_out[SBX_KIND_TEXT_BYTES]);

/* Give names to all frames. Returns 0 and a report (given), -EINVAL if the payload is not a stall but the end of one,
 * or -ENOMEM. Missing symbols are no error. `symbolizer` (may be NULL) is borrowed until this returns. The verdict is
 * empty until sbx_attribute() (attribute.h) has filled it. */
int sbx_report_create(const struct sbx_stall *stall, struct sbx_symbolizer *symbolizer, struct sbx_report **report_out);
void sbx_report_destroy(struct sbx_report *report);

/* The callstack as locations, leaf first (inlined frames are expanded). Returns how many were written. */
size_t sbx_report_callstack(const struct sbx_report *report, uint32_t stack, const struct sbx_location **out,
                            size_t max);

#endif
