// The library loaded twice, a second copy of it, engines of different budgets, and handles that outlive dlclose.
// Usage: copies LIBRARY COPY_OF_IT CONFIG_FILE REQUEST_FILE. Exits 0 when every check holds.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

static void* load(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);
    return library;
}

static void prove(forebay_engine* engine, struct bytes request, const char* id) {
    forebay_buffer* job = submit_as(engine, request, id);
    struct answer answer = wait_for(engine, job, 0);
    if (answer.status != COMPLETED) fprintf(stderr, "%s\n", answer.error);
    CHECK(answer.status == COMPLETED && answer.proof_len == 192);
    api->buffer_free(job);
}

// The same configuration with another memory limit.
static struct bytes limited(struct bytes config, const char* limit) {
    struct bytes changed = {malloc(config.len + 64), 0};
    config.data[config.len] = 0;
    char *text = (char*)config.data, *at = strstr(text, "limit = \"");
    CHECK(changed.data != NULL && at != NULL);
    const char* after = strchr(at, '\n');
    CHECK(after != NULL);
    changed.len = (size_t)sprintf((char*)changed.data, "%.*slimit = \"%s\"%s", (int)(at - text), text, limit, after);
    return changed;
}

static void two_budgets(struct bytes config, struct bytes request) {
    struct bytes small = limited(config, "34MiB");
    forebay_engine *narrow = open_engine(small), *wide = open_engine(config);
    forebay_buffer* job = NULL;
    FAILS(FOREBAY_CODE_BUDGET_EXCEEDED, api->submit(narrow, request.data, request.len, &job, NULL, &error));
    prove(wide, request, "in the wide one");
    FAILS(FOREBAY_CODE_BUDGET_EXCEEDED, api->submit(narrow, request.data, request.len, &job, NULL, &error));
    FAILS(FOREBAY_CODE_BUDGET_EXCEEDED, api->preload(narrow, "wpost-2k", 8, NULL, NULL, &error));
    SUCCEEDS(api->close(narrow, FOREBAY_CLOSE_CANCEL, &error));
    prove(wide, request, "after the narrow one has gone");
    SUCCEEDS(api->close(wide, FOREBAY_CLOSE_DRAIN, &error));
    free(small.data);
}

static void count(void* user_data, int32_t level, const char* target, size_t target_len, const char* message,
                  size_t message_len) {
    (void)level, (void)target, (void)target_len, (void)message, (void)message_len;
    atomic_fetch_add((atomic_int*)user_data, 1);
}

// Two copies share nothing: tables, logs, engines.
static void a_second_copy(const forebay_api_v1* first, const forebay_api_v1* second, struct bytes config,
                          struct bytes request) {
    CHECK(first != second && first->open != second->open);
    atomic_int heard[2];
    const forebay_api_v1* both[2] = {first, second};
    forebay_engine* engines[2];
    for (int i = 0; i < 2; i++) {
        api = both[i];
        atomic_init(&heard[i], 0);
        SUCCEEDS(api->set_log(FOREBAY_LOG_DEBUG, count, &heard[i], &error));
        engines[i] = open_engine(config);
    }
    int before = atomic_load(&heard[1]);
    CHECK(first->poll(engines[0], "none", 4, NULL, NULL) == FOREBAY_CODE_INVALID_ARGUMENT);
    CHECK(atomic_load(&heard[0]) > 0 && atomic_load(&heard[1]) == before);
    for (int i = 0; i < 2; i++) {
        api = both[i];
        prove(engines[i], request, "in both");
    }
    for (int i = 0; i < 2; i++) {
        api = both[i];
        SUCCEEDS(api->close(engines[i], FOREBAY_CLOSE_DRAIN, &error));
        SUCCEEDS(api->set_log(FOREBAY_LOG_OFF, NULL, NULL, &error));
    }
    api = first;
}

struct guest {
    forebay_engine* engine;
    pthread_barrier_t used, gone;
};

// Leaves values of the library in this thread, and ends when engine and library have been closed.
static void* use_and_end_late(void* argument) {
    struct guest* guest = argument;
    CHECK(api->poll(guest->engine, "none", 4, NULL, NULL) == FOREBAY_CODE_INVALID_ARGUMENT);
    pthread_barrier_wait(&guest->used);
    pthread_barrier_wait(&guest->gone);
    return NULL;
}

static void handles_outlive_dlclose(const char* path, void* library, struct bytes config, struct bytes request) {
    struct guest guest = {.engine = open_engine(config)};
    atomic_int heard;
    atomic_init(&heard, 0);
    SUCCEEDS(api->set_log(FOREBAY_LOG_DEBUG, count, &heard, &error));
    CHECK(pthread_barrier_init(&guest.used, NULL, 2) == 0 && pthread_barrier_init(&guest.gone, NULL, 2) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, use_and_end_late, &guest) == 0);
    pthread_barrier_wait(&guest.used);
    CHECK(dlclose(library) == 0);
    void* still = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    CHECK(still != NULL && dlclose(still) == 0);
    prove(guest.engine, request, "after dlclose");
    SUCCEEDS(api->close(guest.engine, FOREBAY_CLOSE_DRAIN, &error));
    SUCCEEDS(api->set_log(FOREBAY_LOG_OFF, NULL, NULL, &error));
    pthread_barrier_wait(&guest.gone);
    CHECK(pthread_join(thread, NULL) == 0);
    FAILS(FOREBAY_CODE_CLOSED, api->close(guest.engine, FOREBAY_CLOSE_DRAIN, &error));
}

int main(int argc, char** argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: %s LIBRARY COPY_OF_IT CONFIG_FILE REQUEST_FILE\n", argv[0]);
        return 2;
    }
    alarm(540);
    struct bytes config = read_file(argv[3]), request = read_file(argv[4]);
    void *library = load(argv[1]), *again = load(argv[1]), *copy = load(argv[2]);
    CHECK(library == again && library != copy);
    api = table(library, FOREBAY_ABI_VERSION);
    CHECK(api != NULL && api == table(again, FOREBAY_ABI_VERSION) && dlclose(again) == 0);
    two_budgets(config, request);
    a_second_copy(api, table(copy, FOREBAY_ABI_VERSION), config, request);
    handles_outlive_dlclose(argv[1], library, config, request);
    free(config.data);
    free(request.data);
    puts("copies: every check holds");
    return 0;
}
