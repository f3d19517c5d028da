/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_streams.c - streams, pipes and sockets: the bytes that are read are exactly those that were written, in the
 * same order. */
#include "nasty_host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- streams ---- */

/* Print a line by one of five calls; returns the call's result. */
static int print_line(FILE *stream, unsigned number)
{
    char line[64];
    int length = snprintf(line, sizeof line, "line %u of a stream, %.3f\n", number, number / 7.0);
    switch (number % 5) {
    case 0:
        return fprintf(stream, "line %u of a stream, %.3f\n", number, number / 7.0);
    case 1:
        return fputs(line, stream) >= 0 ? length : -1;
    case 2:
        return (int)fwrite(line, 1, (size_t)length, stream);
    case 3:
        for (int i = 0; i < length; i++) {
            if (putc(line[i], stream) == EOF) {
                return -1;
            }
        }
        return length;
    default:
        fflush(stream);
        return dprintf(fileno(stream), "line %u of a stream, %.3f\n", number, number / 7.0);
    }
}

static void check_stream(struct nasty_worker *worker, FILE *stream, unsigned lines)
{
    char line[64], expected[64];
    for (unsigned i = 0; i < lines; i++) {
        snprintf(expected, sizeof expected, "line %u of a stream, %.3f\n", i, i / 7.0);
        if (fgets(line, sizeof line, stream) == NULL || strcmp(line, expected) != 0) {
            nasty_error(worker, "line %u came back as \"%.40s\", %s", i, line, strerror(errno));
            return;
        }
    }
    if (fgetc(stream) != EOF) {
        nasty_error(worker, "a stream is longer than what was written");
    }
}

/* popen and dprintf do not retry a write that a signal interrupts, so these threads block the host's signals. */
void nasty_stdio(struct nasty_worker *worker)
{
    nasty_block_host_signals();
    while (nasty_goes_on()) {
        unsigned lines = 50 + nasty_random(worker, 400), buffer = nasty_random(worker, 3);
        FILE *stream = tmpfile();
        if (stream == NULL) {
            nasty_error(worker, "tmpfile: %s", strerror(errno));
            return;
        }
        nasty_step(worker, "printing");
        setvbuf(stream, NULL, buffer == 0 ? _IONBF : buffer == 1 ? _IOLBF : _IOFBF, 512);
        for (unsigned i = 0; i < lines; i++) {
            int length = print_line(stream, i);
            if (length < 20) {
                nasty_error(worker, "print %u said %d, %s", i % 5, length, strerror(errno));
            }
        }
        rewind(stream);
        nasty_step(worker, "reading what was printed");
        check_stream(worker, stream, lines);
        if (fclose(stream) != 0) {
            nasty_error(worker, "fclose: %s", strerror(errno));
        }
        nasty_round(worker);
    }
}

/* ---- bytes ---- */

struct line {
    struct nasty_worker *worker;
    int in, out;
    size_t count;
    unsigned how;
};

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 31 + i / 251);
}

static ssize_t put_some(struct line *self, unsigned char *bytes, size_t count)
{
    struct iovec vectors[2] = {{bytes, count / 2}, {bytes + count / 2, count - count / 2}};
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = 2};
    switch (self->how) {
    case 0:
        return write(self->out, bytes, count);
    case 1:
        return writev(self->out, vectors, 2);
    case 2:
        return send(self->out, bytes, count, MSG_NOSIGNAL);
    default:
        return sendmsg(self->out, &message, MSG_NOSIGNAL);
    }
}

static ssize_t get_some(struct line *self, unsigned char *bytes, size_t count)
{
    struct iovec vectors[2] = {{bytes, count / 3}, {bytes + count / 3, count - count / 3}};
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = 2};
    struct pollfd ready = {.fd = self->in, .events = POLLIN};
    switch (self->how) {
    case 0:
        return read(self->in, bytes, count);
    case 1:
        return poll(&ready, 1, -1) < 0 ? -1 : readv(self->in, vectors, 2);
    case 2:
        return recv(self->in, bytes, count, 0);
    default:
        return recvmsg(self->in, &message, 0);
    }
}

static void *put_all(void *argument)
{
    struct line *self = argument;
    unsigned char bytes[3000];
    for (size_t done = 0; done < self->count;) {
        size_t want = self->count - done < sizeof bytes ? self->count - done : sizeof bytes;
        for (size_t i = 0; i < want; i++) {
            bytes[i] = byte_at(done + i);
        }
        sig_atomic_t handled = nasty_handled;
        ssize_t count = put_some(self, bytes, want);
        if (count >= 0) {
            done += (size_t)count;
        } else if (!nasty_is_interrupted(self->worker, handled, "write")) {
            break;
        }
    }
    close(self->out);
    return NULL;
}

static void get_all(struct line *self)
{
    unsigned char bytes[1777];
    size_t done = 0;
    for (;;) {
        sig_atomic_t handled = nasty_handled;
        ssize_t count = get_some(self, bytes, sizeof bytes);
        if (count == 0 || (count < 0 && !nasty_is_interrupted(self->worker, handled, "read"))) {
            break;
        }
        for (ssize_t i = 0; i < count; i++, done++) {
            if (bytes[i] != byte_at(done)) {
                nasty_error(self->worker, "byte %zu is another", done);
                return;
            }
        }
    }
    if (done != self->count) {
        nasty_error(self->worker, "%zu of %zu bytes came", done, self->count);
    }
}

void nasty_bytes(struct nasty_worker *worker)
{
    while (nasty_goes_on()) {
        struct line line = {
            .worker = worker, .how = nasty_random(worker, 4), .count = 20000 + nasty_random(worker, 200000)};
        int fds[2];
        int result = line.how < 2 ? pipe2(fds, O_CLOEXEC) : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds);
        if (result != 0) {
            nasty_error(worker, "a pipe: %s", strerror(errno));
            return;
        }
        nasty_step(worker, "passing bytes");
        line.in = fds[0];
        line.out = fds[1];
        pthread_t thread = nasty_thread(worker, 0, put_all, &line);
        get_all(&line);
        close(line.in);
        nasty_join(worker, thread);
        nasty_round(worker);
    }
}
