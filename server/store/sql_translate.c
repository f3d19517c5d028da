/* SPDX-License-Identifier: Apache-2.0 */
/* sql_translate.c - translates phrase by phrase. */
#include "sql_translate.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byte_buffer.h"

static const struct {
    const char *from, *to;
} phrases[] = {
    {" INDEXED BY met_gone", ""},
    {" AND +day IN (", " AND day IN ("},
    {" AND +m.day BETWEEN ", " AND m.day BETWEEN "},
    {" AND (+day = -1 OR +day BETWEEN ", " AND (day = -1 OR day BETWEEN "},
    {" AND (+f.day = -1 OR +f.day BETWEEN ", " AND (f.day = -1 OR f.day BETWEEN "},
    /* ARRAY(...) is evaluated once, not for each row of a day's table. */
    {".build IN (SELECT b.num FROM build b WHERE (", ".build = ANY(ARRAY(SELECT b.num FROM build b WHERE "},
    {" IS NOT ?", " IS DISTINCT FROM ?"},
    {"o.tenant IS s.tenant", "o.tenant IS NOT DISTINCT FROM s.tenant"},
    {"json_each(", "json_array_elements_text("},
    {"TOTAL(unnamed)", "COALESCE(SUM(unnamed), 0)"},
};

static const struct {
    const char *begin, *end;
} replaced[] = {
    {"INSERT OR REPLACE INTO alias(", " ON CONFLICT(id) DO UPDATE SET issue = excluded.issue"},
    {"INSERT OR REPLACE INTO blob_debt(", " ON CONFLICT(key) DO UPDATE SET at_ms = excluded.at_ms"},
    {"INSERT OR REPLACE INTO look(", " ON CONFLICT(app, version) DO UPDATE SET number = excluded.number"},
    {"INSERT OR REPLACE INTO policy(", " ON CONFLICT(app) DO UPDATE SET document = excluded.document"},
    {"INSERT OR REPLACE INTO profile(", " ON CONFLICT(seq) DO UPDATE SET text = excluded.text"},
    {"INSERT OR REPLACE INTO was_in(", " ON CONFLICT(issue, seq) DO UPDATE SET at_ms = excluded.at_ms"},
};

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* The table of "INSERT INTO t("; "" when the statement is not an insertion. */
static void find_table(const char *text, char table_out[32])
{
    const char *name = strstr(text, "INTO ");
    size_t bytes = name && begins_with(text, "INSERT") ? strcspn(name + 5, "( ") : 0;
    snprintf(table_out, 32, "%.*s", (int)(bytes < 31 ? bytes : 31), name ? name + 5 : "");
}

/* "n = n + excluded.n" at `text`, or after a comma: the length of the name; 0 when it does not match. */
static size_t is_addition(const char *text)
{
    size_t name = 0;
    while (islower((unsigned char)text[name]) || text[name] == '_')
        name++;
    const char *rest = text + name;
    return name > 0 && begins_with(rest, " = ") && strncmp(rest + 3, text, name) == 0 &&
                   begins_with(rest + 3 + name, " + excluded.")
               ? name
               : 0;
}

/* Translate what stands at *at, and move behind it. */
static void put_next(const char **at, const char *text, const char *table, struct sbx_byte_buffer *out, int *parameters,
                     uint32_t *used)
{
    bool is_word_begin = *at == text || (!isalnum((unsigned char)(*at)[-1]) && (*at)[-1] != '.' && (*at)[-1] != '_');
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
        if (begins_with(*at, phrases[i].from)) {
            const char *to = phrases[i].to;
            size_t bytes = strlen(to);
            bool has_parameter = bytes > 0 && to[bytes - 1] == '?'; /* the number of the parameter follows */
            sbx_byte_buffer_append(out, to, bytes - has_parameter);
            *at += strlen(phrases[i].from) - has_parameter;
            return;
        }
    size_t name = is_word_begin && *table ? is_addition(*at) : 0;
    if (name > 0) {
        sbx_byte_buffer_format(out, "%.*s = %s.%.*s", (int)name, *at, table, (int)name, *at);
        *at += 2 * name + 3;
    } else if (**at == '?' && isdigit((unsigned char)(*at)[1])) {
        int number = atoi(*at + 1);
        *parameters = number > *parameters ? number : *parameters;
        *used |= number < 32 ? UINT32_C(1) << number : 0;
        sbx_byte_buffer_text(out, "$");
        (*at)++;
    } else {
        sbx_byte_buffer_append(out, *at, 1);
        (*at)++;
    }
}

char *sbx_sql_translate(const char *text, int *parameters_out, uint32_t *used_out)
{
    struct sbx_byte_buffer out = {0};
    char table[32];
    const char *at = text, *end = "";
    *parameters_out = 0;
    *used_out = 0;
    find_table(text, table);
    if (begins_with(text, "INSERT OR IGNORE ")) {
        sbx_byte_buffer_text(&out, "INSERT ");
        at = text + strlen("INSERT OR IGNORE ");
        end = " ON CONFLICT DO NOTHING";
    }
    for (size_t i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++)
        if (begins_with(text, replaced[i].begin)) {
            sbx_byte_buffer_text(&out, "INSERT ");
            at = text + strlen("INSERT OR REPLACE ");
            end = replaced[i].end;
        }
    while (*at)
        put_next(&at, text, table, &out, parameters_out, used_out);
    sbx_byte_buffer_text(&out, end);
    if (out.failed) {
        sbx_byte_buffer_finish(&out);
        return NULL;
    }
    return out.data;
}
