// SPDX-License-Identifier: Apache-2.0
// nasty_exceptions.cc - C++ exceptions: through qsort, across threads, out of plugins; and cancellation through destructors.
#include "nasty_host.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <exception>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <semaphore.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include "nasty_plugin.h"

namespace
{

struct Counted {
    int *count;
    explicit Counted(int *where) : count(where)
    {
        ++*count;
    }
    Counted(const Counted &) = delete;
    Counted &operator=(const Counted &) = delete;
    ~Counted()
    {
        --*count;
        free(malloc(40));
    }
};

// ---- through qsort ----

thread_local int compares;

int compare_or_throw(const void *a, const void *b)
{
    if (--compares == 0) {
        throw std::runtime_error("enough compared");
    }
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

void throw_through_qsort(struct nasty_worker *worker)
{
    int numbers[40]; // so few that qsort needs no memory, which would leak
    int alive = 0;
    bool is_caught = false;
    for (int &number : numbers) {
        number = static_cast<int>(nasty_random(worker, 1000));
    }
    compares = 1 + static_cast<int>(nasty_random(worker, 60));
    try {
        Counted one(&alive);
        qsort(numbers, 40, sizeof numbers[0], compare_or_throw);
    } catch (const std::runtime_error &error) {
        is_caught = strcmp(error.what(), "enough compared") == 0;
    }
    if (!is_caught || alive != 0) {
        nasty_error(worker, "an exception through qsort: caught %d, %d objects left", is_caught, alive);
    }
}

// ---- deep, thrown again, in a destructor's shadow ----

__attribute__((noinline)) int throw_deep(int depth, int *alive)
{
    Counted one(alive);
    if (depth == 0) {
        throw depth;
    }
    try {
        return throw_deep(depth - 1, alive) + 1;
    } catch (int level) {
        if (depth % 3 == 0) {
            nasty_pause_us(1);
            throw level + 1;
        }
        throw;
    }
}

void throw_often(struct nasty_worker *worker)
{
    int depth = 3 + static_cast<int>(nasty_random(worker, 40)), alive = 0, level = -1;
    try {
        throw_deep(depth, &alive);
    } catch (int caught) {
        level = caught;
    }
    if (level != depth / 3 || alive != 0) {
        nasty_error(worker, "an exception thrown again: level %d of %d, %d objects left", level, depth / 3, alive);
    }
}

// ---- across threads ----

void *catch_and_keep(void *where)
{
    try {
        throw std::logic_error("of another thread");
    } catch (...) {
        *static_cast<std::exception_ptr *>(where) = std::current_exception();
    }
    return nullptr;
}

void throw_across(struct nasty_worker *worker)
{
    std::exception_ptr kept;
    bool is_caught = false;
    nasty_join(worker, nasty_thread(worker, 0, catch_and_keep, &kept));
    try {
        std::rethrow_exception(kept);
    } catch (const std::logic_error &error) {
        is_caught = strcmp(error.what(), "of another thread") == 0;
    }
    if (!is_caught) {
        nasty_error(worker, "an exception of another thread is another");
    }
}

// ---- cancellation ----

struct Victim {
    struct nasty_worker *worker;
    unsigned way;
    int alive, through_catch, pipe_fds[2];
    sem_t ready;
};

__attribute__((noinline)) void wait_inside(Victim *victim, unsigned depth)
{
    Counted one(&victim->alive);
    std::string text(100, 'x');
    while (depth > 0 && victim->way < 100) { // without end, but the compiler must not know that
        wait_inside(victim, depth - 1);
    }
    char byte;
    struct pollfd ready = {victim->pipe_fds[0], POLLIN, 0};
    const struct timespec long_time = {100, 0};
    sem_post(&victim->ready);
    while (victim->way < 100) {
        switch (victim->way) {
        case 0:
            (void)!read(victim->pipe_fds[0], &byte, 1);
            break;
        case 1:
            poll(&ready, 1, -1);
            break;
        case 2:
            nanosleep(&long_time, nullptr);
            break;
        default:
            usleep(50);
        }
    }
}

void *be_cancelled(void *argument)
{
    Victim *victim = static_cast<Victim *>(argument);
    try {
        wait_inside(victim, 5);
    } catch (...) { // a cancellation passes here and must be thrown again
        victim->through_catch++;
        throw;
    }
    return nullptr;
}

// ---- plugins ----

struct Plugin {
    void *module;
    nasty_plugin_throw_function *throw_one;
    nasty_plugin_add_function *add;
    nasty_plugin_sleep_function *sleep_us;
};

bool load(struct nasty_worker *worker, unsigned number, Plugin *plugin)
{
    std::string path = std::string(nasty_modules) + "/nasty_plugin_" + std::to_string(number) + ".so";
    int flags =
        (nasty_random(worker, 2) ? RTLD_NOW : RTLD_LAZY) | (nasty_random(worker, 4) == 0 ? RTLD_GLOBAL : RTLD_LOCAL);
    pthread_mutex_lock(&nasty_loader);
    plugin->module = dlopen(path.c_str(), flags);
    if (plugin->module != nullptr) {
        plugin->throw_one =
            reinterpret_cast<nasty_plugin_throw_function *>(dlsym(plugin->module, "nasty_plugin_throw"));
        plugin->add = reinterpret_cast<nasty_plugin_add_function *>(dlsym(plugin->module, "nasty_plugin_add"));
        plugin->sleep_us = reinterpret_cast<nasty_plugin_sleep_function *>(dlsym(plugin->module, "nasty_plugin_sleep"));
    } else {
        nasty_error(worker, "dlopen: %s", dlerror());
    }
    pthread_mutex_unlock(&nasty_loader);
    return plugin->module != nullptr;
}

void unload(struct nasty_worker *worker, Plugin *plugin)
{
    pthread_mutex_lock(&nasty_loader);
    if (dlclose(plugin->module) != 0) {
        nasty_error(worker, "dlclose: %s", dlerror());
    }
    pthread_mutex_unlock(&nasty_loader);
}

// The type of the exception is defined in the plugin, so the exception must be destroyed before the plugin is unloaded.
void use_plugin(struct nasty_worker *worker, const Plugin &plugin, unsigned number)
{
    int what = static_cast<int>(nasty_random(worker, 3)), caught = -1;
    try {
        plugin.throw_one(what);
    } catch (const std::out_of_range &error) {
        caught = strcmp(error.what(), "nasty plugin") == 0 ? 0 : -2;
    } catch (int value) {
        caught = value == static_cast<int>(100 + number) ? 1 : -3;
    } catch (const std::exception &error) {
        caught = strcmp(error.what(), "own type") == 0 ? 2 : -4;
    }
    if (caught != what) {
        nasty_error(worker, "plugin %u threw %d, caught %d", number, what, caught);
    }
    pthread_mutex_lock(&nasty_loader);
    int sum = plugin.add(20, 22);
    pthread_mutex_unlock(&nasty_loader);
    if (sum != 42 || plugin.sleep_us(nasty_random(worker, 60)) != 0) {
        nasty_error(worker, "a function of plugin %u said something else", number);
    }
}

struct In_plugin {
    struct nasty_worker *worker;
    Plugin *plugin;
};

void *sleep_in_plugin(void *argument)
{
    In_plugin *in = static_cast<In_plugin *>(argument);
    for (int i = 0; i < 5; i++) {
        if (in->plugin->sleep_us(100) != 0) {
            nasty_error(in->worker, "a plugin's sleep");
        }
    }
    return nullptr;
}

} // namespace

void nasty_exceptions(struct nasty_worker *worker)
{
    while (nasty_goes_on()) {
        nasty_step(worker, "throwing through qsort");
        for (int i = 0; i < 50; i++) {
            throw_through_qsort(worker);
        }
        nasty_step(worker, "throwing again");
        for (int i = 0; i < 20; i++) {
            throw_often(worker);
        }
        nasty_step(worker, "throwing across threads");
        throw_across(worker);
        nasty_round(worker);
    }
}

void nasty_cancel_destructors(struct nasty_worker *worker)
{
    Victim victim = {};
    victim.worker = worker;
    if (pipe2(victim.pipe_fds, O_CLOEXEC) != 0) {
        nasty_error(worker, "pipe: %s", strerror(errno));
        return;
    }
    sem_init(&victim.ready, 0, 0);
    while (nasty_goes_on()) {
        nasty_step(worker, "cancelling through destructors");
        victim.way = nasty_random(worker, 4);
        victim.alive = victim.through_catch = 0;
        pthread_t thread = nasty_thread(worker, 0, be_cancelled, &victim);
        while (sem_wait(&victim.ready) != 0) {
        }
        nasty_pause_us(nasty_random(worker, 1500));
        pthread_cancel(thread);
        if (nasty_join(worker, thread) != PTHREAD_CANCELED || victim.alive != 0 || victim.through_catch != 1) {
            nasty_error(worker, "%d objects left, %d times through catch", victim.alive, victim.through_catch);
        }
        nasty_round(worker);
    }
    close(victim.pipe_fds[0]);
    close(victim.pipe_fds[1]);
}

void nasty_plugins(struct nasty_worker *worker)
{
    while (nasty_goes_on()) {
        Plugin plugin;
        unsigned number = nasty_random(worker, 3);
        nasty_step(worker, "loading");
        if (!load(worker, number, &plugin)) {
            return;
        }
        nasty_step(worker, "in a plugin");
        use_plugin(worker, plugin, number);
        if (nasty_random(worker, 8) == 0) {
            In_plugin in = {worker, &plugin};
            pthread_t thread = nasty_thread(worker, 0, sleep_in_plugin, &in);
            use_plugin(worker, plugin, number);
            nasty_join(worker, thread);
        }
        nasty_step(worker, "unloading");
        unload(worker, &plugin);
        nasty_round(worker);
    }
}

// ---- RTLD_DEEPBIND ----

void nasty_deepbind(struct nasty_worker *worker)
{
    static const char *const files[] = {"nasty_deep_own.so", "nasty_deep_plain.so"};
    nasty_block_host_signals(); // a usleep() of the plugin must not be interrupted
    while (nasty_goes_on()) {
        unsigned which = nasty_random(worker, 2);
        std::string path = std::string(nasty_modules) + "/" + files[which];
        int flags = RTLD_DEEPBIND | (nasty_random(worker, 2) ? RTLD_NOW : RTLD_LAZY);
        nasty_step(worker, files[which]);
        pthread_mutex_lock(&nasty_loader);
        void *module = dlopen(path.c_str(), flags);
        auto check =
            module != nullptr ? reinterpret_cast<const char *(*)()>(dlsym(module, "nasty_deep_check")) : nullptr;
        pthread_mutex_unlock(&nasty_loader);
        if (check == nullptr) {
            nasty_error(worker, "dlopen %s: %s", path.c_str(), dlerror());
            return;
        }
        for (int i = 0; i < 20; i++) { // hooks may be installed meanwhile
            const char *wrong = check();
            if (wrong != nullptr) {
                nasty_error(worker, "%s: %s", files[which], wrong);
                break;
            }
            nasty_pause_us(nasty_random(worker, 500));
        }
        pthread_mutex_lock(&nasty_loader);
        dlclose(module);
        pthread_mutex_unlock(&nasty_loader);
        nasty_round(worker);
    }
}
