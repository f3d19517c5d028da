/* SPDX-License-Identifier: Apache-2.0 */
/* show.c - `stallbox show`: the inside of a payload; everything it prints comes from uploader/show.h. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "command.h"
#include "options.h"
#include "show.h"
#include "terminal.h"
#include "unseal_key_files.h"

enum {
    OPTION_WHAT_LEAVES,
    OPTION_UNSEAL_KEY,
    OPTION_COUNT
};
static const struct sbx_option options[OPTION_COUNT] = {
    [OPTION_WHAT_LEAVES] = {"--what-leaves", 0, NULL, "every field that is sent, with its meaning and its bytes"},
    [OPTION_UNSEAL_KEY] =
        {"--unseal-key", 'k', "FILE",
         "look into sealed payloads with this secret key of `stallbox seal\nkeygen`; may be repeated"},
};

static int open_seal(void *context, const uint8_t *envelope, size_t bytes, uint8_t **plain_out, size_t *plain_bytes_out,
                     char *why, size_t why_bytes)
{
    return sbx_sealed_open(context, envelope, bytes, plain_out, plain_bytes_out, why, why_bytes);
}

void sbx_usage_show(FILE *out)
{
    fputs("usage: stallbox show [--what-leaves] [--unseal-key KEY] FILE\n"
          "\n"
          "Show what a payload (*.sbx) holds, what redaction took out, and whether everything in it may leave. A raw\n"
          "snapshot (*.raw) is encoded in memory first, so the command shows what would leave before anything does.\n"
          "\n",
          out);
    sbx_options_print(options, OPTION_COUNT, out);
    fputs("\nThe exit status is 0 when the payload is whole and holds only what may leave, else 1.\n", out);
}

int sbx_command_show(int argc, char **argv)
{
    static struct sbx_unseal_keys keys;
    const char *path = NULL;
    char why[PATH_MAX + 128];
    bool what_leaves = false;
    struct sbx_option_reader reader;
    sbx_option_reader_init(&reader, "show", options, OPTION_COUNT, argc, argv);
    for (int event = sbx_option_next(&reader); event != SBX_OPTION_END; event = sbx_option_next(&reader)) {
        switch (event) {
        case OPTION_WHAT_LEAVES:
            what_leaves = true;
            break;
        case OPTION_UNSEAL_KEY:
            if (sbx_unseal_key_file_add(&keys, reader.value, why, sizeof why) != 0) {
                return sbx_failure("show", "%s", why);
            }
            break;
        case SBX_OPTION_OPERAND:
            if (path != NULL) {
                return sbx_usage_error("show", "one FILE at a time, but got '%s' too", reader.value);
            }
            path = reader.value;
            break;
        case SBX_OPTION_HELP:
            sbx_usage_show(stdout);
            return SBX_EXIT_DONE;
        default:
            return SBX_EXIT_USAGE;
        }
    }
    if (path == NULL) {
        return sbx_usage_error("show", "no FILE: which payload?");
    }
    const struct sbx_show_opener opener = {open_seal, &keys};
    int result = sbx_show(stdout, path, keys.count != 0 ? &opener : NULL, what_leaves, sbx_terminal_has_colour(stdout));
    sbx_unseal_keys_wipe(&keys);
    return result == 0 ? SBX_EXIT_DONE : SBX_EXIT_FAILED;
}
