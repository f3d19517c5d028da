/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as an image of a symbol store: header, directory, compressed chunks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "stall_crc32c.h"
#include "symbol_image.h"

enum {
    HEADER_BYTES = 200,
    ENTRY_BYTES = 32,
    CRC_AT = 16,
    CHUNKS_AT = 168
};

/* Set the checksum of header and directory right, which a fuzzer does not find. */
static void mend(uint8_t *bytes, size_t count)
{
    uint64_t chunks;
    if (count < HEADER_BYTES) {
        return;
    }
    memcpy(&chunks, bytes + CHUNKS_AT, sizeof chunks);
    if (chunks <= (count - HEADER_BYTES) / ENTRY_BYTES) {
        memset(bytes + CRC_AT, 0, 4);
        uint32_t crc = sbx_stall_crc32c(0, bytes, HEADER_BYTES + (size_t)chunks * ENTRY_BYTES);
        memcpy(bytes + CRC_AT, &crc, sizeof crc);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct sbx_symbol_image *image;
    struct sbx_code_frame frames[SBX_INLINES_MAX];
    uint8_t *copy = malloc(bytes + 1);
    MUST(copy != NULL);
    memcpy(copy, data, bytes);
    mend(copy, bytes);
    int fd = memfd_create("image", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, copy, bytes) == (ssize_t)bytes);
    free(copy);
    if (sbx_symbol_image_open(fd, 65536, &image) != 0) {
        return 0;
    }
    (void)sbx_symbol_image_verify(image);
    for (uint64_t address = 0; address < 0x8000; address += 499) {
        size_t count = sbx_symbol_image_find(image, address, frames, SBX_INLINES_MAX);
        for (size_t i = 0; i < count; i++) {
            (void)strlen(frames[i].name);
        }
    }
    sbx_symbol_image_close(image);
    return 0;
}
