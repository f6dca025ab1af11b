// Proves one request with libforebay.so, loaded at run time.
//
//     cc -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude examples/prove.c -o prove -ldl
//     ./prove --config forebay.toml --out proof.bin request.bin
//
// The request file holds a serialized cuzk.v1.SubmitProofRequest. The library verifies every proof before it
// hands it out. Prints the proof in hexadecimal. Exit codes: 0 proved, 1 not proved, 2 wrong usage.
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forebay.h"

struct options {
    const char *library, *config, *out, *request;
};

struct bytes {
    uint8_t* data;
    size_t len;
};

// The fields of cuzk.v1.AwaitProofResponse that this program shows; views into the response.
struct answer {
    uint64_t status, synthesis_ms, compute_ms, total_ms;
    const uint8_t *proof, *error;
    size_t proof_len, error_len;
};

enum { STATUS_COMPLETED = 1 };

static int usage(const char* program) {
    fprintf(stderr, "usage: %s [--library FILE] [--config FILE] [--out FILE] REQUEST_FILE\n", program);
    fprintf(stderr, "  --library  the library to load (default: libforebay.so, as the system finds it)\n");
    fprintf(stderr, "  --config   its configuration in TOML (default: all defaults)\n");
    fprintf(stderr, "  --out      where to write the proof's bytes\n");
    return 2;
}

static bool parse_options(int argc, char** argv, struct options* options) {
    *options = (struct options){.library = "libforebay.so"};
    for (int i = 1; i < argc; i++) {
        const char** value = NULL;
        if (strcmp(argv[i], "--library") == 0) value = &options->library;
        if (strcmp(argv[i], "--config") == 0) value = &options->config;
        if (strcmp(argv[i], "--out") == 0) value = &options->out;
        if (value != NULL) {
            if (++i == argc) return false;
            *value = argv[i];
        } else if (argv[i][0] == '-' || options->request != NULL) {
            return false;
        } else {
            options->request = argv[i];
        }
    }
    return options->request != NULL;
}

static bool read_file(const char* path, struct bytes* content) {
    FILE* file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return false;
    }
    size_t room = 0;
    size_t got = 0;
    *content = (struct bytes){NULL, 0};
    do {
        if (content->len == room) {
            room = room == 0 ? 65536 : room * 2;
            uint8_t* larger = realloc(content->data, room);
            if (larger == NULL) break;
            content->data = larger;
        }
        got = fread(content->data + content->len, 1, room - content->len, file);
        content->len += got;
    } while (got > 0);
    bool complete = feof(file) && !ferror(file);
    if (!complete) perror(path);
    fclose(file);
    return complete;
}

static bool write_file(const char* path, const uint8_t* data, size_t len) {
    FILE* file = fopen(path, "wb");
    bool written = file != NULL && fwrite(data, 1, len, file) == len;
    if (file != NULL && fclose(file) != 0) written = false;
    if (!written) perror(path);
    return written;
}

static const forebay_api_v1* load(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void* symbol = library == NULL ? NULL : dlsym(library, "forebay_api");
    if (symbol == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    const forebay_api_v1* (*table)(uint32_t) = NULL;
    memcpy(&table, &symbol, sizeof table);
    const forebay_api_v1* api = table(FOREBAY_ABI_VERSION);
    if (api == NULL) fprintf(stderr, "%s does not speak ABI version %d\n", path, FOREBAY_ABI_VERSION);
    return api;
}

// Prints and frees the error of a call that failed.
static bool report(const forebay_api_v1* api, const char* doing, int32_t code, forebay_error* error) {
    fprintf(stderr, "%s: %s: %s\n", doing, api->code_name(code), api->error_message(error));
    api->error_free(error);
    return false;
}

// One base-128 number of the protobuf encoding.
static bool varint(const uint8_t** at, const uint8_t* end, uint64_t* value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool parse_answer(const uint8_t* at, size_t len, struct answer* answer) {
    const uint8_t* end = at + len;
    *answer = (struct answer){0};
    while (at < end) {
        uint64_t tag, value;
        if (!varint(&at, end, &tag) || !varint(&at, end, &value)) return false;
        unsigned wire = tag & 7;
        uint64_t field = tag >> 3;
        if (wire == 0) {
            if (field == 2) answer->status = value;
            if (field == 12) answer->synthesis_ms = value;
            if (field == 13) answer->compute_ms = value;
            if (field == 14) answer->total_ms = value;
        } else if (wire == 2 && value <= (uint64_t)(end - at)) {
            if (field == 3) answer->proof = at, answer->proof_len = value;
            if (field == 4) answer->error = at, answer->error_len = value;
            at += value;
        } else {
            return false;
        }
    }
    return true;
}

// Prints the proof, and writes it where a file is named.
static bool deliver(const struct answer* answer, const char* out) {
    if (answer->status != STATUS_COMPLETED) {
        fprintf(stderr, "not proved: %.*s\n", (int)answer->error_len, (const char*)answer->error);
        return false;
    }
    for (size_t i = 0; i < answer->proof_len; i++) printf("%02x", answer->proof[i]);
    printf("\nverified by the library; %zu bytes in %" PRIu64 " ms (synthesis %" PRIu64 " ms, prover %" PRIu64
           " ms)\n",
           answer->proof_len, answer->total_ms, answer->synthesis_ms, answer->compute_ms);
    return out == NULL || write_file(out, answer->proof, answer->proof_len);
}

static bool prove(const forebay_api_v1* api, forebay_engine* engine, struct bytes request, const char* out) {
    forebay_buffer *job = NULL, *response = NULL;
    forebay_error* error = NULL;
    int32_t code = api->submit(engine, request.data, request.len, &job, NULL, &error);
    if (code != FOREBAY_OK) return report(api, "submit", code, error);
    const char* id = (const char*)api->buffer_data(job);
    code = api->wait(engine, id, api->buffer_len(job), 0, &response, &error);
    api->buffer_free(job);
    if (code != FOREBAY_OK) return report(api, "wait", code, error);
    struct answer answer;
    bool delivered = false;
    if (parse_answer(api->buffer_data(response), api->buffer_len(response), &answer)) {
        delivered = deliver(&answer, out);
    } else {
        fprintf(stderr, "the answer is not a cuzk.v1.AwaitProofResponse\n");
    }
    api->buffer_free(response);
    return delivered;
}

static bool run(const struct options* options, struct bytes config, struct bytes request) {
    const forebay_api_v1* api = load(options->library);
    if (api == NULL) return false;
    forebay_engine* engine = NULL;
    forebay_error* error = NULL;
    int32_t code = api->open((const char*)config.data, config.len, &engine, &error);
    if (code != FOREBAY_OK) return report(api, "open", code, error);
    bool proved = prove(api, engine, request, options->out);
    code = api->close(engine, FOREBAY_CLOSE_CANCEL, &error);
    if (code != FOREBAY_OK) return report(api, "close", code, error);
    return proved;
}

int main(int argc, char** argv) {
    struct options options;
    if (!parse_options(argc, argv, &options)) return usage(argv[0]);
    struct bytes config = {NULL, 0}, request = {NULL, 0};
    bool proved = (options.config == NULL || read_file(options.config, &config)) &&
                  read_file(options.request, &request) && run(&options, config, request);
    free(config.data);
    free(request.data);
    return proved ? 0 : 1;
}
