/* SPDX-License-Identifier: Apache-2.0 */
/* compile_template.c - compile_template TEMPLATE.html OUTPUT.h: runs on the build machine while the server is built. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "template.h"

enum {
    FILE_BYTES_MAX = 256 * 1024
};

int main(int argc, char **argv)
{
    static char text[FILE_BYTES_MAX];
    char why[SBX_TEMPLATE_WHY_BYTES];
    if (argc != 3) {
        fputs("usage: compile_template TEMPLATE.html OUTPUT.h\n", stderr);
        return 2;
    }
    FILE *file = fopen(argv[1], "r");
    size_t bytes = file ? fread(text, 1, sizeof(text), file) : 0;
    if (file == NULL || ferror(file) || bytes == sizeof(text)) {
        fprintf(stderr, "%s: %s\n", argv[1], bytes == sizeof(text) ? "is too long" : strerror(errno));
        return 1;
    }
    fclose(file);
    struct sbx_template *page = sbx_template_read(argv[1], text, bytes, why);
    if (page == NULL) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    FILE *out = fopen(argv[2], "w");
    if (out != NULL)
        sbx_template_write(page, strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1], out);
    sbx_template_destroy(page);
    if (out == NULL || ferror(out) | fclose(out)) {
        fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
        remove(argv[2]); /* half a header would be newer than its template, so the build would use it */
        return 1;
    }
    return 0;
}
