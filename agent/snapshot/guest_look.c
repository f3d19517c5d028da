/* SPDX-License-Identifier: Apache-2.0 */
/* guest_look.c - the kernel changes two words of a control page, and a third one is read. */
#include "guest_look.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "guest_recording.h"
#include "order.h"

enum {
    PAGE = 4096,
    STEP_NS = 200000 /* between two looks at the answer */
};

/* Reads one word of the guest's control page. */
#define READ_WORD(file, field, to) \
    (sbx_guest_read((file), SBX_CONTROL_AT + offsetof(struct sbx_control_page, field), (to), sizeof *(to)) == 0)

/* Has the guest looked since then? */
static bool has_looked(int file, uint64_t since_ns)
{
    uint64_t looked_ns = 0;
    return READ_WORD(file, looked_ns, &looked_ns) && looked_ns >= since_ns;
}

/* Adds 1 to a word of another process's file, and wakes the sleeper on `bell`. The kernel stores the word: if the file
 * has been cut short, this is an error; a store by this thread would be a SIGBUS. */
static bool bump(uint32_t *word, uint32_t *bell)
{
    const unsigned add_one = FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0);
    /* order: release control.look_request */
    return syscall(SYS_futex, bell, FUTEX_WAKE_OP, INT_MAX, (long)0, word, add_one) >= 0;
}

/* Asks the guest to look. *request_out: the number that it has to answer. */
static bool ring(int file, uint32_t *request_out)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, SBX_CONTROL_AT);
    if (page == MAP_FAILED) {
        return false;
    }
    struct sbx_control_page *control = page;
    bool is_rung = bump(&control->look_request, &control->look_request) && bump(&control->bell, &control->bell);
    munmap(page, PAGE);
    return is_rung && READ_WORD(file, look_request, request_out);
}

/* Has the guest answered, whether it could look or not? */
static bool has_answered(int file, uint32_t request)
{
    uint32_t answer = request;
    bool is_read = READ_WORD(file, look_answer, &answer);
    sbx_fence_acquire(); /* order: acquire control.look_answer - looked_ns is read after it */
    return !is_read || (int32_t)(answer - request) >= 0;
}

bool sbx_guest_look(int file, uint64_t since_ns, uint64_t until_ns)
{
    uint32_t request = 0;
    bool is_over = has_looked(file, since_ns) || sbx_now_ns() >= until_ns || !ring(file, &request);
    while (!is_over) {
        const struct timespec step = {0, STEP_NS};
        nanosleep(&step, NULL);
        is_over = has_answered(file, request) || sbx_now_ns() >= until_ns;
    }
    return has_looked(file, since_ns);
}

void sbx_guests_call(const struct sbx_recording_header *host, uint64_t key, const struct sbx_trigger_entry *trigger,
                     int folder)
{
    struct sbx_guests_wanted wanted = {.count = 0};
    sbx_guests_want(&wanted, host, trigger, host->pid);
    for (uint32_t i = 0; i < wanted.count && i < SBX_GUESTS_MAX; i++) {
        struct sbx_recording_header head;
        uint32_t request;
        int file = sbx_guest_open(host, key, wanted.pids[i], folder, &head);
        if (file >= 0) {
            (void)ring(file, &request);
            close(file);
        }
    }
}
