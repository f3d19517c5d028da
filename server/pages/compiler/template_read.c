/* SPDX-License-Identifier: Apache-2.0 */
/* template_read.c - one pass over a template that follows the state of HTML, because the kind of a place depends on
 * where it stands. */
#include "template.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    ELEMENTS_MAX = 64, /* open at the same time */
    DEPTH_MAX = 16,    /* nesting of sections */
};

/* Where in HTML the reader is. */
enum html_state {
    IN_TEXT,
    IN_ELEMENT_NAME, /* after "<" */
    IN_TAG,          /* between attributes */
    IN_ATTRIBUTE_NAME,
    BEFORE_VALUE, /* after "=" */
    IN_VALUE,     /* in an attribute's value, in double quotes */
};

struct open_element {
    char name[SBX_TEMPLATE_NAME_BYTES];
    size_t line;
};

struct open_section {
    struct sbx_template_fragment *fragment;
    char name[SBX_TEMPLATE_NAME_BYTES]; /* as written in the template */
    size_t line, element_count;         /* line where it begins, and number of elements open there */
    enum html_state state;              /* state of HTML where it begins; with the three members below */
    char element[SBX_TEMPLATE_NAME_BYTES], attribute[SBX_TEMPLATE_NAME_BYTES];
    bool is_self_closing;
};

struct reader {
    const char *file, *text, *end, *at;
    char *why;
    size_t line;
    char base[SBX_TEMPLATE_NAME_BYTES];
    struct sbx_template *page;
    enum html_state state;
    char word[SBX_TEMPLATE_NAME_BYTES];      /* name of the element or attribute, as far as it is read */
    char attribute[SBX_TEMPLATE_NAME_BYTES]; /* the attribute whose value is being read */
    bool is_closing, is_self_closing;        /* the tag is </x>, or <x/> */
    bool has_src;                            /* the <script> names a file of this server */
    char element[SBX_TEMPLATE_NAME_BYTES];   /* the element whose tag is being read */
    struct open_element elements[ELEMENTS_MAX];
    size_t element_count;
    struct open_section sections[DEPTH_MAX]; /* the first is the file itself */
    size_t section_count;
};

static bool complain_at(struct reader *reader, size_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool complain_at(struct reader *reader, size_t line, const char *format, ...)
{
    va_list arguments;
    int used = snprintf(reader->why, SBX_TEMPLATE_WHY_BYTES, "%s:%zu: ", reader->file, line);
    va_start(arguments, format);
    if (used >= 0 && used < SBX_TEMPLATE_WHY_BYTES)
        vsnprintf(reader->why + used, SBX_TEMPLATE_WHY_BYTES - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}
#define complain(reader, ...) complain_at((reader), (reader)->line, __VA_ARGS__)

/* ---- fragments ---- */

static struct open_section *innermost(struct reader *reader)
{
    return &reader->sections[reader->section_count - 1];
}

static bool put_markup(struct reader *reader, const char *bytes, size_t count)
{
    struct sbx_template_fragment *fragment = innermost(reader)->fragment;
    struct sbx_template_piece *piece = &fragment->pieces[fragment->piece_count];
    char *grown = realloc(piece->markup, piece->markup_bytes + count);
    if (grown == NULL)
        return complain(reader, "no memory");
    memcpy(grown + piece->markup_bytes, bytes, count);
    piece->markup = grown;
    piece->markup_bytes += count;
    return true;
}

static bool put_place(struct reader *reader, enum sbx_template_kind kind, const char *name)
{
    struct sbx_template_fragment *fragment = innermost(reader)->fragment;
    for (size_t i = 0; i < fragment->piece_count; i++)
        if (strcmp(fragment->pieces[i].name, name) == 0)
            return complain(reader, "there is a place \"%s\" already in %s", name, fragment->name);
    if (fragment->piece_count == SBX_TEMPLATE_PLACES_MAX)
        return complain(reader, "more than %d places in %s", SBX_TEMPLATE_PLACES_MAX, fragment->name);
    struct sbx_template_piece *piece = &fragment->pieces[fragment->piece_count++];
    piece->kind = kind;
    snprintf(piece->name, sizeof(piece->name), "%s", name);
    return true;
}

static bool open_section(struct reader *reader, const char *name)
{
    struct sbx_template *page = reader->page;
    if (reader->section_count == DEPTH_MAX || page->fragment_count == SBX_TEMPLATE_FRAGMENTS_MAX)
        return complain(reader, "too many sections");
    struct sbx_template_fragment *fragment = &page->fragments[page->fragment_count];
    snprintf(fragment->name, sizeof(fragment->name), "%s%s%s", reader->base, *name ? "_" : "", name);
    fragment->line = reader->line;
    for (size_t i = 0; i < page->fragment_count; i++)
        if (strcmp(page->fragments[i].name, fragment->name) == 0)
            return complain(reader, "there is a section \"%s\" already, in line %zu", name, page->fragments[i].line);
    page->fragment_count++;
    struct open_section *section = &reader->sections[reader->section_count++];
    *section = (struct open_section){.fragment = fragment,
                                     .line = reader->line,
                                     .element_count = reader->element_count,
                                     .state = reader->state,
                                     .is_self_closing = reader->is_self_closing};
    memcpy(section->element, reader->element, sizeof(section->element));
    memcpy(section->attribute, reader->attribute, sizeof(section->attribute));
    snprintf(section->name, sizeof(section->name), "%s", name);
    return true;
}

/* A fragment must close all elements that it opens. Then it can be left out, or repeated. */
static bool close_section(struct reader *reader)
{
    struct open_section *section = innermost(reader);
    struct sbx_template_fragment *fragment = section->fragment;
    if (reader->element_count > section->element_count) {
        const struct open_element *element = &reader->elements[reader->element_count - 1];
        return complain_at(reader, element->line, "<%s> is not closed in %s", element->name, fragment->name);
    }
    bool is_same_tag =
        strcmp(reader->element, section->element) == 0 && reader->is_self_closing == section->is_self_closing;
    bool is_same_value = strcmp(reader->attribute, section->attribute) == 0;
    if (reader->state != section->state || (section->state != IN_TEXT && !is_same_tag) ||
        (section->state == IN_VALUE && !is_same_value))
        return complain(reader, "%s ends at another place in a tag than it began", fragment->name);
    fragment->pieces[fragment->piece_count++].kind = SBX_TEMPLATE_END;
    reader->section_count--;
    return true;
}

/* ---- HTML ---- */

static bool is_among(const char *word, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static bool is_name_character(char character)
{
    return isalnum((unsigned char)character) || character == '-' || character == ':' || character == '_';
}

static bool grow_word(struct reader *reader, char character)
{
    size_t used = strlen(reader->word);
    if (used + 1 == sizeof(reader->word))
        return complain(reader, "a name is too long");
    reader->word[used] = character;
    reader->word[used + 1] = '\0';
    return true;
}

static bool end_of_element_name(struct reader *reader)
{
    /* The content security policy forbids these elements, or their content is not escaped like HTML. */
    static const char *const forbidden[] = {"style", "iframe", "object", "embed", "base", NULL};
    if (reader->word[0] == '\0')
        return complain(reader, "\"<\" without an element's name; as text it is &lt;");
    if (is_among(reader->word, forbidden))
        return complain(reader, "<%s> has no place on a page", reader->word);
    memcpy(reader->element, reader->word, sizeof(reader->element));
    reader->state = IN_TAG;
    reader->has_src = false;
    return true;
}

/* A script must be a file of this server: <script defer src="/name.js"></script>, without any value of a page in it. */
static bool is_script(const struct reader *reader)
{
    return strcmp(reader->element, "script") == 0 && !reader->is_closing;
}

static bool is_in_script(struct reader *reader)
{
    return reader->element_count > 0 && strcmp(reader->elements[reader->element_count - 1].name, "script") == 0;
}

static bool end_of_script_value(struct reader *reader)
{
    const char *value = reader->word;
    if (strcmp(reader->attribute, "src") != 0 || value[0] != '/' || value[1] == '/' || value[1] == '\\' ||
        value[1] == '\0')
        return complain(reader, "a script has a path of this server as its src, and no other value");
    reader->has_src = true;
    return true;
}

static bool end_of_attribute_name(struct reader *reader)
{
    static const char *const forbidden[] = {"style", "srcdoc", "srcset", NULL};
    if (is_among(reader->word, forbidden) || strncmp(reader->word, "on", 2) == 0)
        return complain(reader, "the attribute %s has no place on a page", reader->word);
    if (is_script(reader) && strcmp(reader->word, "src") != 0 && strcmp(reader->word, "defer") != 0)
        return complain(reader, "a script has its src, and defer");
    memcpy(reader->attribute, reader->word, sizeof(reader->attribute));
    reader->state = IN_TAG;
    return true;
}

static bool end_of_tag(struct reader *reader)
{
    static const char *const void_elements[] = {"!doctype", "area", "br",     "col",   "hr",  "img", "input",
                                                "link",     "meta", "source", "track", "wbr", NULL};
    reader->state = IN_TEXT;
    if (is_script(reader) && (!reader->has_src || reader->is_self_closing))
        return complain(reader, "<script> has no place on a page but by its src");
    if (reader->is_closing) {
        size_t floor = innermost(reader)->element_count;
        if (reader->element_count == floor)
            return complain(reader, "</%s> closes what was not opened in %s", reader->element,
                            innermost(reader)->fragment->name);
        const struct open_element *element = &reader->elements[--reader->element_count];
        if (strcmp(element->name, reader->element) != 0)
            return complain(reader, "</%s> closes <%s> of line %zu", reader->element, element->name, element->line);
        return true;
    }
    if (reader->is_self_closing || is_among(reader->element, void_elements))
        return true;
    if (reader->element_count == ELEMENTS_MAX)
        return complain(reader, "more than %d elements are open", ELEMENTS_MAX);
    struct open_element *element = &reader->elements[reader->element_count++];
    memcpy(element->name, reader->element, sizeof(element->name));
    element->line = reader->line;
    return true;
}

static bool read_in_tag(struct reader *reader, char character)
{
    if (character == '>')
        return end_of_tag(reader);
    if (character == '/') {
        reader->is_self_closing = true;
    } else if (character == '=') {
        if (reader->attribute[0] == '\0')
            return complain(reader, "\"=\" without an attribute");
        reader->state = BEFORE_VALUE;
    } else if (is_name_character(character)) {
        reader->word[0] = reader->attribute[0] = '\0';
        reader->state = IN_ATTRIBUTE_NAME;
        return grow_word(reader, character);
    } else if (character != ' ') {
        return complain(reader, "'%c' in the tag of <%s>", character, reader->element);
    } else {
        reader->attribute[0] = '\0';
    }
    return true;
}

/* Follow one character of markup. */
static bool follow_html(struct reader *reader, char character)
{
    switch (reader->state) {
    case IN_TEXT:
        if (is_in_script(reader) && character != '<')
            return complain(reader, "something stands within <script>");
        if (character == '<') {
            reader->state = IN_ELEMENT_NAME;
            reader->word[0] = reader->attribute[0] = '\0';
            reader->is_closing = reader->is_self_closing = false;
        } else if (character == '>') {
            return complain(reader, "\">\" without a tag; as text it is &gt;");
        }
        return true;
    case IN_ELEMENT_NAME:
        if (character == '/' && reader->word[0] == '\0') {
            reader->is_closing = true;
            return true;
        }
        if (reader->word[0] == '!' && character == '-')
            return complain(reader, "a comment of a template is {{! such }}");
        if (is_name_character(character) || (character == '!' && reader->word[0] == '\0'))
            return grow_word(reader, character);
        return end_of_element_name(reader) && read_in_tag(reader, character);
    case IN_TAG:
        return read_in_tag(reader, character);
    case IN_ATTRIBUTE_NAME:
        if (is_name_character(character))
            return grow_word(reader, character);
        return end_of_attribute_name(reader) && read_in_tag(reader, character);
    case BEFORE_VALUE:
        if (character != '"')
            return complain(reader, "the value of %s is not in double quotes", reader->attribute);
        reader->state = IN_VALUE;
        reader->word[0] = '\0';
        return true;
    case IN_VALUE:
        if (character == '"') {
            if (is_script(reader) && !end_of_script_value(reader))
                return false;
            reader->state = IN_TAG;
            reader->attribute[0] = '\0';
        } else if (character == '<' || character == '>') {
            return complain(reader, "'%c' in the value of %s; is a quote missing?", character, reader->attribute);
        }
        return is_script(reader) && character != '"' ? grow_word(reader, character) : true;
    }
    return true;
}

/* A name ends where "{{" begins. */
static bool end_name_at_braces(struct reader *reader)
{
    if (reader->state != IN_ELEMENT_NAME && reader->state != IN_ATTRIBUTE_NAME)
        return true;
    if (reader->at < reader->end && is_name_character(*reader->at))
        return complain(reader, "braces stand within the name %s", reader->word);
    return reader->state == IN_ELEMENT_NAME ? end_of_element_name(reader) : end_of_attribute_name(reader);
}

/* ---- what is in braces ---- */

/* A script must be written out in full in the template: no part of it may be filled in or left out. */
static bool is_of_script(struct reader *reader)
{
    return is_in_script(reader) || (reader->state != IN_TEXT && is_script(reader));
}

static bool read_value_place(struct reader *reader, const char *name)
{
    static const char *const addresses[] = {"href", "src",        "action",     "formaction", "poster",   "cite",
                                            "data", "xlink:href", "background", "ping",       "longdesc", NULL};
    if (reader->state == IN_TEXT)
        return put_place(reader, SBX_TEMPLATE_TEXT, name);
    if (reader->state == IN_VALUE)
        return put_place(reader, is_among(reader->attribute, addresses) ? SBX_TEMPLATE_URL : SBX_TEMPLATE_ATTRIBUTE,
                         name);
    return complain(reader, "{{%s}} stands in a tag and not in an attribute's quoted value", name);
}

static bool read_section_begin(struct reader *reader, const char *name)
{
    if (reader->state == BEFORE_VALUE)
        return complain(reader, "the value of %s is not in double quotes", reader->attribute);
    return put_place(reader, SBX_TEMPLATE_PARTS, name) && open_section(reader, name);
}

static bool read_apart_begin(struct reader *reader, const char *name)
{
    if (reader->section_count > 1 || reader->state != IN_TEXT || reader->element_count > 0)
        return complain(reader, "{{:%s}} does not stand outside of everything", name);
    return open_section(reader, name);
}

static bool read_section_end(struct reader *reader, const char *name)
{
    const struct open_section *section = innermost(reader);
    if (reader->section_count == 1)
        return complain(reader, "{{/%s}} ends a section that has not begun", name);
    if (strcmp(section->name, name) != 0)
        return complain(reader, "{{/%s}} where \"%s\" of line %zu is open", name, section->name, section->line);
    return close_section(reader);
}

static bool read_name(struct reader *reader, const char *from, const char *to, char name[SBX_TEMPLATE_NAME_BYTES])
{
    size_t bytes = (size_t)(to - from);
    bool is_good = bytes > 0 && bytes < SBX_TEMPLATE_NAME_BYTES && islower((unsigned char)*from);
    for (const char *at = from; is_good && at < to; at++)
        is_good = islower((unsigned char)*at) || isdigit((unsigned char)*at) || *at == '_';
    if (!is_good)
        return complain(reader, "\"%.*s\" is no name: small letters, digits and _", (int)(bytes < 60 ? bytes : 60),
                        from);
    memcpy(name, from, bytes);
    name[bytes] = '\0';
    return true;
}

/* Read braces. Stands at "{{"; moves behind "}}". */
static bool read_braces(struct reader *reader)
{
    char name[SBX_TEMPLATE_NAME_BYTES];
    const char *from = reader->at + 2;
    const char *to = memmem(from, (size_t)(reader->end - from), "}}", 2);
    if (to == NULL)
        return complain(reader, "{{ without }}");
    char sign = from < to && strchr("!#/>:", *from) != NULL ? *from++ : ' ';
    reader->at = to + 2;
    if (sign == '!') {
        for (; from < to; from++)
            reader->line += *from == '\n';
        return true;
    }
    if (!read_name(reader, from, to, name) || !end_name_at_braces(reader))
        return false;
    if (is_of_script(reader))
        return complain(reader, "%s stands in a script", name);
    if (reader->state == IN_TAG)
        reader->attribute[0] = '\0'; /* a value must follow its attribute's name directly */
    switch (sign) {
    case '#':
        return read_section_begin(reader, name);
    case '/':
        return read_section_end(reader, name);
    case ':':
        return read_apart_begin(reader, name);
    case '>':
        if (reader->state != IN_TEXT)
            return complain(reader, "{{>%s}} stands in a tag", name);
        return put_place(reader, SBX_TEMPLATE_PARTS, name);
    default:
        if (strcmp(name, "nl") == 0)
            return put_markup(reader, "\n", 1);
        if (strcmp(name, "sp") == 0)
            return follow_html(reader, ' ') && put_markup(reader, " ", 1);
        return read_value_place(reader, name);
    }
}

/* ---- the whole ---- */

/* Read the end of a line. Lines and indentation only help people to read the template, so they are left out of the
 * page. But within a tag, the end of a line is the space between two attributes. */
static bool read_line_end(struct reader *reader)
{
    if (reader->at > reader->text && reader->at[-1] == ' ')
        return complain(reader, "a blank at the line's end is not seen; write {{sp}}");
    if (reader->state == IN_VALUE)
        return complain(reader, "the line ends in the value of %s", reader->attribute);
    if (reader->state != IN_TEXT && !(follow_html(reader, ' ') && put_markup(reader, " ", 1)))
        return false;
    for (; reader->at < reader->end && (*reader->at == '\n' || *reader->at == ' '); reader->at++)
        reader->line += *reader->at == '\n';
    return true;
}

static bool read_whole(struct reader *reader)
{
    while (reader->at < reader->end) {
        char character = *reader->at;
        if (character == '\n') {
            if (!read_line_end(reader))
                return false;
        } else if (iscntrl((unsigned char)character)) {
            return complain(reader, "a control character (%02x)", (unsigned char)character);
        } else if (reader->end - reader->at >= 2 && memcmp(reader->at, "{{", 2) == 0) {
            if (!read_braces(reader))
                return false;
        } else if (reader->end - reader->at >= 2 && memcmp(reader->at, "}}", 2) == 0) {
            return complain(reader, "}} without {{");
        } else {
            if (!follow_html(reader, character) || !put_markup(reader, reader->at, 1))
                return false;
            reader->at++;
        }
    }
    if (reader->section_count > 1)
        return complain_at(reader, innermost(reader)->line, "the section \"%s\" does not end", innermost(reader)->name);
    return close_section(reader);
}

/* Refuse two places with the same enumerator in C: FILE_A of B_C, and FILE_A_B of C. */
static bool check_enumerators(struct reader *reader)
{
    const struct sbx_template *page = reader->page;
    for (size_t a = 0; a < page->fragment_count; a++)
        for (size_t b = 0; b < a; b++)
            for (size_t i = 0; i < page->fragments[a].piece_count; i++)
                for (size_t k = 0; k < page->fragments[b].piece_count; k++) {
                    char one[4 * SBX_TEMPLATE_NAME_BYTES], other[4 * SBX_TEMPLATE_NAME_BYTES];
                    const struct sbx_template_fragment *first = &page->fragments[b], *second = &page->fragments[a];
                    snprintf(one, sizeof(one), "%s_%s", first->name, first->pieces[k].name);
                    snprintf(other, sizeof(other), "%s_%s", second->name, second->pieces[i].name);
                    if (*first->pieces[k].name && *second->pieces[i].name && strcmp(one, other) == 0)
                        return complain_at(reader, second->line, "\"%s\" is a place of %s and one of %s", one,
                                           first->name, second->name);
                }
    return true;
}

static bool read_base(struct reader *reader)
{
    const char *from = strrchr(reader->file, '/'), *to;
    from = from ? from + 1 : reader->file;
    to = strstr(from, ".html");
    if (to == NULL || to[5] != '\0')
        return complain(reader, "the file's name does not end in .html");
    return read_name(reader, from, to, reader->base);
}

struct sbx_template *sbx_template_read(const char *file, const char *text, size_t bytes,
                                       char why[SBX_TEMPLATE_WHY_BYTES])
{
    struct reader reader = {
        .file = file, .text = text, .at = text, .end = text + bytes, .why = why, .line = 1, .state = IN_TEXT};
    reader.page = calloc(1, sizeof(*reader.page));
    if (reader.page == NULL) {
        complain(&reader, "no memory");
        return NULL;
    }
    if (read_base(&reader) && open_section(&reader, "") && read_whole(&reader) && check_enumerators(&reader))
        return reader.page;
    sbx_template_destroy(reader.page);
    return NULL;
}

void sbx_template_destroy(struct sbx_template *page)
{
    if (page == NULL)
        return;
    for (size_t i = 0; i < page->fragment_count; i++)
        for (size_t k = 0; k <= SBX_TEMPLATE_PLACES_MAX; k++)
            free(page->fragments[i].pieces[k].markup);
    free(page);
}
