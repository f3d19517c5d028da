/* SPDX-License-Identifier: Apache-2.0 */
/* function_starts/fuzz.c - any bytes as a module's file.
 *
 * Properties: the file is opened or refused; a function begins at or before each place in it; and the same question has
 * the same answer. The build-id is that of the files of the corpus. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "function_starts.h"
#include "fuzz_target.h"

static void look(struct sbx_function_starts *starts, uint64_t from)
{
    for (uint64_t place = from; place < from + 0x1800; place += 7) {
        uint64_t begin, again;
        if (sbx_function_starts_find(starts, place, &begin)) {
            MUST(begin <= place && place - begin < SBX_FUNCTION_BYTES_MAX);
            MUST(sbx_function_starts_find(starts, place, &again) && again == begin);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const uint8_t build_id[] = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0};
    char path[40];
    struct sbx_function_starts *starts;
    int file = memfd_create("module", MFD_CLOEXEC);
    MUST(file >= 0 && write(file, data, bytes) == (ssize_t)bytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int result = sbx_function_starts_open(path, build_id, sizeof build_id, &starts);
    MUST(result == 0 || result == -EINVAL || result == -ESTALE || result == -ENOMEM);
    if (result == 0) {
        look(starts, 0);
        look(starts, 0x200000); /* the address of programs that are not relocatable */
        look(starts, 0x400000);
        sbx_function_starts_close(starts);
    }
    close(file);
    return 0;
}
