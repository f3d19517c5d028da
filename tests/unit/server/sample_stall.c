/* SPDX-License-Identifier: Apache-2.0 */
/* sample_stall.c - a stall in a process whose only module is the sample. */
#include "sample_stall.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "names.h"

struct envelope sample_stall(uint64_t seed)
{
    return sample_stall_of(seed, "");
}

struct envelope sample_stall_of(uint64_t seed, const char *app)
{
    struct sbx_payload_builder *builder = sbx_payload_builder_create(seed);
    if (*app)
        sbx_builder_payload(builder)->app_name = sbx_app_what(app);
    int32_t module = sbx_builder_module_file(builder, 1, SAMPLE_FULL, NULL);
    uint64_t outer = sbx_build_symbol(SAMPLE_FULL, "sample_outer"),
             hidden = sbx_build_symbol(SAMPLE_FULL, "sample_hidden");
    if (module < 0 || !outer || !hidden)
        abort();
    const struct sbx_build_frame frames[] = {
        {module, outer + 2, true}, {module, hidden + 2, true}, {SBX_BUILD_END, SBX_WALK_COMPLETE, false}};
    sbx_builder_sleep(builder, frames, 3);
    return envelope_of_builder(builder);
}

const char *sample_build_id(void)
{
    static char hex[2 * SBX_BUILD_ID_BYTES_MAX + 1];
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    int fd = open(SAMPLE_FULL, O_RDONLY | O_CLOEXEC);
    size_t bytes = sbx_build_id_read(fd, build_id);
    if (bytes == 0)
        abort();
    close(fd);
    sbx_build_id_format(build_id, bytes, hex);
    return hex;
}
