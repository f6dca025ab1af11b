// Every text of the interface with a NUL in it, in broken UTF-8, and too long; every place for a result, misaligned;
// frees that race.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

enum { LONGEST_NAME = 4096 };

// Every call that takes a name.
static void names(forebay_engine* engine, const char* name, size_t len, int32_t of_job, int32_t of_kind) {
    forebay_buffer* buffer = NULL;
    uint32_t count = 0;
    FAILS(of_job, api->wait(engine, name, len, 1, &buffer, &error));
    FAILS(of_job, api->poll(engine, name, len, &buffer, &error));
    FAILS(of_job, api->cancel(engine, name, len, NULL, &error));
    FAILS(of_job, api->report(engine, name, len, &buffer, &error));
    FAILS(of_kind, api->headroom(engine, name, len, &count, &error));
    FAILS(of_kind, api->preload(engine, name, len, NULL, NULL, &error));
    FAILS(of_kind, api->evict(engine, name, len, NULL, NULL, &error));
    CHECK(buffer == NULL && count == 0);
}

static void bad_names(forebay_engine* engine) {
    static const int32_t argument = FOREBAY_CODE_INVALID_ARGUMENT, missing = FOREBAY_CODE_NOT_FOUND;
    names(engine, "a\0b", 3, missing, argument);
    names(engine, "\0", 1, missing, argument);
    // A lone continuation, a cut sequence, an overlong one, a surrogate, a number beyond the last.
    static const char* broken[] = {"\x80", "ab\xe2\x82", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        names(engine, broken[i], strlen(broken[i]), argument, argument);
    char* name = malloc(LONGEST_NAME + 1);
    CHECK(name != NULL);
    memset(name, 'x', LONGEST_NAME + 1);
    names(engine, name, LONGEST_NAME, missing, argument);
    names(engine, name, LONGEST_NAME + 1, argument, argument);
    free(name);
}

static void bad_requests(forebay_engine* engine) {
    // Field 1, the id, in broken UTF-8; then with a NUL, and no kind.
    static const uint8_t broken[] = {1 << 3 | 2, 2, 0xc3, 0x28}, with_nul[] = {1 << 3 | 2, 3, 'a', 0, 'b'};
    forebay_buffer* job = NULL;
    FAILS(FOREBAY_CODE_INVALID_REQUEST, api->submit(engine, broken, sizeof broken, &job, NULL, &error));
    FAILS(FOREBAY_CODE_INVALID_REQUEST, api->submit(engine, with_nul, sizeof with_nul, &job, NULL, &error));
    CHECK(job == NULL);
}

static void bad_configs(void) {
    static const char nul[] = "backend = \"c\0u\"", broken[] = "backend = \"\xff\"";
    forebay_engine* engine = NULL;
    FAILS(FOREBAY_CODE_INVALID_CONFIG, api->open(nul, sizeof nul - 1, &engine, &error));
    FAILS(FOREBAY_CODE_INVALID_CONFIG, api->open(broken, sizeof broken - 1, &engine, &error));
    CHECK(engine == NULL);
}

// A pointer that no object of its type may have.
#define MISALIGNED(type, name) \
    type* name = NULL;         \
    memcpy(&name, &odd, sizeof name)

static void misaligned(forebay_engine* engine) {
    static const int32_t refused = FOREBAY_CODE_INVALID_ARGUMENT;
    uint64_t room[2] = {7, 7};
    const char* odd = (const char*)room + 1;
    MISALIGNED(forebay_buffer*, buffer);
    MISALIGNED(uint32_t, count);
    MISALIGNED(uint64_t, number);
    MISALIGNED(int32_t, fd);
    forebay_buffer* job = NULL;
    FAILS(refused, api->submit(engine, NULL, 0, buffer, NULL, &error));
    FAILS(refused, api->submit(engine, NULL, 0, &job, count, &error));
    FAILS(refused, api->wait(engine, "j", 1, 1, buffer, &error));
    FAILS(refused, api->poll(engine, "j", 1, buffer, &error));
    FAILS(refused, api->headroom(engine, "porep_c2", 8, count, &error));
    FAILS(refused, api->preload(engine, "porep-2k", 8, NULL, number, &error));
    FAILS(refused, api->evict(engine, "porep-2k", 8, NULL, number, &error));
    FAILS(refused, api->status(engine, buffer, &error));
    FAILS(refused, api->metrics(engine, buffer, &error));
    FAILS(refused, api->report(engine, "j", 1, buffer, &error));
    FAILS(refused, api->completion_fd(engine, fd, &error));
    CHECK(room[0] == 7 && room[1] == 7);
}

static void* free_it(void* buffer) {
    for (int i = 0; i < 100; i++) {
        api->buffer_free(buffer);
        CHECK(api->buffer_len(buffer) == 0);
    }
    return NULL;
}

static void racing_frees(forebay_engine* engine) {
    for (int round = 0; round < 20; round++) {
        forebay_buffer* buffer = NULL;
        SUCCEEDS(api->metrics(engine, &buffer, &error));
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, free_it, buffer) == 0);
        for (int i = 0; i < 3; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

void test_texts(struct bytes config) {
    bad_configs();
    forebay_engine* engine = open_engine(config);
    bad_names(engine);
    bad_requests(engine);
    misaligned(engine);
    racing_frees(engine);
    SUCCEEDS(api->close(engine, FOREBAY_CLOSE_CANCEL, &error));
}
