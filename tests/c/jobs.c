// Real jobs: identity, timeouts, cancel, completion, and close with jobs in flight.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

static struct answer poll_job(forebay_engine* engine, forebay_buffer* job) {
    forebay_buffer* response = NULL;
    const char* id = (const char*)api->buffer_data(job);
    SUCCEEDS(api->poll(engine, id, api->buffer_len(job), &response, &error));
    return take_answer(response);
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
    int32_t code = api->wait(waiter->engine, id, api->buffer_len(waiter->job), UINT64_MAX, &response, NULL);
    if (code == FOREBAY_OK) {
        struct answer answer = take_answer(response);
        CHECK(answer.status == CANCELLED || answer.status == COMPLETED);
    } else {
        CHECK(code == FOREBAY_CODE_CLOSED);
    }
    return NULL;
}

static void ignore(int signal) {
    (void)signal;
}

// Signals that come while a thread waits neither end the wait nor change what it gets.
static void interrupted(forebay_engine* engine, struct bytes request) {
    struct sigaction action = {.sa_handler = ignore}, before;
    CHECK(sigaction(SIGUSR1, &action, &before) == 0);
    struct waiter waiter = {engine, submit_as(engine, request, "interrupted")};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_through_close, &waiter) == 0);
    for (int i = 0; i < 200 && poll_job(engine, waiter.job).status == UNKNOWN; i++) {
        CHECK(pthread_kill(thread, SIGUSR1) == 0);
        usleep(2000);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(wait_for(engine, waiter.job, UINT64_MAX).status == COMPLETED);
    CHECK(sigaction(SIGUSR1, &before, NULL) == 0);
    api->buffer_free(waiter.job);
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
    interrupted(engine, request);
    SUCCEEDS(api->close(engine, FOREBAY_CLOSE_DRAIN, &error));
    closes_in_flight(config, request);
}
