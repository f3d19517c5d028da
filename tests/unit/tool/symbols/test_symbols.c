/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbols.c - looks up code of this program itself, which knows its own names, and stores its symbols. */
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "run_tool.h"

static char build_id[65];
static uint64_t load_bias;
static char own_folder[PATH_MAX], own_path[PATH_MAX];

__attribute__((noinline, used)) static int a_function_to_be_found(int number)
{
    return number * 3 + 1;
}

/* The first object is the program itself. */
static int read_own_image(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes, (void)context;
    load_bias = info->dlpi_addr;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_NOTE) {
            continue;
        }
        const char *at = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        const char *end = at + info->dlpi_phdr[i].p_memsz;
        while (at + sizeof(ElfW(Nhdr)) < end) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
            const char *name = at + sizeof *note;
            const uint8_t *value = (const uint8_t *)name + ((note->n_namesz + 3u) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
                for (size_t byte = 0; byte < note->n_descsz && byte < 32; byte++) {
                    snprintf(build_id + 2 * byte, 3, "%02x", value[byte]);
                }
            }
            at = (const char *)value + ((note->n_descsz + 3u) & ~3u);
        }
    }
    return 1;
}

static int set_up(void **state)
{
    (void)state;
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length <= 0) {
        return -1;
    }
    own[length] = '\0';
    snprintf(own_path, sizeof own_path, "%s", own);
    snprintf(own_folder, sizeof own_folder, "%s", dirname(own));
    dl_iterate_phdr(read_own_image, NULL);
    return build_id[0] == '\0' ? -1 : 0;
}

static char *offset_text(uint64_t offset)
{
    char *text = NULL;
    assert_true(asprintf(&text, "0x%llx", (unsigned long long)offset) > 0);
    return text;
}

static void test_a_function_is_named_with_its_offset_and_where_the_name_is_from(void **state)
{
    (void)state;
    uint64_t offset = (uint64_t)(uintptr_t)a_function_to_be_found - load_bias;
    char *text = offset_text(offset);
    struct tool_result result = RUN_TOOL("symbols", "lookup", "--symbols", own_folder, build_id, text);
    assert_int_equal(result.status, 0);
    char start[64];
    snprintf(start, sizeof start, "{\"offset\":\"%s\",\"frames\":[{", text);
    assert_ptr_equal(strstr(result.out, start), result.out);
    assert_non_null(strstr(result.out, "\"function\":\"a_function_to_be_found\""));
    assert_non_null(strstr(result.out, "\"inlined\":false"));
    assert_true(strstr(result.out, "\"source\":\"dwarf\"}\n") != NULL ||
                strstr(result.out, "\"source\":\"symtab\"}\n") != NULL);
    assert_string_equal(result.err, "");
    free(text);
}

static void test_offsets_are_answered_in_order_one_line_each_whatever_their_prefix(void **state)
{
    (void)state;
    uint64_t offset = (uint64_t)(uintptr_t)a_function_to_be_found - load_bias;
    char *first = offset_text(offset), *second = offset_text(offset + 1);
    struct tool_result result = RUN_TOOL("symbols", "lookup", "--symbols", own_folder, build_id, first, second + 2);
    assert_int_equal(result.status, 0);
    const char *line_end = strchr(result.out, '\n');
    assert_non_null(line_end);
    char start[64];
    snprintf(start, sizeof start, "\n{\"offset\":\"%s\",", second);
    assert_ptr_equal(strstr(result.out, start), line_end);
    assert_string_equal(strrchr(result.out, '\n'), "\n");
    free(second);
    free(first);
}

static void test_an_offset_outside_the_code_has_no_frames(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("symbols", "lookup", "--symbols", own_folder, build_id, "7fffffffff");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "{\"offset\":\"0x7fffffffff\",\"frames\":[],\"source\":\"none\"}\n");
}

static void test_an_unknown_build_id_fails_but_answers_every_offset(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("symbols", "lookup", "00112233445566778899aabbccddeeff00112233", "10", "20");
    assert_int_equal(result.status, 1);
    assert_string_equal(result.out, "{\"offset\":\"0x10\",\"frames\":[],\"source\":\"none\"}\n"
                                    "{\"offset\":\"0x20\",\"frames\":[],\"source\":\"none\"}\n");
    assert_non_null(strstr(result.err, "00112233445566778899aabbccddeeff00112233: no file with this build-id"));
}

static void test_a_module_index_says_where_the_file_is(void **state)
{
    (void)state;
    char *folder = make_folder(), *line = NULL;
    int length = asprintf(&line, "%s %s/test_tool_symbols\n", build_id, own_folder);
    assert_true(length > 0);
    char *index = write_file(folder, "modules", line, (size_t)length, 0600);
    char *text = offset_text((uint64_t)(uintptr_t)a_function_to_be_found - load_bias);
    struct tool_result result = RUN_TOOL("symbols", "lookup", "--modules", index, build_id, text);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.out, "a_function_to_be_found"));
    result = RUN_TOOL("symbols", "lookup", "--modules", "/nonexistent/modules", build_id, text);
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "/nonexistent/modules: No such file or directory"));
    free(text);
    free(index);
    free(line);
    remove_folder(folder);
}

static void test_bad_arguments_are_named_before_anything_is_printed(void **state)
{
    (void)state;
    static const char *const bad[][4] = {
        {"lookup", "xyz", "10", "'xyz' is no build-id"},
        {"lookup", "0011", "", "'' is no offset"},
        {"lookup", "0011", "12 34", "'12 34' is no offset"},
        {"lookup", "0011", "10000000000000000", "'10000000000000000' is no offset"},
        {"lookup", "0011", "-1", "'-1'"},
        {"find", "0011", "10", "'find'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tool_result result = RUN_TOOL("symbols", bad[i][0], bad[i][1], bad[i][2]);
        assert_int_equal(result.status, 2);
        assert_string_equal(result.out, "");
        assert_non_null(strstr(result.err, bad[i][3]));
    }
    struct tool_result result = RUN_TOOL("symbols", "lookup", "0011");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "OFFSET"));
}

/* ---- the store ---- */

/* The path FOLDER/NAME of a file that `command` makes. The two %s in `command` are this program and that file. */
static char *make_file(const char *folder, const char *name, const char *command)
{
    char *path = NULL, *line = NULL;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    assert_true(asprintf(&line, command, own_path, path) > 0);
#pragma GCC diagnostic pop
    assert_int_equal(system(line), 0);
    free(line);
    return path;
}

static void test_what_is_added_answers_as_the_file_did_and_needs_it_no_more(void **state)
{
    (void)state;
    char *folder = make_folder(), *store = NULL, *empty = NULL;
    assert_true(asprintf(&store, "%s/store", folder) > 0 && asprintf(&empty, "%s/empty", folder) > 0);
    char *copy = make_file(folder, "program", "cp %s %s");
    struct tool_result added = RUN_TOOL("symbols", "add", "--store", store, copy);
    assert_string_equal(added.err, "");
    assert_int_equal(added.status, 0);
    assert_ptr_equal(strstr(added.out, "added "), added.out);
    assert_non_null(strstr(added.out, build_id));
    assert_int_equal(unlink(copy), 0);
    uint64_t begin = (uint64_t)(uintptr_t)a_function_to_be_found - load_bias;
    for (uint64_t offset = begin - 400; offset < begin + 400; offset += 100) {
        char *arguments[16] = {NULL};
        for (unsigned i = 0; i < 10; i++) {
            arguments[i] = offset_text(offset + 10 * i);
        }
#define TEN                                                                                                         \
    arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5], arguments[6], arguments[7], \
        arguments[8], arguments[9]
        struct tool_result *from_store = malloc(sizeof *from_store), *from_file = malloc(sizeof *from_file);
        *from_store = RUN_TOOL("symbols", "lookup", "--store", store, build_id, TEN);
        *from_file = RUN_TOOL("symbols", "lookup", "--symbols", own_folder, build_id, TEN);
        assert_int_equal(from_store->status, 0);
        assert_string_equal(from_store->out, from_file->out);
        assert_true(offset != begin || strstr(from_store->out, "a_function_to_be_found") != NULL);
        free(from_store);
        free(from_file);
        for (unsigned i = 0; i < 10; i++) {
            free(arguments[i]);
        }
    }
    free(copy);
    free(empty);
    free(store);
    remove_folder(folder);
}

static void test_the_list_names_what_is_kept_and_remove_takes_it_away(void **state)
{
    (void)state;
    char *folder = make_folder(), *store = NULL;
    assert_true(asprintf(&store, "%s/store", folder) > 0);
    struct tool_result result = RUN_TOOL("symbols", "list", "--store", store);
    assert_int_equal(result.status, 1); /* the file was named but does not exist */
    assert_non_null(strstr(result.err, "No such file"));
    result = RUN_TOOL("symbols", "add", "--store", store, own_path);
    assert_int_equal(result.status, 0);
    result = RUN_TOOL("symbols", "list", "--store", store);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.out, build_id));
    assert_non_null(strstr(result.out, "test_tool_symbols\n"));
    result = RUN_TOOL("symbols", "list", "--json", "--store", store);
    assert_non_null(strstr(result.out, "\"name\":\"test_tool_symbols\",\"source\":\"dwarf\""));
    result = RUN_TOOL("symbols", "list", "--json", "--store", store, "--tenant", "another");
    assert_int_equal(result.status, 1);
    assert_string_equal(result.out, "");
    result = RUN_TOOL("symbols", "remove", "--store", store, build_id);
    assert_int_equal(result.status, 0);
    result = RUN_TOOL("symbols", "remove", "--store", store, build_id);
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "no symbols of this build-id"));
    result = RUN_TOOL("symbols", "list", "--store", store);
    assert_int_equal(result.status, 0);
    assert_null(strstr(result.out, build_id));
    free(store);
    remove_folder(folder);
}

static void test_a_better_file_replaces_and_says_so_and_a_worse_one_is_not_needed(void **state)
{
    (void)state;
    char *folder = make_folder(), *store = NULL;
    assert_true(asprintf(&store, "%s/store", folder) > 0);
    char *symbols_only = make_file(folder, "program", "strip -g %s -o %s");
    struct tool_result result = RUN_TOOL("symbols", "add", "--store", store, symbols_only);
    assert_int_equal(result.status, 0);
    result = RUN_TOOL("symbols", "add", "--store", store, own_path);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.out, "replaced "));
    assert_non_null(strstr(result.out, "(what was there: symtab)"));
    result = RUN_TOOL("symbols", "add", "--store", store, own_path);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.out, "there already "));
    result = RUN_TOOL("symbols", "add", "--store", store, symbols_only);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.out, "(what is there is better: dwarf)"));
    free(symbols_only);
    free(store);
    remove_folder(folder);
}

/* A stripped program names its debug file, which is beside it. When a folder is added, everything in it is added. */
static void test_a_stripped_program_brings_its_debug_file(void **state)
{
    (void)state;
    char *folder = make_folder(), *store = NULL, *other_store = NULL;
    assert_true(asprintf(&store, "%s/store", folder) > 0 && asprintf(&other_store, "%s/store2", folder) > 0);
    char *debug = make_file(folder, "program.debug", "objcopy --only-keep-debug %s %s");
    char *stripped =
        make_file(folder, "program", "cd $(dirname %2$s) && objcopy -S --add-gnu-debuglink=program.debug %1$s %2$s");
    struct tool_result result = RUN_TOOL("symbols", "add", "--store", store, stripped);
    assert_int_equal(result.status, 0);
    result = RUN_TOOL("symbols", "list", "--json", "--store", store);
    assert_non_null(strstr(result.out, "\"name\":\"program\",\"source\":\"dwarf\""));
    free(write_file(folder, "notes.txt", "no program", 10, 0600));
    result = RUN_TOOL("symbols", "add", "--store", other_store, folder);
    assert_string_equal(result.err, "");
    assert_int_equal(result.status, 0);
    result = RUN_TOOL("symbols", "list", "--json", "--store", other_store);
    assert_non_null(strstr(result.out, "\"name\":\"program\",\"source\":\"dwarf\""));
    free(debug);
    free(stripped);
    free(other_store);
    free(store);
    remove_folder(folder);
}

static void test_adding_shows_how_far_it_is_on_a_terminal_and_takes_that_away(void **state)
{
    (void)state;
    char *folder = make_folder(), *store = NULL, *line = NULL, seen[16384];
    size_t length = 0;
    int terminal;
    assert_true(asprintf(&store, "%s/store", folder) > 0 && asprintf(&line, "%s/out", folder) > 0);
    pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
    assert_true(pid >= 0);
    if (pid == 0) { /* a person looks at standard error; the data goes to another file */
        if (freopen(line, "w", stdout) != NULL) {
            execl(STALLBOX_BINARY, "stallbox", "symbols", "add", "--store", store, STALLBOX_BINARY, (char *)NULL);
        }
        _exit(127);
    }
    for (ssize_t got = 1; got > 0 && length<sizeof seen - 1; length += got> 0 ? (size_t)got : 0) {
        got = read(terminal, seen + length, sizeof seen - 1 - length); /* EIO at its end */
    }
    seen[length] = '\0';
    assert_int_equal(wait_for_tool(pid), 0);
    close(terminal);
    assert_ptr_equal(strstr(seen, "\r\033[Kstallbox: "), seen);
    assert_non_null(strstr(seen, " of "));
    static const char cleared[] = "\r\033[K";
    assert_true(length > sizeof cleared);
    assert_string_equal(seen + length - (sizeof cleared - 1), cleared);
    assert_null(strchr(seen, '\n')); /* one line that is written again and again */
    free(line);
    free(store);
    remove_folder(folder);
}

/* ---- programs of Apple systems ---- */

/* FOLDER/NAME: a copy of a sample. */
static char *copy_sample(const char *folder, const char *name, const char *sample)
{
    char *path = NULL, *line = NULL;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    assert_true(asprintf(&line, "mkdir -p $(dirname %s) && cp %s/%s %s", path, MACHO_SAMPLES, sample, path) > 0);
    assert_int_equal(system(line), 0);
    free(line);
    return path;
}

/* The UUID that `add` reported last. */
static const char *uuid_told(const struct tool_result *added, const char *word)
{
    static char uuid[33];
    const char *at = strstr(added->out, word);
    assert_non_null(at);
    snprintf(uuid, sizeof uuid, "%s", at + strlen(word) + 1);
    return uuid;
}

static void test_a_program_of_an_apple_system_brings_the_dsym_beside_it(void **state)
{
    (void)state;
    char *folder = make_folder(), *store = NULL;
    assert_true(asprintf(&store, "%s/store", folder) > 0);
    char *program = copy_sample(folder, "app", "program_arm64");
    struct tool_result result = RUN_TOOL("symbols", "add", "--store", store, program);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.err, "make a dSYM with dsymutil"));
    result = RUN_TOOL("symbols", "list", "--json", "--store", store);
    assert_non_null(strstr(result.out, "\"name\":\"app\",\"source\":\"symtab\",\"kind\":\"macho\""));
    free(copy_sample(folder, "app.dSYM/Contents/Resources/DWARF/app", "dsym_arm64"));
    result = RUN_TOOL("symbols", "add", "--store", store, program);
    assert_string_equal(result.err, "");
    const char *uuid = uuid_told(&result, "replaced");
    struct tool_result listed = RUN_TOOL("symbols", "list", "--json", "--store", store);
    assert_non_null(strstr(listed.out, "\"name\":\"app\",\"source\":\"dwarf\",\"kind\":\"dsym\""));
    /* By offset and by address, in the store and in the file, by UUID with and without dashes. */
    static const char *const wanted =
        "{\"function\":\"inlined\",\"file\":\"/src/sample.c\",\"line\":12,\"inlined\":true},"
        "{\"function\":\"visible\",\"file\":\"/src/sample.c\",\"line\":17,\"inlined\":false}],"
        "\"source\":\"dwarf\"}\n";
    char dashed[40];
    snprintf(dashed, sizeof dashed, "%.8s-%.4s-%.4s-%.4s-%.12s", uuid, uuid + 8, uuid + 12, uuid + 16, uuid + 20);
    result = RUN_TOOL("symbols", "lookup", "--store", store, dashed, "0x398");
    assert_non_null(strstr(result.out, wanted));
    result = RUN_TOOL("symbols", "lookup", "--store", store, uuid, "0x100000398");
    assert_non_null(strstr(result.out, wanted));
    result = RUN_TOOL("symbols", "lookup", "--symbols", folder, uuid, "0x398", "0x100000398");
    assert_non_null(strstr(result.out, wanted));
    assert_non_null(strstr(strchr(result.out, '\n'), wanted));
    free(program);
    free(store);
    remove_folder(folder);
}

static void test_each_image_of_a_universal_file_is_added_and_a_bundle_is_a_folder(void **state)
{
    (void)state;
    char *folder = make_folder(), *store = NULL, *bundle = NULL;
    assert_true(asprintf(&store, "%s/store", folder) > 0 && asprintf(&bundle, "%s/app.dSYM", folder) > 0);
    free(copy_sample(folder, "app.dSYM/Contents/Resources/DWARF/app", "universal_dsym"));
    struct tool_result result = RUN_TOOL("symbols", "add", "--store", store, bundle);
    assert_string_equal(result.err, "");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(strchr(result.out, '\n'), "\nadded ")); /* two lines */
    char *universal = copy_sample(folder, "universal", "universal");
    result = RUN_TOOL("symbols", "add", "--store", store, universal);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.err, "");
    assert_non_null(strstr(strchr(result.out, '\n'), "\nnot needed "));
    free(universal);
    free(bundle);
    free(store);
    remove_folder(folder);
}

static void test_a_damaged_dsym_is_refused_in_one_line_and_the_rest_is_added(void **state)
{
    (void)state;
    char *folder = make_folder(), *store = NULL, *line = NULL, *cut = NULL;
    assert_true(asprintf(&store, "%s/store", folder) > 0 && asprintf(&cut, "%s/cut", folder) > 0);
    assert_true(asprintf(&line, "head -c 9000 %s/dsym_arm64 > %s", MACHO_SAMPLES, cut) > 0);
    assert_int_equal(system(line), 0);
    char *whole = copy_sample(folder, "whole", "dsym_x86_64");
    struct tool_result result = RUN_TOOL("symbols", "add", "--store", store, cut, whole);
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "/cut: a Mach-O file whose debug information is cut short\n"));
    assert_ptr_equal(strchr(result.err, '\n') + 1, result.err + strlen(result.err));
    assert_ptr_equal(strstr(result.out, "added "), result.out);
    free(whole);
    free(line);
    free(cut);
    free(store);
    remove_folder(folder);
}

static void test_what_cannot_be_added_is_named_and_the_rest_is_added(void **state)
{
    (void)state;
    char *folder = make_folder(), *store = NULL;
    assert_true(asprintf(&store, "%s/store", folder) > 0);
    char *text = write_file(folder, "text", "hello", 5, 0600);
    char *cut = make_file(folder, "cut", "head -c 3000 %s > %s");
    struct tool_result result =
        RUN_TOOL("symbols", "add", "--store", store, text, "/nonexistent/program", cut, own_path);
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "text: no 64-bit ELF file with a build-id"));
    assert_non_null(strstr(result.err, "/nonexistent/program: No such file or directory"));
    assert_non_null(strstr(result.out, build_id));
    static const char *const bad[][5] = {
        {"symbols", "add", "--json", "x", "add has no --json"},
        {"symbols", "list", "--modules", "x", "list has no --modules"},
        {"symbols", "list", "extra", NULL, "symbols list"},
        {"symbols", "remove", "xyz", NULL, "'xyz' is no build-id"},
        {"symbols", "remove", "--tenant=../x", "00", "'../x' is no tenant"},
        {"symbols", "add", NULL, NULL, "FILE|DIR"},
        {"symbols", NULL, NULL, NULL, "wants a verb"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        result = RUN_TOOL(bad[i][0], bad[i][1], bad[i][2], bad[i][3]);
        assert_int_equal(result.status, 2);
        assert_string_equal(result.out, "");
        assert_non_null(strstr(result.err, bad[i][4]));
    }
    free(cut);
    free(text);
    free(store);
    remove_folder(folder);
}

/* The split-off parts are in a folder of their own, and the command gets both paths. */
static void test_parts_that_were_split_off_are_given_with_the_program(void **state)
{
    (void)state;
    char *folder = make_folder(), *store = NULL, *command = NULL, *program = NULL, *parts = NULL;
    assert_true(asprintf(&store, "%s/store", folder) > 0 && asprintf(&program, "%s/program", folder) > 0 &&
                asprintf(&parts, "%s/parts", folder) > 0);
    assert_true(asprintf(&command,
                         "cd %s && printf 'int split_function(int a) { return a * 3; }\\nint main(void) { return "
                         "split_function(0); }\\n' > a.c && cc -g -O0 -gsplit-dwarf -Wl,--build-id -o program a.c && "
                         "mkdir parts && mv *.dwo parts",
                         folder) > 0);
    assert_int_equal(system(command), 0);
    struct tool_result result = RUN_TOOL("symbols", "add", "--store", store, parts);
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "the program that it was split off has to be given too"));
    result = RUN_TOOL("symbols", "add", "--store", store, program);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.err, "split off into .dwo files of which some were not found"));
    char id[65];
    assert_int_equal(sscanf(result.out, "added %64[0-9a-f]", id), 1);
    result = RUN_TOOL("symbols", "remove", "--store", store, id);
    assert_int_equal(result.status, 0);
    result = RUN_TOOL("symbols", "add", "--store", store, program, parts);
    assert_string_equal(result.err, "");
    assert_int_equal(result.status, 0);
    free(parts);
    free(program);
    free(command);
    free(store);
    remove_folder(folder);
}

/* SYM-8: archives are not unpacked, whatever they contain. Each is reported as not a program, and the next file is
 * added. */
static void test_sym_08_archives_are_refused_unopened(void **state)
{
    (void)state;
    char *folder = make_folder(), *store = NULL, *within = NULL;
    assert_true(asprintf(&store, "%s/store", folder) > 0 && asprintf(&within, "%s/within", folder) > 0);
    static const char slip[] =
        "PK\3\4\24\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x10\0\0\0../../../slipped";
    char *zip = write_file(folder, "slip.zip", slip, sizeof slip, 0600);
    char *tar = make_file(folder, "program.tar", "tar -cPf %2$s %1$s");
    char *packed = make_file(folder, "program.gz", "gzip -c %s > %s");
    char *archive = make_file(folder, "library.a", "ar -rc %2$s %1$s");
    struct tool_result result = RUN_TOOL("symbols", "add", "--store", store, zip, tar, packed, archive, own_path);
    assert_int_equal(result.status, 1);
    const char *const refused[] = {zip, tar, packed, archive};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const char *named = strstr(result.err, refused[i]);
        assert_non_null(named);
        assert_ptr_equal(strstr(named, ": no 64-bit ELF file"), named + strlen(refused[i]));
    }
    assert_ptr_equal(strstr(result.out, "added "), result.out);
    assert_null(strchr(strchr(result.out, '\n') + 1, '\n')); /* one file, one line */
    /* Links in a folder are not followed either. */
    assert_int_equal(mkdir(within, 0700), 0);
    char *link = NULL;
    assert_true(asprintf(&link, "%s/link", within) > 0);
    assert_int_equal(symlink(own_path, link), 0);
    result = RUN_TOOL("symbols", "add", "--store", store, within);
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "no file with a build-id is in it"));
    free(link);
    free(archive);
    free(packed);
    free(tar);
    free(zip);
    free(within);
    free(store);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_function_is_named_with_its_offset_and_where_the_name_is_from),
        cmocka_unit_test(test_offsets_are_answered_in_order_one_line_each_whatever_their_prefix),
        cmocka_unit_test(test_an_offset_outside_the_code_has_no_frames),
        cmocka_unit_test(test_an_unknown_build_id_fails_but_answers_every_offset),
        cmocka_unit_test(test_a_module_index_says_where_the_file_is),
        cmocka_unit_test(test_bad_arguments_are_named_before_anything_is_printed),
        cmocka_unit_test(test_what_is_added_answers_as_the_file_did_and_needs_it_no_more),
        cmocka_unit_test(test_the_list_names_what_is_kept_and_remove_takes_it_away),
        cmocka_unit_test(test_a_better_file_replaces_and_says_so_and_a_worse_one_is_not_needed),
        cmocka_unit_test(test_adding_shows_how_far_it_is_on_a_terminal_and_takes_that_away),
        cmocka_unit_test(test_a_stripped_program_brings_its_debug_file),
        cmocka_unit_test(test_a_program_of_an_apple_system_brings_the_dsym_beside_it),
        cmocka_unit_test(test_each_image_of_a_universal_file_is_added_and_a_bundle_is_a_folder),
        cmocka_unit_test(test_a_damaged_dsym_is_refused_in_one_line_and_the_rest_is_added),
        cmocka_unit_test(test_what_cannot_be_added_is_named_and_the_rest_is_added),
        cmocka_unit_test(test_parts_that_were_split_off_are_given_with_the_program),
        cmocka_unit_test(test_sym_08_archives_are_refused_unopened),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
