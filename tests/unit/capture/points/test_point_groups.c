/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_groups.c - each group of points can be installed and removed by itself in a running process, and leaves
 * every slot as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf_image.h"
#include "recorded_process.h"
#include "stallbox/stallbox.h"

enum {
    SLOTS_MAX = 8192,
#if defined(__aarch64__)
    JUMP = R_AARCH64_JUMP_SLOT,
    DATA = R_AARCH64_GLOB_DAT,
#else
    JUMP = R_X86_64_JUMP_SLOT,
    DATA = R_X86_64_GLOB_DAT,
#endif
};

struct slot {
    uintptr_t *at;
    uintptr_t value;
    const char *name;
    uint64_t code_begin, code_end; /* of its module; an unbound lazy slot points there */
};
static struct slot bare[SLOTS_MAX];
static size_t bare_count;
static uint64_t agent_begin, agent_end;

static void add_table(const struct sbx_elf_image *image, const ElfW(Rela) * table, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *table; i++) {
        uint64_t type = ELF64_R_TYPE(table[i].r_info);
        if ((type == JUMP || type == DATA) && bare_count < SLOTS_MAX) {
            uintptr_t *at = (uintptr_t *)(image->bias + table[i].r_offset);
            bare[bare_count++] =
                (struct slot){at, *at, image->strings + image->symbols[ELF64_R_SYM(table[i].r_info)].st_name,
                              image->code_begin, image->code_end};
        }
    }
}

static int add_module(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    struct sbx_elf_image image;
    uint64_t agent = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "stallbox_start");
    (void)bytes, (void)unused;
    if (!sbx_elf_image_read(&image, info)) {
        return 0;
    }
    if (agent >= image.code_begin && agent < image.code_end) {
        agent_begin = image.code_begin;
        agent_end = image.code_end;
        return 0;
    }
    add_table(&image, image.jump_relocations, image.jump_bytes);
    add_table(&image, image.relocations, image.relocation_bytes);
    return 0;
}

static bool is_hooked(const struct slot *slot)
{
    return *slot->at >= agent_begin && *slot->at < agent_end && strncmp(slot->name, "stallbox_", 9) != 0;
}

static void expect_bare(const char *when)
{
    for (size_t i = 0; i < bare_count; i++) {
        /* The loader may have bound a lazy slot meanwhile; no other difference is allowed. */
        bool was_lazy = bare[i].value >= bare[i].code_begin && bare[i].value < bare[i].code_end;
        if (*bare[i].at != bare[i].value && (!was_lazy || is_hooked(&bare[i]))) {
            fprintf(stderr, "slot of %s differs %s\n", bare[i].name, when);
            _exit(1);
        }
    }
}

static bool has_name(const char *name)
{
    for (size_t i = 0; i < bare_count; i++) {
        if (is_hooked(&bare[i]) && strcmp(bare[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static const struct {
    uint32_t group;
    const char *symbols[4]; /* some symbols that must be hooked, by group */
} groups[] = {
    {SBX_GROUP_ALLOC, {"malloc", "calloc", "posix_memalign"}},
    {SBX_GROUP_FREE, {"free"}},
    {SBX_GROUP_MAP, {"mmap", "munmap", "mremap"}},
    {SBX_GROUP_POLL, {"poll", "select", "epoll_wait"}},
    {SBX_GROUP_SLEEP, {"nanosleep", "pause", "sigwait"}},
    {SBX_GROUP_FILE, {"read", "write", "pwritev"}},
    {SBX_GROUP_OPEN, {"open", "creat", "close"}},
    {SBX_GROUP_SYNC, {"fsync", "msync"}},
    {SBX_GROUP_STAT, {"stat", "fstat", "realpath"}},
    {SBX_GROUP_DIRECTORY, {"rename", "readdir", "mkdir"}},
    {SBX_GROUP_FILE_LOCK, {"flock", "fcntl", "lockf"}},
    {SBX_GROUP_STDIO, {"fopen", "fread", "fprintf"}},
    {SBX_GROUP_SOCKET, {"connect", "recv", "sendmmsg"}},
    {SBX_GROUP_LOOKUP, {"getaddrinfo", "gethostbyname"}},
    {SBX_GROUP_PROCESS, {"system", "waitpid", "posix_spawn"}},
    {SBX_GROUP_CLOCK, {"clock_gettime", "gettimeofday", "time"}},
};

/* Is it a name that is hooked for as long as any point is? */
static bool is_loader_name(const char *name)
{
    static const char *const names[] = {
        "dlopen",       "dlclose",         "dlmopen",       "prctl",          "longjmp",
        "_longjmp",     "siglongjmp",      "__longjmp_chk", "sigaction",      "signal",
        "sigprocmask",  "pthread_sigmask", "sigaltstack",   "pthread_create", "thrd_create",
        "siginterrupt", "__sysv_signal",   "sigset",        "fork",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void child_switches_groups(void)
{
    static uint32_t group_of[SLOTS_MAX]; /* the group that hooked the slot, plus 1 */
    child_expect(dlopen(SCRIPT_LAZY, RTLD_LAZY) != NULL && dlopen(SCRIPT_NO_PLT, RTLD_NOW) != NULL, "modules load");
    dl_iterate_phdr(add_module, NULL);
    child_expect(agent_begin != 0 && bare_count > 300, "there are slots");
    child_start();
    child_expect(has_name("malloc") && has_name("recv"), "everything is on at first");
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        child_set_points(SBX_POINT_BIT(groups[g].group));
        for (size_t k = 0; k < 4 && groups[g].symbols[k] != NULL; k++) {
            if (!has_name(groups[g].symbols[k])) {
                fprintf(stderr, "%s is not hooked with its group\n", groups[g].symbols[k]);
                _exit(1);
            }
        }
        for (size_t i = 0; i < bare_count; i++) {
            if (is_hooked(&bare[i]) && !is_loader_name(bare[i].name)) {
                child_expect(group_of[i] == 0, "a slot is of one group only");
                group_of[i] = groups[g].group + 1;
            }
        }
        child_set_points(0);
        for (size_t i = 0; i < bare_count; i++) {
            child_expect(!is_hooked(&bare[i]) || is_loader_name(bare[i].name), "the group is out again");
        }
    }
    child_set_points(SBX_POINTS_ALL);
    stallbox_stop(5000);
    expect_bare("after the stop");
}

static void test_each_group_goes_in_and_out_by_itself(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_switches_groups), 0);
}

/* Threads call through the slots all the time. */
static volatile bool goes_on = true;

static void *call_all_the_time(void *unused)
{
    char byte;
    while (goes_on) {
        void *volatile memory = malloc(100);
        free(memory);
        child_expect(read(-1, &byte, 1) == -1, "a call through a slot that changes does what it did");
        child_expect(access("/", R_OK) == 0, "and another");
    }
    return unused;
}

static void child_switches_under_load(void)
{
    pthread_t threads[3];
    dl_iterate_phdr(add_module, NULL);
    child_start();
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, call_all_the_time, NULL);
    }
    for (int i = 0; i < 100; i++) {
        child_set_points(i % 2 == 0 ? 0 : SBX_POINTS_ALL);
    }
    goes_on = false;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    stallbox_stop(5000);
    expect_bare("after the load");
}

static void test_slots_change_under_running_threads(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_switches_under_load), 0);
}

#ifdef OLD_VERSION
/* The loader's handle of a library is its link map: see dlinfo(3). */
static bool is_hooked_in(const void *module, const char *name)
{
    const struct link_map *map = NULL;
    child_expect(dlinfo((void *)module, RTLD_DI_LINKMAP, &map) == 0, "the module has a map");
    for (size_t i = 0; i < bare_count; i++) {
        uint64_t at = (uint64_t)(uintptr_t)bare[i].at;
        if (strcmp(bare[i].name, name) == 0 && at >= map->l_addr && at < map->l_addr + 65536) {
            return is_hooked(&bare[i]);
        }
    }
    child_expect(false, "the module has a slot of that name");
    return false;
}

static void child_has_an_old_module(void)
{
    void *module = dlopen(OLD_VERSION, RTLD_LAZY);
    child_expect(module != NULL, "the old module loads");
    dl_iterate_phdr(add_module, NULL);
    child_start();
    child_expect(is_hooked_in(module, "waitpid"), "its calls are hooked");
    child_expect(is_hooked_in(module, "dlopen"), "an old version that is the same function is hooked");
    child_expect(!is_hooked_in(module, "posix_spawn"), "an old version that is another function is left alone");
    child_expect(child_header()->drops[SBX_DROP_FOREIGN_SLOT] == 1, "and counted");
    stallbox_stop(5000);
    expect_bare("after the stop");
}

static void test_a_slot_that_wants_another_version_is_left_alone(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_has_an_old_module), 0);
}
#endif

#ifdef TOOL /* defined if the command was built */
static int run_ctl(const char *arguments)
{
    char command[600];
    snprintf(command, sizeof command, "STALLBOX_RECORDINGS=%s/../recordings %s ctl %d %s >/dev/null 2>&1",
             recorded_process_folder(), TOOL, (int)getpid(), arguments);
    return WEXITSTATUS(system(command));
}

static void child_is_told_by_ctl(void)
{
    child_expect(dlopen(SCRIPT_LAZY, RTLD_LAZY) != NULL, "a module loads");
    dl_iterate_phdr(add_module, NULL);
    child_start();
    child_expect(run_ctl("disable file stat") == 0, "ctl takes two groups out");
    child_expect(!has_name("read") && !has_name("stat") && has_name("open") && has_name("malloc"), "these two alone");
    child_expect(run_ctl("enable stat") == 0, "ctl puts one in");
    child_expect(!has_name("read") && has_name("stat"), "this one alone");
    child_expect(run_ctl("disable") == 0, "ctl takes everything out");
    expect_bare("while disabled");
    child_expect(run_ctl("enable") == 0, "ctl enables");
    child_expect(has_name("read") && has_name("stat"), "all of it");
    child_expect(run_ctl("disable nonsense") == 2 && run_ctl("status file") == 2, "ctl refuses what is no group");
    stallbox_stop(5000);
}

static void test_ctl_switches_single_groups(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_is_told_by_ctl), 0);
}
#endif

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_each_group_goes_in_and_out_by_itself),
        CASE(test_slots_change_under_running_threads),
#ifdef TOOL
        CASE(test_ctl_switches_single_groups),
#endif
#ifdef OLD_VERSION
        CASE(test_a_slot_that_wants_another_version_is_left_alone),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
