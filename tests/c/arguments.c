// Null, misaligned, oversized and foreign arguments; bad configurations; dead handles.
#include <stdlib.h>
#include <string.h>

#include "host.h"

static const int32_t BAD_ARGUMENT = FOREBAY_CODE_INVALID_ARGUMENT;

static void null_places(forebay_engine* engine) {
    FAILS(BAD_ARGUMENT, api->open("", 0, NULL, &error));
    FAILS(BAD_ARGUMENT, api->submit(engine, (const uint8_t*)"", 0, NULL, NULL, &error));
    FAILS(BAD_ARGUMENT, api->wait(engine, "j", 1, 1, NULL, &error));
    FAILS(BAD_ARGUMENT, api->poll(engine, "j", 1, NULL, &error));
    FAILS(BAD_ARGUMENT, api->headroom(engine, "porep_c2", 8, NULL, &error));
    FAILS(BAD_ARGUMENT, api->status(engine, NULL, &error));
    FAILS(BAD_ARGUMENT, api->metrics(engine, NULL, &error));
    FAILS(BAD_ARGUMENT, api->report(engine, "j", 1, NULL, &error));
    FAILS(BAD_ARGUMENT, api->completion_fd(engine, NULL, &error));
    CHECK(api->open("", 0, NULL, NULL) == BAD_ARGUMENT);
}

// Every call that takes an engine, on a handle that is none.
static void calls_on(forebay_engine* engine, int32_t expected) {
    forebay_buffer* buffer = (forebay_buffer*)8;
    uint32_t count = 7;
    int32_t fd = 7;
    bool flag = true;
    uint64_t number = 7;
    FAILS(expected, api->submit(engine, (const uint8_t*)"", 0, &buffer, &count, &error));
    CHECK(buffer == NULL && count == 0);
    FAILS(expected, api->wait(engine, "j", 1, 1, &buffer, &error));
    FAILS(expected, api->poll(engine, "j", 1, &buffer, &error));
    FAILS(expected, api->cancel(engine, "j", 1, &flag, &error));
    FAILS(expected, api->headroom(engine, "porep_c2", 8, &count, &error));
    FAILS(expected, api->preload(engine, "porep-2k", 8, &flag, &number, &error));
    FAILS(expected, api->evict(engine, "porep-2k", 8, &flag, &number, &error));
    FAILS(expected, api->status(engine, &buffer, &error));
    FAILS(expected, api->metrics(engine, &buffer, &error));
    FAILS(expected, api->report(engine, "j", 1, &buffer, &error));
    FAILS(expected, api->completion_fd(engine, &fd, &error));
    CHECK(buffer == NULL && !flag && number == 0 && fd == -1);
    FAILS(expected, api->close(engine, FOREBAY_CLOSE_CANCEL, &error));
    CHECK(api->close(engine, FOREBAY_CLOSE_CANCEL, NULL) == expected);
}

static void bad_config(const char* text, size_t len, const char* says) {
    forebay_engine* engine = (forebay_engine*)8;
    forebay_error* error = NULL;
    CHECK(api->open(text, len, &engine, &error) == FOREBAY_CODE_INVALID_CONFIG);
    CHECK(engine == NULL && strstr(api->error_message(error), says) != NULL);
    api->error_free(error);
}

static void bad_configs(void) {
    static const char unknown[] = "[memory]\nlimt = \"1GiB\"\n";
    bad_config(unknown, sizeof unknown - 1, "limit");
    static const char broken[] = "threads = [";
    bad_config(broken, sizeof broken - 1, "TOML");
    static const char type[] = "threads = \"many\"";
    bad_config(type, sizeof type - 1, "threads");
    bad_config("threads = 1\xff", 12, "UTF-8");
    bad_config("threads = 1\0", 12, "TOML");
    bad_config(broken, SIZE_MAX, "at most");
    bad_config(NULL, SIZE_MAX / 2, "at most");
    size_t len = 10u << 20;
    char* spaces = malloc(len);
    CHECK(spaces != NULL);
    memset(spaces, ' ', len);
    bad_config(spaces, len, "at most");
    free(spaces);
    forebay_engine* engine = NULL;
    FAILS(BAD_ARGUMENT, api->open(NULL, 1, &engine, &error));
}

static void misaligned_places(void) {
    uint64_t room[4] = {0};
    char* odd = (char*)room + 1;
    forebay_engine** engine = NULL;
    forebay_error** misaligned = NULL;
    memcpy(&engine, &odd, sizeof engine);
    memcpy(&misaligned, &odd, sizeof misaligned);
    FAILS(BAD_ARGUMENT, api->open("", 0, engine, &error));
    CHECK(api->open("", 0, NULL, misaligned) == BAD_ARGUMENT);
    CHECK(api->set_log(FOREBAY_LOG_OFF, NULL, NULL, misaligned) == BAD_ARGUMENT);
}

static void objects(void) {
    int local = 0;
    void* foreign[] = {NULL, (void*)1, &local, (void*)UINTPTR_MAX};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        CHECK(api->buffer_data(foreign[i]) == NULL && api->buffer_len(foreign[i]) == 0);
        api->buffer_free(foreign[i]);
        CHECK(api->error_code(foreign[i]) == (foreign[i] == NULL ? FOREBAY_OK : BAD_ARGUMENT));
        CHECK(strlen(api->error_message(foreign[i])) > 0);
        api->error_free(foreign[i]);
    }
    forebay_error* error = NULL;
    CHECK(api->open("", 0, NULL, &error) == BAD_ARGUMENT);
    // An error is no engine and no buffer, and is gone after the first free.
    CHECK(api->close((forebay_engine*)error, FOREBAY_CLOSE_CANCEL, NULL) == BAD_ARGUMENT);
    CHECK(api->buffer_data((forebay_buffer*)error) == NULL);
    api->error_free(error);
    api->error_free(error);
    CHECK(api->error_code(error) == FOREBAY_CODE_CLOSED);
}

void test_arguments(void) {
    null_places(NULL);
    calls_on(NULL, BAD_ARGUMENT);
    int local = 0;
    calls_on((forebay_engine*)&local, BAD_ARGUMENT);
    calls_on((forebay_engine*)1, BAD_ARGUMENT);
    bad_configs();
    misaligned_places();
    objects();
}

void test_handles(struct bytes config) {
    forebay_engine* engine = open_engine(config);
    null_places(engine);
    FAILS(BAD_ARGUMENT, api->close(engine, 2, &error));
    SUCCEEDS(api->close(engine, FOREBAY_CLOSE_CANCEL, &error));
    calls_on(engine, FOREBAY_CODE_CLOSED);
    // A newer engine in the same slot is not reached by the old handle.
    forebay_engine* newer = open_engine(config);
    CHECK(newer != engine);
    calls_on(engine, FOREBAY_CODE_CLOSED);
    SUCCEEDS(api->close(newer, FOREBAY_CLOSE_DRAIN, &error));
}
