// SPDX-License-Identifier: Apache-2.0
// many_names.cc - C++ whose names and inlined calls are hard on symbolizers: unnamed namespaces, lambdas within lambdas,
// local classes, templates, virtual functions, exceptions, and the standard library's own inlining.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace
{
struct counter {
    std::map<std::string, int> counts;
    void add(const std::string &word)
    {
        ++counts[word];
    }
    int operator()(const std::string &word) const
    {
        auto found = counts.find(word);
        return found == counts.end() ? 0 : found->second;
    }
};

template <typename T> T twice(T value)
{
    return value + value;
}

int fold(const std::vector<int> &numbers, const std::function<int(int, int)> &step)
{
    int result = 0;
    for (int number : numbers) {
        result = step(result, number);
    }
    return result;
}

namespace inner
{
__attribute__((noinline)) int hidden(int a)
{
    if (a > 1000000) {
        throw std::out_of_range("hidden");
    }
    return twice(a) ^ 5;
}
} // namespace inner
} // namespace

namespace shapes
{
class shape
{
  public:
    virtual ~shape() = default;
    virtual double area() const = 0;
};
class square : public shape
{
    double side;

  public:
    explicit square(double s) : side(s) {}
    double area() const override
    {
        return side * side;
    }
};
template <int N> class polygon : public shape
{
    double sides[N];

  public:
    explicit polygon(double s)
    {
        std::fill(sides, sides + N, s);
    }
    double area() const override
    {
        return std::accumulate(sides, sides + N, 0.0, [](double a, double b) { return a + b * b; });
    }
};
} // namespace shapes

static int local_class(int a)
{
    struct worker {
        int base;
        int work(int b)
        {
            auto outer = [this, b](int c) {
                auto deepest = [c](int d) { return inner::hidden(c + d); };
                return deepest(base) + deepest(b);
            };
            return outer(b) * outer(base);
        }
    };
    worker one{a};
    return one.work(a + 1);
}

using value = std::variant<int, std::string, std::vector<int>>;

static std::string to_text(const value &given)
{
    return std::visit(
        [](const auto &held) -> std::string {
            using held_type = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<held_type, int>) {
                return std::to_string(held);
            } else if constexpr (std::is_same_v<held_type, std::string>) {
                return held;
            } else {
                std::string all;
                for (int number : held) {
                    all += std::to_string(number) + ",";
                }
                return all;
            }
        },
        given);
}

int main(int argc, char **argv)
{
    counter words;
    std::unordered_map<std::string, std::unique_ptr<shapes::shape>> known;
    for (int i = 0; i < argc; i++) {
        words.add(argv[i]);
        std::string text = argv[i];
        if (text.find('-') != std::string::npos) {
            words.add(text.substr(text.find('-')));
        }
        known[text] = i % 2 == 0 ? std::unique_ptr<shapes::shape>(new shapes::square(i))
                                 : std::unique_ptr<shapes::shape>(new shapes::polygon<7>(i));
    }
    std::vector<int> numbers(100);
    std::iota(numbers.begin(), numbers.end(), argc);
    std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return inner::hidden(a) < inner::hidden(b); });
    std::stable_sort(numbers.begin(), numbers.end(), std::greater<int>());
    int total = fold(numbers, [](int a, int b) { return a * 31 + b; });
    double area = 0;
    for (const auto &[name, shape] : known) {
        area += shape->area() + static_cast<double>(name.size());
    }
    try {
        total += local_class(total);
    } catch (const std::exception &problem) {
        std::fputs(problem.what(), stderr);
    }
    std::printf("%d %f %d %s\n", total, area, words(argv[0]), to_text(value(numbers)).c_str());
    return 0;
}
