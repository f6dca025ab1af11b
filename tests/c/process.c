// What belongs to the whole process: forked children, signals, descriptors.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

static const int32_t CLOSED = FOREBAY_CODE_CLOSED;

// Expects the refusal that every call gets in a child.
#define REFUSED(call)                                                           \
    do {                                                                        \
        forebay_error* error = NULL;                                            \
        CHECK((call) == CLOSED);                                                \
        CHECK(api->error_code(error) == CLOSED);                                \
        CHECK(strstr(api->error_message(error), "forked") != NULL);             \
        api->error_free(error);                                                 \
        CHECK(api->error_retry_ms(error) == 0);                                 \
    } while (0)

static void in_child(forebay_engine* engine, forebay_buffer* kept, forebay_error* failed) {
    forebay_buffer* buffer = (forebay_buffer*)8;
    forebay_engine* fresh = (forebay_engine*)8;
    uint32_t count = 7;
    int32_t fd = 7;
    REFUSED(api->open("", 0, &fresh, &error));
    REFUSED(api->submit(engine, (const uint8_t*)"", 0, &buffer, &count, &error));
    REFUSED(api->wait(engine, "j", 1, 0, &buffer, &error));
    REFUSED(api->poll(engine, "j", 1, &buffer, &error));
    REFUSED(api->cancel(engine, "j", 1, NULL, &error));
    REFUSED(api->headroom(engine, "porep_c2", 8, &count, &error));
    REFUSED(api->preload(engine, "porep-2k", 8, NULL, NULL, &error));
    REFUSED(api->evict(engine, "porep-2k", 8, NULL, NULL, &error));
    REFUSED(api->status(engine, &buffer, &error));
    REFUSED(api->metrics(engine, &buffer, &error));
    REFUSED(api->report(engine, "j", 1, &buffer, &error));
    REFUSED(api->completion_fd(engine, &fd, &error));
    REFUSED(api->set_log(FOREBAY_LOG_OFF, NULL, NULL, &error));
    REFUSED(api->close(engine, FOREBAY_CLOSE_CANCEL, &error));
    REFUSED(api->close(engine, FOREBAY_CLOSE_DRAIN, &error));
    CHECK(api->close(engine, FOREBAY_CLOSE_CANCEL, NULL) == CLOSED);
    CHECK(buffer == NULL && fresh == NULL && count == 0 && fd == -1);
    CHECK(api->buffer_data(kept) == NULL && api->buffer_len(kept) == 0);
    api->buffer_free(kept);
    api->error_free(failed);
    CHECK(strcmp(api->code_name(FOREBAY_OK), "ok") == 0);
}

struct noise {
    forebay_engine* engine;
    atomic_bool quiet;
};

// Takes the library's locks all the time, so that forks come while they are held.
static void* make_noise(void* argument) {
    struct noise* noise = argument;
    while (!atomic_load(&noise->quiet)) {
        forebay_buffer* buffer = NULL;
        forebay_error* error = NULL;
        CHECK(api->metrics(noise->engine, &buffer, NULL) == FOREBAY_OK);
        CHECK(api->poll(noise->engine, "none", 4, &buffer, &error) == FOREBAY_CODE_NOT_FOUND);
        api->error_free(error);
        api->buffer_free(buffer);
    }
    return NULL;
}

static void hear(void* user_data, int32_t level, const char* target, size_t target_len, const char* message,
                 size_t message_len) {
    (void)level, (void)target, (void)target_len, (void)message, (void)message_len;
    atomic_fetch_add((atomic_int*)user_data, 1);
}

static void forked_children(struct bytes config) {
    // AddressSanitizer's own allocator may be locked in a child; there the forks come in silence.
#ifdef __SANITIZE_ADDRESS__
    enum { NOISY = 0, ROUNDS = 5 };
#else
    enum { NOISY = 2, ROUNDS = 40 };
#endif
    struct noise noise = {.engine = open_engine(config)};
    atomic_int heard;
    atomic_init(&heard, 0);
    SUCCEEDS(api->set_log(FOREBAY_LOG_TRACE, hear, &heard, &error));
    forebay_buffer* kept = NULL;
    forebay_error* failed = NULL;
    SUCCEEDS(api->status(noise.engine, &kept, &error));
    CHECK(api->poll(noise.engine, "none", 4, NULL, &failed) != FOREBAY_OK);
    pthread_t threads[NOISY + 1];
    for (int i = 0; i < NOISY; i++) CHECK(pthread_create(&threads[i], NULL, make_noise, &noise) == 0);
    time_t until = time(NULL) + 5;
    for (int round = 0; round < ROUNDS && (round < 4 || time(NULL) < until); round++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(60);
            in_child(noise.engine, kept, failed);
            // Not by exit: leak checkers would look for what the missing threads held.
            kill(getpid(), SIGKILL);
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    atomic_store(&noise.quiet, true);
    for (int i = 0; i < NOISY; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    // The parent noticed nothing.
    SUCCEEDS(api->set_log(FOREBAY_LOG_OFF, NULL, NULL, &error));
    CHECK(api->buffer_len(kept) > 0 && api->error_code(failed) != CLOSED && atomic_load(&heard) > 0);
    api->buffer_free(kept);
    api->error_free(failed);
    SUCCEEDS(api->close(noise.engine, FOREBAY_CLOSE_DRAIN, &error));
}

// Signals that a thread of this process blocks.
static unsigned long long blocked_by(const char* thread) {
    char path[300], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE* file = fopen(path, "r");
    unsigned long long mask = ~0ull;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) sscanf(line, "SigBlk: %llx", &mask);
    if (file != NULL) fclose(file);
    return mask;
}

// Threads that would take the host's SIGTERM.
static int takers(void) {
    DIR* tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    int count = 0;
    for (struct dirent* task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        if (task->d_name[0] == '.') continue;
        count += (blocked_by(task->d_name) >> (SIGTERM - 1) & 1) == 0;
    }
    closedir(tasks);
    return count;
}

static void signals_are_the_hosts(struct bytes config) {
    sigset_t before, after;
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &before) == 0);
    int alone = takers();
    forebay_engine* engine = open_engine(config);
    CHECK(takers() == alone);
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &after) == 0);
    for (int i = 1; i <= 64; i++) CHECK(sigismember(&before, i) == sigismember(&after, i));
    SUCCEEDS(api->close(engine, FOREBAY_CLOSE_CANCEL, &error));
}

static void no_descriptor_is_left(struct bytes config) {
    forebay_engine* engine = open_engine(config);
    struct rlimit limit, none;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    none = limit;
    none.rlim_cur = 3;
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    int32_t fd = 7;
    FAILS(FOREBAY_CODE_SYSTEM, api->completion_fd(engine, &fd, &error));
    CHECK(fd == -1 && setrlimit(RLIMIT_NOFILE, &limit) == 0);
    SUCCEEDS(api->completion_fd(engine, &fd, &error));
    CHECK(close(fd) == 0);
    SUCCEEDS(api->close(engine, FOREBAY_CLOSE_CANCEL, &error));
}

void test_process(struct bytes config) {
    signals_are_the_hosts(config);
    no_descriptor_is_left(config);
    forked_children(config);
}
