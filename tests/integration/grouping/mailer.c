/* SPDX-License-Identifier: Apache-2.0 */
/* mailer.c - three handlers that call one slow helper, built in several ways; the argument selects the handler. */
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum {
    EVENT = 60 /* the slow one: there is a second before it, so that the recorder is ready on a busy machine too */
};

static volatile uint64_t sink;

#ifdef WITH_ANOTHER_FUNCTION
__attribute__((used, noinline)) static int count_flags(int flags)
{
    int count = 0;
    for (; flags != 0; flags &= flags - 1)
        count++;
    return count;
}
#endif

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

static void db_query(int64_t ms)
{
    for (int64_t end = now_ms() + ms; now_ms() < end;)
        for (uint64_t i = 0; i < 10000; i++)
            sink = sink * 2862933555777941757u + i;
}

static void open_inbox(void)
{
    db_query(900);
    sink++; /* after the call: no tail call */
}

static void save_settings(void)
{
    db_query(900);
    sink += 2;
}

static void sync_contacts(void)
{
    db_query(900);
    sink += 3;
}

/* One function that is slow in one of five places. */
static __attribute__((noinline)) void index_mail(int way)
{
    int64_t end = now_ms() + 900;
    switch (way) {
    case '1':
        while (now_ms() < end)
            for (uint64_t i = 0; i < 10000; i++)
                sink = sink * 3935559000370003845u + i;
        break;
    case '2':
        while (now_ms() < end)
            for (uint64_t i = 0; i < 10000; i++)
                sink = (sink ^ i) * 2691343689449507681u;
        break;
    case '3':
        while (now_ms() < end)
            for (uint64_t i = 0; i < 10000; i++)
                sink = (sink << 7 ^ sink >> 9) + i;
        break;
    case '4':
        while (now_ms() < end)
            for (uint64_t i = 0; i < 10000; i++)
                sink += sink / (i + 3) + i;
        break;
    default:
        while (now_ms() < end)
            for (uint64_t i = 0; i < 10000; i++)
                sink -= i * i * i + 11;
        break;
    }
    sink++;
}

static void handle_event(int number, const char *what)
{
    if (number == EVENT && strcmp(what, "inbox") == 0)
        open_inbox();
    else if (number == EVENT && strcmp(what, "settings") == 0)
        save_settings();
    else if (number == EVENT && strncmp(what, "index", 5) == 0)
        index_mail(what[5]);
    else if (number == EVENT)
        sync_contacts();
#ifdef WITH_ANOTHER_FUNCTION
    sink += (uint64_t)count_flags(number);
#endif
    sink++;
}

int main(int argc, char **argv)
{
    for (int number = 0; number < EVENT + 10; number++) {
        poll(NULL, 0, 20);
        handle_event(number, argc > 1 ? argv[1] : "");
    }
    return 0;
}
