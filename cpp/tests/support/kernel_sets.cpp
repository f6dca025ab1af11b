#include "support/kernel_sets.h"

#include <cstdlib>
#include <iostream>
#include <string>

#include "kernels/avx2.h"
#include "kernels/ifma.h"
#include "kernels/portable.h"

namespace forebay::testing {
namespace {

// Each is null where the processor lacks what it needs.
std::vector<const Kernels*> every_set() {
    static const Kernels emulated = [] {
        Kernels kernels = ifma_emulated::kKernels;
        kernels.name = "ifma_emulated";
        return kernels;
    }();
    return {
        &kPortableKernels,
        avx2_kernels(),
        ifma_kernels(),
        &emulated,
    };
}

std::vector<const Kernels*> wanted_sets() {
    const char* wanted = std::getenv("FOREBAY_TEST_KERNELS");
    const std::string name = wanted != nullptr ? wanted : "";
    if (name == "fastest") return {&fastest_kernels()};
    std::vector<const Kernels*> sets;
    for (const Kernels* set : every_set()) {
        if (set != nullptr && (name.empty() || name == set->name)) sets.push_back(set);
    }
    if (sets.empty()) {
        std::cerr << "no kernel set " << name << " runs on this processor\n";
        std::exit(EXIT_FAILURE);
    }
    return sets;
}

}  // namespace

const std::vector<const Kernels*>& kernel_sets() {
    static const std::vector<const Kernels*> sets = [] {
        const auto wanted = wanted_sets();
        std::cout << "kernel sets:";
        for (const Kernels* set : wanted) std::cout << ' ' << set->name;
        std::cout << std::endl;
        return wanted;
    }();
    return sets;
}

bool quick() { return std::getenv("FOREBAY_TEST_QUICK") != nullptr; }

}  // namespace forebay::testing
