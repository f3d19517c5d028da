/* SPDX-License-Identifier: Apache-2.0 */
/* got_hook.c - relocation tables walked, slots replaced and put back. */
#include "got_hook.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture.h"
#include "clock.h"
#include "elf_image.h"
#include "libc_symbols.h"
#include "pages.h"
#include "point.h"

#if defined(__x86_64__)
enum {
    RELOCATION_JUMP = R_X86_64_JUMP_SLOT,
    RELOCATION_DATA = R_X86_64_GLOB_DAT
};
#define OLDEST_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
enum {
    RELOCATION_JUMP = R_AARCH64_JUMP_SLOT,
    RELOCATION_DATA = R_AARCH64_GLOB_DAT
};
#define OLDEST_VERSION "GLIBC_2.17"
#endif

enum {
    PATCHES_MAX = 65536, /* slots remembered, 24 bytes each, touched as used: some 30 a module */
    MODULES_MAX = 2048,
    POINTS_MAX = 768,
    POINT_SEATS = 2048, /* of the table by name: power of two, never half full */
    NAME_FILTER_BITS = 8192,
    NOTHING = UINT32_MAX,
};

struct patch {
    uintptr_t *slot;
    uintptr_t before; /* what was there, put back on removal */
    uint16_t point;   /* in `points` */
    uint16_t spare;
    uint32_t next; /* the next of its module, or the next free one */
};

/* A module that was met. Its identity is all it takes for its slots to be where they were: a module that is unloaded
 * and loaded again at the same place between two looks is the same to us. */
struct hooked_module {
    struct sbx_elf_image image;
    uint32_t first;         /* patch; NOTHING: none */
    uint32_t seen_pass;     /* the last pass that met it */
    uint32_t walked_points; /* its tables were last walked for these groups */
    uint32_t walked_finds;  /* and for these originals */
    uint32_t foreign_slots; /* found then */
};

/* All mapped once. */
static struct memory {
    struct patch patches[PATCHES_MAX];
    struct hooked_module modules[MODULES_MAX];
} * memory;
static uint32_t patches_used, free_patch = NOTHING, patches_live; /* patches ever used, list of the free, in force */
static uint32_t module_count;

static const struct sbx_point *points[POINTS_MAX];
static uint32_t point_hashes[POINTS_MAX];
static uint32_t point_versions[POINTS_MAX]; /* hash of a version that was found to be the original's; 0: none yet */
static uint32_t point_count;
static uint16_t point_seats[POINT_SEATS];           /* index + 1 */
static uint64_t name_filter[NAME_FILTER_BITS / 64]; /* of the first characters: most names end here */
static uint32_t finds = 1;                          /* bumped when an original is found or lost */

static uint64_t vdso_header; /* 0: there is none */

/* ---- the points by name ---- */

/* Our names begin with few prefixes, C++ names with none of them: four characters decide nearly always. */
static uint32_t filter_bit(const char *name)
{
    uint32_t mix = 0;
    for (unsigned i = 0; i < 4 && name[i] != 0; i++) {
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

static uint32_t find_point(const char *name)
{
    uint32_t bit = filter_bit(name);
    if ((name_filter[bit / 64] >> bit % 64 & 1) == 0) {
        return NOTHING;
    }
    uint32_t hash = sbx_gnu_hash(name);
    for (uint32_t seat = hash % POINT_SEATS; point_seats[seat] != 0; seat = (seat + 1) % POINT_SEATS) {
        uint32_t index = point_seats[seat] - 1u;
        if (point_hashes[index] == hash && strcmp(points[index]->symbol, name) == 0) {
            return index;
        }
    }
    return NOTHING;
}

static bool may_come_late(const struct sbx_point *point)
{
    return point->group == SBX_GROUP_FRAME;
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

/* Is that the address of a function that the executable itself does not define? One that is not position independent and
 * takes a function's address gives it that of its own PLT entry, for all modules (the psABI's "function addresses"): an
 * undefined symbol with a value. */
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

/* What a caller of the point's name should get that is no hook of ours; NULL: nobody has it. A PLT entry of the executable
 * jumps through the slot that we patch: forwarding there would come back to the hook, for ever. Then it is what comes
 * after us in the loader's order, and where nothing does, the point is left out. */
static void *find_original(const struct sbx_point *point, const struct sbx_elf_image *executable)
{
    void *original = dlsym(RTLD_DEFAULT, point->symbol);
    bool is_versioned = false;
#ifdef __GLIBC__ /* where symbols have versions */
    if (original == NULL && !may_come_late(point)) {
        /* What only programs built against an old libc still call (__xstat) has no default version. */
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

void sbx_got_hook_resolve(void)
{
    if (memory == NULL) {
        memory = sbx_pages_map(sizeof *memory);
    }
    if (point_count != 0) {
        return;
    }
    vdso_header = getauxval(AT_SYSINFO_EHDR);
    struct sbx_elf_image executable = {0};
    dl_iterate_phdr(read_executable, &executable);
    for (size_t list = 0; list < sbx_point_list_count; list++) {
        for (size_t i = 0; i < sbx_point_lists[list]->count; i++) {
            const struct sbx_point *point = &sbx_point_lists[list]->points[i];
            *point->original = find_original(point, &executable);
            bool is_here = *point->original != NULL || may_come_late(point);
            if (is_here && point->hook != NULL && point_count < POINTS_MAX) {
                add_point(point);
            }
        }
    }
}

/* The loader is watched as long as anything is: modules that come must be hooked. */
static bool is_point_wanted(const struct sbx_point *point, uint32_t wanted)
{
    return point->group == SBX_GROUP_LOADER ? wanted != 0 : (wanted & SBX_POINT_BIT(point->group)) != 0;
}

/* ---- originals that come and go with their libraries ---- */

struct search {
    uint32_t point; /* index, or NOTHING: an address is asked for */
    uintptr_t address;
    struct sbx_elf_image image; /* the module that defines the one or holds the other */
    uintptr_t found;
};

static int search_module(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct search *search = context;
    (void)bytes;
    /* The vdso is in nobody's search order, though it has the names of what libc takes from it. */
    if (!sbx_elf_image_read(&search->image, info) ||
        (vdso_header >= search->image.code_begin && vdso_header < search->image.code_end)) {
        return 0;
    }
    if (search->point == NOTHING) {
        bool is_here = search->address >= search->image.code_begin && search->address < search->image.code_end;
        search->found = is_here;
        return is_here;
    }
    search->found =
        sbx_elf_image_find(&search->image, points[search->point]->symbol, point_hashes[search->point], NULL);
    return search->found != 0;
}

/* Look for the originals that were not there at the start, in the order in which the loader would: not with dlsym(),
 * which sees no library that was loaded with RTLD_LOCAL, and allocates. Forget those whose library is gone. */
static void find_late_originals(void)
{
    for (uint32_t i = 0; i < point_count; i++) {
        if (!may_come_late(points[i])) {
            continue;
        }
        struct search search = {.point = NOTHING, .address = (uintptr_t)*points[i]->original};
        if (search.address != 0 && dl_iterate_phdr(search_module, &search) != 0) {
            continue; /* it is still there */
        }
        search.point = i;
        dl_iterate_phdr(search_module, &search);
        if (search.found != search.address) {
            *points[i]->original = (void *)search.found;
            point_versions[i] = 0;
            finds++;
        }
    }
}

/* ---- one module ---- */

/* One walk over the loader's list. */
struct pass {
    uint32_t wanted;
    uint32_t number;
    uint32_t unsettled; /* modules not looked at: the loader is busy with them, or there was no time */
    uint64_t end_ns;    /* then the rest is left */
    bool has_begun;
    uint32_t guess; /* where the next module probably is in `modules` */
    uint64_t foreign_slots;
    struct sbx_elf_image home; /* the module that defines what was last asked about */
    bool relro_is_open;        /* of the module at hand */
};

static bool is_same_image(const struct sbx_elf_image *one, const struct sbx_elf_image *other)
{
    return one->bias == other->bias && one->headers == other->headers && one->symbols == other->symbols &&
           one->strings == other->strings && one->jump_relocations == other->jump_relocations &&
           one->jump_bytes == other->jump_bytes && one->relocations == other->relocations &&
           one->relocation_bytes == other->relocation_bytes && one->relro_begin == other->relro_begin &&
           one->relro_end == other->relro_end && one->code_end == other->code_end;
}

/* The module's place, a new one when it was never met; NULL when there are too many. The loader's list keeps its order,
 * so the place after the last one asked for is nearly always the answer. */
static struct hooked_module *find_module(const struct sbx_elf_image *image, struct pass *pass)
{
    for (uint32_t i = 0; i < module_count; i++) {
        uint32_t at = (pass->guess + i) % module_count;
        if (is_same_image(&memory->modules[at].image, image)) {
            pass->guess = at + 1;
            return &memory->modules[at];
        }
    }
    if (module_count == MODULES_MAX) {
        return NULL;
    }
    struct hooked_module *module = &memory->modules[module_count++];
    *module = (struct hooked_module){.image = *image, .first = NOTHING};
    return module;
}

/* Store one word where the module's RELRO pages may forbid it: they are opened at the first such store and closed when
 * the module is done, because a system call a slot would be the most of the work. Callers on other threads only read.
 */
static bool store_slot(const struct sbx_elf_image *image, struct pass *pass, uintptr_t *slot, uintptr_t value)
{
    uint64_t address = (uint64_t)(uintptr_t)slot;
    if (address >= image->relro_begin && address < image->relro_end && !pass->relro_is_open) {
        if (mprotect((void *)image->relro_begin, image->relro_end - image->relro_begin, PROT_READ | PROT_WRITE) != 0) {
            return false;
        }
        pass->relro_is_open = true;
    }
    /* Callers on other threads load it as code does: the original was resolved before. */
    sbx_store_release(slot, value);
    return true;
}

static void close_relro(const struct sbx_elf_image *image, struct pass *pass)
{
    if (pass->relro_is_open) {
        mprotect((void *)image->relro_begin, image->relro_end - image->relro_begin, PROT_READ);
        pass->relro_is_open = false;
    }
}

static void give_patch_back(uint32_t index)
{
    memory->patches[index].next = free_patch;
    free_patch = index;
    patches_live--;
}

static uint32_t take_patch(void)
{
    uint32_t index = free_patch;
    if (index != NOTHING) {
        free_patch = memory->patches[index].next;
    } else if (patches_used < PATCHES_MAX) {
        index = patches_used++;
    } else {
        return NOTHING;
    }
    patches_live++;
    return index;
}

/* Find the module that defines the point's original into pass->home: the one that holds its code, or, of a function
 * that libc chooses at load time and that lies in the vdso, the first that has the name. */
static bool find_home(uint32_t point, struct pass *pass)
{
    uintptr_t original = (uintptr_t)*points[point]->original;
    const char *name = points[point]->symbol;
    uint32_t hash = point_hashes[point];
    if (original >= pass->home.code_begin && original < pass->home.code_end &&
        sbx_elf_image_find(&pass->home, name, hash, NULL) != 0) {
        return true;
    }
    struct search search = {.point = NOTHING, .address = original};
    bool is_found = dl_iterate_phdr(search_module, &search) != 0;
    if (!is_found || sbx_elf_image_find(&search.image, name, hash, NULL) == 0) {
        struct search by_name = {.point = point};
        if (dl_iterate_phdr(search_module, &by_name) != 0) {
            search = by_name;
            is_found = true;
        }
    }
    pass->home = search.image;
    return is_found;
}

/* Does the version that this module wants of the point's name lead to the definition that our hook forwards to? */
static bool is_same_version(const struct sbx_elf_image *image, uint32_t symbol, uint32_t point, struct pass *pass)
{
    const char *version = sbx_elf_image_wanted_version(image, symbol);
    uint32_t version_hash = version != NULL ? sbx_gnu_hash(version) : 0;
    if (version == NULL || version_hash == point_versions[point]) {
        return true;
    }
    if (!find_home(point, pass)) {
        return false;
    }
    const char *name = points[point]->symbol;
    uint32_t hash = point_hashes[point];
    uint64_t wanted = sbx_elf_image_find(&pass->home, name, hash, version);
    if (wanted == 0 || (wanted != (uintptr_t)*points[point]->original &&
                        wanted != sbx_elf_image_find(&pass->home, name, hash, NULL))) {
        return false;
    }
    point_versions[point] = version_hash;
    return true;
}

/* Does an unbound slot hold `now`: the code that has the loader bind it? Where the original lies in the same module, as
 * for libc's own calls of realloc, an address in the module may be either: then the code there is asked, which in every
 * PLT of x86-64 (psABI 5.2; with IBT after an endbr64) pushes the number of the relocation, and on aarch64 is the PLT's
 * header, which saves x16 (with BTI after a bti c): no compiler saves a register that calls may change. */
static bool is_unbound(const struct sbx_elf_image *image, const ElfW(Rela) * relocation, uintptr_t now,
                       uintptr_t original)
{
    if (ELF64_R_TYPE(relocation->r_info) != RELOCATION_JUMP || now < image->code_begin || now + 16 > image->code_end) {
        return false;
    }
    if (original < image->code_begin || original >= image->code_end) {
        return true;
    }
#if defined(__x86_64__)
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    enum {
        PUSH_NUMBER = 0x68
    };
    const uint8_t *code = (const uint8_t *)now;
    code += memcmp(code, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
    uint32_t number;
    memcpy(&number, code + 1, sizeof number);
    return code[0] == PUSH_NUMBER && number == (uint64_t)(relocation - image->jump_relocations);
#elif defined(__aarch64__)
    const uint32_t bti_c = 0xd503245f, save_x16_x30 = 0xa9bf7bf0; /* stp x16, x30, [sp, #-16]! */
    const uint32_t *code = (const uint32_t *)now;
    return now % 4 == 0 && code[code[0] == bti_c] == save_x16_x30;
#else
    return false;
#endif
}

/* Is what the slot holds the definition that our hook forwards to, or would it become that? */
static bool is_bound_to_original(const struct sbx_elf_image *image, const ElfW(Rela) * relocation, uintptr_t now,
                                 uint32_t point, struct pass *pass)
{
    uintptr_t original = (uintptr_t)*points[point]->original;
    return now == original || (is_unbound(image, relocation, now, original) &&
                               is_same_version(image, (uint32_t)ELF64_R_SYM(relocation->r_info), point, pass));
}

static uint32_t patch_of_slot(const struct hooked_module *module, const uintptr_t *slot)
{
    uint32_t at = module->first;
    while (at != NOTHING && memory->patches[at].slot != slot) {
        at = memory->patches[at].next;
    }
    return at;
}

static void patch_table(struct hooked_module *module, const ElfW(Rela) * table, size_t count, struct pass *pass)
{
    const struct sbx_elf_image *image = &module->image;
    for (size_t i = 0; i < count; i++) {
        uint32_t type = (uint32_t)ELF64_R_TYPE(table[i].r_info);
        if (type != RELOCATION_JUMP && type != RELOCATION_DATA) {
            continue;
        }
        uint32_t point = find_point(image->strings + image->symbols[ELF64_R_SYM(table[i].r_info)].st_name);
        if (point == NOTHING || !is_point_wanted(points[point], pass->wanted) || *points[point]->original == NULL) {
            continue;
        }
        uintptr_t *slot = (uintptr_t *)(image->bias + table[i].r_offset), hook = (uintptr_t)points[point]->hook;
        uintptr_t now = sbx_load_relaxed(slot);
        if (now == hook) {
            continue;
        }
        if (!is_bound_to_original(image, &table[i], now, point, pass)) {
            module->foreign_slots++; /* bound to another definition: not ours to judge */
            continue;
        }
        uint32_t known = patch_of_slot(module, slot);
        if (known != NOTHING) { /* bound again behind us */
            memory->patches[known].before = now;
            store_slot(image, pass, slot, hook);
            continue;
        }
        uint32_t taken = take_patch();
        if (taken == NOTHING) {
            module->foreign_slots++; /* no room to remember it: left alone, and counted as such */
            continue;
        }
        memory->patches[taken] = (struct patch){slot, now, (uint16_t)point, 0, module->first};
        if (store_slot(image, pass, slot, hook)) {
            module->first = taken;
        } else {
            give_patch_back(taken);
        }
    }
}

/* Take out the patches of this module whose point is no longer wanted. Returns whether those that stay are in force. */
static bool restore_module(struct hooked_module *module, struct pass *pass)
{
    bool is_whole = true;
    for (uint32_t *link = &module->first; *link != NOTHING;) {
        uint32_t index = *link;
        struct patch *patch = &memory->patches[index];
        const struct sbx_point *point = points[patch->point];
        bool is_ours = sbx_load_relaxed(patch->slot) == (uintptr_t)point->hook;
        if (is_point_wanted(point, pass->wanted) && *point->original != NULL) {
            is_whole &= is_ours;
            link = &patch->next;
            continue;
        }
        /* Somebody else's word is left alone: a hook put over ours keeps calling us, and we pass through. */
        if (is_ours) {
            store_slot(&module->image, pass, patch->slot, patch->before);
        }
        *link = patch->next;
        give_patch_back(index);
    }
    return is_whole;
}

static bool is_agent(const struct sbx_elf_image *image)
{
    uint64_t here = (uint64_t)(uintptr_t)&sbx_got_hook_apply;
    return here >= image->code_begin && here < image->code_end;
}

/* Is the loader done with this module? */
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc from 2.35 on */
extern int _dl_find_object(void *address, struct dl_find_object *found) __attribute__((weak));

static bool is_settled(const struct sbx_elf_image *image, const struct pass *pass)
{
    struct dl_find_object found;
    if (_dl_find_object == NULL) { /* built with a newer glibc than the program runs with */
        return pass->number == 1;
    }
    return _dl_find_object((void *)image->code_begin, &found) == 0;
}
#elif defined(__GLIBC__)
static bool is_settled(const struct sbx_elf_image *image, const struct pass *pass)
{
    (void)image;
    return pass->number == 1; /* only what was there at the start is hooked */
}
#else
static bool is_settled(const struct sbx_elf_image *image, const struct pass *pass)
{
    (void)image;
    (void)pass;
    /* musl loads and relocates under a lock that dl_iterate_phdr takes to go from module to module (ldso/dynlink.c of
     * 1.2): what it shows is relocated, but for what a constructor sees of its own dlopen. It never unloads. */
    return true;
}
#endif

static int visit(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct pass *pass = context;
    struct sbx_elf_image image;
    (void)bytes;
    bool is_image = sbx_elf_image_read(&image, info);
    if (image.has_rpath) {
        sbx_store_relaxed(&sbx_loader_rpath_seen, 1); /* relaxed: whom it concerns is not hooked before this */
    }
    if (!is_image || is_agent(&image) || image.jump_bytes + image.relocation_bytes == 0) {
        return 0; /* nothing to patch: the vdso, for one */
    }
    struct hooked_module *module = find_module(&image, pass);
    if (module == NULL || !is_settled(&image, pass)) {
        pass->unsettled += module != NULL;
        return 0;
    }
    module->seen_pass = pass->number;
    if (pass->has_begun && pass->end_ns != UINT64_MAX && sbx_now_ns() >= pass->end_ns) {
        pass->unsettled++;
        return 0;
    }
    pass->has_begun = true; /* the program itself is done whatever it takes */
    bool is_whole = restore_module(module, pass);
    if (pass->wanted != 0 && (!is_whole || module->walked_points != pass->wanted || module->walked_finds != finds)) {
        module->foreign_slots = 0;
        patch_table(module, image.jump_relocations, image.jump_bytes / sizeof *image.relocations, pass);
        patch_table(module, image.relocations + image.relative_count,
                    image.relocation_bytes / sizeof *image.relocations - image.relative_count, pass);
        module->walked_finds = finds;
    }
    module->walked_points = pass->wanted;
    pass->foreign_slots += module->foreign_slots;
    close_relro(&image, pass);
    return 0;
}

/* Forget the modules that are gone: nothing to restore, their memory is no longer theirs. */
static void forget_modules(uint32_t pass_number)
{
    for (uint32_t i = 0; i < module_count;) {
        struct hooked_module *module = &memory->modules[i];
        if (module->seen_pass == pass_number) {
            i++;
            continue;
        }
        while (module->first != NOTHING) {
            uint32_t index = module->first;
            module->first = memory->patches[index].next;
            give_patch_back(index);
        }
        *module = memory->modules[--module_count];
    }
}

uint32_t sbx_got_hook_apply(uint32_t wanted, uint64_t end_ns, uint32_t *unsettled_out)
{
    static uint32_t passes;
    *unsettled_out = 0;
    if (memory == NULL) {
        return 0;
    }
    if ((wanted & SBX_POINT_BIT(SBX_GROUP_FRAME)) != 0) {
        find_late_originals();
    }
    struct pass pass = {.wanted = wanted, .number = ++passes, .end_ns = end_ns};
    dl_iterate_phdr(visit, &pass);
    *unsettled_out = pass.unsettled;
    if (sbx_the_capture.header != NULL) { /* armed only (agent/late_start.c), it has no recording */
        sbx_store_relaxed(&sbx_the_capture.header->drops[SBX_DROP_FOREIGN_SLOT], pass.foreign_slots);
    }
    forget_modules(pass.number);
    return patches_live;
}
