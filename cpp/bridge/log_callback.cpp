// Calls the host's log callback, so that nothing it throws unwinds into Rust.
#include <cstddef>
#include <cstdint>

using Callback = void (*)(void*, std::int32_t, const char*, std::size_t, const char*, std::size_t);

// False where it threw. A thread that is cancelled or ends itself inside the callback ends the process.
extern "C" bool forebay_core_call_log(Callback callback, void* user_data, std::int32_t level, const char* target,
                                      std::size_t target_len, const char* message,
                                      std::size_t message_len) noexcept {
    try {
        callback(user_data, level, target, target_len, message, message_len);
        return true;
    } catch (...) {
        return false;
    }
}
