// What both parts of the C test share: the loaded library, checks that name their line, small helpers.
#ifndef FOREBAY_TEST_HOST_H
#define FOREBAY_TEST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "forebay.h"

// The table of the library under test.
extern const forebay_api_v1* api;

// Where the running check stands, for the message when it fails.
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
void check(bool holds, const char* what, const char* file, int line);

// Expects a call to fail with this code, and an error object that says the same.
#define FAILS(expected, call)                                            \
    do {                                                                 \
        forebay_error* error = NULL;                                     \
        int32_t code = (call);                                           \
        failed_with((expected), code, error, #call, __FILE__, __LINE__); \
    } while (0)
void failed_with(int32_t expected, int32_t code, forebay_error* error, const char* what, const char* file,
                 int line);

// Expects a call to succeed; prints its error where it does not.
#define SUCCEEDS(call)                                     \
    do {                                                   \
        forebay_error* error = NULL;                       \
        int32_t code = (call);                             \
        succeeded(code, error, #call, __FILE__, __LINE__); \
    } while (0)
void succeeded(int32_t code, forebay_error* error, const char* what, const char* file, int line);

struct bytes {
    uint8_t* data;
    size_t len;
};

// The file's bytes; ends the test where it cannot be read.
struct bytes read_file(const char* path);

// The table of a version of the library that dlopen gave; NULL where it has none.
const forebay_api_v1* table(void* library, uint32_t version);

forebay_engine* open_engine(struct bytes config);

// The same request under another id.
forebay_buffer* submit_as(forebay_engine* engine, struct bytes request, const char* id);

// cuzk.v1.AwaitProofResponse.Status
enum { UNKNOWN = 0, COMPLETED = 1, FAILED = 2, CANCELLED = 3, TIMEOUT = 4 };

struct answer {
    uint64_t status;
    size_t proof_len;
    char error[512];
};

// Reads a serialized AwaitProofResponse, as far as the tests look at it, and frees it.
struct answer take_answer(forebay_buffer* buffer);

struct answer wait_for(forebay_engine* engine, forebay_buffer* job, uint64_t timeout_ms);

// The parts of the test.
void test_arguments(void);
void test_handles(struct bytes config);
void test_texts(struct bytes config);
void test_process(struct bytes config);
void test_engine(struct bytes config);
void test_close(struct bytes config);
void test_log(struct bytes config);
void test_jobs(struct bytes config, struct bytes request);

#endif
