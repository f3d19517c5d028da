/* SPDX-License-Identifier: Apache-2.0 */
/* elf_image.h - a loaded module as the dynamic linker sees it: its relocations, its symbols, their versions.
 *
 * It is apart from got_hook.c because nothing here changes anything. It reads tables in the process itself that the
 * loader maps and trusts as well, so a module with wrong tables would have crashed before. Reading is done inside
 * dl_iterate_phdr, where no module can be unmapped. The code allocates nothing, takes no lock, and calls nothing at
 * all, including functions that a compiler calls by itself, because it runs before the library's own slots are bound
 * (own_bindings.h). */
#ifndef SBX_ELF_IMAGE_H
#define SBX_ELF_IMAGE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The two kinds of relocation that put a function's address into a slot, and the one that puts it into any word, such
 * as a word of a C++ vtable. */
enum {
#if defined(__x86_64__)
    SBX_RELOCATION_JUMP = R_X86_64_JUMP_SLOT,
    SBX_RELOCATION_DATA = R_X86_64_GLOB_DAT,
    SBX_RELOCATION_WORD = R_X86_64_64
#elif defined(__aarch64__)
    SBX_RELOCATION_JUMP = R_AARCH64_JUMP_SLOT,
    SBX_RELOCATION_DATA = R_AARCH64_GLOB_DAT,
    SBX_RELOCATION_WORD = R_AARCH64_ABS64
#endif
};

struct sbx_elf_image {
    uint64_t bias;
    const ElfW(Phdr) * headers;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * jump_relocations, *relocations;
    size_t jump_bytes, relocation_bytes;
    size_t relative_count;           /* this many relocations at the begin of `relocations` name no symbol */
    uint64_t relro_begin, relro_end; /* the loader makes the whole pages between them read-only (sbx_relro_pages()) */
    uint64_t code_begin, code_end;   /* executable range: an unresolved lazy slot points into it */
    const uint32_t *gnu_hash;        /* NULL: none */
    const ElfW(Versym) * versions;   /* by symbol; NULL: the module has none */
    const ElfW(Verneed) * needed;
    const ElfW(Verdef) * defined;
    size_t needed_count, defined_count;
    const ElfW(Dyn) * dynamic;
    const char *soname; /* NULL: it has none */
    bool has_rpath;     /* DT_RPATH */
    bool is_symbolic;   /* its own definitions come before those of all other modules */
};

/* Fill *image. Returns false when the module has nothing to patch or look up: no dynamic section, no symbols. */
bool sbx_elf_image_read(struct sbx_elf_image *image, const struct dl_phdr_info *info);

/* The same for a shared library whose first segment begins with its file's header. All linkers make libraries like
 * that. */
bool sbx_elf_image_read_mapped(struct sbx_elf_image *image, const struct link_map *map);

/* Name of the version in which the module wants its symbol number `symbol`; NULL: any version. */
const char *sbx_elf_image_wanted_version(const struct sbx_elf_image *image, uint32_t symbol);

/* The symbol of the function `name` that this module defines; NULL: it defines none. The parameters are those of
 * sbx_elf_image_find(). */
const ElfW(Sym) *
    sbx_elf_image_symbol(const struct sbx_elf_image *image, const char *name, uint32_t hash, const char *version);

/* Address of the function `name` that this module defines, 0 when it defines none. For an indirect function it is the
 * address of the resolver. `version` NULL: the default version. `hash` is sbx_gnu_hash(name). */
uint64_t sbx_elf_image_find(const struct sbx_elf_image *image, const char *name, uint32_t hash, const char *version);

/* The same for a variable in its default version. */
uint64_t sbx_elf_image_find_variable(const struct sbx_elf_image *image, const char *name, uint32_t hash);

/* The same, and the variable's size in bytes. */
uint64_t sbx_elf_image_find_table(const struct sbx_elf_image *image, const char *name, uint32_t hash,
                                  uint64_t *bytes_out);

/* The hash of DT_GNU_HASH tables. */
static inline uint32_t sbx_gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != 0; name++) {
        hash = hash * 33 + (unsigned char)*name;
    }
    return hash;
}

#endif
