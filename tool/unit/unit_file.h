/* SPDX-License-Identifier: Apache-2.0 */
/* unit_file.h - the [Service] section of a systemd unit and its drop-ins, as systemd reads it (systemd.syntax(7)).
 *
 * What is kept is which value was given to which setting, in order. Files are added in the order in which they apply; a unit
 * file is a stranger's text, so sizes are limited. One thread. */
#ifndef SBX_UNIT_FILE_H
#define SBX_UNIT_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SBX_UNIT_FILE_BYTES_MAX = 1 << 20, /* of one file */
    SBX_UNIT_SETTINGS_MAX = 4096       /* of all files of a unit */
};

struct sbx_unit_setting {
    char *key, *value;
};

struct sbx_unit_file { /* zero: empty */
    struct sbx_unit_setting *settings;
    size_t count, room;
};

/* Add the settings in `text` (`bytes` bytes, no zero needed). A line that is not a setting is ignored, as in systemd.
 * Returns 0, -ENOMEM, or -EFBIG when it is too much. */
int sbx_unit_file_add(struct sbx_unit_file *unit, const char *text, size_t bytes);
void sbx_unit_file_free(struct sbx_unit_file *unit);

/* The last value of a setting with one value; NULL: none was given, or the last was empty. Borrowed from `unit`. */
const char *sbx_unit_file_value(const struct sbx_unit_file *unit, const char *key);

/* The next value of a list setting, from `*at` (0 at first) on. An empty value cancels the values before it. NULL: no
 * more. */
const char *sbx_unit_file_next(const struct sbx_unit_file *unit, const char *key, size_t *at);

/* Is it yes, true, on or 1? */
bool sbx_unit_file_is_set(const struct sbx_unit_file *unit, const char *key);

/* Is `word` one of the words of any value of the setting? */
bool sbx_unit_file_has_word(const struct sbx_unit_file *unit, const char *key, const char *word);

#endif
