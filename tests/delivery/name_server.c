/* SPDX-License-Identifier: Apache-2.0 */
/* name_server.c - the part of RFC 1035 that a stub resolver needs. */
#include "name_server.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 12,
    TYPE_A = 1,
    TYPE_AAAA = 28,
    MANY = 1000,
    UDP_BYTES_MAX = 512,
    ANSWER_BYTES_MAX = HEADER_BYTES + 300 + MANY * 16,
};

static int udp_end, tcp_end;

static void put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static size_t add_record(uint8_t *at, unsigned type, const uint8_t *content, size_t bytes)
{
    put16(at, 0xc000 | HEADER_BYTES); /* a pointer to the name in the question */
    put16(at + 2, type);
    put16(at + 4, 1);
    memset(at + 6, 0, 4); /* time to live 0 */
    put16(at + 10, (unsigned)bytes);
    memcpy(at + 12, content, bytes);
    return 12 + bytes;
}

/* The answer to `question`; 0: none. */
static size_t answer(const uint8_t *question, size_t bytes, uint8_t *out)
{
    static const uint8_t here[4] = {127, 0, 0, 1}, hole[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};
    char name[64] = "";
    size_t at = HEADER_BYTES, used = 0;
    while (at < bytes && question[at] != 0 && used + question[at] + 2 < sizeof name && at + question[at] + 1u < bytes) {
        memcpy(name + used, question + at + 1, question[at]);
        used += question[at];
        name[used++] = '.';
        at += question[at] + 1u;
    }
    if (at + 5 > bytes) {
        return 0;
    }
    unsigned type = (unsigned)question[at + 1] << 8 | question[at + 2], count = 0, code = 0;
    size_t length = at + 5;
    memcpy(out, question, length);
    if (strcmp(name, "silent.test.") == 0) {
        return 0;
    } else if (strcmp(name, "noise.test.") == 0) {
        memset(out + 2, 0xff, 60);
        return 62;
    } else if (strcmp(name, "broken.test.") == 0) {
        code = 2;
    } else if (strcmp(name, "late.test.") == 0 || strcmp(name, "hole.test.") == 0) {
        if (strcmp(name, "late.test.") == 0) {
            nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        } else if (type == TYPE_AAAA) {
            length += add_record(out + length, TYPE_AAAA, hole, 16);
            count++;
        }
        if (type == TYPE_A) {
            length += add_record(out + length, TYPE_A, here, 4);
            count++;
        }
    } else if (strcmp(name, "many.test.") == 0) {
        for (; type == TYPE_A && count < MANY; count++) {
            const uint8_t address[4] = {127, count == MANY - 1 ? 0 : 1, (uint8_t)(count == MANY - 1 ? 0 : count >> 8),
                                        (uint8_t)(count == MANY - 1 ? 1 : count)};
            length += add_record(out + length, TYPE_A, address, 4);
        }
    } else {
        code = 3;
    }
    put16(out + 2, 0x8180 | code);
    put16(out + 4, 1);
    put16(out + 6, count);
    memset(out + 8, 0, 4);
    return length;
}

static void *serve_udp(void *context)
{
    static uint8_t question[2000], out[ANSWER_BYTES_MAX];
    struct sockaddr_in from;
    (void)context;
    for (;;) {
        socklen_t from_bytes = sizeof from;
        ssize_t got = recvfrom(udp_end, question, sizeof question, 0, (struct sockaddr *)&from, &from_bytes);
        size_t bytes = got > HEADER_BYTES ? answer(question, (size_t)got, out) : 0;
        if (bytes > UDP_BYTES_MAX) { /* too long: the client must ask again by TCP */
            bytes = (size_t)got;
            memcpy(out, question, bytes);
            put16(out + 2, 0x8380);
        }
        if (bytes > 0) {
            sendto(udp_end, out, bytes, 0, (struct sockaddr *)&from, from_bytes);
        }
    }
    return NULL;
}

static void *serve_tcp(void *context)
{
    static uint8_t question[2000], out[2 + ANSWER_BYTES_MAX];
    (void)context;
    for (;;) {
        int connection = accept4(tcp_end, NULL, NULL, SOCK_CLOEXEC);
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 5}, sizeof(struct timeval));
        ssize_t got;
        while ((got = recv(connection, question, 2, MSG_WAITALL)) == 2) {
            size_t bytes = (size_t)question[0] << 8 | question[1];
            if (bytes > sizeof question || recv(connection, question, bytes, MSG_WAITALL) != (ssize_t)bytes) {
                break;
            }
            size_t length = answer(question, bytes, out + 2);
            put16(out, (unsigned)length);
            if (length == 0 || send(connection, out, length + 2, MSG_NOSIGNAL) < 0) {
                break;
            }
        }
        close(connection);
    }
    return NULL;
}

static int bind_end(int kind)
{
    int end = socket(AF_INET, kind | SOCK_CLOEXEC, 0);
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (end < 0 || bind(end, (const struct sockaddr *)&address, sizeof address) != 0 ||
        (kind == SOCK_STREAM && listen(end, 8) != 0)) {
        perror("name_server: port 53");
        abort();
    }
    return end;
}

/* Replace a configuration file of the resolver by the one for this test. */
static bool replace(const char *path, const char *text)
{
    char other[] = "/tmp/sbx-names-XXXXXX";
    int file = mkstemp(other);
    bool is_done = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text) &&
                   mount(other, path, NULL, MS_BIND, NULL) == 0;
    if (file >= 0) {
        close(file);
        unlink(other); /* the mount keeps it */
    }
    return is_done;
}

bool sbx_name_server_enter(void)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNET | CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        !replace("/etc/resolv.conf", "nameserver 127.0.0.1\n") ||
        !replace("/etc/nsswitch.conf", "hosts: files dns\n")) {
        return false;
    }
    struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
    int end = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    strcpy(request.ifr_name, "lo");
    bool is_up = end >= 0 && ioctl(end, SIOCSIFFLAGS, &request) == 0;
    if (end >= 0) {
        close(end);
    }
    if (!is_up) {
        return false;
    }
    pthread_t thread;
    udp_end = bind_end(SOCK_DGRAM);
    tcp_end = bind_end(SOCK_STREAM);
    return pthread_create(&thread, NULL, serve_udp, NULL) == 0 && pthread_create(&thread, NULL, serve_tcp, NULL) == 0;
}
