// Names that C++17 and C++20 removed and libstdc++ still has, and a keyword that gcc warns of.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

struct plus_one : std::unary_function<int, int> {
    int operator()(int number) const { return number + 1; }
};

struct is_less : std::binary_function<int, int, bool> {
    bool operator()(int left, int right) const { return left < right; }
};

static int twice(int number) { return 2 * number; }

int main() {
    std::auto_ptr<int> first(new int(3));
    std::auto_ptr<int> second(first);
    std::vector<int> ones(3, 1);
    std::random_shuffle(ones.begin(), ones.end());
    register int sum = 0;
    for (size_t at = 0; at < ones.size(); at++)
        sum += std::bind1st(std::plus<int>(), 4)(ones[at]);
    sum += (int)std::count_if(ones.begin(), ones.end(), std::not1(std::bind2nd(is_less(), 5)));
    sum += std::ptr_fun(twice)(2);
    std::set_unexpected(0);
    std::shared_ptr<int> shared = std::make_shared<int>(8);
    sum += shared.unique() && std::is_literal_type<int>::value && !std::uncaught_exception();
    std::pair<int *, std::ptrdiff_t> place = std::get_temporary_buffer<int>(4);
    std::copy(ones.begin(), ones.end(), std::raw_storage_iterator<int *, int>(place.first));
    sum += place.first[2];
    std::return_temporary_buffer(place.first);
    std::printf("%d %d %d %d\n", *second, first.get() == 0, sum, plus_one()(plus_one::argument_type(1)));
    return 0;
}
