/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_worker.c - symbol files from outside: how much they can make the worker do; and its caller goes on. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "build_id.h"
#include "made_image.h"
#include "payload_builder.h"
#include "symbol_file.h"
#include "symbol_worker.h"

static char folder[] = "/tmp/test_symbol_worker.XXXXXX";
static const char *const why = made_image_why;

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* Run a shell command in the folder. */
static void run(const char *format, ...)
{
    char command[2048], whole[2200];
    va_list arguments;
    va_start(arguments, format);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    vsnprintf(command, sizeof command, format, arguments);
#pragma GCC diagnostic pop
    va_end(arguments);
    snprintf(whole, sizeof whole, "cd %s && %s", folder, command);
    assert_int_equal(system(whole), 0);
}

static char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The image's name for the function `symbol` of the sample; "" for none. */
static const char *name_at(struct sbx_symbol_image *image, const char *symbol)
{
    struct sbx_code_frame frames[8];
    size_t count = sbx_symbol_image_find(image, sbx_build_symbol(SAMPLE_FULL, symbol), frames, 8);
    return count == 0 ? "" : frames[count - 1].name;
}

static void test_what_the_worker_made_answers(void **state)
{
    (void)state;
    struct sbx_symbol_image *image;
    assert_int_equal(made_image(SAMPLE_FULL, 0, &image), 0);
    assert_string_equal(why, "");
    assert_int_equal(sbx_symbol_image_facts(image)->best, SBX_SYMBOLS_DWARF);
    assert_string_equal(name_at(image, "sample_hidden"), "sample_hidden");
    sbx_symbol_image_close(image);
}

static void test_symbols_that_a_stripped_file_carries_compressed_are_found(void **state)
{
    (void)state;
    struct sbx_symbol_image *image;
    run("cp %s mini && objcopy -S --keep-symbol=sample_hidden %s symbols && xz -k symbols && "
        "objcopy -S --add-section .gnu_debugdata=symbols.xz mini mini",
        SAMPLE_FULL, SAMPLE_PLAIN);
    /* Both samples have the same source; the code of the plain one may be elsewhere. */
    uint64_t hidden = sbx_build_symbol(SAMPLE_PLAIN, "sample_hidden");
    struct sbx_code_frame frames[2];
    assert_int_equal(made_image(path_of("mini"), 0, &image), 0);
    assert_int_equal(sbx_symbol_image_find(image, hidden, frames, 2), 1);
    assert_string_equal(frames[0].name, "sample_hidden");
    assert_int_equal(frames[0].source, SBX_SYMBOLS_SYMTAB);
    sbx_symbol_image_close(image);
    run("head -c 100 symbols.xz > cut.xz && cp %s mini && objcopy -S --add-section .gnu_debugdata=cut.xz mini mini",
        SAMPLE_FULL);
    assert_int_equal(made_image(path_of("mini"), 0, &image), 0);
    assert_int_equal(sbx_symbol_image_facts(image)->best, SBX_SYMBOLS_DYNSYM);
    assert_non_null(strstr(why, ".gnu_debugdata is damaged"));
    sbx_symbol_image_close(image);
}

/* SYM-4: half a gigabyte in a few compressed bytes. The debug information is not read, but the symbols are. */
static void test_sym_04_a_section_that_claims_to_grow_without_measure_is_not_decompressed(void **state)
{
    (void)state;
    struct sbx_symbol_image *image;
    run("cp %s bomb && objcopy --compress-debug-sections=zlib-gabi bomb", SAMPLE_LARGE);
    int fd = open(path_of("bomb"), O_RDWR | O_CLOEXEC);
    Elf64_Ehdr header;
    Elf64_Shdr section;
    int patched = 0;
    assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
    for (unsigned i = 0; i < header.e_shnum; i++) {
        assert_int_equal(pread(fd, &section, sizeof section, (off_t)(header.e_shoff + i * sizeof section)),
                         sizeof section);
        if ((section.sh_flags & SHF_COMPRESSED) != 0) {
            static const uint64_t claims[] = {UINT64_C(512) << 20, UINT64_C(1) << 63};
            assert_int_equal(pwrite(fd, &claims[patched % 2], 8, (off_t)section.sh_offset + 8), 8);
            patched++;
        }
    }
    close(fd);
    assert_true(patched > 1);
    assert_int_equal(made_image(path_of("bomb"), 0, &image), 0);
    assert_non_null(strstr(why, "more than a hundred times its size"));
    assert_int_equal(sbx_symbol_image_facts(image)->best, SBX_SYMBOLS_SYMTAB);
    sbx_symbol_image_close(image);
}

/* elfutils 0.188 does not read zstd. The names must be the same as those of the original file. */
static void test_sections_that_are_compressed_with_zstd_are_read(void **state)
{
    (void)state;
    struct sbx_symbol_image *whole, *image;
    char command[512];
    snprintf(command, sizeof command, "objcopy --compress-debug-sections=zstd %s %s/packed 2> /dev/null", SAMPLE_LARGE,
             folder);
    if (system(command) != 0) {
        print_message("skipped: objcopy has no zstd\n");
        skip();
    }
    assert_int_equal(made_image(SAMPLE_LARGE, 0, &whole), 0);
    assert_int_equal(made_image(path_of("packed"), 0, &image), 0);
    assert_string_equal(why, "");
    assert_memory_equal(sbx_symbol_image_facts(image)->digest, sbx_symbol_image_facts(whole)->digest,
                        SBX_IMAGE_DIGEST_BYTES);
    sbx_symbol_image_close(image);
    /* Damage where the compressed bytes begin is reported, and the symbols are used. */
    run("offset=$(readelf -SW packed | sed -n 's/.*\\.debug_info *PROGBITS *[0-9a-f]* \\([0-9a-f]*\\) .*/\\1/p') && "
        "printf 'damaged at the begin' | dd of=packed bs=1 seek=$((0x$offset + 24)) conv=notrunc 2> /dev/null");
    assert_int_equal(made_image(path_of("packed"), 0, &image), 0);
    if (strstr(why, "compressed in a way that") == NULL) {
        fail_msg("said: %s", why);
    }
    assert_int_equal(sbx_symbol_image_facts(image)->best, SBX_SYMBOLS_SYMTAB);
    sbx_symbol_image_close(image);
    sbx_symbol_image_close(whole);
}

/* SYM-6: libdw opens the file that .gnu_debugaltlink names. Nobody ever writes to this one, so opening it blocks. */
static void test_sym_06_no_file_is_opened_by_a_name_that_stands_in_one(void **state)
{
    (void)state;
    struct sbx_symbol_image *image;
    static struct sbx_elf_paths paths;
    static struct sbx_symbol_frame frames[2];
    enum sbx_symbol_source source;
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    run("(printf '%%s\\0' %s/pipe; head -c 20 /dev/zero) > link && cp %s linked && "
        "objcopy --add-section .gnu_debugaltlink=link linked",
        folder, SAMPLE_FULL);
    assert_int_equal(made_image(path_of("linked"), 0, &image), 0);
    assert_non_null(strstr(why, "was not found (.gnu_debugaltlink)"));
    assert_string_equal(name_at(image, "sample_hidden"), "sample_hidden"); /* by its symbol */
    sbx_symbol_image_close(image);
    /* The same when the file is read directly. */
    int fd = open(path_of("linked"), O_RDONLY | O_CLOEXEC);
    size_t bytes = sbx_build_id_read(fd, build_id);
    close(fd);
    paths.count = 1;
    strcpy(paths.paths[0], path_of("linked"));
    struct sbx_symbol_file *file = sbx_symbol_file_open(&paths, build_id, bytes);
    assert_int_equal(sbx_symbol_file_find(file, sbx_build_symbol(SAMPLE_FULL, "sample_hidden"), frames, 2, &source), 1);
    assert_int_equal(source, SBX_SYMBOLS_SYMTAB);
    sbx_symbol_file_close(file);
}

/* dwz moves what two files have in common to a third file. Both files refer to it by its build-id. */
static void test_debug_information_shared_by_dwz_is_found_by_its_build_id(void **state)
{
    (void)state;
    if (system("dwz --version > /dev/null 2>&1") != 0) {
        print_message("skipped: no dwz\n");
        skip();
    }
    struct sbx_symbol_image *image;
    run("cp %s one && cp %s two && dwz -m common -r one two && readelf -S one | grep -q gnu_debugaltlink", SAMPLE_LARGE,
        SAMPLE_LARGE);
    assert_int_equal(made_image(path_of("one"), 0, &image), 0);
    assert_string_equal(why, "");
    assert_int_equal(sbx_symbol_image_facts(image)->best, SBX_SYMBOLS_DWARF);
    struct sbx_symbol_image *whole;
    struct sbx_code_frame ours[SBX_INLINES_MAX], theirs[SBX_INLINES_MAX];
    assert_int_equal(made_image(SAMPLE_LARGE, 0, &whole), 0);
    uint64_t begin = sbx_build_symbol(SAMPLE_LARGE, "sbx_arena_create");
    for (uint64_t at = begin; at < begin + 20000; at += 7) {
        size_t count = sbx_symbol_image_find(whole, at, ours, SBX_INLINES_MAX);
        assert_int_equal(sbx_symbol_image_find(image, at, theirs, SBX_INLINES_MAX), count);
        for (size_t i = 0; i < count; i++) {
            assert_string_equal(ours[i].name, theirs[i].name);
            assert_int_equal(ours[i].line, theirs[i].line);
        }
    }
    sbx_symbol_image_close(image);
    sbx_symbol_image_close(whole);
    run("rm common");
    assert_int_equal(made_image(path_of("one"), 0, &image), 0);
    assert_non_null(strstr(why, "was not found (.gnu_debugaltlink)"));
    sbx_symbol_image_close(image);
}

/* SYM-10: the disk is full while the image is written. */
static void test_sym_10_a_full_disk_is_told_and_nothing_is_left_half_done(void **state)
{
    (void)state;
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    int fd = open(SAMPLE_FULL, O_RDONLY | O_CLOEXEC), full = open("/dev/full", O_RDWR | O_CLOEXEC);
    struct sbx_making making = {.descriptors = &fd,
                                .descriptor_count = 1,
                                .alternate = -1,
                                .build_id = build_id,
                                .build_id_bytes = sbx_build_id_read(fd, build_id),
                                .name = "sample",
                                .out = full};
    char words[240];
    assert_int_equal(sbx_symbol_worker_make(&making, 0, words, sizeof words), -ENOSPC);
    assert_string_equal(words, strerror(ENOSPC));
    close(full);
    assert_int_equal(made_image(SAMPLE_FULL, 0, NULL), 0); /* and the next try succeeds */
}

static void test_a_file_that_takes_too_much_memory_is_refused_in_words(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the worker has no limit there */
#endif
    assert_int_not_equal(made_image(SAMPLE_LARGE, 1 << 20, NULL), 0);
    assert_string_not_equal(why, "");
    assert_int_equal(made_image(SAMPLE_LARGE, 0, NULL), 0); /* and the next one is read */
}

/* Whatever elfutils makes of the file, the caller goes on, and the result is a valid image or none. */
static void test_sym_09_damaged_files_leave_the_caller_and_its_images_whole(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 18];
    int from = open(SAMPLE_FULL, O_RDONLY | O_CLOEXEC);
    ssize_t got = read(from, bytes, sizeof bytes);
    close(from);
    assert_true(got > 4096 && (size_t)got < sizeof bytes);
    uint64_t random = 11;
    for (int round = 0; round < 60; round++) {
        static uint8_t damaged[sizeof bytes];
        struct sbx_symbol_image *image = NULL;
        memcpy(damaged, bytes, (size_t)got);
        for (int flips = 0; flips < 1 + round % 30; flips++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            damaged[4096 + (random >> 20) % ((uint64_t)got - 4096)] ^= (uint8_t)(random >> 56 | 1);
        }
        int fd = open(path_of("damaged"), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, damaged, (size_t)got), got);
        close(fd);
        int result = made_image(path_of("damaged"), 0, &image);
        assert_true(result <= 0 && (result == 0 || why[0] != '\0'));
        if (result == 0) {
            sbx_symbol_image_close(image);
        }
    }
}

/* A descriptor that the caller has open and the worker does not need: a connection to a server that trusts the
 * caller. */
static int caller_end, other_end;
static bool has_looked, has_ended;

/* Called while the worker works (on a program that is large enough for that). When the caller closes its end, no
 * process may have it open any more. */
static void look_at_the_connection(void *context, size_t done, size_t total)
{
    (void)context;
    (void)done;
    (void)total;
    if (!has_looked) {
        struct pollfd wait = {.fd = other_end, .events = POLLIN};
        close(caller_end);
        has_looked = true;
        has_ended = poll(&wait, 1, 0) == 1 && (wait.revents & POLLHUP) != 0;
    }
}

static void test_the_worker_has_no_descriptor_that_it_does_not_need(void **state)
{
    (void)state;
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    int ends[2], fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = memfd_create("image", MFD_CLOEXEC);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    caller_end = ends[0];
    other_end = ends[1];
    size_t bytes = sbx_build_id_read(fd, build_id);
    const struct sbx_making making = {.descriptors = &fd,
                                      .descriptor_count = 1,
                                      .alternate = -1,
                                      .build_id = build_id,
                                      .build_id_bytes = bytes,
                                      .name = "sample",
                                      .out = out,
                                      .progress = look_at_the_connection};
    char said[240];
    assert_int_equal(sbx_symbol_worker_make(&making, 0, said, sizeof said), 0);
    assert_true(has_looked);
    assert_true(has_ended);
    close(other_end);
    close(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First, because a worker inherits memory that its caller has freed. */
        cmocka_unit_test(test_the_worker_has_no_descriptor_that_it_does_not_need),
        cmocka_unit_test(test_a_file_that_takes_too_much_memory_is_refused_in_words),
        cmocka_unit_test(test_what_the_worker_made_answers),
        cmocka_unit_test(test_symbols_that_a_stripped_file_carries_compressed_are_found),
        cmocka_unit_test(test_sym_04_a_section_that_claims_to_grow_without_measure_is_not_decompressed),
        cmocka_unit_test(test_sections_that_are_compressed_with_zstd_are_read),
        cmocka_unit_test(test_sym_06_no_file_is_opened_by_a_name_that_stands_in_one),
        cmocka_unit_test(test_debug_information_shared_by_dwz_is_found_by_its_build_id),
        cmocka_unit_test(test_sym_10_a_full_disk_is_told_and_nothing_is_left_half_done),
        cmocka_unit_test(test_sym_09_damaged_files_leave_the_caller_and_its_images_whole),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
