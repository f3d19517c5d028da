/* SPDX-License-Identifier: Apache-2.0 */
/* show_payload.c - prints a payload as words and tables. */
#include "show_payload.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "stallbox/v1/payload.pb-c.h"

#include "name_tables.h"
#include "names.h"
#include "payload_numbers.h"

static void print_hex(FILE *out, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%02x", bytes[i]);
    }
}

static void print_day(FILE *out, uint32_t day)
{
    time_t seconds = (time_t)day * 86400;
    struct tm when;
    if (gmtime_r(&seconds, &when) != NULL) {
        fprintf(out, "%04d-%02d-%02d", when.tm_year + 1900, when.tm_mon + 1, when.tm_mday);
    }
}

/* ---- the content ---- */

static const char *name_of(const char *const *names, size_t count, uint32_t number)
{
    return number < count ? names[number] : "?";
}

#define NAME_OF(names, number) name_of(names, sizeof(names) / sizeof((names)[0]), number)

static void print_head(FILE *out, const struct sbx_show_style *style, const Stallbox__V1__Payload *payload)
{
    static const char *const systems[] = {"other Linux", "Debian", "Ubuntu", "Fedora",
                                          "RHEL family", "SUSE",   "Arch",   "Alpine"};
    static const char *const processors[] = {"other", "x86-64", "aarch64"};
    static const char *const ages[] = {"under a minute", "under 10 minutes", "under an hour", "under a day",
                                       "over a day"};
    const Stallbox__V1__Platform *platform = payload->platform;
    const Stallbox__V1__Trigger *trigger = payload->trigger;
    const Stallbox__V1__Policy *policy = payload->policy;

    fprintf(out, "%screated%s    ", style->bold, style->plain);
    print_day(out, payload->created_day);
    fprintf(out, " (UTC day), process up for %s\n", NAME_OF(ages, payload->uptime_bucket));
    fprintf(out, "%sprogram%s    build-id ", style->bold, style->plain);
    print_hex(out, payload->app_build_id.data, payload->app_build_id.len);
    fprintf(out, "%s", payload->app_build_id.len == 0 ? "none" : "");
    if (payload->app_name != 0) {
        fprintf(out, ", name #%010" PRIx64, payload->app_name);
    }
    if (payload->program != 0) {
        fprintf(out, ", file name #%010" PRIx64, payload->program);
    }
    for (size_t i = 0; i < payload->n_app_version; i++) {
        fprintf(out, "%s%" PRIu32, i == 0 ? ", version " : ".", payload->app_version[i]);
    }
    fputc('\n', out);
    if (payload->family_role != 0 || payload->stalled_beside != 0) {
        fprintf(out, "%sfamily%s     %s; %" PRIu32 " others stalled at the same time\n", style->bold, style->plain,
                payload->family_role != 0 ? "a forked worker" : "the first process", payload->stalled_beside);
    }
    for (size_t i = 0; payload->runtimes != NULL && i < payload->runtimes->n_kind; i++) {
        const Stallbox__V1__Runtimes *runtimes = payload->runtimes;
        fprintf(out, "%sruntime%s    %s %" PRIu32 ".%" PRIu32 ": %s\n", style->bold, style->plain,
                sbx_runtime_name(runtimes->kind[i]), runtimes->major[i], runtimes->minor[i],
                sbx_runtime_state_name(runtimes->state[i]));
    }
    if (platform != NULL) {
        fprintf(out, "%splatform%s   %s %" PRIu32 ", Linux %" PRIu32 ".%" PRIu32 ", %s, about %u cores, about %u GiB\n",
                style->bold, style->plain, NAME_OF(systems, platform->os), platform->os_major, platform->kernel_major,
                platform->kernel_minor, NAME_OF(processors, platform->arch), 1u << (platform->log2_cores & 31),
                1u << (platform->log2_ram_gib & 31));
    }
    if (trigger != NULL && trigger->kind == SBX_TRIGGER_END) {
        fprintf(out, "%strigger%s    %s: %s, %.1f ms in all; of the payload ", style->bold, style->plain,
                sbx_trigger_name(trigger->kind), sbx_stall_end_name(trigger->ended),
                (double)trigger->duration_us / 1e3);
        for (size_t i = 0; i < payload->completes.len; i++) {
            fprintf(out, "%02x", payload->completes.data[i]);
        }
        fprintf(out, "\n");
    } else if (trigger != NULL) {
        fprintf(out,
                "%strigger%s    %s: %.1f ms, limit %" PRIu32 " ms, thread %" PRIu32 ", message %" PRIu64
                ", %s; history %.2f s\n",
                style->bold, style->plain, sbx_trigger_name(trigger->kind), (double)trigger->duration_us / 1e3,
                trigger->threshold_ms, trigger->thread, trigger->message,
                trigger->in_progress ? "still going on" : "over", (double)trigger->history_us / 1e6);
        if (trigger->signal != 0) {
            fprintf(out, "           ended by %s, %s\n", sbx_signal_name(trigger->signal),
                    sbx_fault_text(trigger->fault));
        }
    }
    if (policy != NULL) {
        fprintf(out,
                "%spolicy%s     epoch %" PRIu32 " seq %" PRIu64 ", points 0x%02" PRIx64 ", interval %" PRIu32
                " us, gap %" PRIu32 " us (achieved %" PRIu32 "), waits from %" PRIu32 " us, anr %" PRIu32
                " ms, slow message %" PRIu32 " ms, slow frame %" PRIu32 " ms, detail level %" PRIu32 "\n",
                style->bold, style->plain, policy->epoch, policy->seq, policy->points, policy->interval_us,
                policy->gap_us, policy->async_interval_us, policy->wait_min_us, policy->anr_ms, policy->slow_message_ms,
                policy->slow_frame_ms, policy->detail_level);
    }
}

static void print_overhead(FILE *out, const struct sbx_show_style *style, const Stallbox__V1__Payload *payload)
{
    const Stallbox__V1__Overhead *overhead = payload->overhead;
    if (overhead != NULL) {
        fprintf(
            out,
            "%soverhead%s   %.2f %% of the program's CPU time, %.2f %% in the last second, budget %.2f %%; %.2f %% for "
            "modules; interval %" PRIu32 " us, gap %" PRIu32 " us, points shed 0x%02" PRIx64 ", %" PRIu32
            " changes; at most %" PRIu32 " ms (0: more)\n",
            style->bold, style->plain, overhead->cost_ppm / 1e4, overhead->window_ppm / 1e4,
            overhead->budget_permille / 10.0 + overhead->budget_tenths / 100.0, overhead->modules_ppm / 1e4,
            overhead->interval_us, overhead->gap_us, overhead->shed, overhead->changes, overhead->cost_ms);
    }
    if (payload->sampling != NULL) {
        fprintf(out, "%ssampling%s   one in %" PRIu32 ", stands for %" PRIu64 "\n", style->bold, style->plain,
                payload->sampling->one_in, payload->sampling->weight);
    }
}

static void print_modules(FILE *out, const struct sbx_show_style *style, const Stallbox__V1__Modules *modules)
{
    static const char *const kinds[] = {"?", "app", "system", "agent", "vdso", "other"};
    size_t count = modules == NULL ? 0 : modules->n_kind;
    fprintf(out, "\n%smodules (%zu)%s\n%s    #  kind    name                        build-id%s\n", style->bold, count,
            style->plain, style->dim, style->plain);
    for (size_t i = 0; i < count; i++) {
        const char *name = sbx_system_module_name(modules->name[i]);
        fprintf(out, "  %3zu  %-7s %-27s ", i, NAME_OF(kinds, modules->kind[i]), name == NULL ? "-" : name);
        print_hex(out, modules->build_id[i].data, modules->build_id[i].len);
        fprintf(out, "%s\n", modules->build_id[i].len == 0 ? "-" : "");
    }
}

static void print_threads(FILE *out, const struct sbx_show_style *style, const Stallbox__V1__Threads *threads,
                          const Stallbox__V1__Records *records)
{
    size_t count = threads == NULL ? 0 : threads->n_name;
    fprintf(out, "\n%sthreads (%zu)%s\n%s    #  name              records  flags       at the trigger%s\n", style->bold,
            count, style->plain, style->dim, style->plain);
    for (size_t i = 0; i < count; i++) {
        char flags[24];
        snprintf(flags, sizeof flags, "%s%s%s", threads->flags[i] & 1 ? "main " : "",
                 threads->flags[i] & 2 ? "loop " : "", threads->flags[i] & 4 ? "ended " : "");
        fprintf(out, "  %3zu  %-16s %8" PRIu32 "  %-11s ", i, sbx_thread_name_pattern(threads->name[i]),
                records != NULL && i < records->n_thread_rows ? records->thread_rows[i] : 0, flags);
        if (threads->call_kind[i] != 0) {
            fprintf(out, "in %s (%s) for %.1f ms", sbx_op_name(threads->call_op[i]),
                    sbx_record_name(threads->call_kind[i]), (double)threads->call_us[i] / 1e3);
        }
        if (threads->call_peer[i] != 0) {
            fprintf(out, ", held by thread %" PRIu32, threads->call_peer[i] - 1);
        }
        fputc('\n', out);
    }
}

static void print_watches(FILE *out, const struct sbx_show_style *style, const Stallbox__V1__Payload *payload)
{
    const Stallbox__V1__Watches *watches = payload->watches;
    size_t count = watches == NULL ? 0 : watches->n_kind;
    if (count == 0) {
        return;
    }
    fprintf(out, "\n%swatches and deadlines (%zu)%s\n%s    #  what        kind      limit%s\n", style->bold, count,
            style->plain, style->dim, style->plain);
    for (size_t i = 0; i < count; i++) {
        bool is_triggers = payload->trigger != NULL && payload->trigger->watch == i + 1;
        fprintf(out, "  %3zu  %010" PRIx64 "  %-8s %8" PRIu32 " ms, %s for %.1f ms", i, watches->what[i],
                sbx_watch_kind_name(watches->kind[i]), watches->timeout_ms[i], sbx_watch_state_name(watches->state[i]),
                (double)watches->age_us[i] / 1e3);
        if (watches->thread[i] != 0) {
            fprintf(out, ", thread %" PRIu32, watches->thread[i] - 1);
        }
        fprintf(out, "%s\n", is_triggers ? ": not kept" : "");
    }
}

static void print_counts(FILE *out, const struct sbx_show_style *style, const Stallbox__V1__Payload *payload)
{
    const Stallbox__V1__Records *records = payload->records;
    size_t count = records == NULL ? 0 : records->n_kind;
    fprintf(out, "\n%srecords (%zu)%s   ", style->bold, count, style->plain);
    for (uint32_t kind = 0; kind < SBX_RECORD_KINDS; kind++) {
        size_t of_kind = 0;
        for (size_t i = 0; i < count; i++) {
            of_kind += records->kind[i] == kind;
        }
        if (of_kind != 0) {
            fprintf(out, "%s %zu  ", sbx_record_name(kind), of_kind);
        }
    }
    uint64_t runs = 0, looks = 0;
    for (size_t i = 0; i < count && records->n_repeats == count; i++) {
        runs += records->repeats[i] != 0;
        looks += records->repeats[i];
    }
    if (runs != 0) {
        fprintf(out, "\n               %" PRIu64 " of them runs, for %" PRIu64 " looks", runs, looks);
    }
    fprintf(out, "\n%sstacks%s     %zu frames, %zu callstacks\n", style->bold, style->plain,
            payload->frames == NULL ? (size_t)0 : payload->frames->n_module,
            payload->callstacks == NULL ? (size_t)0 : payload->callstacks->n_frame);
    fprintf(out, "%slost%s       ", style->bold, style->plain);
    bool any = false;
    for (size_t i = 0; i < payload->n_drops; i++) {
        if (payload->drops[i] != 0) {
            fprintf(out, "%s %" PRIu64 "  ", sbx_drop_name((uint32_t)i), payload->drops[i]);
            any = true;
        }
    }
    fprintf(out, "%s\n", any ? "" : "nothing");
}

int sbx_show_tables(FILE *out, const struct sbx_show_style *style, const uint8_t *bytes, size_t byte_count)
{
    Stallbox__V1__Payload *payload = stallbox__v1__payload__unpack(NULL, byte_count, bytes);
    if (payload == NULL) {
        fprintf(stderr, "out of memory\n"); /* the bytes have passed a stricter reader */
        return 1;
    }
    print_head(out, style, payload);
    print_overhead(out, style, payload);
    print_modules(out, style, payload->modules);
    print_threads(out, style, payload->threads, payload->records);
    print_watches(out, style, payload);
    print_counts(out, style, payload);
    stallbox__v1__payload__free_unpacked(payload, NULL);
    return 0;
}

/* ---- the fields ---- */

/* Prints the value of a single field, or the number of values of a column with their minimum and maximum. */
static void print_values(FILE *out, const struct sbx_payload_field *field, const struct sbx_field_survey *survey)
{
    char text[64] = "-";
    if (field->type == SBX_FIELD_MESSAGE) {
        text[0] = '\0';
    } else if (survey->values == 0) {
        snprintf(text, sizeof text, "%s", field->repeated || field->type >= SBX_FIELD_ID ? "none" : "0");
    } else if (field->type >= SBX_FIELD_ID && !field->repeated) {
        size_t shown = survey->at_bytes <= 16 ? survey->at_bytes : 15; /* the column of the table has room for an id */
        for (size_t i = 0; i < shown; i++) {
            snprintf(text + 2 * i, sizeof text - 2 * i, "%02x", survey->at[i]);
        }
        if (shown < survey->at_bytes) {
            snprintf(text + 2 * shown, sizeof text - 2 * shown, "..");
        }
    } else if (field->type >= SBX_FIELD_ID) {
        snprintf(text, sizeof text, "%" PRIu64 " entries", survey->values);
    } else if (field->repeated) {
        snprintf(text, sizeof text, "%" PRIu64 " in %" PRId64 "..%" PRId64, survey->values, survey->min, survey->max);
    } else {
        snprintf(text, sizeof text, "%" PRId64, survey->max);
    }
    fprintf(out, "%-34s", text);
}

void sbx_show_fields(FILE *out, const struct sbx_show_style *style, const struct sbx_payload_survey *survey,
                     size_t bytes)
{
    fprintf(out, "%severy field that can leave, and what of it does%s\n", style->bold, style->plain);
    fprintf(out, "%s%-30s %8s %7s  %-34s%s%s\n", style->dim, "field", "bytes", "share", "values", "meaning",
            style->plain);
    uint64_t total = 0;
    for (size_t i = 0; i < sbx_payload_field_count; i++) {
        const struct sbx_payload_field *field = &sbx_payload_fields[i];
        const struct sbx_field_survey *found = &survey->fields[i];
        char name[64];
        bool inner = field->message != SBX_IN_PAYLOAD;
        snprintf(name, sizeof name, "%s%s%s", inner ? sbx_payload_message_name(field->message) : "", inner ? "." : "",
                 field->name);
        fprintf(out, "%s%-30s %8" PRIu64 " %6.2f%%  ", found->bytes == 0 ? style->dim : "", name, found->bytes,
                bytes == 0 ? 0.0 : 100.0 * (double)found->bytes / (double)bytes);
        print_values(out, field, found);
        fprintf(out, "%s%s\n", field->meaning, found->bytes == 0 ? style->plain : "");
        total += found->bytes;
    }
    fprintf(out, "%s%-30s %8" PRIu64 " %6.2f%%%s\n", style->bold, "total", total,
            bytes == 0 ? 0.0 : 100.0 * (double)total / (double)bytes, style->plain);
    if (total != bytes) {
        fprintf(out, "%-30s %8" PRIu64 " bytes are in no field of the list, or were not looked at\n",
                "not accounted for", (uint64_t)bytes - total);
    }
}

static int64_t single_value(const struct sbx_payload_survey *survey, enum sbx_payload_message message, uint64_t number)
{
    const struct sbx_field_survey *field = &survey->fields[sbx_payload_field_find(message, number)];
    return field->values == 0 ? 0 : field->max;
}

void sbx_show_redactions(FILE *out, const struct sbx_show_style *style, const struct sbx_payload_survey *survey)
{
    fprintf(out,
            "\n%sredactions%s  detail level %" PRId64 ": %" PRId64 " modules folded into \"other\", %" PRId64
            " frames without offset, %" PRId64 " thread names hidden, %" PRId64 " objects made ordinals, %" PRId64
            " records cut\n",
            style->bold, style->plain, single_value(survey, SBX_IN_POLICY, 10),
            single_value(survey, SBX_IN_REDACTIONS, 1), single_value(survey, SBX_IN_REDACTIONS, 2),
            single_value(survey, SBX_IN_REDACTIONS, 3), single_value(survey, SBX_IN_REDACTIONS, 4),
            single_value(survey, SBX_IN_REDACTIONS, 5));
}
