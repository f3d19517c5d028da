/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as a file with debug information that was split off a program. The first 8 bytes are the id of the
 * wanted unit, the rest is a .dwo file or a package. The unit's entries and their addresses are read, and its names by
 * libdw. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dwarf_unit.h"
#include "fuzz_target.h"

static bool is_any(unsigned tag)
{
    (void)tag;
    return true;
}

static int count(void *context, uint64_t begin, uint64_t end)
{
    MUST(begin < end);
    ++*(size_t *)context;
    return 0;
}

static void read_entries(const struct sbx_split_unit *unit)
{
    struct sbx_dwarf_budget budget = {1 << 20};
    struct sbx_dwarf_abbreviations *abbreviations = sbx_dwarf_abbreviations_create();
    struct sbx_dwarf_header header;
    struct sbx_dwarf_walk walk;
    struct sbx_dwarf_entry entry;
    struct sbx_dwarf_addressing addressing;
    size_t ranges = 0;
    uint64_t last = 0;
    bool is_first = true;
    MUST(abbreviations != NULL);
    if (sbx_dwarf_header_read(&unit->sections, unit->offset, &header) &&
        sbx_dwarf_walk_begin(&walk, &unit->sections, &header, abbreviations, &budget) == 0) {
        while (sbx_dwarf_walk_next(&walk, is_any, &entry) > 0) {
            MUST(is_first || entry.offset > last); /* it moves forward */
            last = entry.offset;
            if (is_first) {
                sbx_dwarf_addressing_init(&addressing, &unit->sections, &header, &entry, NULL);
            }
            is_first = false;
            (void)sbx_dwarf_ranges(&addressing, &entry, &budget, count, &ranges);
            if (entry.offset % 5 == 0 && sbx_dwarf_walk_skip(&walk, &entry) != 0) {
                break;
            }
        }
    }
    sbx_dwarf_abbreviations_destroy(abbreviations);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint64_t id;
    if (bytes < sizeof id) {
        return 0;
    }
    memcpy(&id, data, sizeof id);
    int fd = memfd_create("part", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, data + sizeof id, bytes - sizeof id) == (ssize_t)(bytes - sizeof id));
    struct sbx_split_parts *parts = sbx_split_parts_create(&fd, 1, bytes % 2 == 0);
    struct sbx_split_unit unit;
    if (parts != NULL && sbx_split_parts_open(parts, id, &unit) == 0) {
        read_entries(&unit);
        sbx_split_unit_close(&unit);
    }
    sbx_split_parts_destroy(parts);
    return 0;
}
