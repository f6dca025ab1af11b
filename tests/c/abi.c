// Exercises the C ABI as a host would: loads the library, misuses it in every way, proves where it is given a
// request. Usage: abi LIBRARY CONFIG_FILE [REQUEST_FILE]. Exits 0 when every check holds.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

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
static const forebay_api_v1* table(void* library, uint32_t version) {
    const forebay_api_v1* (*function)(uint32_t) = NULL;
    void* symbol = dlsym(library, "forebay_api");
    CHECK(symbol != NULL);
    memcpy(&function, &symbol, sizeof function);
    return function(version);
}

static void test_versions(void* library) {
    CHECK(table(library, 0) == NULL);
    CHECK(table(library, UINT32_MAX) == NULL);
    api = table(library, FOREBAY_ABI_VERSION);
    CHECK(api != NULL && api->version == FOREBAY_ABI_VERSION && api->size >= sizeof *api);
    CHECK(strlen(api->library_version()) > 0);
    CHECK(strcmp(api->code_name(FOREBAY_OK), "ok") == 0);
    CHECK(strcmp(api->code_name(FOREBAY_CODE_BUDGET_EXCEEDED), "budget_exceeded") == 0);
    CHECK(strcmp(api->code_name(-1), "unknown") == 0);
}

int main(int argc, char** argv) {
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: %s LIBRARY CONFIG_FILE [REQUEST_FILE]\n", argv[0]);
        return 2;
    }
    // A lost wake-up must fail the test, not hang it.
    alarm(540);
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    test_versions(library);
    struct bytes config = read_file(argv[2]);
    test_arguments();
    test_handles(config);
    test_engine(config);
    test_log(config);
    test_close(config);
    if (argc == 4) {
        struct bytes request = read_file(argv[3]);
        test_jobs(config, request);
        free(request.data);
    }
    free(config.data);
    // The library stays mapped: its functions still answer after dlclose.
    CHECK(dlclose(library) == 0);
    CHECK(strcmp(api->code_name(FOREBAY_OK), "ok") == 0);
    puts(argc == 4 ? "abi: every check holds, proofs included" : "abi: every check holds");
    return 0;
}
