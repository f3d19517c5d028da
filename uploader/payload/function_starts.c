/* SPDX-License-Identifier: Apache-2.0 */
/* function_starts.c - reads the table of .eh_frame_hdr, and the ends of functions from .eh_frame. */
#include "function_starts.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SEGMENTS_MAX = 64,
    NOTES_BYTES_MAX = 1 << 16,
    TABLE_BYTES_MAX = 64 << 20, /* 8 million functions */
    HEAD_BYTES = 12,            /* of .eh_frame_hdr, before its table */
    ENTRY_HEAD_BYTES = 64,      /* enough of an .eh_frame entry for all fields that are read */
    NO_ENCODING = 0xff,         /* of pointers: not supported */
};

/* Encodings of pointers in .eh_frame: DW_EH_PE_*. */
enum {
    SIZE_BITS = 0x0f,
    PCREL_SDATA4 = 0x1b,
    UDATA4 = 0x03,
    DATAREL_SDATA4 = 0x3b,
};

/* A row of the table, relative to .eh_frame_hdr. */
struct row {
    int32_t function, entry;
};

struct sbx_function_starts {
    int file;
    Elf64_Phdr segments[SEGMENTS_MAX];
    uint32_t segment_count;
    uint64_t header_address; /* of .eh_frame_hdr */
    struct row *rows;        /* by function */
    size_t row_count;
    uint64_t shape_at; /* the CIE that was read last */
    uint8_t shape_encoding;
};

/* Reads all bytes, or fails. */
static bool read_at(int file, uint64_t at, void *out, size_t bytes)
{
    return at <= INT64_MAX && pread(file, out, bytes, (off_t)at) == (ssize_t)bytes;
}

/* ---- opening ---- */

static bool read_segments(struct sbx_function_starts *starts)
{
    Elf64_Ehdr head;
    if (!read_at(starts->file, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum == 0 || head.e_phnum > SEGMENTS_MAX) {
        return false;
    }
    starts->segment_count = head.e_phnum;
    return read_at(starts->file, head.e_phoff, starts->segments, head.e_phnum * sizeof *starts->segments);
}

static bool has_build_id(const uint8_t *notes, size_t bytes, const uint8_t *build_id, size_t build_id_bytes)
{
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        size_t name_at = at + sizeof note, content_at = name_at + (((size_t)note.n_namesz + 3) & ~(size_t)3);
        if (content_at > bytes || note.n_descsz > bytes - content_at) {
            return false;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name_at, "GNU", 4) == 0) {
            return note.n_descsz == build_id_bytes && memcmp(notes + content_at, build_id, build_id_bytes) == 0;
        }
        at = content_at + (((size_t)note.n_descsz + 3) & ~(size_t)3);
    }
    return false;
}

static bool is_build(const struct sbx_function_starts *starts, const uint8_t *build_id, size_t build_id_bytes)
{
    bool is_it = false;
    uint8_t *notes = malloc(NOTES_BYTES_MAX);
    for (uint32_t i = 0; i < starts->segment_count && notes != NULL && !is_it; i++) {
        const Elf64_Phdr *segment = &starts->segments[i];
        is_it = segment->p_type == PT_NOTE && segment->p_filesz <= NOTES_BYTES_MAX &&
                read_at(starts->file, segment->p_offset, notes, segment->p_filesz) &&
                has_build_id(notes, segment->p_filesz, build_id, build_id_bytes);
    }
    free(notes);
    return is_it;
}

/* Reads the table. Only the format that all current linkers write is supported. */
static int read_table(struct sbx_function_starts *starts)
{
    const Elf64_Phdr *found = NULL;
    for (uint32_t i = 0; i < starts->segment_count; i++) {
        found = starts->segments[i].p_type == PT_GNU_EH_FRAME ? &starts->segments[i] : found;
    }
    uint8_t head[HEAD_BYTES];
    uint32_t count;
    if (found == NULL || found->p_filesz < HEAD_BYTES || found->p_filesz > TABLE_BYTES_MAX ||
        !read_at(starts->file, found->p_offset, head, sizeof head)) {
        return -EINVAL;
    }
    memcpy(&count, head + 8, sizeof count);
    if (head[0] != 1 || head[1] != PCREL_SDATA4 || head[2] != UDATA4 || head[3] != DATAREL_SDATA4 ||
        count > (found->p_filesz - HEAD_BYTES) / sizeof *starts->rows) {
        return -EINVAL;
    }
    starts->rows = malloc((size_t)count * sizeof *starts->rows + 1);
    if (starts->rows == NULL) {
        return -ENOMEM;
    }
    starts->row_count = count;
    starts->header_address = found->p_vaddr;
    return read_at(starts->file, found->p_offset + HEAD_BYTES, starts->rows, count * sizeof *starts->rows) ? 0
                                                                                                           : -EINVAL;
}

/* Returns a descriptor, or -errno. The path comes from a program that may be hostile. A file that is not regular is not
 * opened at all, because opening a device or a FIFO may have side effects. */
static int open_regular(const char *path)
{
    struct stat status;
    int place = open(path, O_PATH | O_CLOEXEC), file;
    if (place < 0) {
        return -errno;
    }
    if (fstat(place, &status) != 0 || !S_ISREG(status.st_mode)) {
        file = -EINVAL;
    } else {
        char link[40];
        snprintf(link, sizeof link, "/proc/self/fd/%d", place);
        file = open(link, O_RDONLY | O_CLOEXEC);
        file = file < 0 ? -errno : file;
    }
    close(place);
    return file;
}

int sbx_function_starts_open(const char *path, const uint8_t *build_id, size_t build_id_bytes,
                             struct sbx_function_starts **starts_out)
{
    struct sbx_function_starts *starts = calloc(1, sizeof *starts);
    if (starts == NULL) {
        return -ENOMEM;
    }
    starts->shape_at = UINT64_MAX;
    int result = 0;
    starts->file = open_regular(path);
    if (starts->file < 0) {
        result = starts->file;
    } else if (!read_segments(starts)) {
        result = -EINVAL;
    } else if (!is_build(starts, build_id, build_id_bytes)) {
        result = -ESTALE;
    } else {
        result = read_table(starts);
    }
    if (result != 0) {
        sbx_function_starts_close(starts);
        return result;
    }
    *starts_out = starts;
    return 0;
}

void sbx_function_starts_close(struct sbx_function_starts *starts)
{
    if (starts == NULL) {
        return;
    }
    if (starts->file >= 0) {
        close(starts->file);
    }
    free(starts->rows);
    free(starts);
}

/* ---- one function ---- */

/* Reads the bytes of an .eh_frame entry at an address, up to `bytes`, or fewer at the end. */
static size_t read_entry(const struct sbx_function_starts *starts, uint64_t address, uint8_t *out, size_t bytes)
{
    for (uint32_t i = 0; i < starts->segment_count; i++) {
        const Elf64_Phdr *segment = &starts->segments[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            uint64_t into = address - segment->p_vaddr, left = segment->p_filesz - into;
            size_t wanted = left < bytes ? (size_t)left : bytes;
            if (segment->p_offset > INT64_MAX - into) {
                return 0;
            }
            ssize_t got = pread(starts->file, out, wanted, (off_t)(segment->p_offset + into));
            return got > 0 ? (size_t)got : 0;
        }
    }
    return 0;
}

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Returns the position after a LEB128 number; NULL: the number does not end. */
static const uint8_t *skip_leb(const uint8_t *at, const uint8_t *end)
{
    while (at < end && (*at & 0x80) != 0) {
        at++;
    }
    return at < end ? at + 1 : NULL;
}

static size_t pointer_bytes(uint8_t encoding)
{
    switch (encoding & SIZE_BITS) {
    case 0x0:
    case 0x4:
    case 0xc:
        return 8;
    case 0x2:
    case 0xa:
        return 2;
    case 0x3:
    case 0xb:
        return 4;
    default:
        return 0; /* LEB128, or unknown */
    }
}

/* Returns the encoding of function addresses in entries that use the CIE at `address`. */
static uint8_t encoding_of_shape(const struct sbx_function_starts *starts, uint64_t address)
{
    uint8_t bytes[ENTRY_HEAD_BYTES];
    size_t count = read_entry(starts, address, bytes, sizeof bytes);
    const uint8_t *end = bytes + count, *text = bytes + 9, *at = text;
    if (count < 12 || word_at(bytes + 4) != 0) {
        return NO_ENCODING;
    }
    while (at < end && *at != 0) {
        at++;
    }
    if (at == end || *text != 'z') {
        return at == end || *text != 0 ? NO_ENCODING : 0; /* no encoding given: absolute addresses */
    }
    at = skip_leb(at + 1, end);                 /* code alignment */
    at = at != NULL ? skip_leb(at, end) : NULL; /* data alignment */
    at = at != NULL ? skip_leb(at, end) : NULL; /* return address register */
    at = at != NULL ? skip_leb(at, end) : NULL; /* length of what follows */
    for (text++; *text != 0 && at != NULL && at < end; text++) {
        if (*text == 'R') {
            return *at;
        }
        if (*text == 'P') {
            size_t pointer = pointer_bytes(*at);
            if (pointer == 0 || (size_t)(end - at) <= 1 + pointer) {
                return NO_ENCODING;
            }
            at += 1 + pointer;
        } else if (*text == 'L') {
            at++;
        } else if (*text != 'S' && *text != 'B') {
            return NO_ENCODING;
        }
    }
    return at != NULL && *text == 0 ? 0 : NO_ENCODING;
}

/* Returns the length of the function that the entry at `address` describes; 0: not known. */
static uint64_t length_of(struct sbx_function_starts *starts, uint64_t address)
{
    uint8_t bytes[24] = {0};
    size_t count = read_entry(starts, address, bytes, sizeof bytes);
    uint32_t entry_bytes = count >= 8 ? word_at(bytes) : 0, shape_distance = word_at(bytes + 4);
    if (entry_bytes < 8 || entry_bytes == UINT32_MAX || shape_distance == 0 || shape_distance > address + 4) {
        return 0;
    }
    uint64_t shape_at = address + 4 - shape_distance;
    if (shape_at != starts->shape_at) {
        starts->shape_encoding = encoding_of_shape(starts, shape_at);
        starts->shape_at = shape_at;
    }
    size_t size = starts->shape_encoding != NO_ENCODING ? pointer_bytes(starts->shape_encoding) : 0;
    if (size == 0 || 8 + 2 * size > count) {
        return 0;
    }
    uint64_t length = 0;
    memcpy(&length, bytes + 8 + size, size); /* little endian, like the file */
    return length;
}

bool sbx_function_starts_find(struct sbx_function_starts *starts, uint64_t address, uint64_t *begin_out)
{
    size_t low = 0, high = starts->row_count; /* find the last row that begins at or before the address */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (starts->header_address + (uint64_t)(int64_t)starts->rows[middle].function <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return false;
    }
    const struct row *row = &starts->rows[low - 1];
    uint64_t begin = starts->header_address + (uint64_t)(int64_t)row->function;
    *begin_out = begin;
    return begin <= address && address - begin < SBX_FUNCTION_BYTES_MAX &&
           address - begin < length_of(starts, starts->header_address + (uint64_t)(int64_t)row->entry);
}

/* ---- all frames ---- */

static struct sbx_function_starts *open_module(const struct sbx_snapshot *snapshot,
                                               const struct sbx_redacted_module *module)
{
    for (uint32_t i = 0; i < snapshot->module_count; i++) {
        const struct sbx_module_entry *entry = &snapshot->modules[i];
        struct sbx_function_starts *starts;
        if (entry->build_id_bytes == module->build_id_bytes &&
            memcmp(entry->build_id, module->build_id, module->build_id_bytes) == 0 && entry->path[0] == '/' &&
            memchr(entry->path, '\0', sizeof entry->path) != NULL &&
            sbx_function_starts_open(entry->path, module->build_id, module->build_id_bytes, &starts) == 0) {
            return starts;
        }
    }
    return NULL;
}

void sbx_function_starts_fill(const struct sbx_snapshot *snapshot, struct sbx_redacted *redacted)
{
    struct sbx_function_starts *starts = NULL;
    uint32_t opened = UINT32_MAX; /* the module of `starts`: the frames are sorted by module */
    for (uint32_t i = 0; i < redacted->frame_count; i++) {
        struct sbx_redacted_frame *frame = &redacted->frames[i];
        if (frame->module >= redacted->module_count) {
            continue;
        }
        const struct sbx_redacted_module *module = &redacted->modules[frame->module];
        if ((module->kind != SBX_KEEP_APP && module->kind != SBX_KEEP_SYSTEM) || module->build_id_bytes == 0) {
            continue;
        }
        if (frame->module != opened) {
            sbx_function_starts_close(starts);
            starts = open_module(snapshot, module);
            opened = frame->module;
        }
        uint64_t begin, address = frame->exact || frame->offset == 0 ? frame->offset : frame->offset - 1;
        if (starts != NULL && sbx_function_starts_find(starts, address, &begin)) {
            frame->function = begin;
        }
    }
    sbx_function_starts_close(starts);
}
