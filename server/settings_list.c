/* SPDX-License-Identifier: Apache-2.0 */
/* settings_list.c - the options of a server as words. */
#include "settings_list.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server_defaults.h"

struct list {
    struct sbx_setting *settings;
    size_t count;
    const char *group;
};

static void add(struct list *list, const char *name, const char *option, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void add(struct list *list, const char *name, const char *option, const char *format, ...)
{
    if (list->count == SBX_SETTINGS_MAX)
        return;
    struct sbx_setting *setting = &list->settings[list->count++];
    *setting = (struct sbx_setting){.group = list->group, .name = name, .option = option};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(setting->value, sizeof(setting->value), format, arguments);
    va_end(arguments);
}

static bool begins(const char *text, const char *with)
{
    return text && strncmp(text, with, strlen(with)) == 0;
}

static void add_days(struct list *list, const char *name, const char *option, uint32_t days, uint32_t otherwise)
{
    days = days == 0 ? otherwise : days;
    if (days >= SBX_KEEP_FOR_EVER)
        add(list, name, option, "for ever");
    else
        add(list, name, option, "%u days", days);
}

static void add_storage(struct list *list, const struct sbx_server_options *options)
{
    list->group = "Storage";
    add(list, "stalls and sums", "--database", "%s", options->database ? "PostgreSQL" : "SQLite, in the data folder");
    add(list, "payloads", "--blobs", "%s",
        !options->blobs                  ? "in the database"
        : begins(options->blobs, "http") ? "in an S3-compatible store"
                                         : "in a folder");
    add(list, "symbols", "--symbol-store", "%s",
        begins(options->symbol_store, "redis") || begins(options->symbol_store, "unix:") ? "in Redis" : "in a folder");
    add(list, "symbols of others", "--debuginfod", "%s",
        options->debuginfod_url ? "a debuginfod server is asked" : "nobody is asked");
    add(list, "files of this machine", "--no-local-files", "%s",
        options->skips_local_files ? "are not looked at for symbols" : "are looked at for symbols");
}

static void add_retention(struct list *list, const struct sbx_server_options *options)
{
    list->group = "Retention";
    add_days(list, "payloads and reports are kept", "--payload-days", options->payload_days, SBX_PAYLOAD_DAYS_DEFAULT);
    add_days(list, "stalls are kept", "--retention-days", options->retention_days, SBX_RETENTION_DAYS_DEFAULT);
    if (options->renderings_bytes_max == SBX_RENDERINGS_NOT_KEPT)
        add(list, "reports that were asked for", "--renderings-mb", "are not kept");
    else
        add(list, "reports that were asked for", "--renderings-mb", "%" PRIu64 " MiB",
            (options->renderings_bytes_max ? options->renderings_bytes_max : SBX_RENDERINGS_BYTES_DEFAULT) >> 20);
}

static void add_limits(struct list *list, const struct sbx_server_options *options, unsigned workers)
{
    list->group = "Limits";
    add(list, "payloads of one machine in an hour", "--machine-rate", "%u",
        options->machine_rate ? options->machine_rate : SBX_MACHINE_RATE_DEFAULT);
    add(list, "payloads and files of one token in an hour", "--token-rate", "%u",
        options->token_rate ? options->token_rate : SBX_TOKEN_RATE_DEFAULT);
    add(list, "payloads that wait for triage", "--pending", "%u",
        options->pending_max ? options->pending_max : SBX_PENDING_MAX_DEFAULT);
    add(list, "processes that triage", "--workers", "%u", workers);
    add(list, "processor time for a payload", "--triage-seconds", "%.1f s",
        (options->triage_ms ? options->triage_ms : SBX_TRIAGE_MS_DEFAULT) / 1e3);
}

static void add_privacy(struct list *list, const struct sbx_server_options *options)
{
    list->group = "Privacy";
    if (options->min_machines > 1)
        add(list, "shown is what was sent by", "--min-machines", "%u machines or more", options->min_machines);
    else
        add(list, "shown is what was sent by", "--min-machines", "anybody");
    add(list, "sealed payloads", "--unseal-key", "%s", options->unseal_keys ? "are opened" : "are kept as they are");
}

static void add_issues(struct list *list, const struct sbx_server_options *options)
{
    list->group = "Alerts";
    if (!options->webhook_url) {
        add(list, "changes are told to", "--webhook", "nobody; the feed has them");
        return;
    }
    add(list, "changes are told to", "--webhook", "an address, %s%s",
        options->webhook_is_otlp ? "as OTLP logs" : "as JSON", options->webhook_secret ? ", signed" : "");
    add(list, "of these changes", "--webhook-changes", "%s",
        options->webhook_changes ? options->webhook_changes : "all");
    if (options->webhook_app_count)
        add(list, "of applications", "--webhook-app", "%zu of them", options->webhook_app_count);
    else
        add(list, "of applications", "--webhook-app", "all");
}

size_t sbx_settings_list(const struct sbx_server_options *options, unsigned workers,
                         struct sbx_setting out[SBX_SETTINGS_MAX])
{
    struct list list = {.settings = out};
    add_storage(&list, options);
    add_retention(&list, options);
    add_limits(&list, options, workers);
    add_privacy(&list, options);
    add_issues(&list, options);
    return list.count;
}
