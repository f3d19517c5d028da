/* SPDX-License-Identifier: Apache-2.0 */
/* plugins.cc - modules are loaded and unloaded by several threads, while others run in them, throw out of them and walk
 * the list. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tap.h"

enum {
    ROUNDS = 300,
    THREADS = 4
};
static std::atomic<bool> goes_on{true};

static int count_modules(struct dl_phdr_info *, size_t, void *count)
{
    ++*static_cast<int *>(count);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return 2;
    }
    std::atomic<long> loaded{0}, answered{0}, caught{0}, walks{0}, bad_walks{0};
    std::vector<std::thread> threads;
    std::thread walker([&] {
        while (goes_on) {
            int modules = 0;
            dl_iterate_phdr(count_modules, &modules);
            bad_walks += modules < 3;
            walks++;
        }
    });
    for (int i = 0; i < THREADS; i++) {
        threads.emplace_back([&, i] {
            for (int round = 0; round < ROUNDS; round++) {
                void *module = dlopen(argv[1], (round + i) % 2 ? RTLD_NOW : RTLD_LAZY);
                if (module == nullptr) {
                    continue;
                }
                loaded++;
                auto answer = reinterpret_cast<int (*)(int)>(dlsym(module, "plugin_answer"));
                auto refuse = reinterpret_cast<void (*)()>(dlsym(module, "plugin_refuse"));
                answered += answer != nullptr && answer(round) == round * 2 + 1;
                try {
                    refuse();
                } catch (const std::runtime_error &) {
                    caught++;
                }
                dlclose(module);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    goes_on = false;
    walker.join();
    tap_equal("loaded", loaded, THREADS * ROUNDS);
    tap_equal("answered", answered, THREADS * ROUNDS);
    tap_equal("caught", caught, THREADS * ROUNDS);
    tap_equal("walks that found too few modules", bad_walks, 0);
    tap_case(walks > 0, "walked", walks, 1);
    return tap_end();
}
