// SPDX-License-Identifier: Apache-2.0
// malloc_threads.cpp - a C++ program that lives in the allocator: four threads build, sort, look up and drop strings,
// maps and vectors, and hand some to a neighbour, who frees them.
//
// usage: malloc_threads SECONDS [lines]
// Waits for a line, works, prints "OPERATIONS_PER_SECOND P99_MS", the latter of one operation (some hundred allocations). With
// `lines` a line for each 32 operations comes first, of whichever thread.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <unistd.h>

namespace {

constexpr unsigned thread_count = 4;

struct mailbox {
    std::mutex mutex;
    std::vector<std::unique_ptr<std::vector<std::string>>> letters;
};

mailbox mailboxes[thread_count];

std::uint64_t next_random(std::uint64_t &state)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// One operation: what a request handler does to the heap.
std::uint64_t work(unsigned self, std::uint64_t &random, std::unordered_map<std::string, std::vector<int>> &index)
{
    std::map<std::string, std::string> fields;
    for (int i = 0; i < 24; i++) {
        std::string key = "field-" + std::to_string(next_random(random) % 1000);
        fields[key] = std::string(next_random(random) % 200, 'x') + key;
    }
    auto words = std::make_unique<std::vector<std::string>>();
    for (const auto &[key, value] : fields) {
        words->push_back(value.substr(0, value.size() / 2) + key);
    }
    std::sort(words->begin(), words->end());
    auto &seen = index["key-" + std::to_string(next_random(random) % 4096)];
    seen.push_back(static_cast<int>(words->size()));
    if (seen.size() > 64) {
        seen.clear();
        seen.shrink_to_fit();
    }
    std::uint64_t sum = words->front().size() + seen.size();
    mailbox &neighbour = mailboxes[(self + 1) % thread_count];
    std::vector<std::unique_ptr<std::vector<std::string>>> mine;
    {
        std::lock_guard<std::mutex> guard(neighbour.mutex);
        neighbour.letters.push_back(std::move(words));
    }
    {
        std::lock_guard<std::mutex> guard(mailboxes[self].mutex);
        mine.swap(mailboxes[self].letters);
    }
    return sum + mine.size(); // what came is freed here, by another thread than made it
}

} // namespace

int main(int argc, char **argv)
{
    using clock = std::chrono::steady_clock;
    constexpr std::uint64_t operations_a_line = 32;
    double seconds = argc > 1 ? std::atof(argv[1]) : 2;
    bool tells = argc > 2;
    std::getchar();
    auto begin = clock::now();
    auto end = begin + std::chrono::duration<double>(seconds);
    std::vector<float> times_us[thread_count];
    std::vector<std::thread> threads;
    std::uint64_t sums[thread_count] = {};
    for (unsigned self = 0; self < thread_count; self++) {
        threads.emplace_back([&, self] {
            std::uint64_t random = 88172645463325252u + self;
            std::unordered_map<std::string, std::vector<int>> index;
            times_us[self].reserve(1 << 20);
            auto last = clock::now();
            for (std::uint64_t count = 1; last < end; count++) {
                sums[self] += work(self, random, index);
                if (tells && count % operations_a_line == 0 && write(STDOUT_FILENO, "\n", 1) != 1) {
                    break;
                }
                auto now = clock::now();
                times_us[self].push_back(std::chrono::duration<float, std::micro>(now - last).count());
                last = now;
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    std::vector<float> all;
    for (auto &times : times_us) {
        all.insert(all.end(), times.begin(), times.end());
    }
    auto rank = all.begin() + static_cast<std::ptrdiff_t>(all.size() * 99 / 100);
    std::nth_element(all.begin(), rank, all.end());
    double took = std::chrono::duration<double>(clock::now() - begin).count();
    std::printf("%.1f %.5f\n", static_cast<double>(all.size()) / took, static_cast<double>(*rank) / 1000);
    return sums[0] == 1; // the sums are used
}
