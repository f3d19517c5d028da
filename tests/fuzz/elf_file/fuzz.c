/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as a program's file, from which names are read: build-id note, symbol tables, debug information.
 *
 * It is read once as a file alone (we read the build-id), and once by that build-id, so that the code behind the check
 * is reached. libelf and libdw are those of the system. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "build_id.h"
#include "elf_symbols.h"
#include "fuzz_target.h"
#include "symbol_file.h"

static void check_symbols(Elf *elf, uint32_t type)
{
    struct sbx_elf_symbols symbols;
    if (sbx_elf_symbols_read(elf, type, &symbols) != 0) {
        return;
    }
    for (size_t i = 0; i < symbols.count; i++) {
        MUST(symbols.symbols[i].begin <= symbols.symbols[i].end && symbols.symbols[i].name != NULL);
        MUST(i == 0 || symbols.symbols[i - 1].begin <= symbols.symbols[i].begin);
        const struct sbx_elf_symbol *found = sbx_elf_symbols_find(&symbols, symbols.symbols[i].begin);
        MUST(found == NULL || (found->begin <= symbols.symbols[i].begin && symbols.symbols[i].begin < found->end) ||
             found->begin == found->end);
        (void)strlen(symbols.symbols[i].name);
    }
    (void)sbx_elf_symbols_find(&symbols, 0);
    (void)sbx_elf_symbols_find(&symbols, UINT64_MAX);
    sbx_elf_symbols_finish(&symbols);
}

/* All symbols at once must be sorted, and must agree with a lookup of one address. */
static void check_all(struct sbx_symbol_file *file)
{
    struct sbx_spans spans;
    if (sbx_symbol_file_read_all(file, &spans, NULL, NULL) != 0) {
        return;
    }
    for (size_t i = 0; i < spans.count; i++) {
        MUST(spans.spans[i].begin < spans.spans[i].end);
        MUST(i == 0 || spans.spans[i - 1].end <= spans.spans[i].begin);
        if (i < 32) {
            MUST(sbx_symbol_file_place(file, spans.spans[i].begin) == spans.spans[i].place);
            MUST(sbx_symbol_file_place(file, spans.spans[i].end - 1) == spans.spans[i].place);
        }
    }
    sbx_spans_finish(&spans);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct sbx_elf_paths paths;
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    if (bytes > 65536) {
        return 0;
    }
    int fd = memfd_create("program", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    size_t id_bytes = sbx_build_id_read(fd, build_id);
    MUST(id_bytes <= sizeof build_id);
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf != NULL && elf_kind(elf) == ELF_K_ELF) {
        check_symbols(elf, SHT_SYMTAB);
        check_symbols(elf, SHT_DYNSYM);
    }
    elf_end(elf);
    if (id_bytes != 0) {
        paths.count = 1;
        snprintf(paths.paths[0], sizeof paths.paths[0], "/proc/self/fd/%d", fd);
        struct sbx_symbol_file *file = sbx_symbol_file_open(&paths, build_id, id_bytes);
        if (file != NULL) {
            static const uint64_t addresses[] = {0, 0x1000, 0x1139, UINT64_MAX};
            struct sbx_symbol_frame frames[4];
            enum sbx_symbol_source source;
            for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
                MUST(sbx_symbol_file_find(file, addresses[i], frames, 4, &source) <= 4);
            }
            check_all(file);
            sbx_symbol_file_close(file);
        }
    }
    close(fd);
    return 0;
}
