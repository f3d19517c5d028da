/* SPDX-License-Identifier: Apache-2.0 */
/* busy_threads.c - eight threads that compute all the time, each in phases of some milliseconds: sorting; building,
 * walking and freeing a tree; a dictionary; text; arithmetic without a call; copying.
 *
 * usage: busy_threads SECONDS
 * Waits for a line, works, prints "done", waits for another line. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    THREADS = 8,
    WORDS = 600,
    TREE_DEPTH = 14,
    KEYS = 512,
    COPY_BYTES = 256 * 1024
};

static double end_s;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- sorting ---- */

static int compare_words(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static int compare_lengths(const void *left, const void *right)
{
    size_t a = strlen(*(char *const *)left), b = strlen(*(char *const *)right);
    return a != b ? (a > b) - (a < b) : compare_words(left, right);
}

static uint64_t sort_words(uint64_t *random)
{
    char *words[WORDS];
    for (int i = 0; i < WORDS; i++) {
        char text[64];
        snprintf(text, sizeof text, "%0*llx", (int)(next_random(random) % 30) + 1,
                 (unsigned long long)next_random(random));
        words[i] = strdup(text);
    }
    qsort(words, WORDS, sizeof words[0], next_random(random) % 2 != 0 ? compare_words : compare_lengths);
    uint64_t sum = (uint64_t)words[WORDS / 2][0];
    for (int i = 0; i < WORDS; i++) {
        free(words[i]);
    }
    return sum;
}

/* ---- a tree ---- */

struct node {
    struct node *left, *right;
    uint64_t value;
};

static struct node *build(int depth, uint64_t *random)
{
    struct node *node = calloc(1, sizeof *node);
    node->value = next_random(random);
    if (depth > 0 && node->value % 8 != 0) {
        node->left = build(depth - 1, random);
        node->right = node->value % 3 != 0 ? build(depth - 2, random) : NULL;
    }
    return node;
}

static uint64_t add_up(const struct node *node)
{
    return node == NULL ? 0 : node->value + 3 * add_up(node->left) + 5 * add_up(node->right);
}

static uint64_t deepest(const struct node *node)
{
    if (node == NULL) {
        return 0;
    }
    uint64_t left = deepest(node->left), right = deepest(node->right);
    return 1 + (left > right ? left : right);
}

static void drop(struct node *node)
{
    if (node != NULL) {
        drop(node->left);
        drop(node->right);
        free(node);
    }
}

static uint64_t grow_tree(uint64_t *random)
{
    struct node *root = build(TREE_DEPTH, random);
    uint64_t sum = add_up(root) + deepest(root);
    drop(root);
    return sum;
}

/* ---- a dictionary ---- */

struct entry {
    struct entry *next;
    uint64_t count;
    char key[];
};

static uint64_t hash_key(const char *key)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *key != 0; key++) {
        hash = (hash ^ (uint8_t)*key) * UINT64_C(1099511628211);
    }
    return hash;
}

static struct entry *look_up(struct entry **table, const char *key)
{
    struct entry **place = &table[hash_key(key) % KEYS];
    while (*place != NULL && strcmp((*place)->key, key) != 0) {
        place = &(*place)->next;
    }
    if (*place == NULL) {
        *place = calloc(1, sizeof **place + strlen(key) + 1);
        strcpy((*place)->key, key);
    }
    return *place;
}

static uint64_t count_keys(uint64_t *random)
{
    struct entry *table[KEYS] = {NULL};
    uint64_t most = 0;
    for (int i = 0; i < 3000; i++) {
        char key[32];
        snprintf(key, sizeof key, "key-%u", (unsigned)(next_random(random) % 1000));
        uint64_t count = ++look_up(table, key)->count;
        most = count > most ? count : most;
    }
    for (int i = 0; i < KEYS; i++) {
        for (struct entry *entry = table[i], *next; entry != NULL; entry = next) {
            next = entry->next;
            free(entry);
        }
    }
    return most;
}

/* ---- text, numbers, copies ---- */

static uint64_t write_text(uint64_t *random)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    for (int i = 0; i < 400; i++) {
        fprintf(stream, "%d: %.3f %s\n", i, (double)(next_random(random) % 100000) / 7, i % 2 != 0 ? "odd" : "even");
    }
    fclose(stream);
    uint64_t sum = bytes + (uint64_t)text[bytes / 2];
    free(text);
    return sum;
}

static uint64_t compute(uint64_t *random)
{
    uint64_t inside = 0;
    double shift = (double)(next_random(random) % 1000) / 1000;
    for (int i = 0; i < 600; i++) {
        double x = 0, y = 0, a = shift - 2 + i * 0.004, b = shift * 0.7;
        for (int k = 0; k < 300 && x * x + y * y < 4; k++) {
            double next = x * x - y * y + a;
            y = 2 * x * y + b;
            x = next;
            inside++;
        }
    }
    return inside;
}

static uint64_t copy(uint64_t *random)
{
    char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
    memset(from, (int)next_random(random), COPY_BYTES);
    for (int i = 0; i < 12; i++) {
        memcpy(to, from, COPY_BYTES);
        from[i] = to[COPY_BYTES - 1 - i];
    }
    uint64_t sum = (uint64_t)to[7];
    free(from);
    free(to);
    return sum;
}

static uint64_t (*const phases[])(uint64_t *) = {sort_words, grow_tree, count_keys, write_text, compute, copy};

static void *work(void *seed)
{
    uint64_t random = UINT64_C(88172645463325252) + (uint64_t)(uintptr_t)seed, sum = 0;
    while (now_s() < end_s) {
        uint64_t (*phase)(uint64_t *) = phases[next_random(&random) % (sizeof phases / sizeof phases[0])];
        double until = now_s() + 0.002 + (double)(next_random(&random) % 20) / 1000;
        while (now_s() < until) {
            sum += phase(&random);
        }
    }
    return (void *)(uintptr_t)sum;
}

static void wait_for_line(void)
{
    int got = getchar();
    while (got != '\n' && got != EOF) {
        got = getchar();
    }
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    uintptr_t sum = 0;
    wait_for_line();
    end_s = now_s() + (count > 1 ? atof(arguments[1]) : 5);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (uintptr_t)result;
    }
    printf("done %llu\n", (unsigned long long)sum);
    fflush(stdout);
    wait_for_line();
    return 0;
}
