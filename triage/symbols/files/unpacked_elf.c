/* SPDX-License-Identifier: Apache-2.0 */
/* unpacked_elf.c - a copy of an ELF file: the file, then the decompressed sections, then new section headers. */
#include "unpacked_elf.h"

#include <gelf.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>
#include <zstd.h>

#include "unread_sections.h"

#define UNPACKED_BYTES_MAX ((size_t)3 << 30) /* of all sections: a worker has 4 GiB */

enum {
    COMPRESSED_BY_ZSTD = 2 /* ELFCOMPRESS_ZSTD, newer than the elf.h of 2022 */
};

/* A section that is to be decompressed. */
struct part {
    const char *from;
    char *to;
    size_t from_bytes, to_bytes;
    uint32_t type;
};

struct parts {
    struct part *parts; /* the largest first */
    size_t count;
    size_t next; /* protected by `lock`, as are the next fields */
    bool has_failed;
    pthread_mutex_t lock;
};

/* The header of a section that is compressed in one of the two ways. False if it is not compressed, or not within the
 * file. */
static bool read_header(const GElf_Shdr *section, const char *file, size_t bytes, Elf64_Chdr *header_out)
{
    if ((section->sh_flags & SHF_COMPRESSED) == 0 || section->sh_type == SHT_NOBITS ||
        section->sh_size < sizeof *header_out || section->sh_offset > bytes ||
        section->sh_size > bytes - section->sh_offset) {
        return false;
    }
    memcpy(header_out, file + section->sh_offset, sizeof *header_out);
    return (header_out->ch_type == COMPRESSED_BY_ZSTD || header_out->ch_type == ELFCOMPRESS_ZLIB) &&
           header_out->ch_size <= UNPACKED_BYTES_MAX;
}

static bool is_unread(Elf *elf, size_t names, const GElf_Shdr *section)
{
    const char *name = elf_strptr(elf, names, section->sh_name);
    return name != NULL && sbx_section_is_unread(name);
}

bool sbx_elf_is_packed(Elf *elf)
{
    bool is_packed = false;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL && !is_packed;
         section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        is_packed = gelf_getshdr(section, &header) != NULL && (header.sh_flags & SHF_COMPRESSED) != 0;
    }
    return is_packed;
}

/* The total size of the compressed sections after decompression; 0: there are none. */
static size_t count_unpacked(Elf *elf, size_t names, const char *file, size_t bytes)
{
    size_t sum = 0;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        Elf64_Chdr compression;
        if (gelf_getshdr(section, &header) != NULL && read_header(&header, file, bytes, &compression)) {
            sum += is_unread(elf, names, &header) ? 8 : (size_t)compression.ch_size + 8;
        }
    }
    return sum;
}

static bool decompress(const struct part *part)
{
    if (part->type == COMPRESSED_BY_ZSTD) {
        return ZSTD_decompress(part->to, part->to_bytes, part->from, part->from_bytes) == part->to_bytes;
    }
    struct libdeflate_decompressor *zlib = libdeflate_alloc_decompressor();
    bool is_good = zlib != NULL && libdeflate_zlib_decompress(zlib, part->from, part->from_bytes, part->to,
                                                              part->to_bytes, NULL) == LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(zlib);
    return is_good;
}

/* Decompress one section after the other, while there are any that no other thread has taken. */
static void *work(void *context)
{
    struct parts *parts = context;
    for (bool is_good = true;;) {
        pthread_mutex_lock(&parts->lock);
        parts->has_failed |= !is_good;
        const struct part *part =
            parts->next < parts->count && !parts->has_failed ? &parts->parts[parts->next++] : NULL;
        pthread_mutex_unlock(&parts->lock);
        if (part == NULL) {
            return NULL;
        }
        is_good = decompress(part);
    }
}

static int by_size(const void *one, const void *other)
{
    size_t a = ((const struct part *)one)->to_bytes, b = ((const struct part *)other)->to_bytes;
    return (a < b) - (a > b);
}

static const struct sbx_unpack_helper *helper; /* NULL: the calling thread does all the work */

void sbx_unpacked_elf_use_helper(const struct sbx_unpack_helper *given)
{
    helper = given;
}

static bool decompress_all(struct parts *parts)
{
    qsort(parts->parts, parts->count, sizeof *parts->parts, by_size);
    pthread_mutex_init(&parts->lock, NULL);
    bool is_helped = helper != NULL && parts->count > 1 && helper->begin(work, parts);
    (void)work(parts);
    if (is_helped) {
        helper->end();
    }
    pthread_mutex_destroy(&parts->lock);
    return !parts->has_failed;
}

/* Copy the file without the content of compressed sections, which are listed. False if that is not possible. */
static bool lay_out(Elf *elf, size_t names, const char *file, size_t bytes, char *out, size_t table_at,
                    struct parts *parts)
{
    Elf64_Ehdr header;
    size_t at = (bytes + 7) / 8 * 8;
    memcpy(out, file, bytes);
    memcpy(&header, file, sizeof header);
    for (size_t i = 0; i < header.e_shnum; i++) {
        GElf_Shdr section;
        Elf64_Chdr compression;
        if (gelf_getshdr(elf_getscn(elf, i), &section) == NULL) {
            return false;
        }
        if (read_header(&section, file, bytes, &compression)) {
            size_t size = is_unread(elf, names, &section) ? 0 : (size_t)compression.ch_size;
            if (size > 0) {
                parts->parts[parts->count++] = (struct part){.from = file + section.sh_offset + sizeof compression,
                                                             .to = out + at,
                                                             .from_bytes = (size_t)section.sh_size - sizeof compression,
                                                             .to_bytes = size,
                                                             .type = compression.ch_type};
            } else {
                section.sh_type = SHT_NOBITS;
            }
            section.sh_flags &= ~(uint64_t)SHF_COMPRESSED;
            section.sh_offset = at;
            section.sh_size = size;
            section.sh_addralign = compression.ch_addralign;
            at += (size + 7) / 8 * 8;
        }
        memcpy(out + table_at + i * sizeof section, &section, sizeof section);
    }
    header.e_shoff = table_at;
    memcpy(out, &header, sizeof header);
    return true;
}

char *sbx_unpacked_elf_create(Elf *elf, const char *file, size_t bytes, size_t *bytes_out)
{
    GElf_Ehdr header;
    size_t sections = 0, names = 0;
    if (bytes < sizeof header || gelf_getehdr(elf, &header) == NULL || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || elf_getshdrnum(elf, &sections) != 0 || sections != header.e_shnum ||
        header.e_shentsize != sizeof(GElf_Shdr) || elf_getshdrstrndx(elf, &names) != 0) {
        return NULL;
    }
    size_t more = count_unpacked(elf, names, file, bytes);
    size_t table_at = (bytes + 7) / 8 * 8 + (more + 7) / 8 * 8, whole = table_at + sections * sizeof(GElf_Shdr);
    struct parts parts = {.parts = calloc(sections + 1, sizeof *parts.parts)};
    char *copy = more == 0 || more > UNPACKED_BYTES_MAX || parts.parts == NULL ? NULL : malloc(whole);
    bool is_good = copy != NULL && lay_out(elf, names, file, bytes, copy, table_at, &parts) && decompress_all(&parts);
    free(parts.parts);
    if (!is_good) {
        free(copy);
        return NULL;
    }
    *bytes_out = whole;
    return copy;
}
