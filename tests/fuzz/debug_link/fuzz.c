/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - what a program says about its other files and symbols: .gnu_debuglink, .gnu_debugaltlink, .gnu_debugdata.
 *
 * The first byte selects the kind of input: a whole file; or the content of all three sections of a valid file; or data
 * that is compressed into such a file and must come out unchanged (a checksum stops mutations of compressed bytes). */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <lzma.h>

#include "build_id.h"
#include "debug_link.h"
#include "fuzz_target.h"
#include "mini_debug_info.h"

enum kind {
    WHOLE_FILE,
    CONTENT,
    COMPRESSED,
    KINDS
};
enum {
    BYTES_MAX = 65536,
    DEBUG_DATA_MAX = 64 << 20
};

static const char names[] = "\0.gnu_debuglink\0.gnu_debugaltlink\0.gnu_debugdata";

/* A file with three sections that all have the same content. */
static int make_file(const uint8_t *content, size_t bytes)
{
    static const char *const sections[] = {".gnu_debuglink", ".gnu_debugaltlink", ".gnu_debugdata"};
    Elf64_Ehdr header = {.e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_ehsize = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = 5,
                         .e_shstrndx = 4,
                         .e_shoff = sizeof header};
    Elf64_Shdr table[5] = {{.sh_type = SHT_NULL}};
    size_t names_at = sizeof header + sizeof table, content_at = names_at + sizeof names;
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    for (size_t i = 0; i < 3; i++) {
        const char *name = memmem(names, sizeof names, sections[i], strlen(sections[i]) + 1);
        table[i + 1] = (Elf64_Shdr){.sh_name = (uint32_t)(name - names),
                                    .sh_type = SHT_PROGBITS,
                                    .sh_offset = content_at,
                                    .sh_size = bytes,
                                    .sh_addralign = 1};
    }
    table[4] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof names, .sh_addralign = 1};
    int fd = memfd_create("program", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, &header, sizeof header) == sizeof header &&
         write(fd, table, sizeof table) == sizeof table && write(fd, names, sizeof names) == sizeof names &&
         (bytes == 0 || write(fd, content, bytes) == (ssize_t)bytes));
    return fd;
}

static void check_links(int fd)
{
    char name[64], path[] = "/nonexistent/program"; /* so that no relative name leads to a file */
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    if (sbx_debug_link_read(fd, name, sizeof name)) {
        MUST(strlen(name) > 0 && strlen(name) < sizeof name && strchr(name, '/') == NULL && strcmp(name, "..") != 0 &&
             strcmp(name, ".") != 0);
    }
    (void)sbx_debug_may_be_split(fd);
    size_t id_bytes = sbx_debug_alternate_id(fd, build_id);
    MUST(id_bytes <= sizeof build_id);
    int alternate = sbx_debug_alternate_open(path, fd);
    MUST(alternate < 0 || id_bytes > 0);
    if (alternate >= 0) { /* the file exists on this machine */
        close(alternate);
    }
}

/* The decompressed data, which must be `expected` if that is known. */
static void check_debug_data(int fd, const uint8_t *expected, size_t expected_bytes)
{
    uint8_t *found = NULL;
    size_t bytes = 0;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf == NULL || elf_kind(elf) != ELF_K_ELF) {
        MUST(expected == NULL);
    } else {
        int result = sbx_mini_debug_info_read(elf, &found, &bytes);
        MUST(expected == NULL || (result == 0 && bytes == expected_bytes && memcmp(found, expected, bytes) == 0));
        MUST(result != 0 || bytes <= DEBUG_DATA_MAX);
        if (result == 0) {
            free(found);
        }
    }
    elf_end(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static uint8_t packed[2 * BYTES_MAX];
    if (bytes < 2 || bytes > BYTES_MAX) {
        return 0;
    }
    enum kind kind = (enum kind)(data[0] % KINDS);
    const uint8_t *content = data + 1;
    size_t count = bytes - 1, packed_bytes = 0;
    int fd;
    if (kind == WHOLE_FILE) {
        fd = memfd_create("program", MFD_CLOEXEC);
        MUST(fd >= 0 && write(fd, content, count) == (ssize_t)count);
    } else if (kind == COMPRESSED) {
        MUST(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, content, count, packed, &packed_bytes, sizeof packed) ==
             LZMA_OK);
        fd = make_file(packed, packed_bytes);
    } else {
        fd = make_file(content, count);
    }
    check_links(fd);
    check_debug_data(fd, kind == COMPRESSED ? content : NULL, kind == COMPRESSED ? count : 0);
    close(fd);
    return 0;
}
