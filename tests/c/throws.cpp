// A log callback that throws: the event is lost, and nothing else. Usage: throws LIBRARY. Exits 0 when that holds.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "forebay.h"

namespace {

std::atomic<int> thrown{0};
const forebay_api_v1* api = nullptr;

void complain(void*, std::int32_t, const char*, std::size_t, const char*, std::size_t) {
    if (thrown++ % 2 == 0) throw std::runtime_error("from the callback");
    throw 7;
}

bool expect(bool holds, const char* what) {
    if (!holds) std::fprintf(stderr, "does not hold: %s\n", what);
    return holds;
}

void* fail_often(void*) {
    for (int i = 0; i < 100; i++) api->close(nullptr, FOREBAY_CLOSE_CANCEL, nullptr);
    return nullptr;
}

bool run(void* library) {
    const forebay_api_v1* (*function)(std::uint32_t) = nullptr;
    void* symbol = dlsym(library, "forebay_api");
    if (!expect(symbol != nullptr, "the table is there")) return false;
    std::memcpy(&function, &symbol, sizeof function);
    api = function(FOREBAY_ABI_VERSION);
    if (!expect(api->set_log(FOREBAY_LOG_DEBUG, complain, nullptr, nullptr) == FOREBAY_OK, "set")) return false;
    pthread_t threads[3];
    for (pthread_t& thread : threads) pthread_create(&thread, nullptr, fail_often, nullptr);
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
    forebay_error* error = nullptr;
    const bool refused = api->close(nullptr, FOREBAY_CLOSE_CANCEL, &error) == FOREBAY_CODE_INVALID_ARGUMENT;
    const bool told = api->error_code(error) == FOREBAY_CODE_INVALID_ARGUMENT;
    api->error_free(error);
    // No lock is left behind: the callback can be removed.
    return expect(refused && told, "calls go on") && expect(thrown == 301, "every event came") &&
           expect(api->set_log(FOREBAY_LOG_OFF, nullptr, nullptr, nullptr) == FOREBAY_OK, "removed");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    alarm(60);
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr || !run(library)) return 1;
    std::puts("throws: every check holds");
    return 0;
}
