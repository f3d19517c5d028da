/* SPDX-License-Identifier: Apache-2.0 */
/* eh_frame_copy.c - finds the size of .eh_frame, and copies it. */
#include "eh_frame_copy.h"

#include <errno.h>
#include <sys/mman.h>

#include "eh_frame.h"
#include "pages.h"
#include "stub_rows.h"

enum {
    COPY_MAX = 1 << 30, /* larger than in any module: it is damage */
    LENGTH_64 = -1      /* as a length field: the real length has 64 bits and follows */
};

/* A module does not say where .eh_frame ends, but the last entry does. An FDE names a CIE before itself, so the search
 * table leads to nothing behind the last FDE. Without this the copy for libLLVM would be its whole segment, 97 MiB. */
static int find_end(const struct sbx_eh_search_table *table, const struct sbx_eh_frame_place *place,
                    sbx_module_read *read, void *context, uint64_t *end_out)
{
    uint64_t segment_end = place->image_address + place->image_bytes, last = 0;
    *end_out = segment_end;
    if (table->entries == NULL || table->count == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        uint64_t begin, fde;
        sbx_eh_search_table_entry(table, i, &begin, &fde);
        if (fde >= table->eh_frame_address && fde < segment_end && fde > last) {
            last = fde;
        }
    }
    uint32_t length;
    if (last == 0 || segment_end - last < sizeof length) {
        return 0; /* no entry points into the section, or the section is cut off: the builder reports it */
    }
    int result = read(context, last, &length, sizeof length);
    if (result != 0) {
        return result;
    }
    if (length != (uint32_t)LENGTH_64 && length < segment_end - last - sizeof length) {
        *end_out = last + sizeof length + length;
    }
    return 0;
}

/* Linkers put the PLT directly before .text, and so before the first function that has unwind data. */
static uint64_t find_stubs(const struct sbx_eh_search_table *table, const struct sbx_eh_frame_place *place,
                           size_t *bytes_out)
{
    uint64_t first = place->text_begin, fde, most = SBX_STUBS_MAX_BYTES;
    if (table->entries != NULL && table->count > 0) {
        sbx_eh_search_table_entry(table, 0, &first, &fde);
    }
    uint64_t before = first - place->text_begin; /* `first` below the text wraps, and is refused */
    before = before <= place->text_bytes ? before : 0;
    before = before < most ? before : most;
    *bytes_out = before;
    return first - before;
}

static int copy_range(uint64_t address, uint64_t bytes, sbx_module_read *read, void *context, void **pages_out)
{
    if (bytes == 0 || bytes > COPY_MAX) {
        return -EINVAL;
    }
    void *pages = sbx_pages_map(bytes);
    if (pages == NULL) {
        return -ENOMEM;
    }
    int result = read(context, address, pages, bytes);
    if (result != 0) {
        munmap(pages, bytes);
        return result;
    }
    *pages_out = pages;
    return 0;
}

int sbx_eh_frame_copy_take(struct sbx_eh_frame_copy *copy_out, const struct sbx_eh_frame_place *place,
                           sbx_module_read *read, void *context)
{
    struct sbx_eh_frame_copy copy = {.header_bytes = place->eh_frame_hdr_bytes};
    struct sbx_eh_search_table table;
    uint64_t end;
    *copy_out = (struct sbx_eh_frame_copy){0};
    if (place->image_bytes > UINT64_MAX - place->image_address) {
        return -EINVAL;
    }
    int result = copy_range(place->eh_frame_hdr_address, copy.header_bytes, read, context, &copy.header_pages);
    if (result != 0) {
        return result;
    }
    struct sbx_eh_section header = {copy.header_pages, copy.header_bytes, place->eh_frame_hdr_address};
    result = sbx_eh_search_table_read(&header, &table);
    if (result != 0) {
        goto unmap_header;
    }
    if (table.eh_frame_address < place->image_address ||
        table.eh_frame_address - place->image_address >= place->image_bytes) {
        result = table.eh_frame_address == 0 ? -ENOENT : -EINVAL;
        goto unmap_header;
    }
    result = find_end(&table, place, read, context, &end);
    if (result != 0) {
        goto unmap_header;
    }
    copy.frame_bytes = end - table.eh_frame_address;
    result = copy_range(table.eh_frame_address, copy.frame_bytes, read, context, &copy.frame_pages);
    if (result != 0) {
        goto unmap_header;
    }
    uint64_t text_address = find_stubs(&table, place, &copy.text_bytes);
    if (copy.text_bytes != 0 && copy_range(text_address, copy.text_bytes, read, context, &copy.text_pages) != 0) {
        copy.text_bytes = 0; /* no copy of the stubs: a sample in one loses a frame */
    }
    copy.source = (struct sbx_unwind_source){
        .text = copy.text_pages,
        .text_bytes = copy.text_bytes,
        .text_address = text_address,
        .eh_frame_hdr = copy.header_pages,
        .eh_frame_hdr_bytes = copy.header_bytes,
        .eh_frame_hdr_address = place->eh_frame_hdr_address,
        .eh_frame = copy.frame_pages,
        .eh_frame_bytes = copy.frame_bytes,
        .eh_frame_address = table.eh_frame_address,
        .text_begin = place->text_begin,
        .text_end = place->text_end,
    };
    *copy_out = copy;
    return 0;
unmap_header:
    munmap(copy.header_pages, copy.header_bytes);
    return result;
}

void sbx_eh_frame_copy_release(struct sbx_eh_frame_copy *copy)
{
    if (copy->header_pages != NULL) {
        munmap(copy->header_pages, copy->header_bytes);
    }
    if (copy->frame_pages != NULL) {
        munmap(copy->frame_pages, copy->frame_bytes);
    }
    if (copy->text_pages != NULL) {
        munmap(copy->text_pages, copy->text_bytes);
    }
    *copy = (struct sbx_eh_frame_copy){0};
}
