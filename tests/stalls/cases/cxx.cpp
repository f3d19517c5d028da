// SPDX-License-Identifier: Apache-2.0
// cxx.cpp - waits and computations of C++ programs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "stall.h"

using namespace std::chrono_literals;

namespace
{

std::mutex catalogue_lock;
std::shared_mutex scene_lock;
std::condition_variable layout_changed;
bool is_laid_out;
std::atomic<bool> is_held;

void await_holder()
{
    while (!is_held) {
        std::this_thread::sleep_for(2ms);
    }
}

STALL_FUNCTION void compute(int ms)
{
    for (auto until_ns = stall_now_ns() + ms * INT64_C(1000000); stall_now_ns() < until_ns;) {
        for (int i = 0; i < 4000; i++) {
            stall_sink = stall_sink + static_cast<uint64_t>(i) * 3;
        }
    }
}

struct Catalogue {
    STALL_FUNCTION void reindex()
    {
        for (auto until_ns = stall_now_ns() + stall_ms * INT64_C(1000000); stall_now_ns() < until_ns;) {
            for (int i = 0; i < 4000; i++) {
                stall_sink = stall_sink + static_cast<uint64_t>(i) * 3;
            }
        }
    }
    STALL_FUNCTION void find(int n)
    {
        std::thread([this] {
            std::lock_guard<std::mutex> guard(catalogue_lock);
            is_held = true;
            reindex();
        }).detach();
        await_holder();
        std::lock_guard<std::mutex> guard(catalogue_lock);
        stall_sink = stall_sink + static_cast<uint64_t>(n);
    }
};
Catalogue catalogue;

void find_in_catalogue(int n)
{
    catalogue.find(n);
}

STALL_FUNCTION void load_meshes()
{
    std::this_thread::sleep_for(std::chrono::milliseconds(stall_ms));
    STALL_STAY();
}

STALL_FUNCTION void draw_scene(int n)
{
    std::thread([] {
        std::unique_lock<std::shared_mutex> guard(scene_lock);
        is_held = true;
        load_meshes();
    }).detach();
    await_holder();
    std::shared_lock<std::shared_mutex> guard(scene_lock);
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

STALL_FUNCTION void lay_out_text()
{
    compute(stall_ms);
    STALL_STAY();
}

STALL_FUNCTION void await_layout(int n)
{
    std::thread([] {
        lay_out_text();
        std::lock_guard<std::mutex> guard(catalogue_lock);
        is_laid_out = true;
        layout_changed.notify_all();
    }).detach();
    std::unique_lock<std::mutex> guard(catalogue_lock);
    layout_changed.wait(guard, [] { return is_laid_out; });
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

STALL_FUNCTION int score_model()
{
    for (auto until_ns = stall_now_ns() + stall_ms * INT64_C(1000000); stall_now_ns() < until_ns;) {
        for (int i = 0; i < 4000; i++) {
            stall_sink = stall_sink + static_cast<uint64_t>(i) * 3;
        }
    }
    return 7;
}

STALL_FUNCTION void show_score(int n)
{
    auto score = std::async(std::launch::async, score_model);
    stall_sink = stall_sink + static_cast<uint64_t>(score.get() + n);
}

STALL_FUNCTION void join_pool(int n)
{
    std::thread worker(load_meshes);
    worker.join();
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

STALL_FUNCTION void blink_cursor(int n)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(stall_ms));
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

STALL_FUNCTION int parse_number(const std::string &text)
{
    if (text[0] == 'x') {
        throw std::invalid_argument(text);
    }
    return text[0];
}

STALL_FUNCTION void import_rows(int n)
{
    const std::string bad = "x" + std::to_string(n);
    for (auto until_ns = stall_now_ns() + stall_ms * INT64_C(1000000); stall_now_ns() < until_ns;) {
        try {
            stall_sink = stall_sink + static_cast<uint64_t>(parse_number(bad));
        } catch (const std::exception &error) {
            stall_sink = stall_sink + static_cast<uint64_t>(error.what()[0]);
        }
    }
}

struct Order {
    int price;
    std::string name;
};

STALL_FUNCTION void sort_by_price(int n)
{
    std::vector<int> prices(40000);
    for (auto until_ns = stall_now_ns() + stall_ms * INT64_C(1000000); stall_now_ns() < until_ns;) {
        unsigned seed = static_cast<unsigned>(n);
        for (auto &price : prices) {
            seed = seed * 1664525 + 1013904223;
            price = static_cast<int>(seed >> 1);
        }
        std::sort(prices.begin(), prices.end());
    }
    stall_sink = stall_sink + static_cast<uint64_t>(prices[3]);
}

struct Offer {
    int price, rank;
};

/* The comparison is inlined into the sort and has no symbol, so only debug information shows where it was written. */
STALL_FUNCTION void rank_offers(int n)
{
    std::vector<Offer> offers(40000);
    for (auto until_ns = stall_now_ns() + stall_ms * INT64_C(1000000); stall_now_ns() < until_ns;) {
        unsigned seed = static_cast<unsigned>(n);
        for (auto &offer : offers) {
            seed = seed * 1664525 + 1013904223;
            offer = {static_cast<int>(seed >> 20), static_cast<int>(seed >> 1)};
        }
        std::sort(offers.begin(), offers.end(), [](const Offer &one, const Offer &other) {
            int64_t difference = one.price - other.price;
            for (int i = 0; i < 20; i++) {
                difference = difference * 3 + ((one.rank >> i) & 1) - ((other.rank >> i) & 1);
            }
            return difference < 0;
        });
    }
    stall_sink = stall_sink + static_cast<uint64_t>(offers[3].price);
}

STALL_FUNCTION void group_words(int n)
{
    for (auto until_ns = stall_now_ns() + stall_ms * INT64_C(1000000); stall_now_ns() < until_ns;) {
        std::map<std::string, int> words;
        for (int i = 0; i < 3000; i++) {
            words["a word that is long enough for the heap " + std::to_string((i * 7919) % 3000)] += n;
        }
        stall_sink = stall_sink + words.size();
    }
}

// ---- work that the loop hands to others, and waits for ----

STALL_FUNCTION int train_model()
{
    for (auto until_ns = stall_now_ns() + stall_ms * INT64_C(1000000); stall_now_ns() < until_ns;) {
        for (int i = 0; i < 4000; i++) {
            stall_sink = stall_sink + static_cast<uint64_t>(i) * 3;
        }
    }
    return 7;
}

STALL_FUNCTION std::future<int> request_forecast()
{
    auto forecast = std::async(std::launch::async, train_model);
    STALL_STAY();
    return forecast;
}

STALL_FUNCTION void show_forecast(int n)
{
    stall_sink = stall_sink + static_cast<uint64_t>(request_forecast().get() + n);
}

class Pool
{
  public:
    explicit Pool(int threads)
    {
        for (int i = 0; i < threads; i++) {
            std::thread([this] { run(); }).detach();
        }
    }
    STALL_FUNCTION void submit(std::function<void()> job)
    {
        std::lock_guard<std::mutex> guard(lock_);
        jobs_.push_back(std::move(job));
        filled_.notify_one();
    }

  private:
    void run()
    {
        for (;;) {
            std::unique_lock<std::mutex> guard(lock_);
            filled_.wait(guard, [this] { return !jobs_.empty(); });
            auto job = std::move(jobs_.front());
            jobs_.pop_front();
            guard.unlock();
            job();
        }
    }
    std::mutex lock_;
    std::condition_variable filled_;
    std::deque<std::function<void()>> jobs_;
};

Pool *pool;

void make_pool()
{
    pool = new Pool(2);
}

STALL_FUNCTION void draw_preview()
{
    for (auto until_ns = stall_now_ns() + stall_ms * INT64_C(1000000); stall_now_ns() < until_ns;) {
        for (int i = 0; i < 4000; i++) {
            stall_sink = stall_sink + static_cast<uint64_t>(i) * 3;
        }
    }
}

STALL_FUNCTION void request_preview(std::promise<void> &drawn)
{
    pool->submit([&drawn] {
        draw_preview();
        drawn.set_value();
    });
    STALL_STAY();
}

STALL_FUNCTION void open_preview(int n)
{
    std::promise<void> drawn;
    request_preview(drawn);
    drawn.get_future().wait();
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

} // namespace

extern "C" const struct stall stalls_cxx[] = {
    {"cxx_mutex", nullptr, find_in_catalogue, false, 0, 0}, {"cxx_shared_mutex", nullptr, draw_scene, false, 0, 0},
    {"cxx_condition", nullptr, await_layout, false, 0, 0},  {"cxx_future", nullptr, show_score, false, 0, 0},
    {"cxx_join", nullptr, join_pool, false, 0, 0},          {"cxx_sleep", nullptr, blink_cursor, false, 0, 0},
    {"cxx_exceptions", nullptr, import_rows, false, 0, 0},  {"cxx_sort", nullptr, sort_by_price, false, 0, 0},
    {"cxx_map", nullptr, group_words, false, 0, 0},         {"cxx_lambda", nullptr, rank_offers, false, 0, 0},
    {"cxx_async", nullptr, show_forecast, false, 0, 0},     {"cxx_pool", make_pool, open_preview, false, 0, 0},
    {nullptr, nullptr, nullptr, false, 0, 0},
};
