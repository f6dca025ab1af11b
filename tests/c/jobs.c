// Real jobs: identity, timeouts, cancel, completion, and close with jobs in flight.
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

// cuzk.v1.AwaitProofResponse.Status
enum { UNKNOWN = 0, COMPLETED = 1, FAILED = 2, CANCELLED = 3, TIMEOUT = 4 };

struct answer {
    uint64_t status;
    size_t proof_len;
    char error[512];
};

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
static struct answer take_answer(forebay_buffer* buffer) {
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

static struct answer wait_for(forebay_engine* engine, forebay_buffer* job, uint64_t timeout_ms) {
    forebay_buffer* response = NULL;
    const char* id = (const char*)api->buffer_data(job);
    SUCCEEDS(api->wait(engine, id, api->buffer_len(job), timeout_ms, &response, &error));
    return take_answer(response);
}

static struct answer poll_job(forebay_engine* engine, forebay_buffer* job) {
    forebay_buffer* response = NULL;
    const char* id = (const char*)api->buffer_data(job);
    SUCCEEDS(api->poll(engine, id, api->buffer_len(job), &response, &error));
    return take_answer(response);
}

// The same request under another id: in protobuf the last occurrence of a field counts.
static forebay_buffer* submit_as(forebay_engine* engine, struct bytes request, const char* id) {
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

static void drain(int fd) {
    uint64_t count = 0;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    CHECK(poll(&wait, 1, -1) == 1);
    CHECK(read(fd, &count, sizeof count) == sizeof count && count > 0);
}

static void proves(forebay_engine* engine, struct bytes request) {
    int32_t fd = -1;
    SUCCEEDS(api->completion_fd(engine, &fd, &error));
    forebay_buffer* job = submit_as(engine, request, "first");
    forebay_buffer* same = submit_as(engine, request, "first");
    CHECK(strcmp((const char*)api->buffer_data(job), (const char*)api->buffer_data(same)) == 0);
    struct answer early = wait_for(engine, job, 1);
    CHECK(early.status == TIMEOUT || early.status == COMPLETED);
    struct answer answer = poll_job(engine, job);
    while (answer.status == UNKNOWN) {
        drain(fd);
        answer = poll_job(engine, job);
    }
    if (answer.status != COMPLETED)
        fprintf(stderr, "job ended with status %d: %s\n", (int)answer.status, answer.error);
    CHECK(answer.status == COMPLETED && answer.proof_len > 0 && answer.proof_len % 192 == 0);
    CHECK(wait_for(engine, same, 0).status == COMPLETED);
    forebay_buffer* report = NULL;
    const char* id = (const char*)api->buffer_data(job);
    SUCCEEDS(api->report(engine, id, api->buffer_len(job), &report, &error));
    CHECK(strstr((const char*)api->buffer_data(report), "\"completed\"") != NULL);
    api->buffer_free(report);
    bool was_running = true;
    SUCCEEDS(api->cancel(engine, id, api->buffer_len(job), &was_running, &error));
    CHECK(!was_running);
    api->buffer_free(job);
    api->buffer_free(same);
    CHECK(close(fd) == 0);
}

static void cancels(forebay_engine* engine, struct bytes request) {
    forebay_buffer* job = submit_as(engine, request, "to be cancelled");
    bool was_running = false;
    const char* id = (const char*)api->buffer_data(job);
    SUCCEEDS(api->cancel(engine, id, api->buffer_len(job), &was_running, &error));
    struct answer answer = wait_for(engine, job, 0);
    CHECK(answer.status == (was_running ? CANCELLED : COMPLETED));
    api->buffer_free(job);
}

struct waiter {
    forebay_engine* engine;
    forebay_buffer* job;
};

// Waits for ever for a job whose engine is closed meanwhile.
static void* wait_through_close(void* argument) {
    struct waiter* waiter = argument;
    forebay_buffer* response = NULL;
    const char* id = (const char*)api->buffer_data(waiter->job);
    int32_t code = api->wait(waiter->engine, id, api->buffer_len(waiter->job), 0, &response, NULL);
    if (code == FOREBAY_OK) {
        struct answer answer = take_answer(response);
        CHECK(answer.status == CANCELLED || answer.status == COMPLETED);
    } else {
        CHECK(code == FOREBAY_CODE_CLOSED);
    }
    return NULL;
}

static void closes_in_flight(struct bytes config, struct bytes request) {
    forebay_engine* engine = open_engine(config);
    struct waiter waiters[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        char id[32];
        snprintf(id, sizeof id, "in flight %d", i);
        waiters[i] = (struct waiter){engine, submit_as(engine, request, id)};
        CHECK(pthread_create(&threads[i], NULL, wait_through_close, &waiters[i]) == 0);
    }
    SUCCEEDS(api->close(engine, FOREBAY_CLOSE_CANCEL, &error));
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        api->buffer_free(waiters[i].job);
    }
}

void test_jobs(struct bytes config, struct bytes request) {
    forebay_engine* engine = open_engine(config);
    proves(engine, request);
    cancels(engine, request);
    SUCCEEDS(api->close(engine, FOREBAY_CLOSE_DRAIN, &error));
    closes_in_flight(config, request);
}
