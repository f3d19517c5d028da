/* SPDX-License-Identifier: Apache-2.0 */
/* mailer.c - three handlers that call one slow helper, built in several ways: which one, its argument says. */
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

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
    sink++; /* behind the call: it is no jump */
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

static void handle_event(int number, const char *what)
{
    if (number == 10 && strcmp(what, "inbox") == 0)
        open_inbox();
    else if (number == 10 && strcmp(what, "settings") == 0)
        save_settings();
    else if (number == 10)
        sync_contacts();
#ifdef WITH_ANOTHER_FUNCTION
    sink += (uint64_t)count_flags(number);
#endif
    sink++;
}

int main(int argc, char **argv)
{
    for (int number = 0; number < 20; number++) {
        poll(NULL, 0, 20);
        handle_event(number, argc > 1 ? argv[1] : "");
    }
    return 0;
}
