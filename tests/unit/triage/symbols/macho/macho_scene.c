/* SPDX-License-Identifier: Apache-2.0 */
/* macho_scene.c - a small Mach-O program in memory, for tests to damage. */
#include "macho_scene.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void set_section(struct sbx_macho_section_header *section, const char *name, const char *segment,
                        uint64_t address, uint64_t bytes, uint32_t flags)
{
    *section = (struct sbx_macho_section_header){.address = address, .bytes = bytes, .flags = flags};
    strncpy(section->name, name, sizeof section->name);
    strncpy(section->segment, segment, sizeof section->segment);
}

void macho_scene_init(struct macho_scene *scene)
{
    memset(scene, 0, sizeof *scene);
    scene->header = (struct sbx_macho_header){.magic = SBX_MACHO_MAGIC,
                                              .cpu = SBX_MACHO_CPU_ARM64,
                                              .file_type = SBX_MACHO_EXECUTABLE,
                                              .command_count = 5,
                                              .command_bytes = offsetof(struct macho_scene, symbols) -
                                                               sizeof(struct sbx_macho_header)};
    scene->uuid = (struct sbx_macho_uuid_command){.command = {SBX_MACHO_UUID, sizeof scene->uuid}};
    for (uint8_t i = 0; i < sizeof scene->uuid.uuid; i++) {
        scene->uuid.uuid[i] = (uint8_t)(0xa0 + i);
    }
    scene->text = (struct sbx_macho_segment_command){
        .command = {SBX_MACHO_SEGMENT_64, sizeof scene->text + 3 * sizeof scene->code},
        .name = "__TEXT",
        .address = SCENE_BASE,
        .memory_bytes = 0x4000,
        .section_count = 3};
    set_section(&scene->code, "__text", "__TEXT", SCENE_CODE, SCENE_CODE_BYTES, SBX_MACHO_SECTION_CODE);
    set_section(&scene->stubs, "__stubs", "__TEXT", SCENE_CODE + SCENE_CODE_BYTES, 24, SBX_MACHO_SECTION_CODE);
    set_section(&scene->data, "__const", "__TEXT", SCENE_CODE + 0x1000, 64, 0);
    scene->dwarf =
        (struct sbx_macho_segment_command){.command = {SBX_MACHO_SEGMENT_64, sizeof scene->dwarf + sizeof scene->debug},
                                           .name = "__DWARF",
                                           .address = SCENE_BASE + 0x8000,
                                           .section_count = 1};
    set_section(&scene->debug, "__debug_info", "__DWARF", SCENE_BASE + 0x8000, sizeof scene->debug_content, 0);
    scene->debug.offset = offsetof(struct macho_scene, debug_content);
    scene->symtab = (struct sbx_macho_symtab_command){.command = {SBX_MACHO_SYMTAB, sizeof scene->symtab},
                                                      .offset = offsetof(struct macho_scene, symbols),
                                                      .string_offset = offsetof(struct macho_scene, strings),
                                                      .string_bytes = 1};
    scene->starts = (struct sbx_macho_data_command){.command = {SBX_MACHO_FUNCTION_STARTS, sizeof scene->starts},
                                                    .offset = offsetof(struct macho_scene, start_list)};
}

void macho_scene_add_symbol(struct macho_scene *scene, const char *name, uint64_t address, uint8_t type)
{
    size_t name_bytes = strlen(name) + 1;
    if (scene->symtab.count == SCENE_SYMBOLS || name_bytes > sizeof scene->strings - scene->symtab.string_bytes) {
        abort();
    }
    scene->symbols[scene->symtab.count++] =
        (struct sbx_macho_nlist){.name = scene->symtab.string_bytes, .type = type, .section = 1, .value = address};
    memcpy(scene->strings + scene->symtab.string_bytes, name, name_bytes);
    scene->symtab.string_bytes += (uint32_t)name_bytes;
}

int macho_scene_open(const void *bytes, size_t count)
{
    int fd = memfd_create("scene", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, count) != (ssize_t)count) {
        abort();
    }
    return fd;
}
