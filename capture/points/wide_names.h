/* SPDX-License-Identifier: Apache-2.0 */
/* wide_names.h - the names that end in 64, where libc makes them macros. It must be included after every header of
 * libc.
 *
 * musl's file offsets have 64 bits whatever the name is. Up to 1.2.3, musl's headers turn `pread64` into `pread` before
 * a point of that name could be declared. Its library still has both symbols, for programs built against glibc. From
 * 1.2.4 on there are neither macros nor symbols. A point whose symbol does not exist is not found and costs nothing. */
#ifndef SBX_WIDE_NAMES_H
#define SBX_WIDE_NAMES_H

#ifndef __GLIBC__
#undef creat64
#undef dirent64
#undef fallocate64
#undef fopen64
#undef freopen64
#undef fstat64
#undef fstatat64
#undef fstatfs64
#undef fstatvfs64
#undef ftruncate64
#undef getdents64
#undef lockf64
#undef lstat64
#undef mmap64
#undef open64
#undef openat64
#undef posix_fallocate64
#undef pread64
#undef preadv64
#undef pwrite64
#undef pwritev64
#undef readdir64
#undef sendfile64
#undef stat64
#undef statfs64
#undef statvfs64
#undef truncate64

/* Only pointers to these types are passed on. */
struct dirent64;
struct stat64;
struct statfs64;
struct statvfs64;
struct statx; /* from 1.2.5 on */

#ifndef off64_t
#define off64_t off_t
#endif
#endif

#endif
