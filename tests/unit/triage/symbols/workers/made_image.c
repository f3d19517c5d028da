/* SPDX-License-Identifier: Apache-2.0 */
/* made_image.c - lets a worker read a file into an image in memory. */
#include "made_image.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "build_id.h"
#include "debug_link.h"
#include "symbol_worker.h"

char made_image_why[240];

int made_image(const char *path, uint64_t memory_bytes, struct sbx_symbol_image **image_out)
{
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC), out = memfd_create("image", MFD_CLOEXEC);
    assert_true(fd >= 0 && out >= 0);
    size_t bytes = sbx_build_id_read(fd, build_id);
    struct sbx_making making = {.descriptors = &fd,
                                .descriptor_count = 1,
                                .alternate = sbx_debug_alternate_open(path, fd),
                                .build_id = build_id,
                                .build_id_bytes = bytes,
                                .name = "sample",
                                .out = out};
    made_image_why[0] = '\0';
    int result = sbx_symbol_worker_make(&making, memory_bytes, made_image_why, sizeof made_image_why);
    if (result != 0 || image_out == NULL) {
        close(out);
        return result;
    }
    assert_int_equal(sbx_symbol_image_open(out, 0, image_out), 0);
    assert_int_equal(sbx_symbol_image_verify(*image_out), 0);
    return 0;
}
