/* SPDX-License-Identifier: Apache-2.0 */
/* test_prompt_call.c - a call that does not block is not measured. A descriptor that was wrongly taken for non-blocking
 * is measured again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "payload_numbers.h"
#include "recorded_process.h"
#include "test_clients.h"
#include "thread_clock.h"

enum {
    TURNS = 12,
    SLOW_MS = 60,
    AT_LEAST_NS = 30000000,
    TRIES = 25,
};

static int epoll_fd, client_fd, other_fd;

/* One turn of the loop: always from this place. */
__attribute__((noinline)) static void turn(void)
{
    struct epoll_event event;
    child_expect(epoll_wait(epoll_fd, &event, 1, 1000) == 1, "something to do");
    KEEP_FRAME();
}

static void *connect_to(void *door)
{
    struct sockaddr_storage address;
    socklen_t bytes = sizeof address;
    getsockname(*(int *)door, (struct sockaddr *)&address, &bytes);
    other_fd = (int)syscall(SYS_socket, address.ss_family, SOCK_STREAM, 0);
    syscall(SYS_connect, other_fd, &address, bytes);
    return NULL;
}

/* A server with a loop, and a client that sends a byte in each turn. Returns which call the recorder saw last, after
 * the last read. */
static uint32_t serve(int accept_flags, int more_flags)
{
    pthread_t thread;
    int door = child_listen();
    fcntl(door, F_SETFL, fcntl(door, F_GETFL) | O_NONBLOCK);
    child_expect(pthread_create(&thread, NULL, connect_to, &door) == 0, "a thread");
    pthread_join(thread, NULL);
    client_fd = accept4(door, NULL, NULL, SOCK_CLOEXEC | accept_flags);
    child_expect(client_fd >= 0, "a client");
    if (more_flags != 0) {
        fcntl(client_fd, F_SETFL, fcntl(client_fd, F_GETFL) | more_flags);
    }
    struct epoll_event event = {.events = EPOLLIN};
    uint32_t last = 0;
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, client_fd, &event);
    for (int i = 0; i < TURNS; i++) {
        char byte = 'q';
        syscall(SYS_write, other_fd, &byte, 1);
        turn();
        child_expect(read(client_fd, &byte, 1) == 1 && byte == 'q', "the question");
        last = child_entry()->call_op;
        byte = 'a';
        child_expect(write(client_fd, &byte, 1) == 1, "the answer");
        syscall(SYS_read, other_fd, &byte, 1);
    }
    return last;
}

/* glibc's rseq size, which capture/port/clock_calibration.c reads too. Without an rseq area nothing reports context
 * switches, as under an emulator and with musl. */
extern const unsigned int __rseq_size __attribute__((weak));

/* What the children found out about the machine; shared by all of them. */
static enum machine {
    MACHINE_UNKNOWN,
    MACHINE_CAN,
    MACHINE_CANNOT
} * machine;

/* Can this machine measure prompt calls? The kernel must report each context switch to the clock, and must make none of
 * our signals inside of calls. The recorder finds out both while a thread works. On a busy machine that may take longer
 * than this test waits, and then nothing is expected. If the first test did not find it out, the other tests do not try
 * again. */
static bool is_possible(void)
{
    const struct sbx_recording_header *header = child_header();
    bool is_possible = false;
    for (int i = 0;
         i < TRIES && !is_possible && *machine != MACHINE_CANNOT && header->signal_place != SBX_SIGNAL_PLACE_ANYWHERE;
         i++) {
        free(malloc(1));
        compute_without_a_call();
        is_possible = header->clock_source == SBX_CLOCK_RSEQ && header->signal_place == SBX_SIGNAL_PLACE_OUTSIDE;
    }
    *machine = is_possible ? MACHINE_CAN : MACHINE_CANNOT;
    return is_possible;
}

static void child_serves_promptly(void)
{
    bool can = is_possible();
    uint32_t last = serve(SOCK_NONBLOCK, 0);
    child_expect(!can || last == SBX_OP_EPOLL_WAIT, "a read that cannot wait is shown to nobody");
    char byte;
    child_expect(read(client_fd, &byte, 1) == -1 && errno == EAGAIN, "what it returns is the program's");
}

static void test_a_read_that_cannot_wait_is_not_shown(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_serves_promptly));
}

static void child_says_it_later(void)
{
    bool can = is_possible();
    uint32_t last = serve(0, O_NONBLOCK);
    child_expect(!can || last == SBX_OP_EPOLL_WAIT, "fcntl() says it as well");
}

static void test_fcntl_says_that_a_connection_does_not_block(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_says_it_later));
}

static void child_may_block(void)
{
    child_expect(serve(0, 0) == SBX_OP_READ, "a read that may wait is shown");
}

static void test_a_read_that_may_wait_is_shown(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_may_block));
}

/* ---- what is no longer prompt ---- */

static void *write_late(void *unused)
{
    char byte = 'l';
    child_pause_ms(SLOW_MS);
    syscall(SYS_write, other_fd, &byte, 1);
    return unused;
}

__attribute__((noinline)) static void wait_for_a_byte(void)
{
    char byte = 0;
    pthread_t thread;
    child_expect(pthread_create(&thread, NULL, write_late, NULL) == 0, "a thread");
    child_expect(read(client_fd, &byte, 1) == 1 && byte == 'l', "the byte");
    pthread_join(thread, NULL);
    KEEP_FRAME();
}

/* Counts the slow reads of wait_for_a_byte() that were measured. */
static int count_waits(const struct sbx_snapshot *snapshot)
{
    int count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        count += record->kind == SBX_RECORD_FILE && record->op == SBX_OP_READ &&
                 record->end_ns - record->begin_ns >= AT_LEAST_NS &&
                 passes_through(snapshot, record, (void *)wait_for_a_byte);
    }
    return count;
}

static void child_blocks_again(void)
{
    is_possible();
    serve(SOCK_NONBLOCK, 0);
    fcntl(client_fd, F_SETFL, fcntl(client_fd, F_GETFL) & ~O_NONBLOCK);
    wait_for_a_byte();
}

static void test_a_connection_that_blocks_again_is_measured(void **state)
{
    struct sbx_snapshot *snapshot = run_recorded(child_blocks_again);
    (void)state;
    assert_int_equal(count_waits(snapshot), 1);
    sbx_snapshot_destroy(snapshot);
}

/* Another file takes the place of the descriptor, in ways that no hook sees. */
static void child_has_another_in_its_place(void)
{
    int pair[2];
    is_possible();
    serve(SOCK_NONBLOCK, 0);
    child_expect(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && dup2(pair[0], client_fd) == client_fd,
                 "another in its place");
    other_fd = pair[1];
    wait_for_a_byte();
    wait_for_a_byte();
}

static void test_of_a_descriptor_that_became_another_only_the_first_wait_is_not_measured(void **state)
{
    struct sbx_snapshot *snapshot = run_recorded(child_has_another_in_its_place);
    (void)state;
    assert_in_range(count_waits(snapshot), 1, 2); /* both, if no call is taken for prompt */
    int samples = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        samples += passes_through(snapshot, &snapshot->records[i], (void *)wait_for_a_byte);
    }
    assert_true(samples >= 2); /* the first wait ends in a sample */
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_read_that_cannot_wait_is_not_shown),
        cmocka_unit_test(test_fcntl_says_that_a_connection_does_not_block),
        cmocka_unit_test(test_a_read_that_may_wait_is_shown),
        cmocka_unit_test(test_a_connection_that_blocks_again_is_measured),
        cmocka_unit_test(test_of_a_descriptor_that_became_another_only_the_first_wait_is_not_measured),
    };
    machine = mmap(NULL, sizeof *machine, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (machine == MAP_FAILED) {
        return 1;
    }
    *machine = &__rseq_size != NULL && __rseq_size >= 16 ? MACHINE_UNKNOWN : MACHINE_CANNOT;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
