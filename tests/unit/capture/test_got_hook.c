/* SPDX-License-Identifier: Apache-2.0 */
/* test_got_hook.c - where a slot leads after its hook was removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_image.h"
#include "recorded_process.h"
#include "stallbox/stallbox.h"

static volatile bool never;

/* The call makes the linker create a slot. The slot is not bound until the first call. */
static void call_fdatasync(void)
{
    if (never) {
        fdatasync(-1);
    }
}

/* The loader's list begins with the program itself. */
static int read_slot(struct dl_phdr_info *info, size_t bytes, void *word_out)
{
    struct sbx_elf_image image;
    (void)bytes;
    if (!sbx_elf_image_read(&image, info)) {
        return 1;
    }
    const ElfW(Rela) * tables[] = {image.jump_relocations, image.relocations};
    const size_t sizes[] = {image.jump_bytes, image.relocation_bytes};
    for (int t = 0; t < 2; t++) {
        for (size_t i = 0; i < sizes[t] / sizeof *tables[t]; i++) {
            const ElfW(Sym) *symbol = &image.symbols[ELF64_R_SYM(tables[t][i].r_info)];
            if (strcmp(image.strings + symbol->st_name, "fdatasync") == 0) {
                *(uintptr_t *)word_out = *(const uintptr_t *)(image.bias + tables[t][i].r_offset);
            }
        }
    }
    return 1;
}

static uintptr_t slot_of_fdatasync(void)
{
    uintptr_t word = 0;
    dl_iterate_phdr(read_slot, &word);
    return word;
}

/* Otherwise the loader would bind the slot in some later call, on a stack that has room only for the call itself. */
static void child_stops_before_it_calls(void)
{
    uintptr_t function = (uintptr_t)dlsym(RTLD_NEXT, "fdatasync"), before = slot_of_fdatasync();
    call_fdatasync();
    child_start_with(60000, 60000);
    child_expect(slot_of_fdatasync() != before && slot_of_fdatasync() != function, "the hook is in");
    child_expect(stallbox_stop(5000) == STALLBOX_OK, "the recorder stops");
    child_expect(slot_of_fdatasync() == function, "the slot leads to the function");
}

static void test_a_slot_that_was_not_bound_when_its_hook_came_is_bound_when_that_goes(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_stops_before_it_calls), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_slot_that_was_not_bound_when_its_hook_came_is_bound_when_that_goes,
                                        recorded_process_set_up, recorded_process_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
