/* SPDX-License-Identifier: Apache-2.0 */
/* class_file.c - constant pool, methods, lines; converts Java's modified UTF-8 to UTF-8. */
#include "class_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jar_file.h"

enum {
    NAME_BYTES_MAX = 4096, /* the provider reads at most so many bytes of a name */
    TEXT_BYTES = 3 * NAME_BYTES_MAX,
    REPLACEMENT = 0xfffd,
    ACCESS_NATIVE = 0x100,
    CONSTANT_UTF8 = 1,
    CONSTANT_CLASS = 7,
    CONSTANT_NAME_AND_TYPE = 12,
    CONSTANT_INVOKE_DYNAMIC = 18,
};
#define ARCHIVE_BYTES_MAX (UINT64_C(4) << 30)

/* ---- text ---- */

struct text {
    uint32_t bytes;
    char at[TEXT_BYTES];
};

struct bytes {
    const uint8_t *at, *end;
};

static int next_byte(struct bytes *bytes)
{
    return bytes->at < bytes->end ? *bytes->at++ : -1;
}

/* Read one unit of UTF-16, which has one to three bytes. */
static uint32_t next_unit(struct bytes *bytes, int first)
{
    uint32_t more = first < 0x80 ? 0 : (first & 0xe0) == 0xc0 ? 1 : (first & 0xf0) == 0xe0 ? 2 : 3;
    uint32_t unit = more == 0 ? (uint32_t)first : (uint32_t)first & (more == 1 ? 0x1f : 0xf);
    if (more == 3) {
        return REPLACEMENT; /* modified UTF-8 has no longer sequences */
    }
    for (; more > 0; more--) {
        if (bytes->at >= bytes->end || (*bytes->at & 0xc0) != 0x80) {
            return REPLACEMENT;
        }
        unit = unit << 6 | (*bytes->at++ & 0x3fu);
    }
    return unit;
}

/* Read the next character, which has one or two units; -1 at the end. */
static int32_t next_character(struct bytes *bytes)
{
    int first = next_byte(bytes);
    if (first < 0) {
        return -1;
    }
    uint32_t unit = next_unit(bytes, first);
    if (unit < 0xd800 || unit > 0xdfff) {
        return (int32_t)unit;
    }
    struct bytes ahead = *bytes;
    int second = unit < 0xdc00 ? next_byte(&ahead) : -1;
    uint32_t low = second < 0 ? 0 : next_unit(&ahead, second);
    if (low < 0xdc00 || low > 0xdfff) {
        return REPLACEMENT; /* half of a surrogate pair */
    }
    *bytes = ahead;
    return (int32_t)(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
}

static void put(struct text *text, uint32_t c)
{
    static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    if (TEXT_BYTES - text->bytes <= more) {
        return;
    }
    text->at[text->bytes++] = (char)(more == 0 ? (c < 0x20 || c == 0x7f ? '?' : c) : heads[more] | c >> (6 * more));
    while (more-- > 0) {
        text->at[text->bytes++] = (char)(0x80 | (c >> (6 * more) & 0x3f));
    }
}

/* The last eight characters, as a number. */
static uint64_t word_of(const char *text)
{
    uint64_t word = 0;
    for (; *text != '\0'; text++) {
        word = word << 8 | (uint8_t)*text;
    }
    return word;
}

/* Whether the part of a class name that differs from run to run begins at `c`. */
static bool is_made_up(uint64_t before, int32_t c, struct bytes rest)
{
    bool is_digit = c >= '0' && c <= '9';
    if (before == word_of("$$Lambda") ||
        (is_digit && (before == word_of("Accessor") || (before & UINT64_C(0xffffffffffff)) == word_of("$Proxy")))) {
        return true;
    }
    return (c == '+' || c == '/') && next_byte(&rest) == '0' && next_byte(&rest) == 'x';
}

static void append(struct text *text, struct bytes name, bool is_class)
{
    uint64_t before = 0;
    if (name.end - name.at > NAME_BYTES_MAX) {
        name.end = name.at + NAME_BYTES_MAX;
    }
    for (int32_t c = next_character(&name); c >= 0; c = next_character(&name)) {
        if (is_class && is_made_up(before, c, name)) {
            break;
        }
        before = before << 8 | (uint64_t)(c < 0x80 ? c : 0);
        put(text, is_class && c == '/' ? '.' : (uint32_t)c);
    }
}

/* ---- class ---- */

struct class
{
    struct bytes rest;
    bool is_damaged;
    uint32_t constant_count;
    const uint8_t **constants; /* where each begins, at its tag; NULL: none */
    struct text *file, *class_name, *method;
    const struct sbx_class_mapping *mapping; /* NULL: there is no mapping */
    const struct sbx_mapped_class *mapped;   /* NULL: the class kept its name */
};

static uint32_t take(struct class *class, unsigned bytes)
{
    uint32_t value = 0;
    if ((size_t)(class->rest.end - class->rest.at) < bytes) {
        class->is_damaged = true;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++) {
        value = value << 8 | *class->rest.at++;
    }
    return value;
}

static struct bytes take_part(struct class *class, uint32_t bytes)
{
    struct bytes part = {class->rest.at, class->rest.at};
    if ((size_t)(class->rest.end - class->rest.at) < bytes) {
        class->is_damaged = true;
        return part;
    }
    part.end += bytes;
    class->rest.at += bytes;
    return part;
}

static void read_constants(struct class *class)
{
    static const uint8_t sizes[] = {[3] = 4,  [4] = 4,  [5] = 8,  [6] = 8,  [7] = 2,  [8] = 2,  [9] = 4,  [10] = 4,
                                    [11] = 4, [12] = 4, [15] = 3, [16] = 2, [17] = 4, [18] = 4, [19] = 2, [20] = 2};
    for (uint32_t i = 1; i < class->constant_count && !class->is_damaged; i++) {
        class->constants[i] = class->rest.at;
        uint32_t tag = take(class, 1);
        if (tag == CONSTANT_UTF8) {
            (void)take_part(class, take(class, 2));
        } else if (tag < sizeof sizes && sizes[tag] != 0) {
            (void)take_part(class, sizes[tag]);
            i += tag == 5 || tag == 6; /* long and double take two indexes */
        } else {
            class->is_damaged = true;
        }
    }
}

/* The text of a constant; empty if it is no text. Constants that were read lie within the file. */
static struct bytes text_at(const struct class *class, uint32_t index)
{
    const uint8_t *at = index < class->constant_count ? class->constants[index] : NULL;
    if (at == NULL || at[0] != CONSTANT_UTF8) {
        return (struct bytes){NULL, NULL};
    }
    return (struct bytes){at + 3, at + 3 + ((uint32_t)at[1] << 8 | at[2])};
}

static bool is_text(const struct class *class, uint32_t index, const char *wanted)
{
    struct bytes text = text_at(class, index);
    size_t length = strlen(wanted);
    return text.at != NULL && (size_t)(text.end - text.at) == length && memcmp(text.at, wanted, length) == 0;
}

/* The line of the first bytecode; 0: none. If several pairs are for it, the first counts. `code` is the attribute. */
static uint32_t line_of(struct class *class, struct bytes code)
{
    struct class inner = *class;
    inner.rest = code;
    (void)take(&inner, 4); /* stack and locals */
    (void)take_part(&inner, take(&inner, 4));
    (void)take_part(&inner, take(&inner, 2) * 8); /* handlers */
    uint32_t attributes = take(&inner, 2);
    for (uint32_t i = 0; i < attributes && !inner.is_damaged; i++) {
        bool is_lines = is_text(class, take(&inner, 2), "LineNumberTable");
        struct bytes attribute = take_part(&inner, take(&inner, 4));
        if (!is_lines) {
            continue;
        }
        struct class lines = *class;
        lines.rest = attribute;
        uint32_t count = take(&lines, 2);
        for (uint32_t k = 0; k < count && !lines.is_damaged; k++) {
            uint32_t at = take(&lines, 2), line = take(&lines, 2);
            if (at == 0 && !lines.is_damaged) {
                return line;
            }
        }
    }
    return 0;
}

struct method {
    struct bytes name;
    uint32_t line;
    bool runs; /* the method has code, or is native */
};

static void read_method(struct class *class, struct method *method_out)
{
    uint32_t access = take(class, 2);
    *method_out = (struct method){.name = text_at(class, take(class, 2)), .runs = (access & ACCESS_NATIVE) != 0};
    (void)take(class, 2);
    uint32_t attributes = take(class, 2);
    for (uint32_t i = 0; i < attributes && !class->is_damaged; i++) {
        bool is_code = is_text(class, take(class, 2), "Code");
        struct bytes attribute = take_part(class, take(class, 4));
        if (is_code && !class->is_damaged) {
            method_out->runs = true;
            method_out->line = line_of(class, attribute);
        }
    }
}

static void pass_fields(struct class *class)
{
    uint32_t fields = take(class, 2);
    for (uint32_t i = 0; i < fields && !class->is_damaged; i++) {
        (void)take_part(class, 6);
        uint32_t attributes = take(class, 2);
        for (uint32_t k = 0; k < attributes && !class->is_damaged; k++) {
            (void)take(class, 2);
            (void)take_part(class, take(class, 4));
        }
    }
}

/* The original names of the class and of a method, as "CLASS.METHOD". */
static struct sbx_name_text print_written(const struct class *class, struct sbx_name_text method, char *to, size_t room)
{
    struct sbx_name_text owner = class->mapped->name;
    bool has_owner = memchr(method.at, '.', method.bytes) != NULL; /* the method came from another class */
    int length = has_owner ? snprintf(to, room, "%.*s", (int)method.bytes, method.at)
                           : snprintf(to, room, "%.*s.%.*s", (int)owner.bytes, owner.at, (int)method.bytes, method.at);
    return (struct sbx_name_text){to, length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1};
}

/* The source file of a class, guessed from the class's name if nothing tells it: "Pay.java" for com.shop.Pay$Inner. */
static struct sbx_name_text print_file(const struct class *class, char *to, size_t room)
{
    struct sbx_name_text name = class->mapped->name;
    const char *dot = memrchr(name.at, '.', name.bytes), *begin = dot == NULL ? name.at : dot + 1;
    size_t bytes = (size_t)(name.at + name.bytes - begin);
    const char *inner = memchr(begin, '$', bytes);
    bool is_kotlin = class->file->bytes > 3 && memcmp(class->file->at + class->file->bytes - 3, ".kt", 3) == 0;
    bytes = inner != NULL && inner > begin ? (size_t)(inner - begin) : bytes;
    int length = snprintf(to, room, "%.*s%s", (int)bytes, begin, is_kotlin ? ".kt" : ".java");
    return (struct sbx_name_text){to, length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1};
}

/* The original line of each line of the method, for the last column of a map of names. */
static struct sbx_name_text print_lines(const struct class *class, const struct sbx_mapped_method *method, char *to,
                                        size_t room)
{
    size_t bytes = 0;
    const struct sbx_mapped_class *mapped = class->mapped;
    for (uint32_t i = mapped->first; i < mapped->first + mapped->count; i++) {
        const struct sbx_mapped_method *part = &class->mapping->methods[i];
        if (part->from == 0 || part->written_from == 0 || part->name.bytes != method->name.bytes ||
            memcmp(part->name.at, method->name.at, part->name.bytes) != 0 ||
            part->short_name.bytes != method->short_name.bytes ||
            memcmp(part->short_name.at, method->short_name.at, part->short_name.bytes) != 0) {
            continue;
        }
        int length = snprintf(to + bytes, room - bytes, "%s%" PRIu32 "-%" PRIu32 ":%" PRIu32 "-%" PRIu32,
                              bytes == 0 ? "" : ",", part->from, part->to, part->written_from, part->written_to);
        if (length < 0 || (size_t)length >= room - bytes) {
            break;
        }
        bytes += (size_t)length;
    }
    return (struct sbx_name_text){to, bytes};
}

/* Add an obfuscated method with its original name. The id is computed from the obfuscated name, because the Java
 * machine knows only that one. */
static void tell_mapped(struct sbx_name_list *list, const struct class *class, const struct method *method, uint64_t id,
                        struct sbx_name_text short_name)
{
    char name[2 * SBX_NAME_FUNCTION_BYTES], file[SBX_NAME_FILE_BYTES], lines[2048];
    const struct sbx_mapped_method *mapped =
        sbx_class_mapping_method(class->mapping, class->mapped, short_name, method->line);
    struct sbx_name_text written = print_written(class, mapped != NULL ? mapped->name : short_name, name, sizeof name),
                         of = class->mapped->file.bytes != 0 ? class->mapped->file
                                                             : print_file(class, file, sizeof file),
                         tail = {lines, 0};
    uint32_t line = method->line;
    if (mapped != NULL && mapped->from != 0) {
        bool is_in = mapped->from <= line && line <= mapped->to && mapped->written_to > mapped->written_from;
        line = mapped->written_from + (is_in ? line - mapped->from : 0);
        tail = print_lines(class, mapped, lines, sizeof lines);
    }
    sbx_name_list_add(list, id, line, of, written, tail);
}

static void tell(struct sbx_name_list *list, const struct class *class, const struct method *method)
{
    struct text *name = class->method;
    memcpy(name->at, class->class_name->at, class->class_name->bytes);
    name->bytes = class->class_name->bytes;
    put(name, '.');
    uint32_t begin = name->bytes;
    append(name, method->name, false);
    const struct sbx_name_text file = {class->file->at, class->file->bytes}, whole = {name->at, name->bytes};
    uint64_t id = sbx_name_id(file, method->line, whole);
    if (class->mapped != NULL) {
        tell_mapped(list, class, method, id, (struct sbx_name_text){name->at + begin, name->bytes - begin});
    } else {
        sbx_name_list_add(list, id, method->line, file, whole, (struct sbx_name_text){NULL, 0});
    }
}

/* Add the lambdas of a class. The Java machine makes a class for a lambda, with the one method of the lambda's
 * interface: "App$$Lambda.run". */
static void tell_lambdas(struct sbx_name_list *list, struct class *class)
{
    static const char lambda[] = "$$Lambda.";
    const struct sbx_name_text nothing = {"", 0};
    for (uint32_t i = 1; i < class->constant_count; i++) {
        const uint8_t *at = class->constants[i];
        uint32_t index = at != NULL && at[0] == CONSTANT_INVOKE_DYNAMIC ? (uint32_t)at[3] << 8 | at[4] : 0;
        const uint8_t *pair = index < class->constant_count ? class->constants[index] : NULL;
        if (index == 0 || pair == NULL || pair[0] != CONSTANT_NAME_AND_TYPE) {
            continue;
        }
        struct text *name = class->method;
        memcpy(name->at, class->class_name->at, class->class_name->bytes);
        name->bytes = class->class_name->bytes;
        for (const char *c = lambda; *c != '\0'; c++) {
            put(name, (uint8_t)*c);
        }
        append(name, text_at(class, (uint32_t)pair[1] << 8 | pair[2]), false);
        const struct sbx_name_text whole = {name->at, name->bytes};
        uint64_t id = sbx_name_id(nothing, 0, whole);
        char written[2 * SBX_NAME_FUNCTION_BYTES];
        if (class->mapped != NULL) {
            int length =
                snprintf(written, sizeof written, "%.*s%.*s", (int)class->mapped->name.bytes, class->mapped->name.at,
                         (int)(name->bytes - class->class_name->bytes), name->at + class->class_name->bytes);
            size_t bytes = length < 0 ? 0 : (size_t)length < sizeof written ? (size_t)length : sizeof written - 1;
            sbx_name_list_add(list, id, 0, nothing, (struct sbx_name_text){written, bytes}, nothing);
        } else {
            sbx_name_list_add(list, id, 0, nothing, whole, nothing);
        }
    }
}

/* Read what follows the constants: the name of the class, its methods, and last its file. Methods are added when the
 * file is known. */
static int read_body(struct sbx_name_list *list, struct class *class)
{
    (void)take(class, 2);
    uint32_t own = take(class, 2);
    const uint8_t *at = own < class->constant_count ? class->constants[own] : NULL;
    (void)take(class, 2);
    (void)take_part(class, take(class, 2) * 2); /* interfaces */
    if (class->is_damaged || at == NULL || at[0] != CONSTANT_CLASS) {
        return -EBADMSG;
    }
    append(class->class_name, text_at(class, (uint32_t)at[1] << 8 | at[2]), true);
    if (class->mapping != NULL) {
        class->mapped = sbx_class_mapping_find(class->mapping,
                                               (struct sbx_name_text){class->class_name->at, class->class_name->bytes});
    }
    pass_fields(class);
    uint32_t count = take(class, 2), known = 0;
    struct method *methods = calloc((size_t)count + 1, sizeof *methods);
    if (methods == NULL) {
        return -ENOMEM;
    }
    for (; known < count && !class->is_damaged; known++) {
        read_method(class, &methods[known]);
    }
    uint32_t attributes = take(class, 2);
    for (uint32_t i = 0; i < attributes && !class->is_damaged; i++) {
        bool is_file = is_text(class, take(class, 2), "SourceFile");
        struct bytes attribute = take_part(class, take(class, 4));
        if (is_file && attribute.end - attribute.at == 2) {
            append(class->file, text_at(class, (uint32_t)attribute.at[0] << 8 | attribute.at[1]), false);
            break;
        }
    }
    for (uint32_t i = 0; i < known && !class->is_damaged; i++) {
        if (methods[i].runs && methods[i].name.at != NULL) {
            tell(list, class, &methods[i]);
        }
    }
    free(methods);
    if (!class->is_damaged) {
        tell_lambdas(list, class);
    }
    return class->is_damaged ? -EBADMSG : 0;
}

int sbx_class_file_read(struct sbx_name_list *list, struct sbx_name_text bytes, const struct sbx_class_mapping *mapping)
{
    const uint8_t *begin = (const uint8_t *)bytes.at;
    struct class class = {.rest = {begin, begin + bytes.bytes}, .mapping = mapping};
    if (take(&class, 4) != 0xcafebabe || class.is_damaged) {
        return -EBADMSG;
    }
    (void)take(&class, 4); /* versions */
    class.constant_count = take(&class, 2);
    struct text *texts = calloc(3, sizeof *texts);
    class.constants = calloc((size_t) class.constant_count + 1, sizeof *class.constants);
    int result = -ENOMEM;
    if (texts != NULL && class.constants != NULL) {
        class.file = &texts[0];
        class.class_name = &texts[1];
        class.method = &texts[2];
        read_constants(&class);
        result = class.is_damaged ? -EBADMSG : read_body(list, &class);
    }
    free(class.constants);
    free(texts);
    return result;
}

/* ---- archives ---- */

struct archive {
    struct sbx_name_list *list;
    struct sbx_jar_reading *outer;
    const struct sbx_class_mapping *mapping;
    unsigned depth;
};

static bool ends_in(struct sbx_name_text name, const char *ending)
{
    size_t length = strlen(ending);
    return name.bytes > length && memcmp(name.at + name.bytes - length, ending, length) == 0;
}

static bool is_archive(struct sbx_name_text name)
{
    return ends_in(name, ".jar") || ends_in(name, ".war");
}

static bool is_wanted(struct sbx_name_text name)
{
    return ends_in(name, ".class") || is_archive(name);
}

static int take_entry(void *context, struct sbx_name_text name, struct sbx_name_text bytes)
{
    enum {
        DEPTH_MAX = 3 /* an ear contains wars, which contain jars */
    };
    struct archive *archive = context;
    if (!is_archive(name)) {
        int result = sbx_class_file_read(archive->list, bytes, archive->mapping);
        return result == -ENOMEM ? result : 0;
    }
    if (archive->depth >= DEPTH_MAX) {
        return 0;
    }
    archive->depth++;
    int result = sbx_jar_read(archive->outer, bytes);
    archive->depth--;
    return result == -EBADMSG ? 0 : result;
}

int sbx_class_archive_read(struct sbx_name_list *list, struct sbx_name_text bytes,
                           const struct sbx_class_mapping *mapping)
{
    struct archive archive = {.list = list, .mapping = mapping};
    struct sbx_jar_reading reading = {
        .wants = is_wanted, .take = take_entry, .context = &archive, .bytes_left = ARCHIVE_BYTES_MAX};
    archive.outer = &reading;
    return sbx_jar_read(&reading, bytes);
}
