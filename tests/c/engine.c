// An open engine without jobs: what it tells, what it refuses, how it closes under load, how it logs.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

enum { THREADS = 4 };

static void refused_requests(forebay_engine* engine) {
    forebay_buffer* job = NULL;
    uint8_t noise[4096];
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (uint8_t)(i * 167u + 13u);
    FAILS(FOREBAY_CODE_INVALID_REQUEST, api->submit(engine, NULL, 0, &job, NULL, &error));
    FAILS(FOREBAY_CODE_INVALID_REQUEST, api->submit(engine, noise, sizeof noise, &job, NULL, &error));
    FAILS(FOREBAY_CODE_INVALID_REQUEST, api->submit(engine, noise, (256u << 20) + 1, &job, NULL, &error));
    FAILS(FOREBAY_CODE_INVALID_REQUEST, api->submit(engine, noise, SIZE_MAX, &job, NULL, &error));
    FAILS(FOREBAY_CODE_INVALID_ARGUMENT, api->submit(engine, NULL, 1, &job, NULL, &error));
    CHECK(job == NULL);
}

static void refused_names(forebay_engine* engine) {
    forebay_buffer* buffer = NULL;
    uint32_t count = 0;
    FAILS(FOREBAY_CODE_NOT_FOUND, api->wait(engine, "no such job", 11, 1, &buffer, &error));
    FAILS(FOREBAY_CODE_NOT_FOUND, api->poll(engine, "no such job", 11, &buffer, &error));
    FAILS(FOREBAY_CODE_NOT_FOUND, api->cancel(engine, "no such job", 11, NULL, &error));
    FAILS(FOREBAY_CODE_NOT_FOUND, api->report(engine, "no such job", 11, &buffer, &error));
    FAILS(FOREBAY_CODE_NOT_FOUND, api->wait(engine, "", 0, 1, &buffer, &error));
    FAILS(FOREBAY_CODE_INVALID_ARGUMENT, api->wait(engine, "\xc3(", 2, 1, &buffer, &error));
    FAILS(FOREBAY_CODE_INVALID_ARGUMENT, api->wait(engine, "j", SIZE_MAX, 1, &buffer, &error));
    FAILS(FOREBAY_CODE_INVALID_ARGUMENT, api->poll(engine, NULL, 1, &buffer, &error));
    FAILS(FOREBAY_CODE_INVALID_ARGUMENT, api->headroom(engine, "porep", 5, &count, &error));
    FAILS(FOREBAY_CODE_INVALID_ARGUMENT, api->preload(engine, "porep-3k", 8, NULL, NULL, &error));
    FAILS(FOREBAY_CODE_INVALID_ARGUMENT, api->evict(engine, "porep-3k", 8, NULL, NULL, &error));
}

static void expect_text(forebay_buffer* buffer, const char* begins) {
    const char* text = (const char*)api->buffer_data(buffer);
    CHECK(text != NULL && strncmp(text, begins, strlen(begins)) == 0);
    CHECK(strlen(text) == api->buffer_len(buffer));
    api->buffer_free(buffer);
    api->buffer_free(buffer);
    CHECK(api->buffer_data(buffer) == NULL);
}

static void completion(struct bytes config) {
    forebay_engine* engine = open_engine(config);
    int32_t first = -1, second = -1;
    SUCCEEDS(api->completion_fd(engine, &first, &error));
    SUCCEEDS(api->completion_fd(engine, &second, &error));
    CHECK(first != second && (fcntl(first, F_GETFD) & FD_CLOEXEC) && (fcntl(first, F_GETFL) & O_NONBLOCK));
    CHECK(close(second) == 0);
    struct pollfd wait = {.fd = first, .events = POLLIN};
    CHECK(poll(&wait, 1, 0) == 0);
    SUCCEEDS(api->close(engine, FOREBAY_CLOSE_CANCEL, &error));
    CHECK(poll(&wait, 1, 0) == 1);
    uint64_t count = 0;
    CHECK(read(first, &count, sizeof count) == sizeof count && count == 1);
    CHECK(close(first) == 0);
}

void test_engine(struct bytes config) {
    forebay_engine* engine = open_engine(config);
    forebay_engine* other = open_engine(config);
    CHECK(engine != other);
    refused_requests(engine);
    refused_names(engine);
    forebay_buffer* buffer = NULL;
    uint32_t count = 0;
    uint64_t freed = 7;
    bool was = true;
    SUCCEEDS(api->status(engine, &buffer, &error));
    expect_text(buffer, "{\"version\":");
    SUCCEEDS(api->metrics(engine, &buffer, &error));
    expect_text(buffer, "# ");
    SUCCEEDS(api->headroom(engine, "winning_post", 12, &count, &error));
    SUCCEEDS(api->evict(engine, "winning-2k", 10, &was, &freed, &error));
    CHECK(!was && freed == 0);
    SUCCEEDS(api->close(engine, FOREBAY_CLOSE_DRAIN, &error));
    SUCCEEDS(api->status(other, &buffer, &error));
    api->buffer_free(buffer);
    SUCCEEDS(api->close(other, FOREBAY_CLOSE_CANCEL, &error));
    completion(config);
}

struct load {
    forebay_engine* engine;
    atomic_int answers;
};

// Calls until the engine is closed under it; nothing but success and CLOSED may come.
static void* call_until_closed(void* argument) {
    struct load* load = argument;
    for (;;) {
        forebay_buffer* buffer = NULL;
        forebay_error* error = NULL;
        int32_t code = api->status(load->engine, &buffer, &error);
        CHECK(code == FOREBAY_OK || code == FOREBAY_CODE_CLOSED);
        CHECK((code == FOREBAY_OK) == (api->buffer_len(buffer) > 0));
        CHECK(api->error_code(error) == code);
        api->buffer_free(buffer);
        api->error_free(error);
        atomic_fetch_add(&load->answers, 1);
        if (code == FOREBAY_CODE_CLOSED) return NULL;
    }
}

static void* close_it(void* argument) {
    struct load* load = argument;
    int32_t code = api->close(load->engine, FOREBAY_CLOSE_CANCEL, NULL);
    CHECK(code == FOREBAY_OK || code == FOREBAY_CODE_CLOSED);
    return code == FOREBAY_OK ? argument : NULL;
}

void test_close(struct bytes config) {
    for (int round = 0; round < 3; round++) {
        struct load load = {.engine = open_engine(config)};
        atomic_init(&load.answers, 0);
        pthread_t callers[THREADS], closers[2];
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_create(&callers[i], NULL, call_until_closed, &load) == 0);
        while (atomic_load(&load.answers) < THREADS) usleep(1000);
        for (int i = 0; i < 2; i++) CHECK(pthread_create(&closers[i], NULL, close_it, &load) == 0);
        int closed = 0;
        for (int i = 0; i < 2; i++) {
            void* result = NULL;
            CHECK(pthread_join(closers[i], &result) == 0);
            closed += result != NULL;
        }
        CHECK(closed == 1);
        for (int i = 0; i < THREADS; i++) CHECK(pthread_join(callers[i], NULL) == 0);
    }
}

struct listener {
    forebay_engine* engine;
    atomic_int heard;
    atomic_int refused;
    atomic_bool alive;
};

static void listen(void* user_data, int32_t level, const char* target, size_t target_len, const char* message,
                   size_t message_len) {
    struct listener* listener = user_data;
    CHECK(atomic_load(&listener->alive));
    CHECK(level >= FOREBAY_LOG_ERROR && level <= FOREBAY_LOG_TRACE);
    CHECK(target != NULL && target_len > 0 && message != NULL && message_len > 0);
    // What would wait for this very callback is refused; other calls work.
    if (api->set_log(FOREBAY_LOG_OFF, NULL, NULL, NULL) == FOREBAY_CODE_INVALID_ARGUMENT) {
        atomic_fetch_add(&listener->refused, 1);
    }
    CHECK(api->close(listener->engine, FOREBAY_CLOSE_CANCEL, NULL) == FOREBAY_CODE_INVALID_ARGUMENT);
    atomic_fetch_add(&listener->heard, 1);
}

static void* fail_often(void* argument) {
    for (int i = 0; i < 50; i++) {
        CHECK(api->poll(argument, "no such job", 11, NULL, NULL) == FOREBAY_CODE_INVALID_ARGUMENT);
    }
    return NULL;
}

static void fail_from_many_threads(forebay_engine* engine) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, fail_often, engine) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

void test_log(struct bytes config) {
    FAILS(FOREBAY_CODE_INVALID_ARGUMENT, api->set_log(-1, listen, NULL, &error));
    FAILS(FOREBAY_CODE_INVALID_ARGUMENT, api->set_log(6, listen, NULL, &error));
    forebay_engine* engine = open_engine(config);
    for (int round = 0; round < 3; round++) {
        struct listener listener = {.engine = engine};
        atomic_init(&listener.heard, 0);
        atomic_init(&listener.refused, 0);
        atomic_init(&listener.alive, true);
        SUCCEEDS(api->set_log(FOREBAY_LOG_DEBUG, listen, &listener, &error));
        fail_from_many_threads(engine);
        CHECK(atomic_load(&listener.heard) >= THREADS * 50);
        // Removed while other threads still log: nothing comes once the call is back.
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, fail_often, engine) == 0);
        SUCCEEDS(api->set_log(FOREBAY_LOG_DEBUG, NULL, NULL, &error));
        atomic_store(&listener.alive, false);
        int heard = atomic_load(&listener.heard);
        CHECK(pthread_join(thread, NULL) == 0);
        fail_from_many_threads(engine);
        CHECK(atomic_load(&listener.heard) == heard && atomic_load(&listener.refused) == heard);
    }
    SUCCEEDS(api->close(engine, FOREBAY_CLOSE_CANCEL, &error));
}
