/* SPDX-License-Identifier: Apache-2.0 */
/* point_shield.c - calls that a signal handler cuts short (signal(7); docs/SIGNAL_SAFETY.md has the list) and that are
 * not recorded. They are hooked only to hold the sample signal back. It would cause an EINTR, or a shorter result, that
 * the program does not expect. These hooks come and go with the group of the sampler. The watch thread records a thread
 * that is blocked in such a call, with the number of the system call. */
#include "point.h"

#include <aio.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <termios.h>

struct io_event; /* of libaio, which calls the kernel itself and not through syscall() */
typedef struct io_context *io_context_of_libaio;

/* `always`: shielded on every kernel, because any handler ends the call, although the kernel would have continued it
 * after an interruption for which no handler was called (docs/SIGNAL_SAFETY.md). _IN_CALLS: shielded only where the
 * kernel makes timer signals inside calls. These calls either continue after the sample signal too, or end at such an
 * interruption even without it. */
#define SHIELDED(type, name, parameters, arguments) SHIELD(type, real_##name, hook_##name, parameters, arguments, true)
#define SHIELDED_IN_CALLS(type, name, parameters, arguments) \
    SHIELD(type, real_##name, hook_##name, parameters, arguments, false)
#define SHIELD(type, real, hook, parameters, arguments, always) \
    static type(*real) parameters;                              \
    static type hook parameters                                 \
    {                                                           \
        SBX_SAVE_FRAME_POINTER();                               \
        struct sbx_thread *thread = sbx_shield_begin(always);   \
        type result = real arguments;                           \
        sbx_shield_end(thread);                                 \
        return result;                                          \
    }

SHIELDED(ssize_t, msgrcv, (int queue, void *out, size_t bytes, long type, int flags), (queue, out, bytes, type, flags))
SHIELDED(int, msgsnd, (int queue, const void *message, size_t bytes, int flags), (queue, message, bytes, flags))
SHIELDED_IN_CALLS(int, semop, (int set, struct sembuf *operations, size_t count), (set, operations, count))
SHIELDED_IN_CALLS(int, semtimedop, (int set, struct sembuf *operations, size_t count, const struct timespec *timeout),
                  (set, operations, count, timeout))
SHIELDED_IN_CALLS(ssize_t, mq_receive, (mqd_t queue, char *out, size_t bytes, unsigned *priority),
                  (queue, out, bytes, priority))
SHIELDED_IN_CALLS(ssize_t, mq_timedreceive,
                  (mqd_t queue, char *out, size_t bytes, unsigned *priority, const struct timespec *until),
                  (queue, out, bytes, priority, until))
SHIELDED_IN_CALLS(int, mq_send, (mqd_t queue, const char *message, size_t bytes, unsigned priority),
                  (queue, message, bytes, priority))
SHIELDED_IN_CALLS(int, mq_timedsend,
                  (mqd_t queue, const char *message, size_t bytes, unsigned priority, const struct timespec *until),
                  (queue, message, bytes, priority, until))
SHIELDED_IN_CALLS(int, io_getevents,
                  (io_context_of_libaio context, long least, long most, struct io_event *events,
                   struct timespec *timeout),
                  (context, least, most, events, timeout))
SHIELDED(int, io_pgetevents,
         (io_context_of_libaio context, long least, long most, struct io_event *events, struct timespec *timeout,
          void *mask),
         (context, least, most, events, timeout, mask))

/* These wait in the C library on a word. The handler would make them look at the word and return. */
SHIELDED(int, aio_suspend, (const struct aiocb *const list[], int count, const struct timespec *timeout),
         (list, count, timeout))
SHIELDED(int, aio_suspend64, (const struct aiocb *const list[], int count, const struct timespec *timeout),
         (list, count, timeout))
SHIELDED(int, lio_listio, (int mode, struct aiocb *const list[restrict], int count, struct sigevent *restrict event),
         (mode, list, count, event))
SHIELDED(int, lio_listio64, (int mode, struct aiocb *const list[restrict], int count, struct sigevent *restrict event),
         (mode, list, count, event))
struct gaicb; /* of glibc */
SHIELDED(int, gai_suspend, (const struct gaicb *const list[], int count, const struct timespec *timeout),
         (list, count, timeout))

/* getrandom() is cut after its first 256 bytes (random(7)). The others wait for a device. */
SHIELDED_IN_CALLS(ssize_t, getrandom, (void *out, size_t bytes, unsigned flags), (out, bytes, flags))
SHIELDED_IN_CALLS(int, getentropy, (void *out, size_t bytes), (out, bytes))
SHIELDED_IN_CALLS(int, tcdrain, (int fd), (fd))
SHIELDED_IN_CALLS(int, tcsendbreak, (int fd, int duration), (fd, duration))
SHIELDED(int, sigpause, (int mask_or_number), (mask_or_number))
SHIELDED(int, __sigpause, (int mask_or_number, int is_number), (mask_or_number, is_number))
SHIELDED(int, __xpg_sigpause, (int number), (number))

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_ASYNC)
static const struct sbx_point points[] = {
    POINT(msgrcv),          POINT(msgsnd),        POINT(semop),        POINT(semtimedop),   POINT(mq_receive),
    POINT(mq_timedreceive), POINT(mq_send),       POINT(mq_timedsend), POINT(io_getevents), POINT(io_pgetevents),
    POINT(aio_suspend),     POINT(aio_suspend64), POINT(lio_listio),   POINT(lio_listio64), POINT(gai_suspend),
    POINT(getrandom),       POINT(getentropy),    POINT(tcdrain),      POINT(sigpause),     POINT(__sigpause),
    POINT(__xpg_sigpause),  POINT(tcsendbreak),
};
const struct sbx_point_list sbx_points_shield = SBX_POINT_LIST(points);
