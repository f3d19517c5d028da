/* SPDX-License-Identifier: Apache-2.0 */
/* test_elf_finder.c - files are found by their build-id, not by their name. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "build_id.h"
#include "elf_finder.h"

static char folder[64];
static uint8_t sample_id[32];
static struct sbx_elf_paths paths;

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 20];
    FILE *in = fopen(from, "rbe"), *out = fopen(to, "wbe");
    assert_true(in != NULL && out != NULL);
    size_t got = fread(bytes, 1, sizeof bytes, in);
    assert_int_equal(fwrite(bytes, 1, got, out), got);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* A path below the test's folder. */
static const char *below(const char *name)
{
    static char path[4][256];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test_elf_finder.XXXXXX");
    assert_non_null(mkdtemp(folder));
    int fd = open(SAMPLE_FULL, O_RDONLY | O_CLOEXEC);
    assert_int_equal(sbx_build_id_read(fd, sample_id), 20);
    close(fd);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void find(struct sbx_elf_finder *finder, const char *name)
{
    assert_int_equal(sbx_elf_finder_find(finder, sample_id, 20, name, &paths), 0);
}

static void test_unknown_build_id_is_found_nowhere(void **state)
{
    (void)state;
    static const uint8_t unknown[20] = {0xde, 0xad};
    struct sbx_elf_finder *finder = sbx_elf_finder_create(NULL, 0);
    assert_int_equal(sbx_elf_finder_find(finder, unknown, 20, "libc.so.6", &paths), 0);
    assert_int_equal(paths.count, 0);
    assert_int_equal(sbx_elf_finder_find(finder, unknown, 0, NULL, &paths), 0);
    assert_int_equal(paths.count, 0);
    sbx_elf_finder_destroy(finder);
}

static void test_given_folder_is_searched_by_content_and_depth(void **state)
{
    (void)state;
    mkdir(below("a"), 0700);
    mkdir(below("a/b"), 0700);
    copy_file(SAMPLE_STRIPPED, below("a/b/any name at all"));
    copy_file("/etc/passwd", below("libsample.so"));
    assert_int_equal(mkfifo(below("a/pipe"), 0600), 0);    /* must not hang */
    assert_int_equal(symlink(folder, below("a/loop")), 0); /* must not loop */
    const char *dirs[] = {folder};
    struct sbx_elf_finder *finder = sbx_elf_finder_create(dirs, 1);
    find(finder, "libsample.so");
    assert_int_equal(paths.count, 1);
    assert_string_equal(paths.paths[0], below("a/b/any name at all"));
    sbx_elf_finder_destroy(finder);
}

static void test_debug_file_is_found_by_its_folder_layout(void **state)
{
    (void)state;
    char hex[65], name[128];
    sbx_build_id_format(sample_id, 20, hex);
    snprintf(name, sizeof name, ".build-id/%.2s", hex);
    mkdir(below(".build-id"), 0700);
    mkdir(below(name), 0700);
    snprintf(name, sizeof name, ".build-id/%.2s/%s.debug", hex, hex + 2);
    copy_file(SAMPLE_DEBUG, below(name));
    const char *dirs[] = {folder};
    struct sbx_elf_finder *finder = sbx_elf_finder_create(dirs, 1);
    find(finder, NULL);
    assert_int_equal(paths.count, 1);
    assert_string_equal(paths.paths[0], below(name));
    sbx_elf_finder_destroy(finder);
}

static void write_index(const char *content)
{
    FILE *index = fopen(below("modules"), "we");
    assert_non_null(index);
    fputs(content, index);
    assert_int_equal(fclose(index), 0);
}

static void test_index_comes_first_and_is_verified(void **state)
{
    (void)state;
    char hex[65], content[1024];
    sbx_build_id_format(sample_id, 20, hex);
    copy_file(SAMPLE_STRIPPED, below("server-as-executed"));
    snprintf(content, sizeof content, "nonsense\n%s /etc/passwd\n%s %s\nzz /x\n%s relative\n", hex, hex,
             below("server-as-executed"), hex);
    write_index(content);
    struct sbx_elf_finder *finder = sbx_elf_finder_create(NULL, 0);
    assert_int_equal(sbx_elf_finder_add_index(finder, below("modules")), 0);
    find(finder, NULL);
    assert_int_equal(paths.count, 1);
    assert_string_equal(paths.paths[0], below("server-as-executed"));
    assert_int_equal(sbx_elf_finder_add_index(finder, below("no such file")), -ENOENT);
    sbx_elf_finder_destroy(finder);
}

/* A package was upgraded while its program runs: the running file has no name any more, but still exists. */
static void test_what_a_process_runs_is_found_without_its_file(void **state)
{
    (void)state;
    uint8_t own_id[32];
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    size_t bytes = sbx_build_id_read(fd, own_id);
    close(fd);
    struct sbx_elf_finder *finder = sbx_elf_finder_create(NULL, 0);
    assert_int_equal(sbx_elf_finder_find(finder, own_id, bytes, NULL, &paths), 0);
    assert_true(paths.count >= 1);
    assert_string_equal(strrchr(paths.paths[0], '/'), "/exe");
    sbx_elf_finder_destroy(finder);
}

static bool may_follow_mappings(void)
{
    char line[512], path[256] = "";
    unsigned long long begin, end;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (path[0] == '\0' && fgets(line, sizeof line, maps) != NULL) {
        if (strchr(line, '/') != NULL && sscanf(line, "%llx-%llx", &begin, &end) == 2) { /* a mapping of a file */
            snprintf(path, sizeof path, "/proc/self/map_files/%llx-%llx", begin, end);
        }
    }
    fclose(maps);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

/* Symptom: "build-id a50d6825" instead of "redis-server", while that program ran on the machine. */
static void test_an_installed_program_has_its_name_also_while_it_runs(void **state)
{
    (void)state;
    int file = open("/usr/bin/sleep", O_RDONLY | O_CLOEXEC);
    size_t bytes = file >= 0 ? sbx_build_id_read(file, sample_id) : 0;
    assert_int_equal(close(file), 0);
    assert_in_range(bytes, 8, sizeof sample_id);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/usr/bin/sleep", "sleep", "60", (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    struct sbx_elf_finder *finder = sbx_elf_finder_create(NULL, 0);
    int result = sbx_elf_finder_find(finder, sample_id, bytes, NULL, &paths);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    sbx_elf_finder_destroy(finder);
    assert_int_equal(result, 0);
    assert_in_range(paths.count, 1, SBX_ELF_PATHS_MAX);
    assert_non_null(strstr(paths.paths[0], "bin/sleep")); /* /bin is a link on some machines */
}

static void test_a_library_that_was_deleted_is_found_where_it_is_mapped(void **state)
{
    (void)state;
    if (!may_follow_mappings()) {
        print_message("skipped: /proc/PID/map_files may not be followed here\n");
        skip();
    }
    copy_file(SAMPLE_FULL, below("replaced.so"));
    void *library = dlopen(below("replaced.so"), RTLD_NOW);
    assert_non_null(library);
    assert_int_equal(unlink(below("replaced.so")), 0);
    struct sbx_elf_finder *finder = sbx_elf_finder_create(NULL, 0);
    find(finder, NULL);
    assert_int_equal(paths.count, 1);
    assert_non_null(strstr(paths.paths[0], "/map_files/"));
    sbx_elf_finder_destroy(finder);
    dlclose(library);
}

static void test_wanted_name_is_preferred_then_the_shorter(void **state)
{
    (void)state;
    copy_file(SAMPLE_STRIPPED, below("redis-check-rdb"));
    assert_int_equal(symlink("redis-check-rdb", below("redis-server")), 0);
    assert_int_equal(symlink("redis-check-rdb", below("redis-sentinel")), 0);
    const char *dirs[] = {folder};
    struct sbx_elf_finder *finder = sbx_elf_finder_create(dirs, 1);
    find(finder, NULL);
    assert_int_equal(paths.count, 3);
    assert_string_equal(paths.paths[0], below("redis-server"));
    find(finder, "redis-sentinel");
    assert_string_equal(paths.paths[0], below("redis-sentinel"));
    sbx_elf_finder_destroy(finder);
}

static void test_system_library_is_found_by_name(void **state)
{
    (void)state;
    uint8_t build_id[32];
    int fd = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        print_message("skipped: no libc where x86-64 Debian has it\n");
        skip();
    }
    size_t bytes = sbx_build_id_read(fd, build_id);
    close(fd);
    struct sbx_elf_finder *finder = sbx_elf_finder_create(NULL, 0);
    assert_int_equal(sbx_elf_finder_find(finder, build_id, bytes, "libc.so.6", &paths), 0);
    assert_true(paths.count >= 1);
    assert_non_null(strstr(paths.paths[0], "/libc.so.6"));
    sbx_elf_finder_destroy(finder);
}

static void test_nothing_of_this_machine_is_used_where_it_is_skipped(void **state)
{
    (void)state;
    uint8_t installed[32], run[32];
    int shell = open("/bin/sh", O_RDONLY | O_CLOEXEC), own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    size_t installed_bytes = sbx_build_id_read(shell, installed), run_bytes = sbx_build_id_read(own, run);
    close(shell);
    close(own);
    assert_true(installed_bytes > 0 && run_bytes > 0);
    const char *dirs[] = {folder};
    struct sbx_elf_finder *finder = sbx_elf_finder_create(dirs, 1);
    copy_file(SAMPLE_FULL, below("given.so"));
    assert_int_equal(sbx_elf_finder_find(finder, run, run_bytes, NULL, &paths), 0);
    assert_true(paths.count > 0);
    sbx_elf_finder_skip_local(finder);
    assert_int_equal(sbx_elf_finder_find(finder, run, run_bytes, NULL, &paths), 0);
    assert_int_equal(paths.count, 0);
    assert_int_equal(sbx_elf_finder_find(finder, installed, installed_bytes, "sh", &paths), 0);
    assert_int_equal(paths.count, 0);
    find(finder, NULL); /* files that are given are used all the same */
    assert_int_equal(paths.count, 1);
    sbx_elf_finder_destroy(finder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_unknown_build_id_is_found_nowhere, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_given_folder_is_searched_by_content_and_depth, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_debug_file_is_found_by_its_folder_layout, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_index_comes_first_and_is_verified, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_what_a_process_runs_is_found_without_its_file, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_an_installed_program_has_its_name_also_while_it_runs, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_a_library_that_was_deleted_is_found_where_it_is_mapped, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_wanted_name_is_preferred_then_the_shorter, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_system_library_is_found_by_name, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_nothing_of_this_machine_is_used_where_it_is_skipped, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
