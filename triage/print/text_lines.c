/* SPDX-License-Identifier: Apache-2.0 */
/* text_lines.c - lines of the text report: wrapped to the page, and written out with colour or without. */
#include "text_lines.h"

#include <string.h>

enum {
    COLUMNS = 98,
    KEY_COLUMNS = 15 /* width of a key with the blanks around it */
};

void sbx_text_heading(FILE *text, const char *heading)
{
    fprintf(text, "\n" STRONG "%s" PLAIN "\n", heading);
}

int sbx_text_wrapped(FILE *text, const char *key, const char *sentence)
{
    int column = KEY_COLUMNS, lines = 1;
    if (text != NULL) {
        fprintf(text, "  %-12s", key);
    }
    for (const char *word = sentence; *word != '\0';) {
        int bytes = (int)strcspn(word, " ");
        if (column + bytes > COLUMNS && column > KEY_COLUMNS) {
            if (text != NULL) {
                fprintf(text, "\n%14s", "");
            }
            column = KEY_COLUMNS;
            lines++;
        }
        if (text != NULL) {
            fprintf(text, " %.*s", bytes, word);
        }
        column += bytes + 1;
        word += bytes;
        word += strspn(word, " ");
    }
    if (text != NULL) {
        fputc('\n', text);
    }
    return lines;
}

int sbx_text_headline(FILE *text, const char *headline)
{
    int column = 0, lines = 1;
    fputs(ALARM, text);
    for (const char *word = headline; *word != '\0';) {
        int bytes = (int)strcspn(word, " ");
        if (column > 0 && column + 1 + bytes > COLUMNS) {
            fputs("\n", text);
            column = 0;
            lines++;
        }
        column += fprintf(text, "%s%.*s", column > 0 ? " " : "", bytes, word);
        word += bytes;
        word += strspn(word, " ");
    }
    fputs(PLAIN "\n\n", text);
    return lines + 1;
}

void sbx_text_write(FILE *out, const char *text, size_t bytes, bool colour)
{
    static const char *const escapes[] = {"\33[1m", "\33[1;31m", "\33[2m", "\33[0m"};
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_c1 =
            c == 0xc2 && i + 1 < bytes && (unsigned char)text[i + 1] >= 0x80 && (unsigned char)text[i + 1] < 0xa0;
        if (c >= 1 && c <= 4) {
            fputs(colour ? escapes[c - 1] : "", out);
        } else if (is_c1) { /* a control character U+0080 to U+009F: some terminals take it as an ESC sequence */
            fputc('?', out);
            i++;
        } else {
            fputc((c < 0x20 && c != '\n') || c == 0x7f ? '?' : c, out);
        }
    }
}
