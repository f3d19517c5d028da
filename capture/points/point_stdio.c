/* SPDX-License-Identifier: Apache-2.0 */
/* point_stdio.c - stdio's entry points. libc's own reads and writes below them use no GOT slot: without these points, a
 * wait in fgets() would not be recorded by any point.
 *
 * Most calls only copy between the program and the stream's buffer, in ten nanoseconds, and two clock reads would cost
 * several times that. So the stream is asked first. If the buffer contains the wanted data, or has room for the new
 * data, the call is a leaf and a tail call. If the call will use the descriptor, it is timed. The stream's pointers are
 * read without its lock: a wrong guess times a copy or misses a wait, and has no other effect. The length of a line or
 * of a formatted text is not known before; it is taken to be less than LINE_BYTES. */
#include "point.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "wide_names.h"

enum {
    LINE_BYTES = 512
};

#if defined(__GLIBC__)
enum { /* of _flags: libio.h, not installed any more, but part of the ABI that getc_unlocked() compiles into programs */
    STREAM_UNBUFFERED = 0x0002,
    STREAM_LINE_BUFFERED = 0x0200,
};
static inline bool has_bytes(FILE *stream, size_t bytes)
{
    return bytes <= (size_t)(stream->_IO_read_end - stream->_IO_read_ptr);
}
static inline bool has_room(FILE *stream, size_t bytes)
{
    /* Before the first write, and after a read, both pointers are equal. */
    return stream->_IO_write_end - stream->_IO_write_ptr > (ptrdiff_t)bytes && (ptrdiff_t)bytes >= 0 &&
           (stream->_flags & (STREAM_UNBUFFERED | STREAM_LINE_BUFFERED)) == 0;
}
static inline int fd_of(FILE *stream)
{
    return stream->_fileno;
}
#else /* a stream is opaque: every call is timed */
static inline bool has_bytes(FILE *stream, size_t bytes)
{
    (void)stream;
    return bytes == 0;
}
static inline bool has_room(FILE *stream, size_t bytes)
{
    (void)stream;
    return bytes == 0;
}
static inline int fd_of(FILE *stream)
{
    (void)stream;
    return -1;
}
#endif

/* `size` times `count`; on overflow a number larger than any buffer. */
static inline size_t product(size_t size, size_t count)
{
    size_t bytes;
    return __builtin_mul_overflow(size, count, &bytes) ? SIZE_MAX : bytes;
}

#define STDIO_HOOK(type, name, parameters, arguments, is_copy, op, amount, failed, fd)              \
    static type(*real_##name) parameters;                                                           \
    SBX_NOINLINE static type timed_##name parameters                                                \
    {                                                                                               \
        struct sbx_blocking call;                                                                   \
        SBX_SAVE_FRAME_POINTER();                                                                   \
        sbx_blocking_begin(&call, SBX_GROUP_STDIO, SBX_RECORD_FILE, op, 0, 0);                      \
        type result = real_##name arguments;                                                        \
        sbx_blocking_end(&call, (uint64_t)(amount), failed, fd);                                    \
        return result;                                                                              \
    }                                                                                               \
    SBX_NOINLINE static type leaf_##name parameters                                                 \
    {                                                                                               \
        sbx_leaf_of_anybody(SBX_RECORD_LEAF, op, SBX_GROUP_STDIO, __builtin_return_address(0));     \
        return real_##name arguments;                                                               \
    }                                                                                               \
    static type hook_##name parameters                                                              \
    {                                                                                               \
        if (SBX_LIKELY(is_copy)) {                                                                  \
            return SBX_UNLIKELY(sbx_leaf_is_out()) ? leaf_##name arguments : real_##name arguments; \
        }                                                                                           \
        return timed_##name arguments;                                                              \
    }

/* ---- streams ---- */

#define OPENS(name, parameters, arguments)                                                                       \
    SBX_BLOCKING_HOOK(FILE *, name, parameters, arguments, SBX_GROUP_STDIO, SBX_RECORD_FILE, SBX_OP_FOPEN, 0, 0, \
                      result == NULL, result != NULL ? fd_of(result) : -1)
OPENS(fopen, (const char *path, const char *mode), (path, mode))
OPENS(fopen64, (const char *path, const char *mode), (path, mode))
OPENS(freopen, (const char *path, const char *mode, FILE *stream), (path, mode, stream))
OPENS(freopen64, (const char *path, const char *mode, FILE *stream), (path, mode, stream))
SBX_BLOCKING_HOOK(int, fclose, (FILE * stream), (stream), SBX_GROUP_STDIO, SBX_RECORD_FILE, SBX_OP_FCLOSE, 0, 0,
                  result != 0, -1)
/* NULL means all streams. */
SBX_BLOCKING_HOOK(int, fflush, (FILE * stream), (stream), SBX_GROUP_STDIO, SBX_RECORD_FILE, SBX_OP_FFLUSH, 0, 0,
                  result != 0, stream != NULL ? fd_of(stream) : -1)
SBX_BLOCKING_HOOK(int, fflush_unlocked, (FILE * stream), (stream), SBX_GROUP_STDIO, SBX_RECORD_FILE, SBX_OP_FFLUSH, 0,
                  0, result != 0, stream != NULL ? fd_of(stream) : -1)

/* ---- blocks ---- */

STDIO_HOOK(size_t, fread, (void *buffer, size_t size, size_t count, FILE *stream), (buffer, size, count, stream),
           has_bytes(stream, product(size, count)), SBX_OP_FREAD, result *size, result < count, fd_of(stream))
STDIO_HOOK(size_t, fread_unlocked, (void *buffer, size_t size, size_t count, FILE *stream),
           (buffer, size, count, stream), has_bytes(stream, product(size, count)), SBX_OP_FREAD, result *size,
           result < count, fd_of(stream))
STDIO_HOOK(size_t, fread_chk, (void *buffer, size_t room, size_t size, size_t count, FILE *stream),
           (buffer, room, size, count, stream), has_bytes(stream, product(size, count)), SBX_OP_FREAD, result *size,
           result < count, fd_of(stream))
STDIO_HOOK(size_t, fread_unlocked_chk, (void *buffer, size_t room, size_t size, size_t count, FILE *stream),
           (buffer, room, size, count, stream), has_bytes(stream, product(size, count)), SBX_OP_FREAD, result *size,
           result < count, fd_of(stream))
STDIO_HOOK(size_t, fwrite, (const void *buffer, size_t size, size_t count, FILE *stream), (buffer, size, count, stream),
           has_room(stream, product(size, count)), SBX_OP_FWRITE, result *size, result < count, fd_of(stream))
STDIO_HOOK(size_t, fwrite_unlocked, (const void *buffer, size_t size, size_t count, FILE *stream),
           (buffer, size, count, stream), has_room(stream, product(size, count)), SBX_OP_FWRITE, result *size,
           result < count, fd_of(stream))

/* ---- lines and characters ---- */

#define READS_LINE(type, name, parameters, arguments, op, failed) \
    STDIO_HOOK(type, name, parameters, arguments, has_bytes(stream, LINE_BYTES), op, 0, failed, fd_of(stream))
READS_LINE(char *, fgets, (char *buffer, int room, FILE *stream), (buffer, room, stream), SBX_OP_FGETS, result == NULL)
READS_LINE(char *, fgets_unlocked, (char *buffer, int room, FILE *stream), (buffer, room, stream), SBX_OP_FGETS,
           result == NULL)
READS_LINE(char *, fgets_chk, (char *buffer, size_t have, int room, FILE *stream), (buffer, have, room, stream),
           SBX_OP_FGETS, result == NULL)
READS_LINE(char *, fgets_unlocked_chk, (char *buffer, size_t have, int room, FILE *stream),
           (buffer, have, room, stream), SBX_OP_FGETS, result == NULL)
READS_LINE(ssize_t, getline, (char **line, size_t *bytes, FILE *stream), (line, bytes, stream), SBX_OP_GETLINE,
           result < 0)
READS_LINE(ssize_t, getdelim, (char **line, size_t *bytes, int end, FILE *stream), (line, bytes, end, stream),
           SBX_OP_GETLINE, result < 0)
READS_LINE(ssize_t, inner_getdelim, (char **line, size_t *bytes, int end, FILE *stream), (line, bytes, end, stream),
           SBX_OP_GETLINE, result < 0)

#define WRITES_TEXT(name, parameters, arguments, stream, bytes, op)                                                \
    STDIO_HOOK(int, name, parameters, arguments, has_room(stream, bytes), op, result > 0 ? result : 0, result < 0, \
               fd_of(stream))
WRITES_TEXT(fputs, (const char *text, FILE *stream), (text, stream), stream, LINE_BYTES, SBX_OP_FPUTS)
WRITES_TEXT(fputs_unlocked, (const char *text, FILE *stream), (text, stream), stream, LINE_BYTES, SBX_OP_FPUTS)
WRITES_TEXT(puts, (const char *text), (text), stdout, LINE_BYTES, SBX_OP_PUTS)

#define READS_CHARACTER(name, parameters, arguments, stream)                                                  \
    STDIO_HOOK(int, name, parameters, arguments, has_bytes(stream, 1), SBX_OP_FGETC, result >= 0, result < 0, \
               fd_of(stream))
READS_CHARACTER(fgetc, (FILE * stream), (stream), stream)
READS_CHARACTER(getc, (FILE * stream), (stream), stream)
READS_CHARACTER(io_getc, (FILE * stream), (stream), stream)
READS_CHARACTER(getchar, (void), (), stdin)

/* ---- formatted text ---- */

WRITES_TEXT(vfprintf, (FILE * stream, const char *format, va_list rest), (stream, format, rest), stream, LINE_BYTES,
            SBX_OP_FPRINTF)
WRITES_TEXT(vfprintf_chk, (FILE * stream, int flag, const char *format, va_list rest), (stream, flag, format, rest),
            stream, LINE_BYTES, SBX_OP_FPRINTF)
WRITES_TEXT(vprintf, (const char *format, va_list rest), (format, rest), stdout, LINE_BYTES, SBX_OP_FPRINTF)
WRITES_TEXT(vprintf_chk, (int flag, const char *format, va_list rest), (flag, format, rest), stdout, LINE_BYTES,
            SBX_OP_FPRINTF)
SBX_BLOCKING_HOOK(int, vdprintf, (int fd, const char *format, va_list rest), (fd, format, rest), SBX_GROUP_STDIO,
                  SBX_RECORD_FILE, SBX_OP_FPRINTF, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(int, vdprintf_chk, (int fd, int flag, const char *format, va_list rest), (fd, flag, format, rest),
                  SBX_GROUP_STDIO, SBX_RECORD_FILE, SBX_OP_FPRINTF, (uint64_t)fd + 1, result > 0 ? result : 0,
                  result < 0, fd)

/* A function in C cannot pass on variadic arguments. Each of these functions has a v-form, and libc itself implements
 * it in that way. So if the original is libc's own, the hook calls libc's v-form, through the library's own binding
 * (own_bindings.h). If the original is a wrapper of another library, there is no hook: the wrapper is called as without
 * the agent, and its own calls use slots of their own. The names differ from libc's, so that no fortified header
 * changes them. */
#define V_FORM(name, parameters) extern int libcs_##name parameters __asm__(#name) __attribute__((weak))
V_FORM(vfprintf, (FILE * stream, const char *format, va_list rest));
V_FORM(vprintf, (const char *format, va_list rest));
V_FORM(vdprintf, (int fd, const char *format, va_list rest));
#ifdef __GLIBC__ /* musl has no fortified functions, and programs that call them do not start with it */
V_FORM(__vfprintf_chk, (FILE * stream, int flag, const char *format, va_list rest));
V_FORM(__vprintf_chk, (int flag, const char *format, va_list rest));
V_FORM(__vdprintf_chk, (int fd, int flag, const char *format, va_list rest));
#endif

#define FORMATS(name, parameters, last, v_form_arguments, v_form, is_copy, object, fd)              \
    static int(*real_##name) parameters;                                                            \
    static int hook_##name parameters                                                               \
    {                                                                                               \
        struct sbx_blocking call;                                                                   \
        va_list rest;                                                                               \
        bool is_leaf = is_copy;                                                                     \
        SBX_SAVE_FRAME_POINTER();                                                                   \
        if (SBX_LIKELY(is_leaf)) {                                                                  \
            sbx_leaf_here(SBX_RECORD_LEAF, SBX_OP_FPRINTF, SBX_GROUP_STDIO);                        \
        } else {                                                                                    \
            sbx_blocking_begin(&call, SBX_GROUP_STDIO, SBX_RECORD_FILE, SBX_OP_FPRINTF, object, 0); \
        }                                                                                           \
        va_start(rest, last);                                                                       \
        int result = libcs_##v_form v_form_arguments;                                               \
        va_end(rest);                                                                               \
        if (!is_leaf) {                                                                             \
            sbx_blocking_end(&call, result > 0 ? (uint64_t)result : 0, result < 0, fd);             \
        }                                                                                           \
        return result;                                                                              \
    }
FORMATS(fprintf, (FILE * stream, const char *format, ...), format, (stream, format, rest), vfprintf,
        has_room(stream, LINE_BYTES), 0, fd_of(stream))
FORMATS(printf, (const char *format, ...), format, (format, rest), vprintf, has_room(stdout, LINE_BYTES), 0,
        fd_of(stdout))
FORMATS(dprintf, (int fd, const char *format, ...), format, (fd, format, rest), vdprintf, false, (uint64_t)fd + 1, fd)
#ifdef __GLIBC__
FORMATS(fprintf_chk, (FILE * stream, int flag, const char *format, ...), format, (stream, flag, format, rest),
        __vfprintf_chk, has_room(stream, LINE_BYTES), 0, fd_of(stream))
FORMATS(printf_chk, (int flag, const char *format, ...), format, (flag, format, rest), __vprintf_chk,
        has_room(stdout, LINE_BYTES), 0, fd_of(stdout))
FORMATS(dprintf_chk, (int fd, int flag, const char *format, ...), format, (fd, flag, format, rest), __vdprintf_chk,
        false, (uint64_t)fd + 1, fd)
#endif

#define POINT(name)       SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_STDIO)
#define INNER_POINT(name) SBX_POINT("__" #name, hook_##name, real_##name, SBX_GROUP_STDIO)
static const struct sbx_point points[] = {
    POINT(fopen),
    POINT(fopen64),
    POINT(freopen),
    POINT(freopen64),
    POINT(fclose),
    POINT(fflush),
    POINT(fflush_unlocked),
    POINT(fread),
    POINT(fread_unlocked),
    INNER_POINT(fread_chk),
    INNER_POINT(fread_unlocked_chk),
    POINT(fwrite),
    POINT(fwrite_unlocked),
    POINT(fgets),
    POINT(fgets_unlocked),
    INNER_POINT(fgets_chk),
    INNER_POINT(fgets_unlocked_chk),
    POINT(getline),
    POINT(getdelim),
    SBX_POINT("__getdelim", hook_inner_getdelim, real_inner_getdelim, SBX_GROUP_STDIO),
    POINT(fputs),
    POINT(fputs_unlocked),
    POINT(puts),
    POINT(fgetc),
    POINT(getc),
    SBX_POINT("_IO_getc", hook_io_getc, real_io_getc, SBX_GROUP_STDIO),
    POINT(getchar),
    POINT(vfprintf),
    INNER_POINT(vfprintf_chk),
    POINT(vprintf),
    INNER_POINT(vprintf_chk),
    POINT(vdprintf),
    INNER_POINT(vdprintf_chk),
    SBX_PLAIN_POINT("fprintf", hook_fprintf, real_fprintf, SBX_GROUP_STDIO),
    SBX_PLAIN_POINT("printf", hook_printf, real_printf, SBX_GROUP_STDIO),
    SBX_PLAIN_POINT("dprintf", hook_dprintf, real_dprintf, SBX_GROUP_STDIO),
#ifdef __GLIBC__
    SBX_PLAIN_POINT("__fprintf_chk", hook_fprintf_chk, real_fprintf_chk, SBX_GROUP_STDIO),
    SBX_PLAIN_POINT("__printf_chk", hook_printf_chk, real_printf_chk, SBX_GROUP_STDIO),
    SBX_PLAIN_POINT("__dprintf_chk", hook_dprintf_chk, real_dprintf_chk, SBX_GROUP_STDIO),
#endif
};
const struct sbx_point_list sbx_points_stdio = SBX_POINT_LIST(points);
