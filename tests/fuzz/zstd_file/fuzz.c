/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - compressed bodies of uploads, and the detection of a body's format.
 *
 * Properties: never more than the limit is written; the reported number of bytes was written; the same bytes give the
 * same result a second time. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "provider_shelf.h"
#include "zstd_file.h"

enum {
    BYTES_MAX = 1 << 20
};

static int expand(int in, uint64_t *bytes)
{
    struct stat status;
    int out = memfd_create("plain", MFD_CLOEXEC);
    MUST(out >= 0);
    int result = sbx_zstd_file_expand(in, out, BYTES_MAX, bytes);
    MUST(result == 0 || result == -EBADMSG || result == -E2BIG || result == -ENOMEM);
    MUST(fstat(out, &status) == 0 && status.st_size <= BYTES_MAX);
    MUST(result != 0 || (uint64_t)status.st_size == *bytes);
    close(out);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint64_t first_bytes = 0, again_bytes = 0;
    int in = memfd_create("packed", MFD_CLOEXEC);
    MUST(in >= 0 && write(in, data, bytes) == (ssize_t)bytes);
    int first = expand(in, &first_bytes), again = expand(in, &again_bytes);
    MUST(first == again && (first != 0 || first_bytes == again_bytes));
    close(in);
    (void)sbx_provider_shelf_is_map((const char *)data, bytes);
    return 0;
}
