/* SPDX-License-Identifier: Apache-2.0 */
/* poll_set.c - which descriptors a poll call looks at. */
#include "poll_set.h"

#include <poll.h>
#include <sys/select.h>

#include "client_sockets.h"
#include "fd_class.h"
#include "stack_copy.h"

enum {
    SET_WORDS = FD_SETSIZE / 64,
    KEYS_ASKED = 4, /* the kernel is asked about this many descriptors whether they are terminals */
};

static uint64_t bit_of(int fd)
{
    return UINT64_C(1) << ((unsigned)fd % 64);
}

/* The number of words that a set of select() has for this many descriptors. */
static uint32_t words_of(uint32_t count)
{
    uint32_t words = (count + 63) / 64;
    return words < SET_WORDS ? words : SET_WORDS;
}

static uint32_t pollfds_of(uint32_t count)
{
    return count < SBX_POLL_SET_MOST ? count : SBX_POLL_SET_MOST;
}

static struct sbx_poll_set set_of_epoll(const struct sbx_polled *polled)
{
    int fd = (int)polled->count;
    return (struct sbx_poll_set){.fds = fd < 0 ? 0 : bit_of(fd), .epoll_fd = fd};
}

/* accept() waits for one descriptor, as a poll call can. */
static struct sbx_poll_set set_of_accept(const struct sbx_polled *polled)
{
    return (struct sbx_poll_set){.fds = bit_of((int)polled->count), .epoll_fd = -1};
}

/* Copies at most `most` pollfds. Returns how many `fds` contains. */
static uint32_t copy_pollfds(const struct sbx_polled *polled, struct pollfd *fds, uint32_t most)
{
    uint32_t count = pollfds_of(polled->count);
    count = count < most ? count : most;
    return (uint32_t)(sbx_copy_stack((uint64_t)(uintptr_t)polled->first, count * sizeof *fds, (uint8_t *)fds) /
                      sizeof *fds);
}

/* The input set of select() comes first. Returns how many words `words` contains. */
static uint32_t copy_words(const void *from, uint32_t count, uint64_t *words)
{
    uint32_t wanted = from == NULL ? 0 : words_of(count);
    return wanted == 0
               ? 0
               : (uint32_t)(sbx_copy_stack((uint64_t)(uintptr_t)from, wanted * sizeof *words, (uint8_t *)words) /
                            sizeof *words);
}

static uint64_t fold(const uint64_t *words, uint32_t count)
{
    uint64_t fds = 0;
    for (uint32_t i = 0; i < count; i++) {
        fds |= words[i];
    }
    return fds;
}

SBX_HOOK_SAFE SBX_NOINLINE struct sbx_poll_set sbx_poll_set_before(const struct sbx_polled *polled)
{
    struct sbx_poll_set set = {.epoll_fd = -1};
    if (polled->form == SBX_POLLED_EPOLL) {
        return set_of_epoll(polled);
    }
    if (polled->form == SBX_POLLED_ACCEPT) {
        return set_of_accept(polled);
    }
    if (polled->form == SBX_POLLED_SELECT) {
        uint64_t words[SET_WORDS];
        set.fds = fold(words, copy_words(polled->first, polled->count, words));
        set.fds |= fold(words, copy_words(polled->second, polled->count, words));
        return set;
    }
    struct pollfd fds[SBX_POLL_SET_MOST];
    uint32_t count = copy_pollfds(polled, fds, SBX_POLL_SET_MOST);
    for (uint32_t i = 0; i < count; i++) {
        set.fds |= fds[i].fd < 0 ? 0 : bit_of(fds[i].fd);
    }
    return set;
}

static uint64_t fold_ready(const void *from, uint32_t count)
{
    return from == NULL ? 0 : fold((const uint64_t *)from, words_of(count));
}

SBX_HOOK_SAFE struct sbx_poll_set sbx_poll_set_after(const struct sbx_polled *polled, uint64_t *ready_out)
{
    struct sbx_poll_set set = {.epoll_fd = -1};
    *ready_out = 0;
    if (polled->form == SBX_POLLED_EPOLL) {
        return set_of_epoll(polled);
    }
    if (polled->form == SBX_POLLED_ACCEPT) {
        return set_of_accept(polled);
    }
    if (polled->form == SBX_POLLED_SELECT) {
        *ready_out = fold_ready(polled->first, polled->count) | fold_ready(polled->second, polled->count);
        return set;
    }
    const struct pollfd *fds = (const struct pollfd *)polled->first;
    for (uint32_t i = 0, count = pollfds_of(polled->count); i < count; i++) {
        uint64_t bit = fds[i].fd < 0 ? 0 : bit_of(fds[i].fd);
        set.fds |= bit;
        *ready_out |= fds[i].revents != 0 ? bit : 0;
    }
    return set;
}

SBX_HOOK_SAFE SBX_NOINLINE bool sbx_polled_awaits_key(const struct sbx_polled *polled)
{
    if (polled->form == SBX_POLLED_SELECT) {
        uint64_t words[SET_WORDS];
        uint32_t count = copy_words(polled->first, polled->count, words);
        uint64_t low = count == 0 ? 0 : words[0];
        for (int asked = 0; low != 0 && asked < KEYS_ASKED; asked++, low &= low - 1) {
            if (sbx_is_terminal(__builtin_ctzll(low))) {
                return true;
            }
        }
    } else if (polled->form == SBX_POLLED_POLL) {
        struct pollfd fds[KEYS_ASKED];
        uint32_t count = copy_pollfds(polled, fds, KEYS_ASKED);
        for (uint32_t i = 0; i < count; i++) {
            if ((fds[i].events & POLLIN) != 0 && sbx_is_terminal(fds[i].fd)) {
                return true;
            }
        }
    }
    return false;
}

SBX_HOOK_SAFE SBX_NOINLINE bool sbx_polled_has_client(const struct sbx_polled *polled)
{
    bool has_one = false;
    if (polled->form == SBX_POLLED_SELECT) {
        uint64_t words[SET_WORDS];
        uint32_t count = copy_words(polled->first, polled->count, words);
        for (uint32_t i = 0; i < count; i++) {
            for (uint64_t left = words[i]; left != 0; left &= left - 1) {
                has_one |= sbx_is_client((int)(i * 64) + __builtin_ctzll(left));
            }
        }
    } else if (polled->form == SBX_POLLED_POLL) {
        struct pollfd fds[SBX_POLL_SET_MOST];
        uint32_t count = copy_pollfds(polled, fds, SBX_POLL_SET_MOST);
        for (uint32_t i = 0; i < count; i++) {
            has_one |= sbx_is_client(fds[i].fd);
        }
    }
    return has_one;
}
