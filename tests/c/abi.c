// Exercises the C ABI as a host would: loads the library, misuses it in every way, proves where it is given a
// request. Usage: abi LIBRARY CONFIG_FILE [REQUEST_FILE]. Exits 0 when every check holds.
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

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

enum { HANDLED = 65 };

// How the process handles each signal.
static void handlers(struct sigaction* found) {
    memset(found, 0, HANDLED * sizeof *found);
    for (int i = 1; i < HANDLED; i++) sigaction(i, NULL, &found[i]);
}

int main(int argc, char** argv) {
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: %s LIBRARY CONFIG_FILE [REQUEST_FILE]\n", argv[0]);
        return 2;
    }
    struct sigaction before[HANDLED], after[HANDLED];
    handlers(before);
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
    test_texts(config);
    test_engine(config);
    test_log(config);
    test_close(config);
    test_process(config);
    if (argc == 4) {
        struct bytes request = read_file(argv[3]);
        test_jobs(config, request);
        free(request.data);
    }
    free(config.data);
    // Whatever it did, the process handles its signals as before.
    handlers(after);
    for (int i = 1; i < HANDLED; i++) CHECK(before[i].sa_handler == after[i].sa_handler);
    // The library stays mapped: its functions still answer after dlclose.
    CHECK(dlclose(library) == 0);
    CHECK(strcmp(api->code_name(FOREBAY_OK), "ok") == 0);
    puts(argc == 4 ? "abi: every check holds, proofs included" : "abi: every check holds");
    return 0;
}
