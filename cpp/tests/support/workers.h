// Workers of the tests: the caller's thread alone, or threads that live as long as a loop.
#pragma once

#include <memory>
#include <vector>

#include "parallel/workers.h"
#include "support/kernel_sets.h"

namespace forebay::testing {

class SerialWorkers final : public Workers {
   public:
    explicit SerialWorkers(const Kernels& kernels) : kernels_(kernels) {}
    const Kernels& kernels() const override { return kernels_; }
    size_t lanes() const override { return 1; }
    void run(size_t lanes, size_t count, const Task& task) const override;

   private:
    const Kernels& kernels_;
};

class ThreadWorkers final : public Workers {
   public:
    ThreadWorkers(const Kernels& kernels, size_t lanes) : kernels_(kernels), lanes_(lanes) {}
    const Kernels& kernels() const override { return kernels_; }
    size_t lanes() const override { return lanes_; }
    void run(size_t lanes, size_t count, const Task& task) const override;

   private:
    const Kernels& kernels_;
    size_t lanes_;
};

using WorkersList = std::vector<std::unique_ptr<Workers>>;

// Every kernel set on one thread.
WorkersList serial_workers();

// Every kernel set, on one thread and on several.
WorkersList all_workers();

}  // namespace forebay::testing
