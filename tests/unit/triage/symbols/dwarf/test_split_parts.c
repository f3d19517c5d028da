/* SPDX-License-Identifier: Apache-2.0 */
/* test_split_parts.c - debug information that was split off: .dwo files and packages from several compilers, damaged,
 * missing, or with a pipe in their place. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "build_id.h"
#include "payload_builder.h"
#include "split_files.h"
#include "symbol_file.h"
#include "symbol_worker.h"

static char folder[] = "/tmp/test_split_parts.XXXXXX", why[240];

static const char source[] = "volatile int sink;\n"
                             "static inline __attribute__((always_inline)) int inner(int a)\n"
                             "{\n"
                             "    return a * sink + 3;\n"
                             "}\n"
                             "int outer(int a)\n"
                             "{\n"
                             "    sink = 1;\n"
                             "    return inner(a) ^ sink;\n"
                             "}\n"
                             "int main(void)\n"
                             "{\n"
                             "    return outer(0);\n"
                             "}\n";

static int run(const char *command)
{
    char whole[1024];
    snprintf(whole, sizeof whole, "cd %s && (%s) > log 2>&1", folder, command);
    return system(whole);
}

static char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    FILE *out = fopen(path_of("split.c"), "w");
    return out == NULL || fputs(source, out) < 0 ? -1 : fclose(out);
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* Build the program again with that compiler and DWARF version. Skipped if the compiler does not exist. */
static void build(const char *compiler, int version)
{
    char command[256];
    snprintf(command, sizeof command, "command -v %s", compiler);
    if (run(command) != 0) {
        print_message("skipped: no %s\n", compiler);
        skip();
    }
    snprintf(command, sizeof command,
             "rm -f program *.dwo *.dwp; %s -O2 -gdwarf-%d -gsplit-dwarf -fno-lto -Wl,--build-id -o program split.c",
             compiler, version);
    assert_int_equal(run(command), 0);
    assert_int_equal(run("ls *.dwo"), 0);
}

/* At how many addresses of outer() the whole chain of inner() in outer() is found, when the program is read
 * directly. */
static size_t count_chains(void)
{
    static struct sbx_elf_paths paths = {.count = 1};
    struct sbx_symbol_frame frames[4];
    enum sbx_symbol_source source_of;
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    strcpy(paths.paths[0], path_of("program"));
    int fd = open(paths.paths[0], O_RDONLY | O_CLOEXEC);
    size_t bytes = sbx_build_id_read(fd, build_id), count = 0;
    close(fd);
    struct sbx_symbol_file *file = sbx_symbol_file_open(&paths, build_id, bytes);
    assert_non_null(file);
    uint64_t begin = sbx_build_symbol(paths.paths[0], "outer");
    for (uint64_t at = begin; at < begin + 24; at++) {
        count += sbx_symbol_file_find(file, at, frames, 4, &source_of) == 2 &&
                 strcmp(frames[0].function, "inner") == 0 && frames[0].inlined && frames[0].line == 4 &&
                 strcmp(frames[1].function, "outer") == 0 && frames[1].line == 9 && frames[1].file != NULL &&
                 strstr(frames[1].file, "split.c") != NULL;
    }
    sbx_symbol_file_close(file);
    return count;
}

/* The same for the image that a worker makes. The worker gets the parts that are beside the program. */
static size_t count_made_chains(void)
{
    struct sbx_split_files parts = {.count = 0};
    struct sbx_symbol_image *image;
    struct sbx_code_frame frames[4];
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    const char *program = path_of("program");
    uint64_t begin = sbx_build_symbol(program, "outer");
    int fd = open(program, O_RDONLY | O_CLOEXEC), out = memfd_create("image", MFD_CLOEXEC);
    sbx_split_files_open_beside(&parts, program);
    struct sbx_making making = {.descriptors = &fd,
                                .descriptor_count = 1,
                                .alternate = -1,
                                .parts = parts.descriptors,
                                .part_count = parts.count,
                                .build_id = build_id,
                                .build_id_bytes = sbx_build_id_read(fd, build_id),
                                .name = "program",
                                .out = out};
    why[0] = '\0';
    assert_int_equal(sbx_symbol_worker_make(&making, 0, why, sizeof why), 0);
    assert_int_equal(sbx_symbol_image_open(out, 1 << 20, &image), 0);
    size_t count = 0;
    for (uint64_t at = begin; at < begin + 24; at++) {
        count += sbx_symbol_image_find(image, at, frames, 4) == 2 && strcmp(frames[0].name, "inner") == 0;
    }
    sbx_symbol_image_close(image);
    return count;
}

static void check_all_forms(const char *compiler, int version)
{
    build(compiler, version);
    size_t chains = count_chains();
    assert_true(chains > 3);
    assert_int_equal(count_made_chains(), chains);
    assert_string_equal(why, "");
    static const char *const packers[] = {"dwp -e program -o program.dwp",
                                          "timeout 60 llvm-dwp -e program -o program.dwp"};
    for (size_t i = 0; i < 2; i++) {
        /* binutils 2.40 fails at DWARF 5, and LLVM 14 never ends with gcc's. */
        bool may_pack = version == 4 || (i == 1 && strcmp(compiler, "clang") == 0);
        if (may_pack && run(packers[i]) == 0) {
            assert_int_equal(run("mkdir -p away && mv *.dwo away"), 0);
            assert_int_equal(count_chains(), chains);
            assert_int_equal(count_made_chains(), chains);
            assert_string_equal(why, "");
            assert_int_equal(run("mv away/*.dwo . && rm program.dwp"), 0);
        }
    }
    assert_int_equal(run("rm *.dwo"), 0);
    assert_int_equal(count_chains(), 0);
    assert_int_equal(count_made_chains(), 0);
    assert_non_null(strstr(why, "split off into .dwo files of which some were not found"));
}

static void test_parts_and_packages_of_gcc_name_what_the_whole_would(void **state)
{
    (void)state;
    check_all_forms("gcc", 5);
    check_all_forms("gcc", 4);
}

static void test_parts_and_packages_of_clang_name_what_the_whole_would(void **state)
{
    (void)state;
    check_all_forms("clang", 5);
    check_all_forms("clang", 4);
}

/* SYM-6: a pipe that nobody writes to has the file name that the program contains, and another one the name of its
 * package. Opening either would block. */
static void test_sym_06_a_pipe_in_the_place_of_a_part_is_not_opened(void **state)
{
    (void)state;
    build("gcc", 5);
    assert_int_equal(run("for f in *.dwo; do rm $f && mkfifo $f; done; mkfifo program.dwp"), 0);
    assert_int_equal(count_chains(), 0);
    assert_int_equal(count_made_chains(), 0);
    assert_int_equal(run("rm program.dwp; for f in *.dwo; do rm $f && ln -s /etc/passwd $f; done"), 0);
    assert_int_equal(count_chains(), 0);
}

/* Whatever is damaged in a part, the worker ends, and its output is an image. */
static void test_sym_06_damaged_parts_and_packages_do_no_harm(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 18], damaged[1 << 18];
    build("gcc", 4);
    for (int is_package = 0; is_package < 2; is_package++) {
        if (is_package && run("dwp -e program -o program.dwp && rm *.dwo") != 0) {
            continue;
        }
        assert_int_equal(is_package ? 0 : run("mv *.dwo part.dwo"), 0);
        char name[256];
        snprintf(name, sizeof name, "%s", path_of(is_package ? "program.dwp" : "part.dwo"));
        int fd = open(name, O_RDONLY | O_CLOEXEC);
        ssize_t got = read(fd, bytes, sizeof bytes);
        close(fd);
        assert_true(got > 256 && (size_t)got < sizeof bytes);
        uint64_t random = 5;
        for (int round = 0; round < 60; round++) {
            memcpy(damaged, bytes, (size_t)got);
            for (int flips = 0; flips < 1 + round % 20; flips++) {
                random = random * UINT64_C(6364136223846793005) + 1;
                damaged[64 + (random >> 20) % ((uint64_t)got - 64)] ^= (uint8_t)(random >> 56 | 1);
            }
            fd = open(name, O_WRONLY | O_TRUNC | O_CLOEXEC);
            assert_int_equal(write(fd, damaged, (size_t)(round % 7 == 6 ? got / (1 + round % 5) : got)),
                             round % 7 == 6 ? got / (1 + round % 5) : got);
            close(fd);
            (void)count_chains(); /* in this process, where the sanitizers check */
            (void)count_made_chains();
        }
        fd = open(name, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(write(fd, bytes, (size_t)got), got);
        close(fd);
        assert_true(count_chains() > 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_and_packages_of_gcc_name_what_the_whole_would),
        cmocka_unit_test(test_parts_and_packages_of_clang_name_what_the_whole_would),
        cmocka_unit_test(test_sym_06_a_pipe_in_the_place_of_a_part_is_not_opened),
        cmocka_unit_test(test_sym_06_damaged_parts_and_packages_do_no_harm),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
