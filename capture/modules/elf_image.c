/* SPDX-License-Identifier: Apache-2.0 */
/* elf_image.c - reads a module's dynamic section (System V ABI, chapter 5; GNU hash and versions as in the LSB core,
 * "Symbol Versioning", and binutils' bfd/elflink.c for DT_GNU_HASH, which no standard describes). */
#include "elf_image.h"

#include <assert.h>

enum {
    VERSION_HIDDEN = 0x8000, /* not the default version of its name */
    VERSION_MASK = 0x7fff,
};

/* strcmp() == 0 without a call, because this also runs before the library's own slots are bound (own_bindings.c). */
static bool is_same_text(const char *one, const char *other)
{
    while (*one != 0 && *one == *other) {
        one++;
        other++;
    }
    return *one == *other;
}

/* Sets the image to zeroes, without the memset() that a compiler makes of an assignment. */
static void clear(struct sbx_elf_image *image)
{
    uint64_t *words = (uint64_t *)(void *)image;
    static_assert(sizeof *image % sizeof *words == 0, "an image is whole words");
    for (size_t i = 0; i < sizeof *image / sizeof *words; i++) {
        words[i] = 0;
        __asm__ volatile("" ::: "memory");
    }
}

static uint64_t dynamic_address(const struct sbx_elf_image *image, uint64_t value)
{
    /* glibc relocates these values in place for most modules, but not for the vdso. A value below the bias is
     * relative. */
    return value < image->bias ? value + image->bias : value;
}

static const ElfW(Dyn) * read_headers(struct sbx_elf_image *image, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *dynamic = NULL;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t address = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)address;
        } else if (header->p_type == PT_GNU_RELRO) {
            image->relro_begin = address;
            image->relro_end = address + header->p_memsz;
        } else if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0) {
            image->code_begin = address < image->code_begin ? address : image->code_begin;
            image->code_end = address + header->p_memsz > image->code_end ? address + header->p_memsz : image->code_end;
        }
    }
    return dynamic;
}

bool sbx_elf_image_read(struct sbx_elf_image *image, const struct dl_phdr_info *info)
{
    clear(image);
    image->bias = info->dlpi_addr;
    image->headers = info->dlpi_phdr;
    image->code_begin = UINT64_MAX;
    const ElfW(Dyn) *dynamic = read_headers(image, info);
    bool is_rela = true;
    uint64_t soname = 0;
    image->dynamic = dynamic;
    for (; dynamic != NULL && dynamic->d_tag != DT_NULL; dynamic++) {
        uint64_t address = dynamic_address(image, dynamic->d_un.d_ptr);
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            image->symbols = (const ElfW(Sym) *)address;
            break;
        case DT_STRTAB:
            image->strings = (const char *)address;
            break;
        case DT_JMPREL:
            image->jump_relocations = (const ElfW(Rela) *)address;
            break;
        case DT_PLTRELSZ:
            image->jump_bytes = dynamic->d_un.d_val;
            break;
        case DT_PLTREL:
            is_rela = dynamic->d_un.d_val == DT_RELA;
            break;
        case DT_RELA:
            image->relocations = (const ElfW(Rela) *)address;
            break;
        case DT_RELASZ:
            image->relocation_bytes = dynamic->d_un.d_val;
            break;
        case DT_RELACOUNT:
            image->relative_count = dynamic->d_un.d_val;
            break;
        case DT_GNU_HASH:
            image->gnu_hash = (const uint32_t *)address;
            break;
        case DT_VERSYM:
            image->versions = (const ElfW(Versym) *)address;
            break;
        case DT_VERNEED:
            image->needed = (const ElfW(Verneed) *)address;
            break;
        case DT_VERNEEDNUM:
            image->needed_count = dynamic->d_un.d_val;
            break;
        case DT_VERDEF:
            image->defined = (const ElfW(Verdef) *)address;
            break;
        case DT_VERDEFNUM:
            image->defined_count = dynamic->d_un.d_val;
            break;
        case DT_RPATH:
            image->has_rpath = true;
            break;
        case DT_SONAME:
            soname = dynamic->d_un.d_val;
            break;
        case DT_SYMBOLIC:
            image->is_symbolic = true;
            break;
        case DT_FLAGS:
            image->is_symbolic |= (dynamic->d_un.d_val & DF_SYMBOLIC) != 0;
            break;
        default:
            break;
        }
    }
    if (image->relative_count > image->relocation_bytes / sizeof *image->relocations) {
        image->relative_count = 0;
    }
    image->soname = soname != 0 && image->strings != NULL ? image->strings + soname : NULL;
    return is_rela && image->symbols != NULL && image->strings != NULL && image->code_begin < image->code_end;
}

const char *sbx_elf_image_wanted_version(const struct sbx_elf_image *image, uint32_t symbol)
{
    if (image->versions == NULL || image->needed == NULL) {
        return NULL;
    }
    uint32_t wanted = image->versions[symbol] & VERSION_MASK;
    const char *at = (const char *)image->needed;
    for (size_t i = 0; wanted > 1 && i < image->needed_count; i++) {
        const ElfW(Verneed) *file = (const ElfW(Verneed) *)at;
        const char *entry = at + file->vn_aux;
        for (unsigned k = 0; k < file->vn_cnt; k++) {
            const ElfW(Vernaux) *version = (const ElfW(Vernaux) *)entry;
            if ((version->vna_other & VERSION_MASK) == wanted) {
                return image->strings + version->vna_name;
            }
            entry += version->vna_next;
        }
        at += file->vn_next;
    }
    return NULL;
}

/* Is number `index` the version called `name` of this module? */
static bool is_version(const struct sbx_elf_image *image, uint32_t index, const char *name)
{
    const char *at = (const char *)image->defined;
    for (size_t i = 0; at != NULL && i < image->defined_count; i++) {
        const ElfW(Verdef) *version = (const ElfW(Verdef) *)at;
        if ((version->vd_ndx & VERSION_MASK) == index) {
            const ElfW(Verdaux) *own_name = (const ElfW(Verdaux) *)(at + version->vd_aux);
            return is_same_text(image->strings + own_name->vda_name, name);
        }
        at += version->vd_next;
    }
    return false;
}

static bool is_the_one(const struct sbx_elf_image *image, uint32_t symbol, const char *name, const char *version,
                       bool is_data)
{
    const ElfW(Sym) *found = &image->symbols[symbol];
    unsigned type = ELF64_ST_TYPE(found->st_info);
    bool is_sort = is_data ? type == STT_OBJECT : type == STT_FUNC || type == STT_GNU_IFUNC;
    if (found->st_shndx == SHN_UNDEF || !is_sort || !is_same_text(image->strings + found->st_name, name)) {
        return false;
    }
    if (image->versions == NULL) {
        return true;
    }
    uint32_t index = image->versions[symbol];
    if (index <= VER_NDX_GLOBAL) {
        return index == VER_NDX_GLOBAL; /* defined without a version: the loader uses it for any version */
    }
    return version == NULL ? (index & VERSION_HIDDEN) == 0 : is_version(image, index & VERSION_MASK, version);
}

static const ElfW(Sym) *
    find_symbol(const struct sbx_elf_image *image, const char *name, uint32_t hash, const char *version, bool is_data)
{
    const uint32_t *table = image->gnu_hash;
    if (table == NULL || table[0] == 0 || table[2] == 0) {
        return NULL;
    }
    uint32_t bucket_count = table[0], first = table[1], bloom_count = table[2], shift = table[3];
    const uint64_t *bloom = (const uint64_t *)(table + 4);
    const uint32_t *buckets = (const uint32_t *)(bloom + bloom_count), *chain = buckets + bucket_count;
    uint64_t word = bloom[hash / 64 & (bloom_count - 1)];
    if ((word >> hash % 64 & word >> (hash >> shift) % 64 & 1) == 0) {
        return NULL;
    }
    uint32_t symbol = buckets[hash % bucket_count];
    if (symbol < first) {
        return NULL;
    }
    for (;; symbol++) {
        uint32_t link = chain[symbol - first];
        if ((link | 1) == (hash | 1) && is_the_one(image, symbol, name, version, is_data)) {
            return &image->symbols[symbol];
        }
        if ((link & 1) != 0) {
            return NULL;
        }
    }
}

const ElfW(Sym) *
    sbx_elf_image_symbol(const struct sbx_elf_image *image, const char *name, uint32_t hash, const char *version)
{
    return find_symbol(image, name, hash, version, false);
}

uint64_t sbx_elf_image_find_variable(const struct sbx_elf_image *image, const char *name, uint32_t hash)
{
    const ElfW(Sym) *symbol = find_symbol(image, name, hash, NULL, true);
    return symbol != NULL ? image->bias + symbol->st_value : 0;
}

uint64_t sbx_elf_image_find_table(const struct sbx_elf_image *image, const char *name, uint32_t hash,
                                  uint64_t *bytes_out)
{
    const ElfW(Sym) *symbol = find_symbol(image, name, hash, NULL, true);
    *bytes_out = symbol != NULL ? symbol->st_size : 0;
    return symbol != NULL ? image->bias + symbol->st_value : 0;
}

uint64_t sbx_elf_image_find(const struct sbx_elf_image *image, const char *name, uint32_t hash, const char *version)
{
    const ElfW(Sym) *symbol = sbx_elf_image_symbol(image, name, hash, version);
    return symbol != NULL ? image->bias + symbol->st_value : 0;
}

bool sbx_elf_image_read_mapped(struct sbx_elf_image *image, const struct link_map *map)
{
    const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)(uintptr_t)map->l_addr;
    if (map->l_addr == 0 || file->e_ident[EI_MAG0] != ELFMAG0 || file->e_ident[EI_MAG1] != ELFMAG1) {
        return false;
    }
    struct dl_phdr_info info;
    info.dlpi_addr = map->l_addr;
    info.dlpi_phdr = (const ElfW(Phdr) *)(const void *)((const char *)file + file->e_phoff);
    info.dlpi_phnum = file->e_phnum;
    return sbx_elf_image_read(image, &info);
}
