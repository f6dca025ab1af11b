// Parallel loops on threads that the caller owns; the core has none of its own.
#pragma once

#include <cstddef>
#include <type_traits>

namespace forebay {

// The body of a parallel loop.
class Task {
   public:
    virtual ~Task() = default;
    // Runs one index. No two calls with the same lane run at the same time.
    virtual void run(size_t lane, size_t index) const = 0;
};

struct Kernels;

class Workers {
   public:
    virtual ~Workers() = default;
    // What the work is done with.
    virtual const Kernels& kernels() const = 0;
    // How many calls may run at the same time.
    virtual size_t lanes() const = 0;
    // Runs every index below `count` on at most `lanes` lanes, in any order; returns when all are done.
    // Throws the first failure, or when the job was cancelled; the remaining indices are then left out.
    virtual void run(size_t lanes, size_t count, const Task& task) const = 0;
};

template <class Body>
void for_each(const Workers& workers, size_t lanes, size_t count, const Body& body) {
    class BodyTask final : public Task {
       public:
        explicit BodyTask(const Body& body) : body_(body) {}
        void run(size_t lane, size_t index) const override { body_(lane, index); }

       private:
        const Body& body_;
    };
    if (count > 0) workers.run(lanes, count, BodyTask(body));
}

}  // namespace forebay
