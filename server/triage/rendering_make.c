/* SPDX-License-Identifier: Apache-2.0 */
/* rendering_make.c - printers write to a stream, and the stream writes into a bounded buffer. */
#include "rendering_make.h"

#include <errno.h>
#include <stdio.h>
#include <sys/types.h>

#include "exporters.h"
#include "page_report.h"
#include "print_json.h"

/* Bytes that do not fit are an error of the stream; the printer ends when it next checks the stream. */
static ssize_t write_bytes(void *context, const char *bytes, size_t count)
{
    struct sbx_byte_buffer *body = context;
    sbx_byte_buffer_append(body, bytes, count);
    if (!body->failed)
        return (ssize_t)count;
    errno = EFBIG;
    return 0;
}

/* Run one printer. Returns 0 or -errno. */
static int print_into(int (*print)(const struct sbx_report *, FILE *), const struct sbx_report *report,
                      size_t bytes_max, struct sbx_byte_buffer *body)
{
    body->limit = bytes_max;
    FILE *stream = fopencookie(body, "w", (cookie_io_functions_t){.write = write_bytes});
    if (!stream)
        return -ENOMEM;
    int result = print(report, stream);
    if (fclose(stream) != 0 && result == 0)
        result = -EFBIG;
    return body->failed ? -EFBIG : result;
}

static int make_page(const struct sbx_report *report, size_t bytes_max, struct sbx_byte_buffer *body)
{
    struct sbx_report_pictures pictures = {.history = {0}};
    int result = print_into(sbx_print_timeline_svg, report, bytes_max, &pictures.history);
    if (result == 0 && sbx_has_judged_timeline(report))
        result = print_into(sbx_print_judged_timeline_svg, report, bytes_max, &pictures.judged);
    if (result == 0)
        result = print_into(sbx_print_flame_svg, report, bytes_max, &pictures.flame);
    if (result == 0 && sbx_has_async_flame(report))
        result = print_into(sbx_print_async_flame_svg, report, bytes_max, &pictures.async);
    if (result == 0) {
        body->limit = bytes_max;
        sbx_page_report(report, &pictures, body);
        result = body->failed ? -EFBIG : 0;
    }
    sbx_byte_buffer_finish(&pictures.history);
    sbx_byte_buffer_finish(&pictures.judged);
    sbx_byte_buffer_finish(&pictures.flame);
    sbx_byte_buffer_finish(&pictures.async);
    return result;
}

int sbx_rendering_make(const struct sbx_report *report, enum sbx_rendering kind, size_t bytes_max,
                       struct sbx_byte_buffer *body)
{
    static int (*const printers[SBX_RENDERING_KINDS])(const struct sbx_report *, FILE *) = {
        [SBX_RENDERING_JSON] = sbx_print_json,
        [SBX_RENDERING_PERFETTO] = sbx_print_perfetto,
        [SBX_RENDERING_PPROF] = sbx_print_pprof,
        [SBX_RENDERING_FOLDED] = sbx_print_folded,
        [SBX_RENDERING_ASYNC_FOLDED] = sbx_print_async_folded,
        [SBX_RENDERING_ASYNC_PPROF] = sbx_print_async_pprof,
        [SBX_RENDERING_TIMELINE] = sbx_print_timeline_json,
    };
    int result =
        printers[kind] ? print_into(printers[kind], report, bytes_max, body) : make_page(report, bytes_max, body);
    if (result < 0)
        sbx_byte_buffer_finish(body);
    return result;
}
