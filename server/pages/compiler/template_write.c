/* SPDX-License-Identifier: Apache-2.0 */
/* template_write.c - writes a template as a C header, for html_fill.h. */
#include "template.h"

#include <ctype.h>

enum {
    LITERAL_COLUMNS = 100
};

static void write_upper(const char *name, FILE *out)
{
    for (; *name; name++)
        fputc(toupper((unsigned char)*name), out);
}

/* Write a string literal, in as many lines as it needs. Escapes are octal, because they always end after three
 * digits. */
static void write_literal(const struct sbx_template_piece *piece, FILE *out)
{
    fputc('"', out);
    for (size_t i = 0, column = 0; i < piece->markup_bytes; i++) {
        unsigned char byte = (unsigned char)piece->markup[i];
        if (column >= LITERAL_COLUMNS) {
            fputs("\"\n     \"", out);
            column = 0;
        }
        if (byte == '"' || byte == '\\')
            column += (size_t)fprintf(out, "\\%c", byte);
        else if (byte < ' ' || byte > '~' || byte == '?') /* '?' is escaped because of trigraphs */
            column += (size_t)fprintf(out, "\\%03o", byte);
        else
            column += (size_t)fprintf(out, "%c", byte);
    }
    fprintf(out, "\", %zu", piece->markup_bytes);
}

static void write_fragment(const struct sbx_template_fragment *fragment, FILE *out)
{
    static const char *const kinds[] = {[SBX_TEMPLATE_TEXT] = "SBX_PLACE_TEXT",
                                        [SBX_TEMPLATE_ATTRIBUTE] = "SBX_PLACE_ATTRIBUTE",
                                        [SBX_TEMPLATE_URL] = "SBX_PLACE_URL",
                                        [SBX_TEMPLATE_PARTS] = "SBX_PLACE_PARTS",
                                        [SBX_TEMPLATE_END] = "SBX_PLACE_END"};
    if (fragment->piece_count == 1) {
        fprintf(out, "\nstatic const struct sbx_markup %s_markup = {\n     ", fragment->name);
        write_literal(&fragment->pieces[0], out);
        fputs("};\n", out);
        return;
    }
    fprintf(out, "\nenum %s {\n", fragment->name);
    for (size_t i = 0; i + 1 < fragment->piece_count; i++) {
        fputs("    ", out);
        write_upper(fragment->name, out);
        fputc('_', out);
        write_upper(fragment->pieces[i].name, out);
        fputs(",\n", out);
    }
    fprintf(out, "};\nstatic const struct sbx_piece %s_pieces[] = {\n", fragment->name);
    for (size_t i = 0; i < fragment->piece_count; i++) {
        fputs("    {", out);
        write_literal(&fragment->pieces[i], out);
        fprintf(out, ", %s},\n", kinds[fragment->pieces[i].kind]);
    }
    fprintf(out, "};\nstatic const struct sbx_fragment %s_fragment = {%s_pieces};\n", fragment->name, fragment->name);
}

void sbx_template_write(const struct sbx_template *page, const char *file, FILE *out)
{
    fprintf(out, "/* Compiled from %s. Included by the one file that fills it. */\n#include \"html_fill.h\"\n", file);
    for (size_t i = 0; i < page->fragment_count; i++) {
        const struct sbx_template_fragment *fragment = &page->fragments[i];
        if (i > 0 || fragment->piece_count > 1 ||
            fragment->pieces[0].markup_bytes > 0) /* a file that is only {{:parts}} is no fragment */
            write_fragment(fragment, out);
    }
}
