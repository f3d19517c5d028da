/* SPDX-License-Identifier: Apache-2.0 */
/* macho_image.c - a Mach-O program, library or dSYM: the positions of its parts in the file.
 *
 * Each image is a header and a list of commands that give the positions of the other parts. Nothing is trusted: a part
 * beyond the image's end is damage, and any damage refuses the whole file. A file that is truncated or badly combined
 * should be sent again, not read in part. */
#include "macho_image.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "macho_format.h"

enum {
    STRING_BYTES_MAX = 1 << 30,
    CODE_TIMES_MAX = 1000,      /* the size of the file; symbols of a program without debug information: 5 to 20 */
    COMMAND_BYTES_MAX = 4 << 20 /* a program with 600 libraries has some 64 KB */
};

static bool read_at(int fd, void *into, size_t bytes, uint64_t at)
{
    return at <= INT64_MAX && pread(fd, into, bytes, (off_t)at) == (ssize_t)bytes;
}

/* Whether [offset, offset + bytes) lies within `whole` bytes. */
static bool lies_within(uint64_t offset, uint64_t bytes, uint64_t whole)
{
    return offset <= whole && bytes <= whole - offset;
}

/* ---- the images of a file ---- */

struct slice {
    uint64_t offset, bytes;
};

struct slices {
    struct slice list[SBX_MACHO_IMAGES_MAX];
    size_t count;
};

static const char *const cut_short = "a Mach-O file that is cut short";

/* The positions of the images in the file. Returns NULL, or the reason why they cannot be read. *is_macho_out: it is a
 * Mach-O file. */
static const char *find_slices(int fd, struct slices *slices, bool *is_macho_out)
{
    struct sbx_macho_fat_header header;
    off_t end = lseek(fd, 0, SEEK_END); /* not fstat(): libcs make it from calls that the filter forbids */
    *slices = (struct slices){.count = 0};
    *is_macho_out = false;
    if (end < 0 || !read_at(fd, &header, sizeof header, 0)) {
        return "no Mach-O file";
    }
    uint64_t file_bytes = (uint64_t)end;
    uint32_t fat_magic = be32toh(header.magic), count = be32toh(header.slice_count);
    if (header.magic == SBX_MACHO_MAGIC || header.magic == SBX_MACHO_MAGIC_32 ||
        header.magic == SBX_MACHO_MAGIC_BIG_ENDIAN) {
        *is_macho_out = true;
        slices->list[slices->count++] = (struct slice){0, file_bytes};
        return NULL;
    }
    bool is_64 = fat_magic == SBX_MACHO_FAT_MAGIC_64;
    /* A Java class file has its version at the place of a universal file's count: 45 or more. */
    if ((fat_magic != SBX_MACHO_FAT_MAGIC && !is_64) || count >= 45) {
        return "no Mach-O file";
    }
    *is_macho_out = true;
    if (count > SBX_MACHO_IMAGES_MAX) {
        return "a Mach-O file for more processors than there are";
    }
    for (uint64_t i = 0; i < count; i++) {
        struct sbx_macho_fat_slice_64 wide;
        struct sbx_macho_fat_slice narrow;
        struct slice slice;
        if (is_64) {
            if (!read_at(fd, &wide, sizeof wide, sizeof header + i * sizeof wide)) {
                return cut_short;
            }
            slice = (struct slice){be64toh(wide.offset), be64toh(wide.bytes)};
        } else {
            if (!read_at(fd, &narrow, sizeof narrow, sizeof header + i * sizeof narrow)) {
                return cut_short;
            }
            slice = (struct slice){be32toh(narrow.offset), be32toh(narrow.bytes)};
        }
        if (!lies_within(slice.offset, slice.bytes, file_bytes)) {
            return cut_short;
        }
        slices->list[slices->count++] = slice;
    }
    return NULL;
}

/* ---- the commands of an image ---- */

struct reading {
    struct sbx_macho_image *image;
    struct slice slice;
    bool has_uuid, has_base, has_symtab, has_starts;
};

static bool is_debug_section(const struct sbx_macho_section *section)
{
    return strcmp(section->segment, "__DWARF") == 0 &&
           (strncmp(section->name, "__debug_", 8) == 0 || strncmp(section->name, "__zdebug_", 9) == 0);
}

static const char *take_segment(struct reading *reading, const uint8_t *bytes, size_t count)
{
    struct sbx_macho_segment_command segment;
    struct sbx_macho_section_header header;
    struct sbx_macho_image *image = reading->image;
    if (count < sizeof segment) {
        return "a Mach-O file with a damaged segment";
    }
    memcpy(&segment, bytes, sizeof segment);
    if (segment.section_count > (count - sizeof segment) / sizeof header) {
        return "a Mach-O file with a damaged segment";
    }
    if (segment.section_count > SBX_MACHO_SECTIONS_MAX - image->section_count) {
        return "a Mach-O file with more sections than symbols can name";
    }
    if (strncmp(segment.name, "__TEXT", sizeof segment.name) == 0) {
        if (reading->has_base) {
            return "a Mach-O file with two __TEXT segments";
        }
        reading->has_base = true;
        image->base = segment.address;
    }
    for (uint32_t i = 0; i < segment.section_count; i++) {
        memcpy(&header, bytes + sizeof segment + i * sizeof header, sizeof header);
        struct sbx_macho_section *section = &image->sections[image->section_count++];
        *section = (struct sbx_macho_section){.address = header.address, .bytes = header.bytes};
        memcpy(section->name, header.name, sizeof header.name);
        memcpy(section->segment, header.segment, sizeof header.segment);
        section->is_debug = is_debug_section(section);
        section->is_code = !section->is_debug && header.bytes > 0 && (header.flags & SBX_MACHO_SECTION_CODE) != 0;
        if (section->is_debug) {
            if (!lies_within(header.offset, header.bytes, reading->slice.bytes)) {
                return "a Mach-O file whose debug information is cut short";
            }
            section->offset = reading->slice.offset + header.offset;
        }
    }
    return NULL;
}

static const char *take_symtab(struct reading *reading, const uint8_t *bytes, size_t count)
{
    struct sbx_macho_symtab_command symtab;
    struct sbx_macho_image *image = reading->image;
    if (count < sizeof symtab || reading->has_symtab) {
        return "a Mach-O file with a damaged or a second symbol table";
    }
    memcpy(&symtab, bytes, sizeof symtab);
    reading->has_symtab = true;
    if (symtab.string_bytes > STRING_BYTES_MAX) {
        return "a Mach-O file with more than 1 GiB of names";
    }
    if (!lies_within(symtab.offset, (uint64_t)symtab.count * sizeof(struct sbx_macho_nlist), reading->slice.bytes) ||
        !lies_within(symtab.string_offset, symtab.string_bytes, reading->slice.bytes)) {
        return "a Mach-O file whose symbol table is cut short";
    }
    image->symbols_offset = reading->slice.offset + symtab.offset;
    image->symbol_count = symtab.count;
    image->strings_offset = reading->slice.offset + symtab.string_offset;
    image->string_bytes = symtab.string_bytes;
    return NULL;
}

static const char *take_starts(struct reading *reading, const uint8_t *bytes, size_t count)
{
    struct sbx_macho_data_command data;
    if (count < sizeof data || reading->has_starts) {
        return "a Mach-O file with a damaged or a second list of functions";
    }
    memcpy(&data, bytes, sizeof data);
    reading->has_starts = true;
    if (!lies_within(data.offset, data.bytes, reading->slice.bytes)) {
        return "a Mach-O file whose list of functions is cut short";
    }
    reading->image->starts_offset = reading->slice.offset + data.offset;
    reading->image->starts_bytes = data.bytes;
    return NULL;
}

static const char *take_uuid(struct reading *reading, const uint8_t *bytes, size_t count)
{
    struct sbx_macho_uuid_command uuid;
    if (count < sizeof uuid || reading->has_uuid) {
        return "a Mach-O file with a damaged or a second UUID";
    }
    memcpy(&uuid, bytes, sizeof uuid);
    reading->has_uuid = true;
    memcpy(reading->image->uuid, uuid.uuid, sizeof uuid.uuid);
    return NULL;
}

static const char *take_commands(struct reading *reading, const uint8_t *bytes, size_t count, uint32_t command_count)
{
    for (uint32_t i = 0; i < command_count; i++) {
        struct sbx_macho_command command;
        if (count < sizeof command) {
            return "a Mach-O file with damaged commands";
        }
        memcpy(&command, bytes, sizeof command);
        if (command.bytes < sizeof command || command.bytes > count) {
            return "a Mach-O file with damaged commands";
        }
        const char *why = command.kind == SBX_MACHO_SEGMENT_64        ? take_segment(reading, bytes, command.bytes)
                          : command.kind == SBX_MACHO_SYMTAB          ? take_symtab(reading, bytes, command.bytes)
                          : command.kind == SBX_MACHO_FUNCTION_STARTS ? take_starts(reading, bytes, command.bytes)
                          : command.kind == SBX_MACHO_UUID            ? take_uuid(reading, bytes, command.bytes)
                                                                      : NULL;
        if (why != NULL) {
            return why;
        }
        bytes += command.bytes;
        count -= command.bytes;
    }
    return NULL;
}

/* Checks that are possible only after all commands were read. */
static const char *check_whole(const struct sbx_macho_image *image, const struct reading *reading)
{
    if (!reading->has_base) {
        return reading->has_uuid ? "a Mach-O file without a __TEXT segment" : NULL; /* neither: an object file */
    }
    uint64_t begin = UINT64_MAX, end = 0; /* of the code */
    for (size_t i = 0; i < image->section_count; i++) {
        const struct sbx_macho_section *section = &image->sections[i];
        if (!section->is_code) {
            continue;
        }
        if (section->address < image->base ||
            !lies_within(section->address - image->base, section->bytes, SBX_MACHO_REACH)) {
            return "a Mach-O file with code below its base or more than 4 GiB above it";
        }
        begin = section->address < begin ? section->address : begin;
        end = section->address + section->bytes > end ? section->address + section->bytes : end;
    }
    if (end == 0) {
        return reading->has_uuid ? "a Mach-O file without code" : NULL;
    }
    /* A dSYM describes code that it does not contain. So a few bytes could claim gigabytes of code, which a store would
     * write out. */
    return (end - begin) / CODE_TIMES_MAX > reading->slice.bytes
               ? "a Mach-O file that claims a thousand times its size in code"
               : NULL;
}

/* Read the image at `slice`. Returns NULL, or the reason why it cannot be read. *kept_out: it is of a kind that is
 * used, with a UUID. */
static const char *read_slice(int fd, struct slice slice, struct sbx_macho_image *image, bool *kept_out)
{
    struct sbx_macho_header header;
    struct reading reading = {.image = image, .slice = slice};
    *kept_out = false;
    memset(image, 0, sizeof *image);
    if (slice.bytes < sizeof header.magic || !read_at(fd, &header.magic, sizeof header.magic, slice.offset)) {
        return cut_short;
    }
    if (header.magic == SBX_MACHO_MAGIC_32 || header.magic == SBX_MACHO_MAGIC_BIG_ENDIAN) {
        return NULL;
    }
    if (header.magic != SBX_MACHO_MAGIC) {
        return "a universal file with something else than Mach-O images in it";
    }
    if (slice.bytes < sizeof header || !read_at(fd, &header, sizeof header, slice.offset) ||
        !lies_within(sizeof header, header.command_bytes, slice.bytes)) {
        return cut_short;
    }
    if (header.command_bytes > COMMAND_BYTES_MAX) {
        return "a Mach-O file with more commands than any linker writes";
    }
    uint8_t *commands = malloc(header.command_bytes + 1u);
    if (commands == NULL) {
        return "a Mach-O file for which there is no memory";
    }
    image->cpu = header.cpu;
    image->file_type = header.file_type;
    const char *why = read_at(fd, commands, header.command_bytes, slice.offset + sizeof header)
                          ? take_commands(&reading, commands, header.command_bytes, header.command_count)
                          : cut_short;
    free(commands);
    why = why == NULL ? check_whole(image, &reading) : why;
    bool is_known = header.cpu == SBX_MACHO_CPU_ARM64 || header.cpu == SBX_MACHO_CPU_X86_64;
    *kept_out = why == NULL && reading.has_uuid && is_known;
    return why;
}

/* ---- lookups ---- */

size_t sbx_macho_uuids_read(int fd, uint8_t uuids_out[SBX_MACHO_IMAGES_MAX][SBX_MACHO_UUID_BYTES], const char **why_out)
{
    struct slices slices;
    bool is_macho, is_kept;
    const char *why = find_slices(fd, &slices, &is_macho);
    *why_out = is_macho ? why : NULL;
    if (why != NULL) {
        return 0;
    }
    struct sbx_macho_image *image = malloc(sizeof *image); /* not on the stack: it is as large as a small stack */
    size_t count = 0;
    why = image == NULL ? "a Mach-O file for which there is no memory" : NULL;
    for (size_t i = 0; i < slices.count && why == NULL; i++) {
        why = read_slice(fd, slices.list[i], image, &is_kept);
        if (why == NULL && is_kept) {
            memcpy(uuids_out[count++], image->uuid, SBX_MACHO_UUID_BYTES);
        }
    }
    free(image);
    if (why == NULL && count == 0) {
        why = "a Mach-O file without an image of arm64 or x86-64 that has a UUID";
    }
    *why_out = why;
    return why == NULL ? count : 0;
}

int sbx_macho_image_read(int fd, const uint8_t uuid[SBX_MACHO_UUID_BYTES], struct sbx_macho_image *image_out)
{
    uint8_t uuids[SBX_MACHO_IMAGES_MAX][SBX_MACHO_UUID_BYTES];
    struct slices slices;
    bool is_macho, is_kept;
    const char *why;
    size_t count = sbx_macho_uuids_read(fd, uuids, &why);
    bool is_there = false;
    for (size_t i = 0; i < count; i++) {
        is_there = is_there || memcmp(uuids[i], uuid, SBX_MACHO_UUID_BYTES) == 0;
    }
    if (!is_there || find_slices(fd, &slices, &is_macho) != NULL) {
        return -ENOENT;
    }
    for (size_t i = 0; i < slices.count; i++) {
        why = read_slice(fd, slices.list[i], image_out, &is_kept);
        if (why == NULL && is_kept && memcmp(image_out->uuid, uuid, SBX_MACHO_UUID_BYTES) == 0) {
            return 0;
        }
    }
    return -ENOENT; /* the file changed meanwhile */
}

int sbx_macho_bytes_read(int fd, void *into, uint64_t bytes, uint64_t at)
{
    char *to = into;
    while (bytes > 0) {
        ssize_t got = pread(fd, to, bytes, (off_t)at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return -EIO;
        }
        to += got;
        at += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    return 0;
}
