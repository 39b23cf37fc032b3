// What a C++ program needs from its library: threads, exceptions across them, regular expressions, files, streams.
// Prints the same on every correct build: `cargo xtask build-trials` compares.
#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace fs = std::filesystem;

static std::map<std::string, long> words_of(const fs::path &path) {
    static const std::regex word("[A-Za-z]{5,}");
    std::map<std::string, long> seen;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        for (std::sregex_iterator at(line.begin(), line.end(), word), end; at != end; ++at)
            ++seen[at->str()];
    return seen;
}

int main(int count, char **arguments) {
    std::vector<fs::path> files;
    for (const auto &entry : fs::recursive_directory_iterator(count > 1 ? arguments[1] : "."))
        if (entry.is_regular_file() && entry.path().extension() == ".md")
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<std::map<std::string, long>> found(files.size());
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> threads;
    for (int at = 0; at < 4; ++at)
        threads.emplace_back([&] {
            for (std::size_t file; (file = next++) < files.size();)
                found[file] = words_of(files[file]);
        });
    for (auto &thread : threads)
        thread.join();
    std::map<std::string, long> all;
    for (const auto &one : found)
        for (const auto &[word, times] : one)
            all[word] += times;
    for (const auto &[word, times] : all)
        if (times > 9)
            std::cout << std::setw(6) << times << ' ' << word << '\n';
    std::exception_ptr caught;
    std::thread([&] {
        try {
            (void)fs::file_size("no such file");
        } catch (...) {
            caught = std::current_exception();
        }
    }).join();
    try {
        std::rethrow_exception(caught);
    } catch (const fs::filesystem_error &error) {
        std::cout << "error " << error.code().value() << ' ' << error.path1() << '\n';
    }
    std::cout << std::fixed << std::setprecision(9) << 2.0 / 3 << ' ' << std::hex << files.size() << '\n';
}
