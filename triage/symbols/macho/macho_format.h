/* SPDX-License-Identifier: Apache-2.0 */
/* macho_format.h - the parts of the Mach-O file format of 64-bit Apple systems that are needed for names.
 *
 * Numbers are little-endian; those in the header of a universal file are big-endian. */
#ifndef SBX_MACHO_FORMAT_H
#define SBX_MACHO_FORMAT_H

#include <stdint.h>

#define SBX_MACHO_MAGIC            UINT32_C(0xfeedfacf)
#define SBX_MACHO_MAGIC_32         UINT32_C(0xfeedface)
#define SBX_MACHO_MAGIC_BIG_ENDIAN UINT32_C(0xcffaedfe) /* for PowerPC, as a little-endian machine reads it */
#define SBX_MACHO_FAT_MAGIC        UINT32_C(0xcafebabe) /* Java's class files begin with it, too */
#define SBX_MACHO_FAT_MAGIC_64     UINT32_C(0xcafebabf)

enum sbx_macho_cpu {
    SBX_MACHO_CPU_X86_64 = 0x01000007,
    SBX_MACHO_CPU_ARM64 = 0x0100000c
};

enum sbx_macho_file_type {
    SBX_MACHO_EXECUTABLE = 2,
    SBX_MACHO_DYLIB = 6,
    SBX_MACHO_DSYM = 10
};

enum sbx_macho_command_kind {
    SBX_MACHO_SYMTAB = 0x2,
    SBX_MACHO_SEGMENT_64 = 0x19,
    SBX_MACHO_UUID = 0x1b,
    SBX_MACHO_FUNCTION_STARTS = 0x26
};

#define SBX_MACHO_SECTION_CODE UINT32_C(0x80000400) /* only instructions, or some instructions */

enum {
    SBX_MACHO_SYMBOL_STAB = 0xe0,     /* n_type: if any of these bits is set, it is for debuggers */
    SBX_MACHO_SYMBOL_TYPE = 0x0e,     /* n_type: mask of the type */
    SBX_MACHO_SYMBOL_SECTION = 0x0e,  /* type: it lies in a section */
    SBX_MACHO_SYMBOL_EXTERNAL = 0x01, /* n_type */
    SBX_MACHO_SYMBOL_OBJECT = 0x66,   /* n_type: an object file with the debug information */
    SBX_MACHO_SYMBOL_INNER = 0x0200   /* n_desc: another entry point of the function that begins before it */
};

struct sbx_macho_header {
    uint32_t magic, cpu, cpu_subtype, file_type, command_count, command_bytes, flags, reserved;
};

struct sbx_macho_fat_header {
    uint32_t magic, slice_count;
};
struct sbx_macho_fat_slice {
    uint32_t cpu, cpu_subtype, offset, bytes, alignment;
};
struct sbx_macho_fat_slice_64 {
    uint32_t cpu, cpu_subtype;
    uint64_t offset, bytes;
    uint32_t alignment, reserved;
};

struct sbx_macho_command {
    uint32_t kind, bytes;
};
struct sbx_macho_segment_command {
    struct sbx_macho_command command;
    char name[16];
    uint64_t address, memory_bytes, offset, file_bytes;
    uint32_t protection_max, protection, section_count, flags;
};
struct sbx_macho_section_header {
    char name[16], segment[16];
    uint64_t address, bytes;
    uint32_t offset, alignment, relocations, relocation_count, flags, reserved[3];
};
struct sbx_macho_symtab_command {
    struct sbx_macho_command command;
    uint32_t offset, count, string_offset, string_bytes;
};
struct sbx_macho_uuid_command {
    struct sbx_macho_command command;
    uint8_t uuid[16];
};
struct sbx_macho_data_command {
    struct sbx_macho_command command;
    uint32_t offset, bytes;
};
struct sbx_macho_nlist {
    uint32_t name;
    uint8_t type, section;
    uint16_t description;
    uint64_t value;
};
_Static_assert(sizeof(struct sbx_macho_header) == 32 && sizeof(struct sbx_macho_fat_slice) == 20 &&
                   sizeof(struct sbx_macho_fat_slice_64) == 32 && sizeof(struct sbx_macho_segment_command) == 72 &&
                   sizeof(struct sbx_macho_section_header) == 80 && sizeof(struct sbx_macho_nlist) == 16,
               "as in the file");

#endif
