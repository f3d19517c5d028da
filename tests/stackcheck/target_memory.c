/* SPDX-License-Identifier: Apache-2.0 */
/* target_memory.c - maps, files and stacks of a traced process. */
#include "target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    IMAGES_MAX = 512,
    PAGE = 4096
};

static struct target_image *images[IMAGES_MAX];
static uint32_t image_count;
static uint32_t generation;

static void *must(void *pointer)
{
    if (pointer == NULL) {
        fprintf(stderr, "stackcheck: out of memory\n");
        exit(2);
    }
    return pointer;
}

/* ---- images ---- */

const uint8_t *target_image_at(const struct target_image *image, uint64_t address, size_t bytes)
{
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr + bytes <= segment->p_filesz &&
            segment->p_offset + (address - segment->p_vaddr) + bytes <= image->size) {
            return image->bytes + segment->p_offset + (address - segment->p_vaddr);
        }
    }
    return NULL;
}

static const Elf64_Phdr *segment_of(const struct target_image *image, uint64_t address)
{
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            return segment;
        }
    }
    return NULL;
}

/* Chooses the same bytes as capture/modules/module_map.c: one range from the first executable segment to the last, and
 * rows through the header of the search table. */
static void build_rows(struct target_image *image)
{
    const Elf64_Phdr *segment = image->eh_frame_hdr == 0 ? NULL : segment_of(image, image->eh_frame_hdr);
    if (segment == NULL) {
        return;
    }
    struct sbx_unwind_source source = {
        .eh_frame_hdr = target_image_at(image, image->eh_frame_hdr, image->eh_frame_hdr_bytes),
        .eh_frame_hdr_bytes = image->eh_frame_hdr_bytes,
        .eh_frame_hdr_address = image->eh_frame_hdr,
        .image = target_image_at(image, segment->p_vaddr, segment->p_filesz),
        .image_bytes = segment->p_filesz,
        .image_address = segment->p_vaddr,
        .text_begin = image->text_begin,
        .text_end = image->text_end,
    };
    if (source.eh_frame_hdr != NULL && source.image != NULL) {
        image->has_rows = sbx_unwind_rows_build(&source, &image->rows, &image->rows_skipped) == 0;
    }
}

/* Read the file's headers. False: not an ELF file for this machine. */
static bool read_headers(struct target_image *image)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)image->bytes;
    if (image->size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr) ||
        header->e_phoff > image->size || header->e_phnum > (image->size - header->e_phoff) / sizeof(Elf64_Phdr)) {
        return false;
    }
    image->segments = (const Elf64_Phdr *)(const void *)(image->bytes + header->e_phoff);
    image->segment_count = header->e_phnum;
    image->text_begin = UINT64_MAX;
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_GNU_EH_FRAME) {
            image->eh_frame_hdr = segment->p_vaddr;
            image->eh_frame_hdr_bytes = segment->p_memsz;
        } else if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            uint64_t end = segment->p_vaddr + segment->p_memsz;
            image->text_begin = segment->p_vaddr < image->text_begin ? segment->p_vaddr : image->text_begin;
            image->text_end = end > image->text_end ? end : image->text_end;
        }
    }
    return image->text_begin < image->text_end;
}

static struct target_image *open_image(pid_t pid, const char *path, uint64_t start, uint64_t end)
{
    for (uint32_t i = 0; i < image_count; i++) {
        if (strcmp(images[i]->path, path) == 0) {
            return images[i]->segments == NULL ? NULL : images[i];
        }
    }
    if (image_count == IMAGES_MAX) {
        return NULL;
    }
    struct target_image *image = must(calloc(1, sizeof *image));
    images[image_count++] = image;
    snprintf(image->path, sizeof image->path, "%s", path);
    if (strcmp(path, "[vdso]") == 0) {
        image->size = end - start;
        uint8_t *copy = must(malloc(image->size));
        struct iovec local = {copy, image->size}, remote = {(void *)(uintptr_t)start, image->size};
        image->bytes = copy;
        if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)image->size) {
            return NULL;
        }
    } else {
        char name[PATH_MAX];
        struct stat status;
        snprintf(name, sizeof name, "/proc/%d/root%s", (int)pid, path);
        int fd = open(name, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            return NULL;
        }
        if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
            close(fd);
            return NULL;
        }
        image->size = (size_t)status.st_size;
        image->bytes = mmap(NULL, image->size, PROT_READ, MAP_PRIVATE, fd, 0);
        close(fd);
        if (image->bytes == MAP_FAILED) {
            image->bytes = NULL;
            return NULL;
        }
    }
    if (!read_headers(image)) {
        image->segments = NULL;
        return NULL;
    }
    build_rows(image);
    return image;
}

/* ---- modules ---- */

/* One line with the execute bit: add its module, unless it is already known. */
static void add_module(struct target_memory *memory, const char *path, uint64_t start, uint64_t end, uint64_t offset)
{
    struct target_image *image = open_image(memory->pid, path, start, end);
    if (image == NULL) {
        return;
    }
    uint64_t bias = 0;
    bool found = false;
    for (uint32_t i = 0; i < image->segment_count && !found; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
            (segment->p_offset & ~(uint64_t)(PAGE - 1)) == offset) {
            bias = start - (segment->p_vaddr & ~(uint64_t)(PAGE - 1));
            found = true;
        }
    }
    for (uint32_t i = 0; i < memory->module_count; i++) {
        found = found && (memory->modules[i].image != image || memory->modules[i].bias != bias);
    }
    if (found && memory->module_count < MODULES_MAX) {
        memory->modules[memory->module_count++] = (struct target_module){image, bias};
    }
}

static int compare_ranges(const void *left, const void *right)
{
    const struct sbx_code_range *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

static void make_code_map(struct target_memory *memory)
{
    struct sbx_code_map *map = memory->map;
    map->generation = ++generation;
    map->count = memory->module_count;
    for (uint32_t i = 0; i < memory->module_count; i++) {
        const struct target_module *module = &memory->modules[i];
        map->ranges[i] = (struct sbx_code_range){
            .start = module->bias + module->image->text_begin,
            .end = module->bias + module->image->text_end,
            .bias = module->bias,
            .module = i,
            .rows = module->image->has_rows ? &module->image->rows : NULL,
        };
    }
    qsort(map->ranges, map->count, sizeof map->ranges[0], compare_ranges);
}

void target_memory_init(struct target_memory *memory, pid_t pid)
{
    memset(memory, 0, sizeof *memory);
    memory->pid = pid;
    memory->map = must(calloc(1, sizeof *memory->map + MODULES_MAX * sizeof memory->map->ranges[0]));
    memory->map->generation = ++generation;
}

void target_memory_finish(struct target_memory *memory)
{
    free(memory->map);
    free(memory->maps_text);
}

/* Read the file's text into `text`; 0: the process has ended. */
static size_t read_maps(struct target_memory *memory, char **text)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/maps", (int)memory->pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    static char *buffer;
    static size_t capacity;
    size_t bytes = 0;
    for (;;) {
        if (capacity - bytes < 2 * PAGE) {
            capacity = capacity * 2 + (64 << 10);
            buffer = must(realloc(buffer, capacity));
        }
        ssize_t got = read(fd, buffer + bytes, capacity - bytes - 1);
        if (got <= 0) {
            break;
        }
        bytes += (size_t)got;
    }
    close(fd);
    buffer[bytes] = 0;
    *text = buffer;
    return bytes;
}

void target_memory_refresh(struct target_memory *memory)
{
    char *text;
    memory->page_at = 0;
    size_t bytes = read_maps(memory, &text);
    if (bytes == 0 || (bytes == memory->maps_bytes && memcmp(text, memory->maps_text, bytes) == 0)) {
        return;
    }
    if (bytes + 1 > memory->maps_capacity) {
        memory->maps_capacity = 2 * bytes + 1;
        memory->maps_text = must(realloc(memory->maps_text, memory->maps_capacity));
    }
    memcpy(memory->maps_text, text, bytes + 1);
    memory->maps_bytes = bytes;

    struct target_module *before = must(malloc(sizeof memory->modules));
    uint32_t count_before = memory->module_count;
    memcpy(before, memory->modules, sizeof memory->modules);
    memory->module_count = 0;
    memory->mapping_count = 0;
    for (char *line = text; *line != 0;) {
        char *next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = 0;
        }
        unsigned long start, end, offset;
        char permissions[8];
        int path_at = 0;
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %n", &start, &end, permissions, &offset, &path_at) >= 4) {
            if (permissions[0] == 'r' && memory->mapping_count < MAPPINGS_MAX) {
                memory->mappings[memory->mapping_count++] = (struct target_mapping){start, end};
            }
            if (permissions[2] == 'x' && (line[path_at] == '/' || strcmp(line + path_at, "[vdso]") == 0)) {
                add_module(memory, line + path_at, start, end, offset);
            }
        }
        line = next == NULL ? line + strlen(line) : next;
    }
    bool changed =
        count_before != memory->module_count || memcmp(before, memory->modules, count_before * sizeof before[0]) != 0;
    free(before);
    if (changed) {
        make_code_map(memory);
    }
}

/* ---- reading ---- */

static bool read_live(pid_t pid, uint64_t address, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static const struct target_mapping *mapping_of(const struct target_memory *memory, uint64_t address)
{
    uint32_t low = 0, high = memory->mapping_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (memory->mappings[middle].end <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < memory->mapping_count && memory->mappings[low].start <= address ? &memory->mappings[low] : NULL;
}

bool target_memory_copy_stack(struct target_memory *memory, struct target_stack *stack)
{
    uint64_t sp = stack->registers.rsp;
    const struct target_mapping *mapping = mapping_of(memory, sp);
    if (mapping == NULL) { /* the stack grew, or is new */
        target_memory_refresh(memory);
        mapping = mapping_of(memory, sp);
    }
    if (mapping == NULL) {
        return false;
    }
    uint64_t lo = sp - SBX_RED_ZONE_BYTES < mapping->start ? mapping->start : sp - SBX_RED_ZONE_BYTES;
    uint64_t bytes = mapping->end - lo < STACK_COPY_MAX ? mapping->end - lo : STACK_COPY_MAX;
    lo &= ~UINT64_C(7);
    stack->lo = lo;
    stack->hi = lo + bytes;
    return read_live(memory->pid, lo, stack->copy, bytes);
}

bool target_memory_read(struct target_memory *memory, const struct target_stack *stack, uint64_t address,
                        uint64_t *word_out)
{
    if (address >= stack->lo && address < stack->hi && stack->hi - address >= 8) {
        memcpy(word_out, stack->copy + (address - stack->lo), 8);
        return true;
    }
    for (uint32_t i = 0; i < memory->module_count; i++) {
        const struct target_module *module = &memory->modules[i];
        const uint8_t *at = target_image_at(module->image, address - module->bias, 8);
        const Elf64_Phdr *segment = at == NULL ? NULL : segment_of(module->image, address - module->bias);
        if (segment != NULL && (segment->p_flags & PF_W) == 0) {
            memcpy(word_out, at, 8);
            return true;
        }
    }
    uint64_t page_at = address & ~(uint64_t)(PAGE - 1);
    if ((address & 7) != 0 || page_at == 0) {
        return page_at != 0 && read_live(memory->pid, address, word_out, 8);
    }
    if (memory->page_at != page_at) {
        memory->page_at = 0;
        if (!read_live(memory->pid, page_at, memory->page, PAGE)) {
            return false;
        }
        memory->page_at = page_at;
    }
    *word_out = memory->page[(address - page_at) / 8];
    return true;
}

bool target_memory_is_alive(const struct target_memory *memory, const struct target_stack *stack)
{
    uint64_t word;
    return read_live(memory->pid, stack->lo, &word, sizeof word);
}

const struct target_module *target_memory_module(const struct target_memory *memory, uint64_t address)
{
    const struct sbx_code_range *range = sbx_code_map_find(memory->map, address);
    return range == NULL ? NULL : &memory->modules[range->module];
}
