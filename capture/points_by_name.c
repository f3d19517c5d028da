/* SPDX-License-Identifier: Apache-2.0 */
/* points_by_name.c - the list of capture points, and their originals. */
#include "points_by_name.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "libc_symbols.h"
#include "loader_visit.h"
#include "untried_allocator.h"

#if defined(__x86_64__)
#define OLDEST_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLDEST_VERSION "GLIBC_2.17"
#endif

enum {
    POINT_SEATS = 2048, /* size of the table by name: a power of two, never half full */
    NAME_FILTER_BITS = 8192,
};

static const struct sbx_point *points[SBX_POINTS_MAX];
static uint32_t point_hashes[SBX_POINTS_MAX];
static bool is_allocator_untried;
static uint32_t point_count;
static uint16_t point_seats[POINT_SEATS];           /* index + 1 */
static uint64_t name_filter[NAME_FILTER_BITS / 64]; /* filter by the first characters: most other names fail here */
static uint32_t finds = 1;                          /* bumped when an original is found or lost */

static uint64_t vdso_header; /* 0: there is none */

/* Our names have few different prefixes, so four characters nearly always decide. Some C++ names are of Qt, and a
 * module may have ten thousand names with the same first characters; so for C++ names more characters are used. */
static uint32_t filter_bit(const char *name)
{
    uint32_t mix = 0, count = name[0] == '_' && name[1] == 'Z' ? 20 : 4;
    for (uint32_t i = 0; i < count && name[i] != 0; i++) {
        mix = mix * 33 + (unsigned char)name[i];
    }
    return mix % NAME_FILTER_BITS;
}

static void add_point(const struct sbx_point *point)
{
    uint32_t bit = filter_bit(point->symbol), hash = sbx_gnu_hash(point->symbol);
    name_filter[bit / 64] |= UINT64_C(1) << bit % 64;
    uint32_t seat = hash % POINT_SEATS;
    while (point_seats[seat] != 0) {
        seat = (seat + 1) % POINT_SEATS;
    }
    points[point_count] = point;
    point_hashes[point_count] = hash;
    point_seats[seat] = (uint16_t)(++point_count);
}

uint32_t sbx_point_named(const char *name)
{
    uint32_t bit = filter_bit(name);
    if ((name_filter[bit / 64] >> bit % 64 & 1) == 0) {
        return SBX_NO_POINT;
    }
    uint32_t hash = sbx_gnu_hash(name);
    for (uint32_t seat = hash % POINT_SEATS; point_seats[seat] != 0; seat = (seat + 1) % POINT_SEATS) {
        uint32_t index = point_seats[seat] - 1u;
        if (point_hashes[index] == hash && strcmp(points[index]->symbol, name) == 0) {
            return index;
        }
    }
    return SBX_NO_POINT;
}

bool sbx_point_may_come_late(const struct sbx_point *point)
{
    return (SBX_POINTS_THAT_COME_LATE & SBX_POINT_BIT(point->group)) != 0;
}

const struct sbx_point *sbx_point_at(uint32_t point)
{
    return points[point];
}

uint32_t sbx_point_count(void)
{
    return point_count;
}

uint32_t sbx_point_hash(uint32_t point)
{
    return point_hashes[point];
}

uint32_t sbx_point_finds(void)
{
    return finds;
}

/* The first module in the loader's list is the executable. */
static int read_executable(struct dl_phdr_info *info, size_t bytes, void *image)
{
    (void)bytes;
    if (!sbx_elf_image_read(image, info)) {
        *(struct sbx_elf_image *)image = (struct sbx_elf_image){0};
    }
    return 1;
}

/* Is this the address of a function that the executable does not define itself? When an executable that is not position
 * independent takes a function's address, that is the address of its own PLT entry, for all modules (the psABI's
 * "function addresses"): an undefined symbol with a value. */
static bool is_plt_entry(const struct sbx_elf_image *executable, uint64_t address)
{
    const ElfW(Rela) * tables[] = {executable->jump_relocations, executable->relocations};
    size_t counts[] = {executable->jump_bytes / sizeof **tables, executable->relocation_bytes / sizeof **tables};
    if (address < executable->code_begin || address >= executable->code_end) {
        return false;
    }
    for (size_t table = 0; table < SBX_COUNT_OF(tables); table++) {
        for (size_t i = 0; tables[table] != NULL && i < counts[table]; i++) {
            const ElfW(Sym) *symbol = &executable->symbols[ELF64_R_SYM(tables[table][i].r_info)];
            if (symbol->st_shndx == SHN_UNDEF && symbol->st_value != 0 &&
                executable->bias + symbol->st_value == address) {
                return true;
            }
        }
    }
    return false;
}

/* The addresses of all points, from the modules' tables at once. Asking the loader for one after the other takes
 * several times as long, most of all for points that no module defines. */
struct originals {
    uint32_t hashes[SBX_POINTS_MAX]; /* for all points, in the order of the lists */
    /* Address in the first module, in the loader's order, that defines it; 0: not defined; else ASK_LOADER. */
    uint64_t found[SBX_POINTS_MAX];
    const char *version; /* the version to look for; NULL: the default one */
    bool is_known;       /* false: the tables do not say it */
};
#define ASK_LOADER 1u /* an indirect function: the loader must choose its address */

static uint64_t find_in(const struct sbx_elf_image *image, const struct sbx_point *point, uint32_t hash,
                        const char *version)
{
    if (point->is_variable) {
        return sbx_elf_image_find_variable(image, point->symbol, hash);
    }
    const ElfW(Sym) *symbol = sbx_elf_image_symbol(image, point->symbol, hash, version);
    bool asks = symbol != NULL && ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
    return symbol == NULL ? 0 : asks ? ASK_LOADER : image->bias + symbol->st_value;
}

static int look_for_originals(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct originals *originals = context;
    struct sbx_elf_image image;
    (void)bytes;
    if (!sbx_elf_image_read(&image, info) || sbx_is_vdso(&image)) {
        return 0;
    }
    originals->is_known = originals->is_known && image.gnu_hash != NULL;
    size_t number = 0;
    for (size_t list = 0; list < sbx_point_list_count && originals->is_known; list++) {
        for (size_t i = 0; i < sbx_point_lists[list]->count; i++, number++) {
            const struct sbx_point *point = &sbx_point_lists[list]->points[i];
            if (originals->found[number] == 0 && (originals->version == NULL || !sbx_point_may_come_late(point))) {
                originals->found[number] = find_in(&image, point, originals->hashes[number], originals->version);
            }
        }
    }
    return 0;
}

static void find_originals(struct originals *originals, const struct sbx_elf_image *executable)
{
    size_t number = 0;
    memset(originals, 0, sizeof *originals);
    for (size_t list = 0; list < sbx_point_list_count; list++) {
        for (size_t i = 0; i < sbx_point_lists[list]->count && number < SBX_POINTS_MAX; i++, number++) {
            originals->hashes[number] = sbx_gnu_hash(sbx_point_lists[list]->points[i].symbol);
        }
    }
    /* An executable at a fixed address may define functions that it does not have (is_plt_entry()), and an auditor may
     * change any definition. */
    originals->is_known = number < SBX_POINTS_MAX && executable->bias != 0 && getenv("LD_AUDIT") == NULL;
    if (originals->is_known) {
        sbx_loader_visit_each(look_for_originals, originals);
    }
#ifdef __GLIBC__ /* for the reason in find_original() */
    originals->version = OLDEST_VERSION;
    if (originals->is_known) {
        sbx_loader_visit_each(look_for_originals, originals);
    }
#endif
}

struct definition {
    const char *symbol, *version; /* NULL: the default one */
    uint32_t hash;
    bool is_there;
};

static int look_for_definition(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct definition *definition = context;
    struct sbx_elf_image image;
    (void)bytes;
    if (sbx_elf_image_read(&image, info) && !sbx_is_vdso(&image)) {
        definition->is_there =
            image.gnu_hash == NULL || /* without this table it is not known */
            sbx_elf_image_symbol(&image, definition->symbol, definition->hash, definition->version) != NULL;
    }
    return definition->is_there;
}

/* Can the lookup be made without an allocation? A failing lookup allocates its error message with malloc(). In some
 * programs that is not allowed before main(). */
static bool may_look_up(const char *symbol, const char *version)
{
    struct definition definition = {.symbol = symbol, .version = version, .hash = sbx_gnu_hash(symbol)};
    return !is_allocator_untried || sbx_loader_visit_each(look_for_definition, &definition) != 0;
}

/* The function that a caller of the point's name should get, other than our hook; NULL: there is none. A PLT entry of
 * the executable jumps through the slot that we patch, so forwarding to it would return to the hook for ever. In that
 * case the original is the definition after ours in the loader's order. If there is none, the point is left out. */
static void *find_original(const struct sbx_point *point, const struct sbx_elf_image *executable)
{
    void *original = may_look_up(point->symbol, NULL) ? dlsym(RTLD_DEFAULT, point->symbol) : NULL;
    bool is_versioned = false;
#ifdef __GLIBC__ /* glibc has symbol versions */
    if (original == NULL && !sbx_point_may_come_late(point) && may_look_up(point->symbol, OLDEST_VERSION)) {
        /* Functions that only programs built against an old libc still call (__xstat) have no default version. */
        original = dlvsym(RTLD_DEFAULT, point->symbol, OLDEST_VERSION);
        is_versioned = original != NULL;
    }
#endif
    if (!is_plt_entry(executable, (uint64_t)(uintptr_t)original)) {
        return original;
    }
#ifdef __GLIBC__
    return is_versioned ? dlvsym(RTLD_NEXT, point->symbol, OLDEST_VERSION) : dlsym(RTLD_NEXT, point->symbol);
#else
    (void)is_versioned;
    return dlsym(RTLD_NEXT, point->symbol);
#endif
}

void sbx_points_resolve(void)
{
    if (point_count != 0) {
        return;
    }
    vdso_header = getauxval(AT_SYSINFO_EHDR);
    is_allocator_untried = sbx_has_untried_allocator();
    struct sbx_elf_image executable = {0};
    struct originals originals;
    size_t number = 0;
    sbx_loader_visit_each(read_executable, &executable);
    find_originals(&originals, &executable);
    for (size_t list = 0; list < sbx_point_list_count; list++) {
        for (size_t i = 0; i < sbx_point_lists[list]->count; i++, number++) {
            const struct sbx_point *point = &sbx_point_lists[list]->points[i];
            *point->original = originals.is_known && originals.found[number] != ASK_LOADER
                                   ? (void *)(uintptr_t)originals.found[number]
                                   : find_original(point, &executable);
            if (point->is_plain && !sbx_is_of_c_library(*point->original)) {
                *point->original = NULL;
            }
            bool is_here = *point->original != NULL || sbx_point_may_come_late(point);
            if (is_here && (point->hook != NULL || sbx_point_may_come_late(point)) && point_count < SBX_POINTS_MAX) {
                add_point(point);
            }
        }
    }
}

/* ---- originals that come and go with their libraries ---- */

struct search {
    uint32_t point; /* index, or SBX_NO_POINT: then an address is looked for */
    uintptr_t address;
    struct sbx_elf_image *image; /* the module that defines the point, or that contains the address */
    uintptr_t found;
};

bool sbx_is_vdso(const struct sbx_elf_image *image)
{
    return vdso_header >= image->code_begin && vdso_header < image->code_end;
}

static int search_module(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct search *search = context;
    (void)bytes;
    if (!sbx_elf_image_read(search->image, info) || sbx_is_vdso(search->image)) {
        return 0;
    }
    if (search->point == SBX_NO_POINT) {
        bool is_here = search->address >= search->image->code_begin && search->address < search->image->code_end;
        search->found = is_here;
        return is_here;
    }
    const struct sbx_point *point = points[search->point];
    search->found = point->is_variable
                        ? sbx_elf_image_find_variable(search->image, point->symbol, point_hashes[search->point])
                        : sbx_elf_image_find(search->image, point->symbol, point_hashes[search->point], NULL);
    return search->found != 0;
}

bool sbx_find_module_at(uintptr_t address, struct sbx_elf_image *image_out)
{
    struct search search = {.point = SBX_NO_POINT, .address = address, .image = image_out};
    return sbx_loader_visit_each(search_module, &search) != 0;
}

bool sbx_find_definition(uint32_t point, struct sbx_elf_image *image_out, uintptr_t *address_out)
{
    struct search search = {.point = point, .image = image_out};
    bool is_found = sbx_loader_visit_each(search_module, &search) != 0;
    *address_out = search.found;
    return is_found;
}

/* Look for originals that were not there at the start, in the loader's order. Not with dlsym(), because it does not see
 * libraries loaded with RTLD_LOCAL, and it allocates. Forget originals whose library is gone. */
void sbx_points_find_late(void)
{
    bool is_absent[SBX_GROUP_COUNT] = {false}; /* if a library's first function is absent, all its functions are */
    bool was_asked[SBX_GROUP_COUNT] = {false};
    for (uint32_t i = 0; i < point_count; i++) {
        struct sbx_elf_image image;
        uint32_t group = points[i]->group;
        uintptr_t address = (uintptr_t)*points[i]->original, found;
        bool is_of_one_library = sbx_point_may_come_late(points[i]) && group != SBX_GROUP_FRAME;
        bool is_first = is_of_one_library && !was_asked[group];
        if (is_of_one_library) {
            was_asked[group] = true;
        }
        if (address == 0 && is_absent[group]) {
            continue; /* so one search replaces thirty */
        }
        if (points[i]->is_variable && address != 0) {
            continue; /* a variable of GLib, which is never unloaded */
        }
        if (!sbx_point_may_come_late(points[i]) || (address != 0 && sbx_find_module_at(address, &image))) {
            continue; /* it is still there */
        }
        (void)sbx_find_definition(i, &image, &found);
        is_absent[group] |= is_first && found == 0;
        if (found != address) {
            *points[i]->original = (void *)found;
            finds++;
        }
    }
}
