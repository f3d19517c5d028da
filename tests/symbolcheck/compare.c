/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - compare [--classes] FILE [ADDRESSES [SEED]]: compares our answers for random addresses of FILE's code
 * with those of llvm-symbolizer; with --classes for that many addresses of each class (address_classes.h).
 *
 * The whole chain of frames is compared: functions (by their linkage names, without what compilers append to clones),
 * base names of files, and lines. Each address is looked up once in the file and once in the table that is made from
 * it; both must give the same. Prints one line of counts for each class. Exits with 1 when more than one in a thousand
 * of a class differs, or when file and table differ at all. With STALLBOX_SHOW=N the first N differences are
 * printed. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gelf.h>

#include "address_classes.h"
#include "build_id.h"
#include "demangle.h"
#include "elf_symbols.h"
#include "file_ids.h"
#include "macho_elf.h"
#include "macho_image.h"
#include "symbol_file.h"

enum {
    FRAMES_MAX = 64,
    LINE_BYTES = 65536,
    SECTIONS_MAX = 16
};

struct counts {
    size_t addresses, inlined, unnamed, differ, aliases, labels, more, table_differs;
};

static struct sbx_symbol_frame frames[FRAMES_MAX];

static void die(const char *what)
{
    fprintf(stderr, "compare: %s\n", what);
    exit(2);
}

/* The difference between an address in the file and its offset; and the build-id for the lookup. */
static uint64_t base;
static struct sbx_file_id id;

/* The same for Mach-O. False when the file is not Mach-O. */
static bool find_macho_code(int fd, struct text_section *sections, size_t *count_out)
{
    static struct sbx_macho_image image;
    struct sbx_file_id ids[SBX_FILE_IDS_MAX];
    if (sbx_file_ids_read(fd, ids, NULL) == 0) {
        die("no build-id");
    }
    id = ids[0];
    *count_out = 0;
    if (id.byte_count != SBX_MACHO_UUID_BYTES || sbx_macho_image_read(fd, id.bytes, &image) != 0) {
        return false;
    }
    base = image.base;
    for (size_t i = 0; i < image.section_count && *count_out < SECTIONS_MAX; i++) {
        const struct sbx_macho_section *section = &image.sections[i];
        if (section->is_code && strstr(section->name, "stub") == NULL) {
            sections[(*count_out)++] = (struct text_section){section->address, section->bytes};
        }
    }
    return true;
}

/* Executable sections, without the linker's stubs. */
static size_t find_code(const char *path, struct text_section *sections)
{
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t macho_count;
    if (fd < 0) {
        die("the file cannot be opened");
    }
    if (find_macho_code(fd, sections, &macho_count)) {
        close(fd);
        return macho_count;
    }
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

static char debug_path[256];

static struct sbx_symbol_file *open_file(const char *path)
{
    static struct sbx_elf_paths paths;
    if (strlen(path) >= sizeof paths.paths[0]) {
        die("a path that is too long");
    }
    paths.count = 2; /* llvm-symbolizer looks there too */
    char hex[2 * SBX_BUILD_ID_BYTES_MAX + 1];
    sbx_build_id_format(id.bytes, id.byte_count, hex);
    strcpy(paths.paths[0], path);
    snprintf(debug_path, sizeof debug_path, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
    strcpy(paths.paths[1], debug_path);
    return sbx_symbol_file_open(&paths, id.bytes, id.byte_count);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* A linkage name without what compilers append to clones, and without the underscores and versions that libraries
 * add. */
static void normalize(const char *name, char *out, size_t bytes)
{
    bool is_mangled = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
    if (!is_mangled) { /* glibc's name for its own copy of exit is __GI_exit */
        name += strspn(name, "_");
        name += strncmp(name, "GI_", 3) == 0 ? 3 + strspn(name + 3, "_") : 0;
    }
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
    sbx_demangle(a, ours_read, sizeof ours_read); /* the two names of a constructor are equal when demangled */
    sbx_demangle(b, theirs_read, sizeof theirs_read);
    if (strcmp(ours_read, theirs_read) == 0) {
        return true;
    }
    /* Without a linkage name it has only the last part of the name; ours has the scopes before it. */
    size_t our_bytes = strlen(ours->name), their_bytes = strlen(theirs);
    const char *end = ours->name + our_bytes - their_bytes;
    return ours->is_readable && our_bytes > their_bytes + 2 && strcmp(end, theirs) == 0 &&
           strncmp(end - 2, "::", 2) == 0;
}

/* The symbols of the file, and from `debug_tables` on those of its separate debug file. */
static struct sbx_elf_symbols tables[4];
static size_t table_count, debug_tables;

static void read_symbols(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct sbx_macho_elf macho;
    bool is_macho = fd >= 0 && id.byte_count == SBX_MACHO_UUID_BYTES && sbx_macho_elf_read(fd, id.bytes, &macho) == 0;
    Elf *elf = fd < 0     ? NULL
               : is_macho ? elf_memory((char *)macho.bytes, macho.count)
                          : elf_begin(fd, ELF_C_READ, NULL); /* stays open to the end, because the names are in it */
    if (elf != NULL && sbx_elf_symbols_read(elf, SHT_SYMTAB, &tables[table_count++]) == 0) {
        (void)sbx_elf_symbols_read(elf, SHT_DYNSYM, &tables[table_count++]);
    }
}

static bool is_called(const struct sbx_elf_symbol *symbol, const char *name)
{
    size_t bytes = strcspn(name, "@"); /* one name may have several versions with different code */
    return strcspn(symbol->name, "@") == bytes && strncmp(symbol->name, name, bytes) == 0;
}

/* Whether a symbol of the separate debug file names `address` as `name`. llvm-symbolizer does not read symbols
 * there. */
static bool is_in_debug_file(const char *name, uint64_t address)
{
    for (size_t t = debug_tables; t < table_count; t++) {
        for (size_t i = 0; i < tables[t].count; i++) {
            const struct sbx_elf_symbol *symbol = &tables[t].symbols[i];
            if (symbol->begin <= address && address < symbol->end && is_called(symbol, name)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether a symbol called `name` begins at `begin`. */
static bool begins(const char *name, uint64_t begin)
{
    for (size_t t = 0; t < table_count; t++) {
        for (size_t i = 0; i < tables[t].count; i++) {
            if (tables[t].symbols[i].begin == begin && is_called(&tables[t].symbols[i], name)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether symbol tables have both as names of one piece of code, or `name` as the name of the code at `address`. */
static bool are_aliases(const char *name, const char *ours, uint64_t address)
{
    if (strncmp(ours, "__second_sect_of_", 17) == 0) { /* gcc's label for a part of a function is not a name */
        return false;
    }
    for (size_t t = 0; t < table_count; t++) {
        for (size_t i = 0; i < tables[t].count; i++) {
            const struct sbx_elf_symbol *symbol = &tables[t].symbols[i];
            if (is_called(symbol, name) &&
                ((symbol->begin <= address && address < symbol->end) || begins(ours, symbol->begin))) {
                return true;
            }
        }
    }
    return false;
}

/* Whether it is a label that gcc's -flto leaves for each source file ("bzlib.c.2da0bbed"): a symbol without type and
 * size. llvm-symbolizer takes it for the function that contains it. */
static bool is_label_of_lto(const char *name)
{
    const char *dot = strrchr(name, '.');
    if (dot == NULL || strlen(dot + 1) != 8 || strspn(dot + 1, "0123456789abcdef") != 8) {
        return false;
    }
    for (size_t t = 0; t < table_count; t++) {
        for (size_t i = 0; i < tables[t].count; i++) { /* functions only */
            if (is_called(&tables[t].symbols[i], name)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether a function of a symbol table covers `address`. */
static bool is_covered(uint64_t address)
{
    for (size_t t = 0; t < table_count; t++) {
        if (sbx_elf_symbols_find(&tables[t], address) != NULL) {
            return true;
        }
    }
    return false;
}

/* Read one answer: pairs of lines up to an empty line. */
static bool compare(FILE *oracle, uint64_t address, const struct sbx_code_frame *raw, size_t count,
                    struct counts *counts, char *said, size_t said_bytes)
{
    static char function[LINE_BYTES], place[LINE_BYTES];
    size_t theirs = 0, used = 0;
    bool agrees = true, named = false, has_line = false, is_alias = false, is_label = false, begins_with_label = false;
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
        has_line = has_line || number != 0;
        named = named || strcmp(function, "??") != 0;
        begins_with_label = theirs == 0 && count == 0 ? is_label_of_lto(function) : begins_with_label;
        if (theirs < count) {
            const struct sbx_code_frame *frame = &raw[theirs];
            const char *file = frame->file == NULL ? "??" : base_name(frame->file);
            bool same = same_name(frame, function);
            if (!same && theirs + 1 == count && are_aliases(function, frame->name, address)) {
                same = is_alias = true; /* another name of the same code in a symbol table */
            } else if (!same && theirs + 1 == count && is_label_of_lto(function)) {
                same = is_label = true;
            }
            agrees = agrees && same && frame->line == number && (number == 0 || strcmp(file, base_name(place)) == 0);
        }
        theirs++;
    }
    if (count == 0 && !named) {
        return true; /* llvm-symbolizer may give a line, but it is the neighbour's */
    }
    if (count == 0 && theirs == 1 && begins_with_label && !is_covered(address)) {
        counts->labels++; /* llvm-symbolizer also gives the label's name to padding */
        return true;
    }
    if (theirs == 1 && count == 1 && !named && !has_line && is_in_debug_file(raw[0].name, address)) {
        counts->more++;
        return true;
    }
    counts->aliases += agrees && theirs == count && is_alias;
    counts->labels += agrees && theirs == count && is_label;
    return agrees && theirs == count;
}

/* Where code of inlined calls begins. */
static void find_inlined(struct address_source *source, const struct sbx_spans *spans, const struct sbx_places *places)
{
    source->inlined = malloc((spans->count + 1) * sizeof *source->inlined);
    for (size_t i = 0; source->inlined != NULL && i < spans->count; i++) {
        if (sbx_places_get(places, spans->spans[i].place).into != 0) {
            source->inlined[source->inlined_count++] = spans->spans[i].begin + base;
        }
    }
}

/* The table that is made from `path`, as a store keeps it. */
static struct sbx_symbol_file *make_table(const char *path, struct address_source *source)
{
    static const struct sbx_image_facts no_facts;
    struct sbx_image_facts facts = no_facts;
    struct sbx_symbol_image *image = NULL;
    struct sbx_spans spans = {0};
    struct sbx_symbol_file *file = open_file(path);
    int fd = memfd_create("table", MFD_CLOEXEC);
    facts.build_id_bytes = 20;
    if (file == NULL || fd < 0 || sbx_symbol_file_read_all(file, &spans, NULL, NULL) != 0 ||
        sbx_symbol_image_write(fd, &facts, sbx_symbol_file_places(file), spans.spans, spans.count) != 0 ||
        sbx_symbol_image_open(fd, 1 << 20, &image) != 0) { /* a small cache, so that chunks are replaced often */
        die("no table can be made");
    }
    find_inlined(source, &spans, sbx_symbol_file_places(file));
    sbx_spans_finish(&spans);
    sbx_symbol_file_close(file);
    return sbx_symbol_file_of_image(image);
}

/* Whether the table gives the same answer for `address` as the file. */
static bool is_in_table(struct sbx_symbol_file *table, uint64_t address, size_t count, enum sbx_symbol_source source)
{
    static struct sbx_symbol_frame found[FRAMES_MAX];
    enum sbx_symbol_source found_source;
    if (sbx_symbol_file_find(table, address, found, FRAMES_MAX, &found_source) != count || found_source != source) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct sbx_symbol_frame *ours = &frames[i], *theirs = &found[i];
        if (strcmp(ours->function, theirs->function) != 0 || ours->line != theirs->line ||
            ours->inlined != theirs->inlined || (ours->file == NULL) != (theirs->file == NULL) ||
            (ours->file != NULL && strcmp(ours->file, theirs->file) != 0)) {
            return false;
        }
    }
    return true;
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

/* One class: asks all three about its addresses and prints the counts. Returns whether they agree well enough. */
static bool compare_class(const char *path, enum address_class class, const uint64_t *addresses, size_t count,
                          struct sbx_symbol_file *file, struct sbx_symbol_file *table)
{
    static char said[LINE_BYTES];
    static size_t left_to_show = SIZE_MAX;
    if (left_to_show == SIZE_MAX) {
        const char *shown = getenv("STALLBOX_SHOW");
        left_to_show = shown == NULL ? 0 : strtoul(shown, NULL, 10);
    }
    struct counts counts = {.addresses = count};
    char list[] = "/tmp/stallbox-compare.XXXXXX", *command = NULL;
    int fd = mkstemp(list);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    for (size_t i = 0; out != NULL && i < count; i++) {
        fprintf(out, "0x%llx\n", (unsigned long long)addresses[i]);
    }
    if (out == NULL || fclose(out) != 0 ||
        asprintf(&command, "llvm-symbolizer --no-demangle --inlines --output-style=LLVM --obj='%s' < %s", path, list) <
            0) {
        die("no temporary file");
    }
    FILE *oracle = popen(command, "r");
    if (oracle == NULL) {
        die("no llvm-symbolizer");
    }
    for (size_t i = 0; i < count; i++) {
        enum sbx_symbol_source source;
        uint64_t offset = addresses[i] - base;
        size_t found = sbx_symbol_file_find(file, offset, frames, FRAMES_MAX, &source);
        struct sbx_code_frame raw[FRAMES_MAX];
        const struct sbx_places *places = sbx_symbol_file_places(file);
        if (sbx_places_chain(places, sbx_symbol_file_place(file, offset), raw, FRAMES_MAX) != found) {
            die("one address, two answers");
        }
        counts.inlined += found > 1;
        counts.unnamed += found == 0;
        if (!is_in_table(table, offset, found, source)) {
            counts.table_differs++;
            printf("0x%llx: the table differs from the file\n", (unsigned long long)addresses[i]);
        }
        if (!compare(oracle, addresses[i], raw, found, &counts, said, sizeof said)) {
            counts.differ++;
            if (left_to_show > 0) {
                left_to_show--;
                show(addresses[i], found, said);
            }
        }
    }
    int status = pclose(oracle);
    unlink(list);
    free(command);
    printf("%s, %s: %zu addresses, %zu inlined, %zu of no function, %zu by an alias, %zu by a label of LTO's, %zu we "
           "know more, %zu differ "
           "(%.3f %%), "
           "table %zu\n",
           base_name(path), address_class_names[class], counts.addresses, counts.inlined, counts.unnamed,
           counts.aliases, counts.labels, counts.more, counts.differ,
           100.0 * (double)counts.differ / (double)counts.addresses, counts.table_differs);
    if (status != 0) {
        die("llvm-symbolizer failed");
    }
    return counts.differ * 1000 <= counts.addresses && counts.table_differs == 0 &&
           (class == ADDRESS_PADDING || counts.unnamed * 2 <= counts.addresses);
}

int main(int argc, char **argv)
{
    static struct text_section sections[SECTIONS_MAX];
    bool by_class = argc > 1 && strcmp(argv[1], "--classes") == 0;
    argv += by_class;
    argc -= by_class;
    if (argc < 2) {
        die("usage: compare [--classes] FILE [ADDRESSES [SEED]]");
    }
    size_t wanted = argc > 2 ? strtoul(argv[2], NULL, 10) : 20000;
    uint64_t random = argc > 3 ? strtoull(argv[3], NULL, 10) : 7;
    struct address_source source = {
        .sections = sections, .section_count = find_code(argv[1], sections), .tables = tables};
    uint64_t *addresses = malloc((wanted + 1) * sizeof *addresses);
    if (addresses == NULL || source.section_count == 0) {
        die("no code, or no memory");
    }
    struct sbx_symbol_file *file = open_file(argv[1]), *table = make_table(argv[1], &source);
    if (file == NULL || table == NULL) {
        die("the file cannot be read");
    }
    read_symbols(argv[1]);
    debug_tables = table_count;
    read_symbols(debug_path);
    source.table_count = table_count;
    if (by_class) {
        address_source_read_returns(&source, argv[1]);
    }
    bool is_right = true;
    for (int class = 0; class < (by_class ? ADDRESS_CLASSES : 1); class ++) {
        size_t count = address_source_draw(&source, (enum address_class) class, &random, wanted, addresses);
        if (count > 0) {
            is_right = compare_class(argv[1], (enum address_class) class, addresses, count, file, table) && is_right;
        }
    }
    sbx_symbol_file_close(file);
    sbx_symbol_file_close(table);
    free(source.returns);
    free(source.inlined);
    free(addresses);
    return !is_right;
}
