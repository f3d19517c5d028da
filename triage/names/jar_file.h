/* SPDX-License-Identifier: Apache-2.0 */
/* jar_file.h - the entries of a zip archive in memory: jar, war, and jars within them. */
#ifndef SBX_JAR_FILE_H
#define SBX_JAR_FILE_H

#include <stdbool.h>

#include "name_list.h"

enum {
    SBX_JAR_ENTRIES_MAX = 1 << 19,
    SBX_JAR_ENTRY_BYTES_MAX = 256 << 20, /* size of one entry when it is inflated */
};

struct sbx_jar_reading {
    /* Whether this entry is wanted. Its name is borrowed. */
    bool (*wants)(struct sbx_name_text name);
    /* Gets a wanted entry; both texts are borrowed. Returns 0 to continue; any other result ends the reading. */
    int (*take)(void *context, struct sbx_name_text name, struct sbx_name_text bytes);
    void *context;
    uint64_t bytes_left; /* for all entries together, inflated, with those of jars within jars */
};

/* Read an archive. Entries that are damaged, encrypted, or compressed with another method than deflate are skipped.
 * Returns 0; -EBADMSG if it is not a zip archive; -E2BIG if it has more than the limits allow; -ENOMEM; or the result
 * of take(). */
int sbx_jar_read(struct sbx_jar_reading *reading, struct sbx_name_text archive);

#endif
