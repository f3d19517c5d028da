// SPDX-License-Identifier: Apache-2.0
// exceptions.cc SECONDS - a C++ program that throws through its own frames, libstdc++'s and libc's, with cleanups on
// the way.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iomanip>
#include <iostream>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

volatile std::uint64_t sink;

struct cleanup {
    explicit cleanup(std::string text) : text(std::move(text)) {}
    ~cleanup()
    {
        std::ostringstream stream;
        stream << text << ' ' << 3.25 << std::hex << 77;
        sink = sink + stream.str().size();
    }
    std::string text;
};

[[gnu::noinline]] int throw_at(int depth, unsigned seed)
{
    cleanup guard("a text that is too long for the small string " + std::to_string(depth));
    if (depth == 0) {
        if (seed % 3 == 0) {
            throw std::runtime_error("from the leaf");
        }
        return std::stoi(seed % 2 == 0 ? "no number" : "7"); // throws from libstdc++
    }
    return throw_at(depth - 1, seed) + 1;
}

[[gnu::noinline]] int rethrow(int depth, unsigned seed)
{
    try {
        return throw_at(depth, seed);
    } catch (const std::invalid_argument &) {
        std::throw_with_nested(std::logic_error("nested"));
    }
}

int compare(const void *left, const void *right)
{
    int a = *static_cast<const int *>(left), b = *static_cast<const int *>(right);
    if (a == 13 && b > 50) {
        throw std::out_of_range("through qsort"); // glibc's qsort has unwind tables; nothing leaks here
    }
    return a - b;
}

void work(unsigned seed)
{
    try {
        sink = sink + static_cast<std::uint64_t>(rethrow(static_cast<int>(seed % 40), seed));
    } catch (const std::exception &error) {
        sink = sink + std::string(error.what()).size();
    }
    std::vector<int> values(100);
    for (unsigned i = 0; i < values.size(); i++) {
        values[i] = static_cast<int>((seed + i) * 7919 % 101);
    }
    std::sort(values.begin(), values.end(), [](int a, int b) { return a % 50 < b % 50 || (a % 50 == b % 50 && a < b); });
    std::stable_sort(values.begin(), values.end(), std::greater<int>());
    try {
        std::qsort(values.data(), values.size(), sizeof values[0], compare);
    } catch (const std::out_of_range &) {
        sink = sink + 1;
    }
    std::map<std::string, std::shared_ptr<cleanup>> map;
    for (unsigned i = 0; i < 20; i++) {
        map.emplace(std::to_string(i * seed), std::make_shared<cleanup>("in a map"));
    }
    std::for_each(map.begin(), map.end(), [](const auto &entry) { sink = sink + entry.second->text.size(); });
    std::istringstream input("1 2.5 word 77");
    int whole = 0;
    double half = 0;
    std::string word;
    input >> whole >> half >> word;
    if (seed % 8 == 0) {
        sink = sink + std::regex_replace(std::string("a1b22c333"), std::regex("[0-9]+"), "n").size();
    }
    std::once_flag flag;
    try {
        std::call_once(flag, [] { throw 7; }); // through pthread_once
    } catch (int number) {
        sink = sink + static_cast<std::uint64_t>(number);
    }
    std::ostringstream stream;
    stream << std::put_time(std::localtime(std::array<std::time_t, 1>{std::time(nullptr)}.data()), "%c") << half << whole;
}

} // namespace

int main(int argc, char **argv)
{
    auto ends = std::chrono::steady_clock::now() + std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 1);
    auto work_until = [ends](unsigned seed) {
        for (; std::chrono::steady_clock::now() < ends; seed += 2) {
            work(seed);
        }
    };
    std::thread thread(work_until, 2);
    work_until(1);
    thread.join();
    std::cerr << (sink == 0 ? "nothing done\n" : "");
    return 0;
}
