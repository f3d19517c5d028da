/* SPDX-License-Identifier: Apache-2.0 */
/* library_symbol.c - the address of a variable that a library does not export. The file may be damaged, so each offset
 * is checked. */
#include "library_symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
    const char *at; /* mapped */
    size_t bytes;
};

/* Returns `count` items of `each` bytes at `offset`; NULL: they are not all in the file, or not aligned. */
static const void *part(const struct file *file, uint64_t offset, uint64_t count, uint64_t each)
{
    if ((offset & 7) != 0 || offset > file->bytes || count > (file->bytes - offset) / each) {
        return NULL;
    }
    return file->at + offset;
}

/* Returns a text of the section `names`; "": the section does not contain it. */
static const char *text_at(const struct file *file, const Elf64_Shdr *names, uint32_t offset)
{
    if (names->sh_offset > file->bytes || names->sh_size > file->bytes - names->sh_offset || offset >= names->sh_size ||
        file->at[names->sh_offset + names->sh_size - 1] != '\0') {
        return "";
    }
    return file->at + names->sh_offset + offset;
}

static uint64_t find_in(const struct file *file, const Elf64_Shdr *table, const Elf64_Shdr *names, const char *name)
{
    const uint64_t count = table->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *symbols = part(file, table->sh_offset, count, sizeof *symbols);
    for (uint64_t i = 0; symbols != NULL && i < count; i++) {
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT && symbols[i].st_shndx != SHN_UNDEF &&
            strcmp(text_at(file, names, symbols[i].st_name), name) == 0) {
            return symbols[i].st_value;
        }
    }
    return 0;
}

static uint64_t find(const struct file *file, const char *name)
{
    const Elf64_Ehdr *header = part(file, 0, 1, sizeof *header);
    if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_shentsize != sizeof(Elf64_Shdr)) {
        return 0;
    }
    const Elf64_Shdr *sections = part(file, header->e_shoff, header->e_shnum, sizeof *sections);
    for (uint32_t i = 0; sections != NULL && i < header->e_shnum; i++) {
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < header->e_shnum) {
            return find_in(file, &sections[i], &sections[sections[i].sh_link], name);
        }
    }
    return 0;
}

uint64_t sbx_library_symbol(const char *path, const char *name)
{
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return 0;
    }
    void *at = MAP_FAILED;
    bool is_file = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
    if (is_file) {
        at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    (void)close(descriptor);
    if (at == MAP_FAILED) {
        return 0;
    }
    const struct file file = {.at = at, .bytes = (size_t)status.st_size};
    uint64_t address = find(&file, name);
    (void)munmap(at, file.bytes);
    return address;
}
