/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as a Mach-O file, from which names are read: universal header, commands, symbols, debug
 * information.
 *
 * The results are checked against the file's size and against each other. Behind them are the system's libelf and
 * libdw, which get an ELF file that we made. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file_ids.h"
#include "fuzz_target.h"
#include "macho_image.h"
#include "macho_symbols.h"
#include "symbol_file.h"

static void check_image(const struct sbx_macho_image *image, size_t bytes)
{
    MUST(image->section_count <= SBX_MACHO_SECTIONS_MAX);
    MUST(image->string_bytes <= bytes && image->starts_bytes <= bytes && image->symbol_count <= bytes / 16);
    for (size_t i = 0; i < image->section_count; i++) {
        const struct sbx_macho_section *section = &image->sections[i];
        MUST(strlen(section->name) <= 16 && strlen(section->segment) <= 16);
        MUST(!section->is_debug || (section->offset <= bytes && section->bytes <= bytes - section->offset));
        MUST(!section->is_code ||
             (section->address >= image->base && section->address - image->base < SBX_MACHO_REACH &&
              section->bytes <= SBX_MACHO_REACH));
    }
}

static void check_symbols(int fd, const struct sbx_macho_image *image)
{
    struct sbx_macho_symbols symbols;
    if (sbx_macho_symbols_read(fd, image, &symbols) != 0) {
        return;
    }
    for (size_t i = 0; i < symbols.count; i++) {
        const struct sbx_macho_symbol *symbol = &symbols.symbols[i];
        MUST(symbol->section > 0 && symbol->section <= image->section_count);
        const struct sbx_macho_section *section = &image->sections[symbol->section - 1];
        MUST(symbol->begin >= section->address && symbol->end <= section->address + section->bytes);
        MUST(symbol->begin <= symbol->end && (i == 0 || symbols.symbols[i - 1].begin <= symbol->begin));
        MUST(symbol->name > symbols.strings - 1 &&
             symbol->name + strlen(symbol->name) <= symbols.strings + symbols.string_bytes);
    }
    sbx_macho_symbols_finish(&symbols);
}

/* All names at once must be sorted, be offsets and not addresses, and agree with a lookup of one of them. */
static void check_names(int fd, const struct sbx_file_id *id)
{
    struct sbx_spans spans;
    int own = dup(fd);
    MUST(own >= 0);
    struct sbx_symbol_file *file = sbx_symbol_file_open_descriptors(&own, 1, -1, id->bytes, id->byte_count);
    if (file == NULL) {
        return;
    }
    static const uint64_t offsets[] = {0, 0x388, 0x3c0, UINT64_C(0x100000388), UINT64_MAX};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        struct sbx_symbol_frame frames[4];
        enum sbx_symbol_source source;
        MUST(sbx_symbol_file_find(file, offsets[i], frames, 4, &source) <= 4);
    }
    if (sbx_symbol_file_read_all(file, &spans, NULL, NULL) == 0) {
        for (size_t i = 0; i < spans.count; i++) {
            MUST(spans.spans[i].begin < spans.spans[i].end && spans.spans[i].end <= SBX_MACHO_REACH);
            MUST(i == 0 || spans.spans[i - 1].end <= spans.spans[i].begin);
            if (i < 32) {
                MUST(sbx_symbol_file_place(file, spans.spans[i].begin) == spans.spans[i].place);
                MUST(sbx_symbol_file_place(file, spans.spans[i].end - 1) == spans.spans[i].place);
            }
        }
        sbx_spans_finish(&spans);
    }
    sbx_symbol_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct sbx_macho_image image;
    struct sbx_file_id ids[SBX_FILE_IDS_MAX];
    const char *why;
    if (bytes > 65536) {
        return 0;
    }
    int fd = memfd_create("program", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    size_t count = sbx_file_ids_read(fd, ids, &why);
    MUST(count <= SBX_FILE_IDS_MAX && (count == 0 || why == NULL));
    for (size_t i = 0; i < count; i++) {
        if (ids[i].byte_count != SBX_MACHO_UUID_BYTES) { /* an ELF file, which has a target of its own */
            continue;
        }
        if (sbx_macho_image_read(fd, ids[i].bytes, &image) == 0) {
            check_image(&image, bytes);
            check_symbols(fd, &image);
        }
        check_names(fd, &ids[i]);
    }
    close(fd);
    return 0;
}
