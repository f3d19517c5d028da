# The test library, compiled from its source: Debian packages it for glibc of the machine's own architecture only. One file
# and what its configure would have found out.
add_library(cmocka STATIC ${STALLBOX_CMOCKA_SOURCE}/src/cmocka.c)
target_include_directories(cmocka SYSTEM PUBLIC ${STALLBOX_CMOCKA_SOURCE}/include)
target_compile_definitions(cmocka PRIVATE _GNU_SOURCE HAVE_SIGNAL_H=1 HAVE_SETJMP_H=1 HAVE_STRINGS_H=1 HAVE_STRING_H=1
    HAVE_STDINT_H=1 HAVE_INTTYPES_H=1 HAVE_UNISTD_H=1 HAVE_MALLOC_H=1 HAVE_TIME_H=1 HAVE_SYS_TYPES_H=1
    HAVE_CLOCK_GETTIME=1 HAVE_CLOCK_REALTIME=1 HAVE_STRUCT_TIMESPEC=1 HAVE_SNPRINTF=1 HAVE_VSNPRINTF=1 HAVE_STRSIGNAL=1
    HAVE_GCC_THREAD_LOCAL_STORAGE=1 HAVE_UINTPTR_T=1)
