/* SPDX-License-Identifier: Apache-2.0 */
/* got_hook.c - relocation tables walked, slots replaced and put back. */
#include "got_hook.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture.h"
#include "pages.h"
#include "point.h"

#if defined(__x86_64__)
enum {
    RELOCATION_JUMP = R_X86_64_JUMP_SLOT,
    RELOCATION_DATA = R_X86_64_GLOB_DAT
};
#elif defined(__aarch64__)
enum {
    RELOCATION_JUMP = R_AARCH64_JUMP_SLOT,
    RELOCATION_DATA = R_AARCH64_GLOB_DAT
};
#endif

enum {
    PATCHES_MAX = 16384, /* slots remembered; a process of 144 modules has some 800 */
    POINTS_MAX = 512,
    NAME_FILTER_BITS = 4096,
};

struct patch {
    uintptr_t *slot;
    uintptr_t before;     /* what was there, put back on removal */
    uint64_t module_bias; /* with the header address: names the module that holds the slot */
    const ElfW(Phdr) * module_headers;
    const struct sbx_point *point;
    uint32_t seen_pass; /* the last pass that met its module */
};

static struct patch *patches; /* mapped once */
static uintptr_t page_bytes;  /* 4, 16 or 64 KiB on aarch64 */
static uint32_t patch_count;
static const struct sbx_point *points[POINTS_MAX];
static uint32_t point_count;
static uint64_t name_filter[NAME_FILTER_BITS / 64]; /* two characters and length: most names end here */

static uint32_t filter_bit(const char *name)
{
    return ((uint32_t)(unsigned char)name[0] * 31u + (uint32_t)(unsigned char)name[1] * 7u +
            (uint32_t)(unsigned char)(name[1] != 0 ? name[2] : 0)) %
           NAME_FILTER_BITS;
}

void sbx_got_hook_resolve(void)
{
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (patches == NULL) {
        patches = sbx_pages_map(PATCHES_MAX * sizeof *patches);
    }
    point_count = 0;
    for (size_t list = 0; list < sbx_point_list_count; list++) {
        for (size_t i = 0; i < sbx_point_lists[list]->count; i++) {
            const struct sbx_point *point = &sbx_point_lists[list]->points[i];
            *point->original = dlsym(RTLD_DEFAULT, point->symbol);
            if (*point->original == NULL || point->hook == NULL || point_count == POINTS_MAX) {
                continue;
            }
            points[point_count++] = point;
            uint32_t bit = filter_bit(point->symbol);
            name_filter[bit / 64] |= UINT64_C(1) << bit % 64;
        }
    }
}

static const struct sbx_point *find_point(const char *name)
{
    uint32_t bit = filter_bit(name);
    if ((name_filter[bit / 64] >> bit % 64 & 1) == 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < point_count; i++) {
        if (strcmp(points[i]->symbol, name) == 0) {
            return points[i];
        }
    }
    return NULL;
}

/* One module's dynamic section, as far as patching needs it. */
struct image {
    uint64_t bias;
    const ElfW(Phdr) * headers;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * jump_relocations, *relocations;
    size_t jump_bytes, relocation_bytes;
    size_t relative_count; /* relocations at the front that name no symbol: the linker sorts them there */
    uint64_t relro_begin, relro_end; /* whole pages that are read-only by now */
    uintptr_t open_page;             /* of these, the one that is writable for the moment; 0: none */
    uint64_t plt_begin, plt_end;     /* executable range: an unresolved lazy slot points into it */
};

static uint64_t dynamic_address(const struct image *image, uint64_t value)
{
    /* glibc relocates these in place for most modules, not for the vdso: a value below the bias is relative. */
    return value < image->bias ? value + image->bias : value;
}

static bool read_image(struct image *image, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *dynamic = NULL;
    memset(image, 0, sizeof *image);
    image->bias = info->dlpi_addr;
    image->headers = info->dlpi_phdr;
    image->plt_begin = UINT64_MAX;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t address = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)address;
        } else if (header->p_type == PT_GNU_RELRO) {
            image->relro_begin = address & ~(uint64_t)(page_bytes - 1);
            image->relro_end = (address + header->p_memsz) & ~(uint64_t)(page_bytes - 1); /* the loader protects whole pages only */
        } else if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0) {
            image->plt_begin = address < image->plt_begin ? address : image->plt_begin;
            image->plt_end = address + header->p_memsz > image->plt_end ? address + header->p_memsz : image->plt_end;
        }
    }
    if (dynamic == NULL) {
        return false;
    }
    bool is_rela = true;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            image->symbols = (const ElfW(Sym) *)dynamic_address(image, dynamic->d_un.d_ptr);
            break;
        case DT_STRTAB:
            image->strings = (const char *)dynamic_address(image, dynamic->d_un.d_ptr);
            break;
        case DT_JMPREL:
            image->jump_relocations = (const ElfW(Rela) *)dynamic_address(image, dynamic->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            image->jump_bytes = dynamic->d_un.d_val;
            break;
        case DT_PLTREL:
            is_rela = dynamic->d_un.d_val == DT_RELA;
            break;
        case DT_RELA:
            image->relocations = (const ElfW(Rela) *)dynamic_address(image, dynamic->d_un.d_ptr);
            break;
        case DT_RELACOUNT:
            image->relative_count = dynamic->d_un.d_val;
            break;
        case DT_RELASZ:
            image->relocation_bytes = dynamic->d_un.d_val;
            break;
        default:
            break;
        }
    }
    return is_rela && image->symbols != NULL && image->strings != NULL;
}

static bool is_patched(const uintptr_t *slot)
{
    for (uint32_t i = 0; i < patch_count; i++) {
        if (patches[i].slot == slot) {
            return true;
        }
    }
    return false;
}

/* Give the page that store_slot() opened last its protection again, as the loader set it. */
static void close_page(struct image *image)
{
    if (image->open_page != 0) {
        mprotect((void *)image->open_page, page_bytes, PROT_READ);
        image->open_page = 0;
    }
}

/* Store one word where the module's RELRO pages may forbid it. One page is kept open from slot to slot, because the
 * slots of a module lie together: two calls for each of 800 slots were half of what starting cost. The caller closes
 * it. */
static bool store_slot(struct image *image, uintptr_t *slot, uintptr_t value)
{
    uintptr_t page = (uintptr_t)slot & ~(page_bytes - 1);
    bool is_read_only = (uint64_t)page >= image->relro_begin && (uint64_t)page < image->relro_end;
    if (is_read_only && page != image->open_page) {
        close_page(image);
        if (mprotect((void *)page, page_bytes, PROT_READ | PROT_WRITE) != 0) {
            return false;
        }
        image->open_page = page;
    }
    /* Callers on other threads load it as code does: the original was resolved before. */
    sbx_store_release(slot, value);
    return true;
}

/* The loader is watched as long as anything is: modules that come must be hooked. */
static bool is_point_wanted(const struct sbx_point *point, uint32_t wanted)
{
    return point->group == SBX_GROUP_LOADER ? wanted != 0 : (wanted & SBX_POINT_BIT(point->group)) != 0;
}

/* One walk over the loader's list. */
struct pass {
    uint32_t wanted;
    uint32_t number;
    uint32_t unsettled;
    uint64_t foreign_slots;
};

static void patch_table(struct image *image, const ElfW(Rela) * table, size_t bytes, struct pass *pass)
{
    for (size_t i = 0; i < bytes / sizeof *table; i++) {
        uint32_t type = (uint32_t)ELF64_R_TYPE(table[i].r_info);
        if (type != RELOCATION_JUMP && type != RELOCATION_DATA) {
            continue;
        }
        const char *name = image->strings + image->symbols[ELF64_R_SYM(table[i].r_info)].st_name;
        const struct sbx_point *point = find_point(name);
        if (point == NULL || !is_point_wanted(point, pass->wanted)) {
            continue;
        }
        uintptr_t *slot = (uintptr_t *)(image->bias + table[i].r_offset);
        uintptr_t now = sbx_load_relaxed(slot);
        if (now == (uintptr_t)point->hook) {
            continue;
        }
        bool is_lazy = type == RELOCATION_JUMP && now >= image->plt_begin && now < image->plt_end &&
                       (uintptr_t)*point->original - image->plt_begin >= image->plt_end - image->plt_begin;
        if (now != (uintptr_t)*point->original && !is_lazy) {
            pass->foreign_slots++; /* bound to another definition: not ours to judge */
            continue;
        }
        if (is_patched(slot)) { /* the loader bound it again behind us */
            store_slot(image, slot, (uintptr_t)point->hook);
            continue;
        }
        if (patch_count == PATCHES_MAX) {
            return;
        }
        patches[patch_count] = (struct patch){slot, now, image->bias, image->headers, point, pass->number};
        if (store_slot(image, slot, (uintptr_t)point->hook)) {
            patch_count++;
        }
    }
}

static bool is_agent(const struct image *image)
{
    uint64_t here = (uint64_t)(uintptr_t)&sbx_got_hook_apply;
    return here >= image->plt_begin && here < image->plt_end;
}

/* Take out the patches of this module whose point is no longer wanted. */
static void restore_module(struct image *image, uint32_t wanted)
{
    for (uint32_t i = 0; i < patch_count;) {
        struct patch *patch = &patches[i];
        bool is_here = patch->module_bias == image->bias && patch->module_headers == image->headers;
        bool is_wanted = is_point_wanted(patch->point, wanted);
        if (!is_here || is_wanted) {
            i++;
            continue;
        }
        /* Somebody else's word is left alone: a hook put over ours keeps calling us, and we pass through. */
        if (sbx_load_relaxed(patch->slot) == (uintptr_t)patch->point->hook) {
            store_slot(image, patch->slot, patch->before);
        }
        *patch = patches[--patch_count];
    }
}

/* Is the loader done with this module? */
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc from 2.35 on */
extern int _dl_find_object(void *address, struct dl_find_object *found) __attribute__((weak));

static bool is_settled(const struct image *image, const struct pass *pass)
{
    struct dl_find_object found;
    if (_dl_find_object == NULL) { /* built with a newer glibc than the program runs with */
        return pass->number == 1;
    }
    return _dl_find_object((void *)image->plt_begin, &found) == 0;
}
#elif defined(__GLIBC__)
static bool is_settled(const struct image *image, const struct pass *pass)
{
    (void)image;
    return pass->number == 1; /* only what was there at the start is hooked */
}
#else
static bool is_settled(const struct image *image, const struct pass *pass)
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
    struct image image;
    (void)bytes;
    if (!read_image(&image, info) || is_agent(&image) || image.plt_begin >= image.plt_end ||
        image.jump_bytes + image.relocation_bytes == 0) {
        return 0; /* no code, or nothing to patch: the vdso, for one */
    }
    if (!is_settled(&image, pass)) {
        pass->unsettled++;
        return 0;
    }
    restore_module(&image, pass->wanted);
    if (pass->wanted != 0) {
        patch_table(&image, image.jump_relocations, image.jump_bytes, pass);
        /* The front of it is not even looked at: libLLVM's is 10 MiB of pages that nobody has touched since start-up. */
        size_t skipped = image.relative_count * sizeof(ElfW(Rela));
        skipped = skipped < image.relocation_bytes ? skipped : image.relocation_bytes;
        patch_table(&image, image.relocations + skipped / sizeof(ElfW(Rela)), image.relocation_bytes - skipped, pass);
    }
    close_page(&image);
    for (uint32_t i = 0; i < patch_count; i++) {
        if (patches[i].module_bias == image.bias && patches[i].module_headers == image.headers) {
            patches[i].seen_pass = pass->number;
        }
    }
    return 0;
}

uint32_t sbx_got_hook_apply(uint32_t wanted, uint32_t *unsettled_out)
{
    static uint32_t passes;
    struct pass pass = {.wanted = wanted, .number = ++passes};
    *unsettled_out = 0;
    if (patches == NULL) {
        return 0;
    }
    dl_iterate_phdr(visit, &pass);
    *unsettled_out = pass.unsettled;
    sbx_store_relaxed(&sbx_the_capture.header->drops[SBX_DROP_FOREIGN_SLOT], pass.foreign_slots);
    /* Patches of modules that are gone: nothing to restore, their memory is no longer theirs. */
    for (uint32_t i = 0; i < patch_count;) {
        if (patches[i].seen_pass == pass.number) {
            i++;
        } else {
            patches[i] = patches[--patch_count];
        }
    }
    return patch_count;
}
