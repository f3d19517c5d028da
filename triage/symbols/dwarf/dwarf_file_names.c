/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_file_names.c - the files to which the lines of a unit belong (DWARF 2 to 5).
 *
 * libdw would run the whole line program to find them. */
#include "dwarf_file_names.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "dwarf_line_header.h"

enum {
    FORMATS_MAX = 16 /* fields of an entry; the standard has four in use */
};

static int grow(void **list, size_t *room, size_t count, size_t entry_bytes)
{
    if (count < *room) {
        return 0;
    }
    size_t wanted = *room == 0 ? 64 : *room * 2;
    void *grown = realloc(*list, wanted * entry_bytes);
    if (grown == NULL) {
        return -ENOMEM;
    }
    *list = grown;
    *room = wanted;
    return 0;
}

static int add_folder(struct sbx_dwarf_file_names *names, const char *folder)
{
    int result = grow((void **)&names->folders, &names->folder_room, names->folder_count, sizeof *names->folders);
    if (result == 0) {
        names->folders[names->folder_count++] = folder;
    }
    return result;
}

static int add_file(struct sbx_dwarf_file_names *names, const char *name, uint64_t folder)
{
    int result = grow((void **)&names->files, &names->file_room, names->file_count, sizeof *names->files);
    if (result == 0) {
        names->files[names->file_count++] =
            (struct sbx_dwarf_file){name, folder > UINT32_MAX ? UINT32_MAX : (uint32_t)folder, UINT32_MAX};
    }
    return result;
}

/* ---- DWARF 2 to 4 ---- */

static int read_old(struct sbx_dwarf_bytes *bytes, const char *folder, struct sbx_dwarf_budget *budget,
                    struct sbx_dwarf_file_names *names)
{
    int result = add_folder(names, folder);
    result = result == 0 ? add_file(names, NULL, 0) : result; /* numbers begin at 1 */
    while (result == 0) {
        const char *text = sbx_dwarf_text_here(bytes);
        if (text == NULL || text[0] == '\0') {
            break;
        }
        result = sbx_dwarf_spend(budget, 1) ? add_folder(names, text) : -E2BIG;
    }
    while (result == 0) {
        const char *text = sbx_dwarf_text_here(bytes);
        if (text == NULL || text[0] == '\0') {
            break;
        }
        uint64_t of = sbx_dwarf_leb(bytes);
        (void)sbx_dwarf_leb(bytes); /* time */
        (void)sbx_dwarf_leb(bytes); /* length */
        result = sbx_dwarf_spend(budget, 1) ? add_file(names, text, of) : -E2BIG;
    }
    return result;
}

/* ---- DWARF 5 ---- */

/* The encoding of a table's entries. */
struct format {
    struct {
        uint64_t content, form;
    } fields[FORMATS_MAX];
    size_t count;
};

static bool read_format(struct sbx_dwarf_bytes *bytes, struct format *format)
{
    format->count = (size_t)sbx_dwarf_fixed(bytes, 1);
    for (size_t i = 0; i < format->count && format->count <= FORMATS_MAX; i++) {
        format->fields[i].content = sbx_dwarf_leb(bytes);
        format->fields[i].form = sbx_dwarf_leb(bytes);
    }
    return format->count <= FORMATS_MAX && !bytes->ended;
}

/* The sections that a table refers to. */
struct source {
    const struct sbx_dwarf_sections *sections;
    uint64_t str_offsets_base;
    unsigned offset_bytes;
};

static const char *indexed_text(const struct source *source, uint64_t index)
{
    return sbx_dwarf_indexed_text(source->sections, source->str_offsets_base, index, source->offset_bytes);
}

/* Read a field; false if its form is not known. */
static bool read_field(const struct source *source, struct sbx_dwarf_bytes *bytes, uint64_t form, const char **text_out,
                       uint64_t *number_out)
{
    *text_out = NULL;
    *number_out = 0;
    switch (form) {
    case DW_FORM_string:
        *text_out = sbx_dwarf_text_here(bytes);
        break;
    case DW_FORM_line_strp:
        *text_out = sbx_dwarf_section_text(&source->sections->line_str, sbx_dwarf_fixed(bytes, source->offset_bytes));
        break;
    case DW_FORM_strp:
        *text_out = sbx_dwarf_section_text(&source->sections->str, sbx_dwarf_fixed(bytes, source->offset_bytes));
        break;
    case DW_FORM_strx:
        *text_out = indexed_text(source, sbx_dwarf_leb(bytes));
        break;
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
        *text_out = indexed_text(source, sbx_dwarf_fixed(bytes, form - DW_FORM_strx1 + 1));
        break;
    case DW_FORM_udata:
        *number_out = sbx_dwarf_leb(bytes);
        break;
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
        *number_out = sbx_dwarf_fixed(bytes, form == DW_FORM_data1   ? 1
                                             : form == DW_FORM_data2 ? 2
                                             : form == DW_FORM_data4 ? 4
                                                                     : 8);
        break;
    case DW_FORM_data16:
        sbx_dwarf_skip(bytes, 16);
        break;
    case DW_FORM_block:
        sbx_dwarf_skip(bytes, sbx_dwarf_leb(bytes));
        break;
    case DW_FORM_block1:
        sbx_dwarf_skip(bytes, sbx_dwarf_fixed(bytes, 1));
        break;
    default:
        return false;
    }
    return !bytes->ended;
}

/* Read a table of folders or of files. Returns 0, -ENOMEM, -E2BIG, or -EBADMSG if it is damaged. */
static int read_table(const struct source *source, struct sbx_dwarf_bytes *bytes, bool is_of_files,
                      struct sbx_dwarf_budget *budget, struct sbx_dwarf_file_names *names)
{
    struct format format;
    if (!read_format(bytes, &format)) {
        return -EBADMSG;
    }
    uint64_t count = sbx_dwarf_leb(bytes);
    int result = 0;
    for (uint64_t i = 0; i < count && result == 0; i++) {
        const char *path = NULL;
        uint64_t folder = 0;
        if (format.count == 0 || bytes->ended) {
            return -EBADMSG; /* a table of entries without bytes would not end */
        }
        for (size_t field = 0; field < format.count; field++) {
            const char *text;
            uint64_t number;
            if (!read_field(source, bytes, format.fields[field].form, &text, &number)) {
                return -EBADMSG;
            }
            path = format.fields[field].content == DW_LNCT_path ? text : path;
            folder = format.fields[field].content == DW_LNCT_directory_index ? number : folder;
        }
        result = !sbx_dwarf_spend(budget, 1) ? -E2BIG
                 : is_of_files               ? add_file(names, path, folder)
                                             : add_folder(names, path);
    }
    return result;
}

int sbx_dwarf_file_names_read(const struct sbx_dwarf_sections *sections, uint64_t offset, const char *folder,
                              uint64_t str_offsets_base, struct sbx_dwarf_budget *budget,
                              struct sbx_dwarf_file_names *names_out)
{
    struct sbx_dwarf_line_header header;
    *names_out = (struct sbx_dwarf_file_names){0};
    if (!sbx_dwarf_line_header_read(&sections->line, offset, &header)) {
        return 0;
    }
    int result;
    if (header.version >= 5) {
        const struct source source = {sections, str_offsets_base, header.offset_bytes};
        result = read_table(&source, &header.tables, false, budget, names_out);
        result = result == 0 ? read_table(&source, &header.tables, true, budget, names_out) : result;
    } else {
        result = read_old(&header.tables, folder, budget, names_out);
    }
    if (result != 0 && result != -EBADMSG) {
        sbx_dwarf_file_names_finish(names_out);
        return result;
    }
    return 0;
}

void sbx_dwarf_file_names_finish(struct sbx_dwarf_file_names *names)
{
    free(names->files);
    free(names->folders);
    *names = (struct sbx_dwarf_file_names){0};
}

uint32_t sbx_dwarf_file_names_text(struct sbx_dwarf_file_names *names, uint64_t number, struct sbx_places *places)
{
    struct sbx_dwarf_file *file = number < names->file_count ? &names->files[number] : NULL;
    if (file == NULL || file->name == NULL) {
        return 0;
    }
    if (file->text == UINT32_MAX) {
        const char *folder = file->folder < names->folder_count ? names->folders[file->folder] : NULL;
        if (file->name[0] == '/' || folder == NULL || folder[0] == '\0') {
            file->text = sbx_places_add_text(places, file->name);
        } else {
            char path[SBX_SYMBOL_NAME_BYTES_MAX];
            snprintf(path, sizeof path, "%s/%s", folder, file->name);
            file->text = sbx_places_add_text(places, path);
        }
    }
    return file->text;
}
