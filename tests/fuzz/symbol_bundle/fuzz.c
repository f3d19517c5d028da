/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - the table of a bundle: what is read of it is inside of the file and in order, and is the same after it is
 * written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "split_parts.h"
#include "symbol_bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct sbx_bundle bundle, again;
    int fd = memfd_create("bundle", MFD_CLOEXEC), copy = memfd_create("copy", MFD_CLOEXEC);
    MUST(fd >= 0 && copy >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    if (sbx_bundle_read(fd, &bundle) == 0) {
        uint64_t from = 16 + 24 * bundle.count;
        struct sbx_bundle_writer *writer = sbx_bundle_begin(copy, bundle.count);
        MUST(writer != NULL);
        for (size_t i = 0; i < bundle.count; i++) {
            MUST(bundle.members[i].offset >= from && bundle.members[i].offset + bundle.members[i].bytes <= bytes);
            from = bundle.members[i].offset + bundle.members[i].bytes;
            int member = memfd_create("member", MFD_CLOEXEC);
            MUST(sbx_bundle_copy(fd, bundle.members[i].offset, bundle.members[i].bytes, member, 0) == 0);
            MUST(sbx_bundle_add(writer, (enum sbx_bundle_kind)bundle.members[i].kind, member) == 0);
            close(member);
        }
        MUST(sbx_bundle_end(writer) == 0);
        MUST(sbx_bundle_read(copy, &again) == 0);
        MUST(again.count <= bundle.count); /* an inode may occur twice, but is added once */
        free(again.members);
        free(bundle.members);
        sbx_split_parts_destroy(sbx_split_parts_create(&fd, 1, true)); /* takes the descriptor */
        fd = -1;
    }
    if (fd >= 0) {
        close(fd);
    }
    close(copy);
    return 0;
}
