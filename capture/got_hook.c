/* SPDX-License-Identifier: Apache-2.0 */
/* got_hook.c - walks relocation tables, replaces slots and restores them. */
#include "got_hook.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "the_capture.h"
#include "clock.h"
#include "elf_image.h"
#include "loader_visit.h"
#include "pages.h"
#include "point.h"
#include "point_glib.h"
#include "points_by_name.h"
#include "relro_word.h"
#include "slot_binding.h"

enum {
    PATCHES_MAX = 65536, /* slots remembered, 24 bytes each: some 30 for a module */
    MODULES_MAX = 2048,
    PATCHES_FIRST = 1024,
    MODULES_FIRST = 64,
    NOTHING = UINT32_MAX,
};

struct patch {
    uintptr_t *slot;
    uintptr_t after; /* the word to store when the hook is removed */
    uint16_t point;  /* index of the point in points_by_name.h */
    uint16_t spare;
    uint32_t next; /* the next patch of its module, or the next free one */
};

/* A module that was met, identified by its image. An equal image means that its slots are at the same places. A module
 * that is unloaded and loaded again at the same place between two looks counts as the same module. */
struct hooked_module {
    struct sbx_elf_image image;
    uint32_t first;         /* index of its first patch; NOTHING: none */
    uint32_t seen_pass;     /* the last pass that met it */
    uint64_t walked_points; /* the groups for which its tables were last walked */
    uint32_t walked_finds;  /* and the value of sbx_point_finds() then */
    uint32_t foreign_slots; /* slots of other definitions found then */
    bool is_undecided;      /* it had slots then that may be bound to anything later */
};

/* The memory that most programs need lies in the library itself. The rest is mapped when it is needed: separate pages
 * need a page table of their own, which each fork copies (2 to 3 us). */
static struct patch first_patches[PATCHES_FIRST];
static struct hooked_module first_modules[MODULES_FIRST];
static struct memory {
    struct patch patches[PATCHES_MAX - PATCHES_FIRST];
    struct hooked_module modules[MODULES_MAX - MODULES_FIRST];
} * memory;
static uint32_t patches_used, free_patch = NOTHING, patches_live; /* ever used, list of free ones, in force */
static uint32_t module_count;

static uint64_t page_bytes; /* 4, 16 or 64 KiB on aarch64 */
static bool has_auditor;    /* rtld-audit(7) */

static struct patch *patch_at(uint32_t index)
{
    return index < PATCHES_FIRST ? &first_patches[index] : &memory->patches[index - PATCHES_FIRST];
}

static struct hooked_module *module_at(uint32_t index)
{
    return index < MODULES_FIRST ? &first_modules[index] : &memory->modules[index - MODULES_FIRST];
}

static bool have_memory(void)
{
    if (memory == NULL) {
        memory = sbx_pages_map(sizeof *memory);
    }
    return memory != NULL;
}

void sbx_got_hook_resolve(void)
{
    page_bytes = getauxval(AT_PAGESZ);
    sbx_relro_prepare(page_bytes);
    has_auditor = getenv("LD_AUDIT") != NULL;
    sbx_points_resolve();
}

/* The hooks of the loader stay in while any other hook is in, because new modules must be hooked. */
static bool is_point_wanted(const struct sbx_point *point, uint64_t wanted)
{
    return point->group == SBX_GROUP_LOADER || point->stays ? wanted != 0 : (wanted & SBX_POINT_BIT(point->group)) != 0;
}

/* ---- one module ---- */

/* The state of one walk over the loader's list. */
struct pass {
    uint64_t wanted;
    uint32_t number;
    uint32_t unsettled; /* modules not looked at: the loader is working on them, or there was no time */
    uint64_t end_ns;    /* after this time the other modules are left for later */
    bool has_begun;
    uint32_t guess; /* probable index of the next module in `modules` */
    uint64_t foreign_slots;
    struct sbx_binding_walk bindings;
    bool relro_is_open;    /* about the current module */
    bool relro_was_closed; /* the loader made it read-only, and we do so again */
};

static bool is_same_image(const struct sbx_elf_image *one, const struct sbx_elf_image *other)
{
    return one->bias == other->bias && one->headers == other->headers && one->symbols == other->symbols &&
           one->strings == other->strings && one->jump_relocations == other->jump_relocations &&
           one->jump_bytes == other->jump_bytes && one->relocations == other->relocations &&
           one->relocation_bytes == other->relocation_bytes && one->relro_begin == other->relro_begin &&
           one->relro_end == other->relro_end && one->code_end == other->code_end;
}

/* The entry of the module. A module that was never met gets a new one; NULL when there are too many. The loader's list
 * keeps its order, so the entry after the last result is nearly always the right one. */
static struct hooked_module *find_module(const struct sbx_elf_image *image, struct pass *pass)
{
    for (uint32_t i = 0; i < module_count; i++) {
        uint32_t at = (pass->guess + i) % module_count;
        if (is_same_image(&module_at(at)->image, image)) {
            pass->guess = at + 1;
            return module_at(at);
        }
    }
    if (module_count == MODULES_MAX || (module_count >= MODULES_FIRST && !have_memory())) {
        return NULL;
    }
    struct hooked_module *module = module_at(module_count++);
    *module = (struct hooked_module){.image = *image, .first = NOTHING};
    return module;
}

/* Store one word, even if the module's RELRO pages are read-only. They are opened at the first such store and closed
 * when the module is done, because a system call for each slot would be most of the work. If the host has made them
 * writable itself, they stay so. False when they cannot be opened: sealed, or forbidden by a policy of the system. */
static bool store_slot(const struct sbx_elf_image *image, struct pass *pass, uintptr_t *slot, uintptr_t value)
{
    uint64_t address = (uint64_t)(uintptr_t)slot;
    uint64_t begin = image->relro_begin & ~(page_bytes - 1), end = image->relro_end & ~(page_bytes - 1);
    if (address >= begin && address < end && !pass->relro_is_open) {
        if (!sbx_relro_begin()) {
            return false;
        }
        pass->relro_was_closed = !sbx_word_is_writable(slot);
        if (pass->relro_was_closed && mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE) != 0) {
            sbx_relro_end();
            return false;
        }
        pass->relro_is_open = true;
    }
    /* Release, because callers on other threads load the slot: the original was resolved before. */
    sbx_store_release(slot, value);
    return true;
}

static void close_relro(const struct sbx_elf_image *image, struct pass *pass)
{
    uint64_t begin = image->relro_begin & ~(page_bytes - 1), end = image->relro_end & ~(page_bytes - 1);
    if (pass->relro_is_open && pass->relro_was_closed) {
        mprotect((void *)begin, end - begin, PROT_READ);
    }
    if (pass->relro_is_open) {
        sbx_relro_end();
    }
    pass->relro_is_open = false;
}

static void give_patch_back(uint32_t index)
{
    patch_at(index)->next = free_patch;
    free_patch = index;
    patches_live--;
}

static uint32_t take_patch(void)
{
    uint32_t index = free_patch;
    if (index != NOTHING) {
        free_patch = patch_at(index)->next;
    } else if (patches_used < PATCHES_FIRST || (patches_used < PATCHES_MAX && have_memory())) {
        index = patches_used++;
    } else {
        return NOTHING;
    }
    patches_live++;
    return index;
}

static uint32_t patch_of_slot(const struct hooked_module *module, const uintptr_t *slot)
{
    uint32_t at = module->first;
    while (at != NOTHING && patch_at(at)->slot != slot) {
        at = patch_at(at)->next;
    }
    return at;
}

/* May this word be stored? A word of a table outside of the RELRO pages may lie in pages that were never writable. */
static bool may_be_stored(const struct sbx_elf_image *image, const uintptr_t *slot, uint32_t point)
{
    uint64_t address = (uint64_t)(uintptr_t)slot;
    uint64_t begin = image->relro_begin & ~(page_bytes - 1), end = image->relro_end & ~(page_bytes - 1);
    return sbx_point_at(point)->table == NULL || (address >= begin && address < end) || sbx_word_is_writable(slot);
}

/* The word to store in a slot that held `now`, when our hook is removed. An unbound slot is bound then, because the
 * program's calls meanwhile would have bound it. If the next call had to bind it, the loader would need 1 to 3 KiB of
 * stack (it saves vector registers), and the stack may have room only for the call. With an auditor the slot keeps its
 * word: the auditor is told of bindings, and may want it unchanged. */
static uintptr_t word_after(uintptr_t now, uint32_t point)
{
    return has_auditor ? now : (uintptr_t)*sbx_point_at(point)->original;
}

/* Let a slot that holds the point's original, or would be bound to it, point to the hook. */
static void patch_slot(struct hooked_module *module, struct pass *pass, uintptr_t *slot, uint32_t point)
{
    uintptr_t hook = (uintptr_t)sbx_point_at(point)->hook, now = sbx_load_relaxed(slot);
    uint32_t known = patch_of_slot(module, slot);
    if (known != NOTHING) { /* the loader has bound it again over our hook */
        patch_at(known)->after = word_after(now, point);
        module->foreign_slots += !store_slot(&module->image, pass, slot, hook);
        return;
    }
    uint32_t taken = take_patch();
    if (taken == NOTHING) {
        module->foreign_slots++; /* no room to remember it: not patched, and counted as foreign */
        return;
    }
    *patch_at(taken) = (struct patch){slot, word_after(now, point), (uint16_t)point, 0, module->first};
    if (may_be_stored(&module->image, slot, point) && store_slot(&module->image, pass, slot, hook)) {
        module->first = taken;
    } else {
        give_patch_back(taken);
        module->foreign_slots++; /* its pages cannot be written to */
    }
}

static void patch_table(struct hooked_module *module, const ElfW(Rela) * table, size_t count, struct pass *pass)
{
    const struct sbx_elf_image *image = &module->image;
    for (size_t i = 0; i < count; i++) {
        uint32_t type = (uint32_t)ELF64_R_TYPE(table[i].r_info);
        if (type != SBX_RELOCATION_JUMP && type != SBX_RELOCATION_DATA && type != SBX_RELOCATION_WORD) {
            continue;
        }
        uint32_t point = sbx_point_named(image->strings + image->symbols[ELF64_R_SYM(table[i].r_info)].st_name);
        if (point == SBX_NO_POINT || !is_point_wanted(sbx_point_at(point), pass->wanted) ||
            *sbx_point_at(point)->original == NULL || sbx_point_at(point)->hook == NULL ||
            (type == SBX_RELOCATION_WORD && (sbx_point_at(point)->table == NULL || table[i].r_addend != 0))) {
            continue;
        }
        uintptr_t *slot = (uintptr_t *)(image->bias + table[i].r_offset), hook = (uintptr_t)sbx_point_at(point)->hook;
        uintptr_t now = sbx_load_relaxed(slot);
        if (now == hook) {
            continue;
        }
        enum sbx_binding binding = sbx_slot_binding(image, &table[i], now, point, &pass->bindings);
        if (binding != SBX_BINDING_ORIGINAL) {
            module->foreign_slots++; /* perhaps bound to another definition: not to be changed */
            module->is_undecided |= binding == SBX_BINDING_OPEN;
            continue;
        }
        patch_slot(module, pass, slot, point);
    }
}

/* Patch the words of a point's own vtable, in the module that has its original. The linker has bound them, and no
 * relocation has their names. */
static void patch_vtable(struct hooked_module *module, uint32_t point, struct pass *pass)
{
    const struct sbx_elf_image *image = &module->image;
    const char *table = sbx_point_at(point)->table;
    uintptr_t original = (uintptr_t)*sbx_point_at(point)->original;
    uint64_t bytes;
    if (original < image->code_begin || original >= image->code_end) {
        return;
    }
    uintptr_t *words = (uintptr_t *)sbx_elf_image_find_table(image, table, sbx_gnu_hash(table), &bytes);
    for (uint64_t i = 0; words != NULL && i < bytes / sizeof *words; i++) {
        if (sbx_load_relaxed(&words[i]) == original) {
            patch_slot(module, pass, &words[i], point);
        }
    }
}

static void patch_vtables(struct hooked_module *module, struct pass *pass)
{
    for (uint32_t point = 0; point < sbx_point_count(); point++) {
        if (sbx_point_at(point)->table != NULL && sbx_point_at(point)->hook != NULL &&
            is_point_wanted(sbx_point_at(point), pass->wanted) && *sbx_point_at(point)->original != NULL) {
            patch_vtable(module, point, pass);
        }
    }
}

/* Remove the patches of this module whose point is not wanted any more. Returns whether the other patches are all in
 * force. */
static bool restore_module(struct hooked_module *module, struct pass *pass)
{
    bool is_whole = true;
    for (uint32_t *link = &module->first; *link != NOTHING;) {
        uint32_t index = *link;
        struct patch *patch = patch_at(index);
        const struct sbx_point *point = sbx_point_at(patch->point);
        bool is_ours = sbx_load_relaxed(patch->slot) == (uintptr_t)point->hook;
        if (is_point_wanted(point, pass->wanted) && *point->original != NULL) {
            is_whole &= is_ours;
            link = &patch->next;
            continue;
        }
        /* A word of somebody else is not changed: a hook put over ours keeps calling ours, which passes the call on. A
         * hook that cannot be removed any more also passes calls on. */
        if (is_ours && !store_slot(&module->image, pass, patch->slot, patch->after)) {
            link = &patch->next;
            continue;
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

/* Has the loader finished with this module? */
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 and newer */
extern int _dl_find_object(void *address, struct dl_find_object *found) __attribute__((weak));

static bool is_settled(const struct sbx_elf_image *image, const struct pass *pass)
{
    struct dl_find_object found;
    if (_dl_find_object == NULL) { /* built with a newer glibc than the one at run time */
        return pass->number == 1;
    }
    return _dl_find_object((void *)image->code_begin, &found) == 0;
}
#elif defined(__GLIBC__)
static bool is_settled(const struct sbx_elf_image *image, const struct pass *pass)
{
    (void)image;
    return pass->number == 1; /* only modules present at the start are hooked */
}
#else
static bool is_settled(const struct sbx_elf_image *image, const struct pass *pass)
{
    (void)image;
    (void)pass;
    /* musl loads and relocates under a lock that dl_iterate_phdr also takes to go from module to module (ldso/dynlink.c
     * of 1.2). So what it shows is relocated, except when a constructor looks during its own dlopen. It never
     * unloads. */
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
        sbx_store_relaxed(&sbx_loader_rpath_seen, 1); /* relaxed: callers that need it are hooked only after this */
    }
    if (!is_image || is_agent(&image) || image.jump_bytes + image.relocation_bytes == 0) {
        return 0; /* nothing to patch, as in the vdso */
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
    pass->has_begun = true; /* the program itself is always done, however long it takes */
    bool is_whole = restore_module(module, pass);
    if (pass->wanted != 0 && (!is_whole || module->is_undecided || module->walked_points != pass->wanted ||
                              module->walked_finds != sbx_point_finds())) {
        module->foreign_slots = 0;
        module->is_undecided = false;
        patch_table(module, image.jump_relocations, image.jump_bytes / sizeof *image.relocations, pass);
        patch_table(module, image.relocations + image.relative_count,
                    image.relocation_bytes / sizeof *image.relocations - image.relative_count, pass);
        patch_vtables(module, pass);
        module->walked_finds = sbx_point_finds();
    }
    module->walked_points = pass->wanted;
    pass->foreign_slots += module->foreign_slots;
    close_relro(&image, pass);
    return 0;
}

/* Forget the modules that are gone. There is nothing to restore, because their memory is not theirs any more. */
static void forget_modules(uint32_t pass_number)
{
    for (uint32_t i = 0; i < module_count;) {
        struct hooked_module *module = module_at(i);
        if (module->seen_pass == pass_number) {
            i++;
            continue;
        }
        while (module->first != NOTHING) {
            uint32_t index = module->first;
            module->first = patch_at(index)->next;
            give_patch_back(index);
        }
        *module = *module_at(--module_count);
    }
}

uint32_t sbx_got_hook_apply(uint64_t wanted, uint64_t end_ns, uint32_t *unsettled_out)
{
    static uint32_t passes;
    *unsettled_out = 0;
    if (page_bytes == 0) { /* sbx_got_hook_resolve() was not called yet */
        return 0;
    }
    if ((wanted & SBX_POINTS_THAT_COME_LATE) != 0) {
        sbx_points_find_late();
    }
    struct pass pass = {.wanted = wanted, .number = ++passes, .end_ns = end_ns};
    sbx_loader_visit_each(visit, &pass);
    *unsettled_out = pass.unsettled;
    if (sbx_the_capture.header != NULL) { /* not when only armed (agent/late_start.c): then there is no recording */
        sbx_store_relaxed(&sbx_the_capture.header->drops[SBX_DROP_FOREIGN_SLOT],
                          pass.foreign_slots + sbx_own_bindings_foreign());
    }
    forget_modules(pass.number);
    sbx_glib_follow_sources((wanted & SBX_POINT_BIT(SBX_GROUP_GLIB)) != 0);
    return patches_live;
}
