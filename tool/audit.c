/* SPDX-License-Identifier: Apache-2.0 */
/* audit.c - `stallbox audit`: SPOOL/audit.log, joined to one line per payload. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit.h"
#include "command.h"
#include "options.h"

enum {
    OPTION_FORMAT,
    OPTION_COUNT
};
static const struct sbx_option options[OPTION_COUNT] = {
    [OPTION_FORMAT] = {"--format", 'f', "FORMAT",
                       "text (default: a table), json (one object a payload, with all that is known\nof it) or log "
                       "(the lines as they are)"},
};

/* What the log says about one payload. The keys are those of the log's lines. */
enum {
    TIME,
    ID,
    TRIGGER,
    RAW_BYTES,
    PAYLOAD_BYTES,
    ENVELOPE_BYTES,
    SEALED_TO,
    SHA256,
    MODULES_HIDDEN,
    FRAMES_HIDDEN,
    THREAD_NAMES_HIDDEN,
    OBJECTS_RENUMBERED,
    RECORDS_CUT,
    DETAIL,
    POLICY,
    CONSENT,
    TO,
    ANSWER,
    HTTP,
    WHY,
    LEFT,
    VALUES
};
static const char *const keys[VALUES] = {
    [TIME] = "made",
    [ID] = "id",
    [TRIGGER] = "trigger",
    [RAW_BYTES] = "raw_bytes",
    [PAYLOAD_BYTES] = "payload_bytes",
    [ENVELOPE_BYTES] = "envelope_bytes",
    [SEALED_TO] = "sealed_to",
    [SHA256] = "sha256",
    [MODULES_HIDDEN] = "modules_hidden",
    [FRAMES_HIDDEN] = "frames_hidden",
    [THREAD_NAMES_HIDDEN] = "thread_names_hidden",
    [OBJECTS_RENUMBERED] = "objects_renumbered",
    [RECORDS_CUT] = "records_cut",
    [DETAIL] = "detail",
    [POLICY] = "policy",
    [CONSENT] = "consent",
    [TO] = "to",
    [ANSWER] = "answer",
    [HTTP] = "http",
    [WHY] = "why",
    [LEFT] = "left",
};
enum {
    VALUE_BYTES = 320
};

struct audited {
    char values[VALUES][VALUE_BYTES];
};

struct audit {
    struct audited *payloads;
    size_t count, room;
};

void sbx_usage_audit(FILE *out)
{
    fputs("usage: stallbox audit [--format FORMAT] SPOOL\n"
          "\n"
          "Show which payload was made of each snapshot, which bytes left this machine, the key they are sealed to,\n"
          "and the server's answer. This is read from SPOOL/audit.log, which is written before the first byte of a\n"
          "payload is sent.\n"
          "\n",
          out);
    sbx_options_print(options, OPTION_COUNT, out);
    fputs("\nIn json, sha256 is that of the file that was sent: SPOOL/sent/ID.sbx, while it is kept.\n", out);
}

static struct audited *find(struct audit *audit, const char *id)
{
    for (size_t i = audit->count; i > 0; i--) {
        if (strcmp(audit->payloads[i - 1].values[ID], id) == 0) {
            return &audit->payloads[i - 1];
        }
    }
    if (audit->count == audit->room) {
        size_t room = audit->room == 0 ? 64 : 2 * audit->room;
        struct audited *grown = reallocarray(audit->payloads, room, sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        audit->payloads = grown;
        audit->room = room;
    }
    struct audited *fresh = &audit->payloads[audit->count++];
    memset(fresh, 0, sizeof *fresh);
    snprintf(fresh->values[ID], VALUE_BYTES, "%s", id);
    return fresh;
}

/* Take one line of the log. Lines in another format are skipped. Returns 0 or -ENOMEM. */
static int take_line(struct audit *audit, const char *line)
{
    char time[32] = "", event[16] = "", id[VALUE_BYTES];
    sbx_audit_value(line, "id", id, sizeof id);
    if (sscanf(line, "%31s %15s", time, event) != 2 || strlen(id) != 2 * SBX_PAYLOAD_ID_BYTES) {
        return 0;
    }
    struct audited *payload = find(audit, id);
    if (payload == NULL) {
        return -ENOMEM;
    }
    for (int i = TRIGGER; i < LEFT; i++) {
        char value[VALUE_BYTES];
        sbx_audit_value(line, keys[i], value, sizeof value);
        bool is_reason_gone = i == WHY && strcmp(event, "answer") == 0;
        if (value[0] != '\0' || is_reason_gone) {
            memcpy(payload->values[i], value, sizeof value);
        }
    }
    if (strcmp(event, "packed") == 0) {
        snprintf(payload->values[TIME], VALUE_BYTES, "%s", time);
    } else if (strcmp(event, "leaving") == 0) {
        snprintf(payload->values[LEFT], VALUE_BYTES, "%s", time);
    }
    return 0;
}

static int take(void *context, const char *line)
{
    return take_line(context, line);
}

static int print_line(void *context, const char *line)
{
    (void)context;
    if (line[0] != '\0') {
        puts(line);
    }
    return 0;
}

static const char *or_dash(const char *value)
{
    return value[0] != '\0' ? value : "-";
}

/* The columns of the table. A usual row fits into 100 columns, unless an address or a reason is long. */
#define ROW "%-20s  %-8.8s  %-12s  %8s  %-10s  %s"

static void print_head(void)
{
    printf(ROW "\n", "made", "id", "trigger", "bytes", "sealed to", "answer");
}

static void print_text(const struct audited *payload)
{
    const char(*values)[VALUE_BYTES] = payload->values;
    bool is_sealed = values[SEALED_TO][0] != '\0' && strcmp(values[SEALED_TO], "none") != 0;
    char key[12];
    snprintf(key, sizeof key, "%.8s", is_sealed ? values[SEALED_TO] : "nobody");
    printf(ROW "%s%s%s%s\n", or_dash(values[TIME]), values[ID], or_dash(values[TRIGGER]),
           or_dash(values[ENVELOPE_BYTES]), key,
           values[ANSWER][0] != '\0' ? values[ANSWER]
           : values[LEFT][0] != '\0' ? "no answer known"
                                     : "not sent",
           values[TO][0] != '\0' ? " by " : "", values[TO], values[WHY][0] != '\0' ? ": " : "", values[WHY]);
}

static void print_json(const struct audited *payload)
{
    const char *comma = "{";
    for (int i = 0; i < VALUES; i++) {
        const char *value = payload->values[i];
        if (value[0] == '\0') {
            continue;
        }
        bool is_number = strspn(value, "0123456789") == strlen(value) && i != ID && i != SHA256 && i != SEALED_TO;
        printf("%s\"%s\":%s", comma, keys[i], is_number ? "" : "\"");
        for (const char *at = value; *at != '\0'; at++) { /* control characters are not in the log */
            if (*at == '"' || *at == '\\') {
                putchar('\\');
            }
            putchar((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f ? '?' : *at);
        }
        fputs(is_number ? "" : "\"", stdout);
        comma = ",";
    }
    puts("}");
}

static int audit_spool(const char *path, const char *format)
{
    struct audit audit = {.count = 0};
    bool as_it_is = strcmp(format, "log") == 0;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return sbx_failure("audit", "%s: %s", path, strerror(errno));
    }
    bool is_json = strcmp(format, "json") == 0;
    int result = sbx_audit_each(folder, as_it_is ? print_line : take, &audit);
    close(folder);
    if (audit.count != 0 && !is_json) {
        print_head();
    }
    for (size_t i = 0; i < audit.count && result == 0; i++) {
        (is_json ? print_json : print_text)(&audit.payloads[i]);
    }
    free(audit.payloads);
    return result == 0 ? SBX_EXIT_DONE : sbx_failure("audit", "%s/%s: %s", path, SBX_AUDIT_FILE, strerror(-result));
}

int sbx_command_audit(int argc, char **argv)
{
    const char *path = NULL, *format = "text";
    struct sbx_option_reader reader;
    sbx_option_reader_init(&reader, "audit", options, OPTION_COUNT, argc, argv);
    for (int event = sbx_option_next(&reader); event != SBX_OPTION_END; event = sbx_option_next(&reader)) {
        switch (event) {
        case OPTION_FORMAT:
            format = reader.value;
            if (strcmp(format, "text") != 0 && strcmp(format, "json") != 0 && strcmp(format, "log") != 0) {
                return sbx_usage_error("audit", "unknown format '%s'; it is text, json or log", format);
            }
            break;
        case SBX_OPTION_OPERAND:
            if (path != NULL) {
                return sbx_usage_error("audit", "one SPOOL at a time, but got '%s' too", reader.value);
            }
            path = reader.value;
            break;
        case SBX_OPTION_HELP:
            sbx_usage_audit(stdout);
            return SBX_EXIT_DONE;
        default:
            return SBX_EXIT_USAGE;
        }
    }
    return path == NULL ? sbx_usage_error("audit", "no SPOOL: of which folder?") : audit_spool(path, format);
}
