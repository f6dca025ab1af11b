#include "support/workers.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace forebay::testing {

void SerialWorkers::run(size_t lanes, size_t count, const Task& task) const {
    if (lanes == 0) throw std::logic_error("a loop without a lane");
    for (size_t index = 0; index < count; index++) task.run(0, index);
}

void ThreadWorkers::run(size_t lanes, size_t count, const Task& task) const {
    if (lanes == 0 || lanes > lanes_) throw std::logic_error("a loop with lanes that do not exist");
    std::atomic<size_t> next{0};
    std::mutex guard;
    std::exception_ptr failure;
    const auto work = [&](size_t lane) {
        try {
            for (size_t index = next++; index < count; index = next++) task.run(lane, index);
        } catch (...) {
            next = count;
            const std::lock_guard<std::mutex> lock(guard);
            if (failure == nullptr) failure = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    for (size_t lane = 1; lane < lanes; lane++) threads.emplace_back(work, lane);
    work(0);
    for (std::thread& thread : threads) thread.join();
    if (failure != nullptr) std::rethrow_exception(failure);
}

WorkersList serial_workers() {
    WorkersList list;
    for (const Kernels* set : kernel_sets()) list.push_back(std::make_unique<SerialWorkers>(*set));
    return list;
}

WorkersList all_workers() {
    constexpr size_t kThreads = 3;
    WorkersList list = serial_workers();
    for (const Kernels* set : kernel_sets()) list.push_back(std::make_unique<ThreadWorkers>(*set, kThreads));
    return list;
}

}  // namespace forebay::testing
