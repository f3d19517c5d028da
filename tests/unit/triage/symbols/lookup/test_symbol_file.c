/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_file.c - one library with all, some and none of its symbols, compared at thousands of addresses with
 * another program's answers. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "build_id.h"
#include "payload_builder.h"
#include "print_json.h"
#include "symbol_file.h"

enum {
    FRAMES_MAX = 64,
    ADDRESSES = 4000,
    ORACLE_LINE = 8192
};

static struct sbx_symbol_frame *frames;
static enum sbx_symbol_source source;

static struct sbx_symbol_file *open_files(const char *first, const char *second)
{
    static struct sbx_elf_paths paths;
    uint8_t build_id[32];
    paths.count = 0;
    strcpy(paths.paths[paths.count++], first);
    if (second != NULL) {
        strcpy(paths.paths[paths.count++], second);
    }
    int fd = open(first, O_RDONLY | O_CLOEXEC);
    size_t bytes = sbx_build_id_read(fd, build_id);
    close(fd);
    struct sbx_symbol_file *file = sbx_symbol_file_open(&paths, build_id, bytes);
    assert_non_null(file);
    return file;
}

static const char *base_name(const char *path)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static size_t find(struct sbx_symbol_file *file, uint64_t address)
{
    return sbx_symbol_file_find(file, address, frames, FRAMES_MAX, &source);
}

static void test_dwarf_gives_functions_inlines_and_lines(void **state)
{
    (void)state;
    struct sbx_symbol_file *file = open_files(SAMPLE_FULL, NULL);
    assert_true(sbx_symbol_file_has_dwarf(file));
    uint64_t begin = sbx_build_symbol(SAMPLE_FULL, "sample_outer"), deepest = 0;
    assert_int_not_equal(begin, 0);
    for (uint64_t at = begin; at < begin + 16 && deepest == 0; at++) {
        deepest = find(file, at) == 3 ? at : 0;
    }
    assert_int_not_equal(deepest, 0);
    assert_int_equal(find(file, deepest), 3);
    assert_int_equal(source, SBX_SYMBOLS_DWARF);
    assert_string_equal(frames[0].function, "sample_inner");
    assert_string_equal(frames[1].function, "sample_middle");
    assert_string_equal(frames[2].function, "sample_outer");
    assert_true(frames[0].inlined && frames[1].inlined && !frames[2].inlined);
    assert_string_equal(base_name(frames[0].file), "symbol_sample.c");
    assert_in_range(frames[0].line, 100, 104);
    assert_int_equal(frames[1].line, 202);
    assert_int_equal(frames[2].line, 302);
    assert_int_equal(find(file, sbx_build_symbol(SAMPLE_FULL, "sample_hidden")), 1);
    assert_string_equal(frames[0].function, "sample_hidden");
    assert_in_range(frames[0].line, 400, 404);
    sbx_symbol_file_close(file);
}

static void test_symbol_table_serves_without_debug_information(void **state)
{
    (void)state;
    struct sbx_symbol_file *file = open_files(SAMPLE_PLAIN, NULL);
    assert_false(sbx_symbol_file_has_dwarf(file));
    assert_int_equal(find(file, sbx_build_symbol(SAMPLE_PLAIN, "sample_hidden") + 1), 1);
    assert_string_equal(frames[0].function, "sample_hidden");
    assert_int_equal(source, SBX_SYMBOLS_SYMTAB);
    assert_null(frames[0].file);
    sbx_symbol_file_close(file);
}

static void test_hidden_function_of_a_stripped_file_gets_no_neighbours_name(void **state)
{
    (void)state;
    struct sbx_symbol_file *file = open_files(SAMPLE_STRIPPED, NULL);
    uint64_t hidden = sbx_build_symbol(SAMPLE_FULL, "sample_hidden");
    assert_int_equal(find(file, sbx_build_symbol(SAMPLE_FULL, "sample_outer") + 1), 1);
    assert_string_equal(frames[0].function, "sample_outer");
    assert_int_equal(source, SBX_SYMBOLS_DYNSYM);
    for (uint64_t at = hidden; at < hidden + 8; at++) {
        assert_int_equal(find(file, at), 0);
        assert_int_equal(source, SBX_SYMBOLS_NONE);
    }
    assert_int_equal(find(file, 0), 0);
    assert_int_equal(find(file, UINT64_MAX), 0);
    sbx_symbol_file_close(file);
}

static void test_separate_debug_file_is_as_good_as_the_whole(void **state)
{
    (void)state;
    struct sbx_symbol_file *file = open_files(SAMPLE_STRIPPED, SAMPLE_DEBUG);
    assert_int_equal(find(file, sbx_build_symbol(SAMPLE_FULL, "sample_hidden")), 1);
    assert_string_equal(frames[0].function, "sample_hidden");
    assert_int_equal(source, SBX_SYMBOLS_DWARF);
    sbx_symbol_file_close(file);
}

static void test_file_with_another_build_id_is_not_opened(void **state)
{
    (void)state;
    static struct sbx_elf_paths paths;
    static const uint8_t other[20] = {1};
    paths.count = 2;
    strcpy(paths.paths[0], SAMPLE_FULL);
    strcpy(paths.paths[1], "/no/such/file");
    assert_null(sbx_symbol_file_open(&paths, other, 20));
}

/* Flip bytes all over a debug file. Whatever elfutils makes of it, lookups end and do no harm. */
static void test_damaged_debug_information_does_no_harm(void **state)
{
    (void)state;
    char path[] = "/tmp/test_symbol_file.XXXXXX";
    static uint8_t bytes[1 << 20];
    int from = open(SAMPLE_FULL, O_RDONLY | O_CLOEXEC), fd = mkstemp(path);
    assert_true(from >= 0 && fd >= 0);
    ssize_t got = read(from, bytes, sizeof bytes);
    assert_true(got > 4096 && (size_t)got < sizeof bytes);
    close(from);
    uint64_t outer = sbx_build_symbol(SAMPLE_FULL, "sample_outer"), random = 1;
    uint8_t build_id[32];
    static struct sbx_elf_paths paths;
    paths.count = 1;
    strcpy(paths.paths[0], path);
    for (int round = 0; round < 400; round++) {
        uint8_t damaged[sizeof bytes / 4];
        assert_true((size_t)got <= sizeof damaged);
        memcpy(damaged, bytes, (size_t)got);
        for (int flips = 0; flips < 1 + round % 24; flips++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            damaged[(random >> 20) % (uint64_t)got] ^= (uint8_t)(random >> 56 | 1);
        }
        assert_int_equal(pwrite(fd, damaged, (size_t)got, 0), got);
        size_t id_bytes = sbx_build_id_read(fd, build_id);
        struct sbx_symbol_file *file = id_bytes == 0 ? NULL : sbx_symbol_file_open(&paths, build_id, id_bytes);
        for (uint64_t at = outer; file != NULL && at < outer + 64; at += 5) {
            assert_true(find(file, at) <= FRAMES_MAX);
        }
        sbx_symbol_file_close(file);
    }
    close(fd);
    unlink(path);
}

/* ---- the second opinion ---- */

/* Remove what compilers append to clones, and what libraries put before public names. */
static void normalize(const char *name, char *out, size_t out_bytes)
{
    name += strspn(name, "_");
    size_t bytes = strcspn(name, ".@");
    snprintf(out, out_bytes, "%.*s", (int)bytes, name);
}

static bool is_agreed(const struct sbx_symbol_frame *frame, const char *function, char *place)
{
    char ours[512], theirs[512], our_place[512];
    normalize(frame->function, ours, sizeof ours);
    normalize(function, theirs, sizeof theirs);
    char *column = strrchr(place, ':');
    *column = '\0';
    char *line = strrchr(place, ':');
    snprintf(our_place, sizeof our_place, "%s:%u", frame->file == NULL ? "??" : base_name(frame->file), frame->line);
    bool both_unknown = frame->line == 0 && strcmp(line, ":0") == 0;
    return strcmp(ours, theirs) == 0 && (both_unknown || strcmp(our_place, base_name(place)) == 0);
}

/* Read one answer of llvm-symbolizer (function and line pairs up to an empty line) and compare. */
static bool compare_answer(FILE *oracle, size_t count)
{
    static char function[ORACLE_LINE], place[ORACLE_LINE];
    bool agreed = true;
    size_t theirs = 0, named = 0;
    while (fgets(function, sizeof function, oracle) != NULL && function[0] != '\n') {
        assert_non_null(fgets(place, sizeof place, oracle));
        function[strcspn(function, "\n")] = '\0';
        place[strcspn(place, "\n")] = '\0';
        named += strcmp(function, "??") != 0 && strstr(place, ":0:") == NULL;
        agreed = agreed && (theirs >= count || is_agreed(&frames[theirs], function, place));
        theirs++;
    }
    /* We give no answer for padding (the other program has a line there) or where a symbol has no size (there it has a
     * name). */
    return count == 0 ? named == 0 : agreed && theirs == count;
}

static void test_thousands_of_addresses_agree_with_llvm_symbolizer(void **state)
{
    (void)state;
    if (system("llvm-symbolizer --version > /dev/null 2>&1") != 0) {
        print_message("skipped: no llvm-symbolizer\n");
        skip();
    }
    char list[] = "/tmp/test_symbol_file.XXXXXX", command[1024];
    uint64_t addresses[ADDRESSES], random = 7;
    int fd = mkstemp(list);
    FILE *out = fdopen(fd, "w");
    assert_non_null(out);
    uint64_t begin = sbx_build_symbol(SAMPLE_LARGE, "sbx_arena_create");
    uint64_t end = sbx_build_symbol(SAMPLE_LARGE, "sbx_print_json");
    assert_true(begin != 0 && end > begin + 20000); /* the link order of the sources */
    for (size_t i = 0; i < ADDRESSES; i++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        addresses[i] = begin + (random >> 20) % (end - begin);
        fprintf(out, "0x%llx\n", (unsigned long long)addresses[i]);
    }
    assert_int_equal(fclose(out), 0);
    snprintf(command, sizeof command, "llvm-symbolizer --inlines --output-style=LLVM --obj=%s < %s", SAMPLE_LARGE,
             list);
    FILE *oracle = popen(command, "r");
    assert_non_null(oracle);
    struct sbx_symbol_file *file = open_files(SAMPLE_LARGE, NULL);
    size_t disagreed = 0, inlined = 0;
    for (size_t i = 0; i < ADDRESSES; i++) {
        size_t count = find(file, addresses[i]);
        inlined += count > 1;
        if (!compare_answer(oracle, count)) {
            print_error("0x%llx differs, we say %s\n", (unsigned long long)addresses[i],
                        count == 0 ? "nothing" : frames[0].function);
            disagreed++;
        }
    }
    assert_int_equal(pclose(oracle), 0);
    unlink(list);
    sbx_symbol_file_close(file);
    print_message("%d addresses, %zu with inlined calls, %zu differ\n", ADDRESSES, inlined, disagreed);
    assert_true(inlined > ADDRESSES / 100);
    assert_int_equal(disagreed, 0);
}

static int make_frames(void **state)
{
    (void)state;
    frames = malloc(FRAMES_MAX * sizeof *frames);
    return frames == NULL;
}

static int free_frames(void **state)
{
    (void)state;
    free(frames);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dwarf_gives_functions_inlines_and_lines),
        cmocka_unit_test(test_symbol_table_serves_without_debug_information),
        cmocka_unit_test(test_hidden_function_of_a_stripped_file_gets_no_neighbours_name),
        cmocka_unit_test(test_separate_debug_file_is_as_good_as_the_whole),
        cmocka_unit_test(test_file_with_another_build_id_is_not_opened),
        cmocka_unit_test(test_damaged_debug_information_does_no_harm),
        cmocka_unit_test(test_thousands_of_addresses_agree_with_llvm_symbolizer),
    };
    return cmocka_run_group_tests(tests, make_frames, free_frames);
}
