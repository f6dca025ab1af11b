// What the C tests share.
#include "host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const forebay_api_v1* api;

void check(bool holds, const char* what, const char* file, int line) {
    if (!holds) {
        fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
        exit(1);
    }
}

void failed_with(int32_t expected, int32_t code, forebay_error* error, const char* what, const char* file,
                 int line) {
    if (code != expected || api->error_code(error) != expected || strlen(api->error_message(error)) == 0) {
        fprintf(stderr, "%s:%d: %s\n  expected %s, got %s with error %s: %s\n", file, line, what,
                api->code_name(expected), api->code_name(code), api->code_name(api->error_code(error)),
                api->error_message(error));
        exit(1);
    }
    api->error_free(error);
}

void succeeded(int32_t code, forebay_error* error, const char* what, const char* file, int line) {
    if (code != FOREBAY_OK || error != NULL) {
        fprintf(stderr, "%s:%d: %s\n  failed with %s: %s\n", file, line, what, api->code_name(code),
                api->error_message(error));
        exit(1);
    }
}

struct bytes read_file(const char* path) {
    FILE* file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    struct bytes content = {NULL, (size_t)ftell(file)};
    rewind(file);
    content.data = malloc(content.len + 1);
    CHECK(content.data != NULL && fread(content.data, 1, content.len, file) == content.len);
    fclose(file);
    return content;
}

forebay_engine* open_engine(struct bytes config) {
    forebay_engine* engine = NULL;
    SUCCEEDS(api->open((const char*)config.data, config.len, &engine, &error));
    CHECK(engine != NULL);
    return engine;
}

// A function pointer out of an object pointer, which C itself cannot convert.
const forebay_api_v1* table(void* library, uint32_t version) {
    const forebay_api_v1* (*function)(uint32_t) = NULL;
    void* symbol = dlsym(library, "forebay_api");
    CHECK(symbol != NULL);
    memcpy(&function, &symbol, sizeof function);
    return function(version);
}


static uint64_t varint(const uint8_t** at, const uint8_t* end) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        CHECK(*at < end);
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    CHECK(!"a varint of at most ten bytes");
    return 0;
}

// Reads the fields of a serialized AwaitProofResponse that the test looks at, and frees it.
struct answer take_answer(forebay_buffer* buffer) {
    struct answer answer = {0};
    const uint8_t* at = api->buffer_data(buffer);
    CHECK(at != NULL);
    const uint8_t* end = at + api->buffer_len(buffer);
    while (at < end) {
        uint64_t tag = varint(&at, end), value = varint(&at, end);
        if (tag == (2 << 3 | 0)) answer.status = value;
        if ((tag & 7) != 2) continue;
        CHECK(value <= (uint64_t)(end - at));
        if (tag >> 3 == 3) answer.proof_len = value;
        if (tag >> 3 == 4) snprintf(answer.error, sizeof answer.error, "%.*s", (int)value, (const char*)at);
        at += value;
    }
    api->buffer_free(buffer);
    return answer;
}

struct answer wait_for(forebay_engine* engine, forebay_buffer* job, uint64_t timeout_ms) {
    forebay_buffer* response = NULL;
    const char* id = (const char*)api->buffer_data(job);
    SUCCEEDS(api->wait(engine, id, api->buffer_len(job), timeout_ms, &response, &error));
    return take_answer(response);
}

// The same request under another id: in protobuf the last occurrence of a field counts.
forebay_buffer* submit_as(forebay_engine* engine, struct bytes request, const char* id) {
    size_t id_len = strlen(id);
    CHECK(id_len < 128);
    uint8_t* message = malloc(request.len + 2 + id_len);
    CHECK(message != NULL);
    memcpy(message, request.data, request.len);
    message[request.len] = 1 << 3 | 2;
    message[request.len + 1] = (uint8_t)id_len;
    memcpy(message + request.len + 2, id, id_len);
    forebay_buffer* job = NULL;
    uint32_t position = 0;
    SUCCEEDS(api->submit(engine, message, request.len + 2 + id_len, &job, &position, &error));
    free(message);
    CHECK(api->buffer_len(job) > 0);
    return job;
}
