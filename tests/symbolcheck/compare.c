/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - compare FILE [ADDRESSES [SEED]]: our answers to random addresses of FILE's code against llvm-symbolizer's.
 *
 * The whole chain of frames is compared: functions (by their linkage names, without what compilers append to clones),
 * base names of files, lines. Each address is asked once of the file and once of the table that is
 * parsed from it, which must be the same. Prints one line of counts; exits with 1 when more than one in a thousand
 * differs, or anything does between file and table. With STALLBOX_SHOW=N the first N differences are printed. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gelf.h>

#include "build_id.h"
#include "demangle.h"
#include "symbol_file.h"

enum {
    FRAMES_MAX = 64,
    LINE_BYTES = 65536,
    SECTIONS_MAX = 16
};

struct text_section {
    uint64_t begin, bytes;
};

struct counts {
    size_t addresses, inlined, unnamed, differ, padding, table_differs;
};

static struct sbx_symbol_frame frames[FRAMES_MAX];

static void die(const char *what)
{
    fprintf(stderr, "compare: %s\n", what);
    exit(2);
}

/* Executable sections other than stubs of the linker's. */
static size_t find_code(const char *path, struct text_section *sections)
{
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    size_t names, count = 0;
    if (elf == NULL || elf_getshdrstrndx(elf, &names) != 0) {
        die("no ELF file");
    }
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) != NULL && (header.sh_flags & SHF_EXECINSTR) != 0 && count < SECTIONS_MAX &&
            strncmp(elf_strptr(elf, names, header.sh_name), ".plt", 4) != 0) {
            sections[count++] = (struct text_section){header.sh_addr, header.sh_size};
        }
    }
    elf_end(elf);
    close(fd);
    return count;
}

static struct sbx_symbol_file *open_file(const char *path)
{
    static struct sbx_elf_paths paths;
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t bytes = fd < 0 ? 0 : sbx_build_id_read(fd, build_id);
    if (bytes == 0 || strlen(path) >= sizeof paths.paths[0]) {
        die("no build-id");
    }
    close(fd);
    paths.count = 1;
    strcpy(paths.paths[0], path);
    return sbx_symbol_file_open(&paths, build_id, bytes);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* A linkage name without what compilers append to clones, and without the underscores and versions that libraries
 * decorate with. */
static void normalize(const char *name, char *out, size_t bytes)
{
    bool is_mangled = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
    name += is_mangled ? 0 : strspn(name, "_");
    size_t kept = is_mangled || strpbrk(name, "<( ") == NULL ? strcspn(name, ".@") : strlen(name);
    snprintf(out, bytes, "%.*s", (int)kept, name);
}

static bool same_name(const struct sbx_code_frame *ours, const char *theirs)
{
    static char a[SBX_NAME_BYTES_MAX], b[SBX_NAME_BYTES_MAX];
    normalize(ours->name, a, sizeof a);
    normalize(theirs, b, sizeof b);
    if (strcmp(a, b) == 0) {
        return true;
    }
    static char ours_read[SBX_NAME_BYTES_MAX], theirs_read[SBX_NAME_BYTES_MAX];
    sbx_demangle(a, ours_read, sizeof ours_read); /* the two names of a constructor read alike */
    sbx_demangle(b, theirs_read, sizeof theirs_read);
    if (strcmp(ours_read, theirs_read) == 0) {
        return true;
    }
    /* Without a linkage name it has no more than the last name; we have the scopes before. */
    size_t our_bytes = strlen(ours->name), their_bytes = strlen(theirs);
    const char *end = ours->name + our_bytes - their_bytes;
    return ours->is_readable && our_bytes > their_bytes + 2 && strcmp(end, theirs) == 0 &&
           strncmp(end - 2, "::", 2) == 0;
}

/* One answer: pairs of lines up to an empty one. */
static bool compare(FILE *oracle, const struct sbx_code_frame *raw, size_t count, struct counts *counts, char *said,
                    size_t said_bytes)
{
    static char function[LINE_BYTES], place[LINE_BYTES];
    size_t theirs = 0, used = 0;
    bool agrees = true, named = false;
    said[0] = '\0';
    while (fgets(function, sizeof function, oracle) != NULL && function[0] != '\n') {
        if (fgets(place, sizeof place, oracle) == NULL) {
            die("llvm-symbolizer ended early");
        }
        function[strcspn(function, "\n")] = '\0';
        place[strcspn(place, "\n")] = '\0';
        if (used < said_bytes) {
            used += (size_t)snprintf(said + used, said_bytes - used, " | %.110s %.60s", function, base_name(place));
        }
        char *column = strrchr(place, ':');
        *(column == NULL ? place : column) = '\0';
        char *line = strrchr(place, ':');
        unsigned number = line == NULL ? 0 : (unsigned)strtoul(line + 1, NULL, 10);
        *(line == NULL ? place : line) = '\0';
        named = named || strcmp(function, "??") != 0;
        if (theirs < count) {
            const struct sbx_code_frame *frame = &raw[theirs];
            const char *file = frame->file == NULL ? "??" : base_name(frame->file);
            agrees = agrees && same_name(frame, function) && frame->line == number &&
                     (number == 0 || strcmp(file, base_name(place)) == 0);
        }
        theirs++;
    }
    if (count == 0 && !named) {
        counts->padding++; /* the oracle may know a line there: it is the neighbour's */
        return true;
    }
    return agrees && theirs == count;
}

/* Whether the table says of `address` what the file says. */
static bool is_in_table(const struct sbx_spans *table, const struct sbx_places *table_places, uint64_t address,
                        size_t count)
{
    struct sbx_code_frame found[FRAMES_MAX];
    static char name[SBX_NAME_BYTES_MAX];
    const struct sbx_span *span = sbx_spans_find(table, address);
    size_t in_table = sbx_places_chain(table_places, span == NULL ? 0 : span->place, found, FRAMES_MAX);
    bool same = in_table == count;
    for (size_t i = 0; i < count && same; i++) {
        if (found[i].is_readable) {
            snprintf(name, sizeof name, "%s", found[i].name);
        } else {
            sbx_demangle(found[i].name, name, sizeof name);
        }
        same = strcmp(name, frames[i].function) == 0 && found[i].line == frames[i].line &&
               (found[i].file == NULL) == (frames[i].file == NULL) &&
               (found[i].file == NULL || strcmp(found[i].file, frames[i].file) == 0);
    }
    return same;
}

static void show(uint64_t address, size_t count, const char *said)
{
    printf("0x%llx\n  we:  ", (unsigned long long)address);
    for (size_t i = 0; i < count; i++) {
        printf(" | %.110s %s:%u", frames[i].function, frames[i].file == NULL ? "??" : base_name(frames[i].file),
               frames[i].line);
    }
    printf("\n  they:%s\n", said);
}

int main(int argc, char **argv)
{
    static struct text_section sections[SECTIONS_MAX];
    static char said[LINE_BYTES];
    struct counts counts = {0};
    if (argc < 2) {
        die("usage: compare FILE [ADDRESSES [SEED]]");
    }
    counts.addresses = argc > 2 ? strtoul(argv[2], NULL, 10) : 20000;
    uint64_t random = argc > 3 ? strtoull(argv[3], NULL, 10) : 7;
    const char *shown = getenv("STALLBOX_SHOW");
    size_t left_to_show = shown == NULL ? 0 : strtoul(shown, NULL, 10);
    size_t section_count = find_code(argv[1], sections);
    uint64_t code_bytes = 0;
    for (size_t i = 0; i < section_count; i++) {
        code_bytes += sections[i].bytes;
    }
    char list[] = "/tmp/stallbox-compare.XXXXXX", *command = NULL;
    int fd = mkstemp(list);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    uint64_t *addresses = malloc((counts.addresses + 1) * sizeof *addresses);
    if (out == NULL || addresses == NULL || code_bytes == 0) {
        die("no code, no memory or no temporary file");
    }
    for (size_t i = 0; i < counts.addresses; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t at = (random >> 16) % code_bytes;
        size_t s = 0;
        while (at >= sections[s].bytes) {
            at -= sections[s++].bytes;
        }
        addresses[i] = sections[s].begin + at;
        fprintf(out, "0x%llx\n", (unsigned long long)addresses[i]);
    }
    if (fclose(out) != 0 ||
        asprintf(&command, "llvm-symbolizer --no-demangle --inlines --output-style=LLVM --obj='%s' < %s", argv[1],
                 list) < 0) {
        die(strerror(errno));
    }
    struct sbx_symbol_file *file = open_file(argv[1]), *parsed = open_file(argv[1]);
    struct sbx_spans table;
    if (file == NULL || parsed == NULL || sbx_symbol_file_read_all(parsed, &table, NULL, NULL) != 0) {
        die("the file cannot be read");
    }
    FILE *oracle = popen(command, "r");
    if (oracle == NULL) {
        die("no llvm-symbolizer");
    }
    for (size_t i = 0; i < counts.addresses; i++) {
        enum sbx_symbol_source source;
        size_t count = sbx_symbol_file_find(file, addresses[i], frames, FRAMES_MAX, &source);
        struct sbx_code_frame raw[FRAMES_MAX];
        const struct sbx_places *places = sbx_symbol_file_places(file);
        if (sbx_places_chain(places, sbx_symbol_file_place(file, addresses[i]), raw, FRAMES_MAX) != count) {
            die("one address, two answers");
        }
        counts.inlined += count > 1;
        counts.unnamed += count == 0;
        if (!is_in_table(&table, sbx_symbol_file_places(parsed), addresses[i], count)) {
            counts.table_differs++;
            printf("0x%llx: the table differs from the file\n", (unsigned long long)addresses[i]);
        }
        if (!compare(oracle, raw, count, &counts, said, sizeof said)) {
            counts.differ++;
            if (left_to_show > 0) {
                left_to_show--;
                show(addresses[i], count, said);
            }
        }
    }
    int status = pclose(oracle);
    unlink(list);
    printf("%s: %zu addresses, %zu inlined, %zu of no function, %zu differ (%.3f %%), table %zu\n", base_name(argv[1]),
           counts.addresses, counts.inlined, counts.unnamed, counts.differ,
           100.0 * (double)counts.differ / (double)counts.addresses, counts.table_differs);
    sbx_spans_finish(&table);
    sbx_symbol_file_close(file);
    sbx_symbol_file_close(parsed);
    free(command);
    free(addresses);
    if (status != 0) {
        die("llvm-symbolizer failed");
    }
    return counts.differ * 1000 > counts.addresses || counts.table_differs > 0 || counts.unnamed * 2 > counts.addresses;
}
