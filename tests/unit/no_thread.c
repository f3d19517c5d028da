/* SPDX-License-Identifier: Apache-2.0 */
/* no_thread.c - ends a test that starts a thread. Such tests run without ThreadSanitizer because they start no thread.
 *
 * Linked with --wrap into the tests of SBX_UNTHREADED_TESTS (cmake/SbxTest.cmake). These tests link code that could
 * start threads, so a check of their undefined symbols (tests/lint/threadless.sh) proves nothing. */
#include <stdio.h>
#include <stdlib.h>

void __wrap_pthread_create(void) __attribute__((noreturn));
void __wrap_MHD_start_daemon(void) __attribute__((noreturn));

__attribute__((noreturn)) static void end(const char *what)
{
    fprintf(stderr, "%s in a test that starts no thread: take it from SBX_UNTHREADED_TESTS in cmake/SbxTest.cmake\n",
            what);
    abort();
}

void __wrap_pthread_create(void)
{
    end("pthread_create()");
}

void __wrap_MHD_start_daemon(void)
{
    end("MHD_start_daemon()");
}
