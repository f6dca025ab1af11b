#define _GNU_SOURCE
#include "loader.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

// Exported by Go.
extern void forebayGoLog(uintptr_t user_data, int32_t level, char *target, size_t target_len, char *message,
                         size_t message_len);

#define HAS(api, member) ((api)->size >= offsetof(forebay_api_v1, member) + sizeof((api)->member))

static char *text(const char *format, const char *a, const char *b) {
  char *out = NULL;
  return asprintf(&out, format, a, b) < 0 ? NULL : out;
}

const forebay_api_v1 *forebay_go_load(const char *path, char **failure) {
  *failure = NULL;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char *why = dlerror();
    *failure = text("%s%s", "", why == NULL ? "dlopen failed" : why);
    return NULL;
  }
  // ISO C has no cast from an object pointer to a function pointer.
  const forebay_api_v1 *(*table)(uint32_t) = NULL;
  void *symbol = dlsym(library, "forebay_api");
  memcpy(&table, &symbol, sizeof table);
  if (table == NULL) {
    *failure = text("%s%s", path, " has no function forebay_api: it is not libforebay.so");
    dlclose(library);
    return NULL;
  }
  const forebay_api_v1 *api = table(FOREBAY_ABI_VERSION);
  if (api == NULL || !HAS(api, code_name)) {
    // libforebay.so stays in memory: nothing is gained by dlclose.
    *failure = text("%s%s", path, " does not speak version 1 of the ABI");
    return NULL;
  }
  return api;
}

static forebay_engine *engine_of(uintptr_t handle) {
  return (forebay_engine *)handle;
}

static void took(const forebay_api_v1 *api, forebay_go_result *result, forebay_buffer *buffer, forebay_error *error) {
  result->buffer = (uintptr_t)buffer;
  result->error = (uintptr_t)error;
  if (buffer != NULL) {
    result->data = api->buffer_data(buffer);
    result->len = api->buffer_len(buffer);
  }
  if (error != NULL) {
    result->message = api->error_message(error);
    // Added after the table's first form.
    if (HAS(api, error_retry_ms)) {
      result->retry_ms = api->error_retry_ms(error);
    }
  }
}

forebay_go_result forebay_go_open(const forebay_api_v1 *api, const char *config, size_t len) {
  forebay_go_result result = {0};
  forebay_engine *engine = NULL;
  forebay_error *error = NULL;
  result.code = api->open(config, len, &engine, &error);
  result.number = (uintptr_t)engine;
  took(api, &result, NULL, error);
  return result;
}

forebay_go_result forebay_go_close(const forebay_api_v1 *api, uintptr_t engine, uint32_t mode) {
  forebay_go_result result = {0};
  forebay_error *error = NULL;
  result.code = api->close(engine_of(engine), mode, &error);
  took(api, &result, NULL, error);
  return result;
}

forebay_go_result forebay_go_submit(const forebay_api_v1 *api, uintptr_t engine, const uint8_t *request, size_t len) {
  forebay_go_result result = {0};
  forebay_buffer *job = NULL;
  forebay_error *error = NULL;
  uint32_t position = 0;
  result.code = api->submit(engine_of(engine), request, len, &job, &position, &error);
  result.number = position;
  took(api, &result, job, error);
  return result;
}

static forebay_go_result named(const forebay_api_v1 *api, forebay_go_named call, uintptr_t engine, const char *name,
                               size_t len) {
  forebay_go_result result = {0};
  forebay_buffer *buffer = NULL;
  forebay_error *error = NULL;
  result.code = call(engine_of(engine), name, len, &buffer, &error);
  took(api, &result, buffer, error);
  return result;
}

forebay_go_result forebay_go_poll(const forebay_api_v1 *api, uintptr_t engine, const char *job, size_t len) {
  return named(api, api->poll, engine, job, len);
}

forebay_go_result forebay_go_report(const forebay_api_v1 *api, uintptr_t engine, const char *job, size_t len) {
  return named(api, api->report, engine, job, len);
}

static forebay_go_result plain(const forebay_api_v1 *api, forebay_go_plain call, uintptr_t engine) {
  forebay_go_result result = {0};
  forebay_buffer *buffer = NULL;
  forebay_error *error = NULL;
  result.code = call(engine_of(engine), &buffer, &error);
  took(api, &result, buffer, error);
  return result;
}

forebay_go_result forebay_go_status(const forebay_api_v1 *api, uintptr_t engine) {
  return plain(api, api->status, engine);
}

forebay_go_result forebay_go_metrics(const forebay_api_v1 *api, uintptr_t engine) {
  return plain(api, api->metrics, engine);
}

forebay_go_result forebay_go_cancel(const forebay_api_v1 *api, uintptr_t engine, const char *job, size_t len) {
  forebay_go_result result = {0};
  forebay_error *error = NULL;
  result.code = api->cancel(engine_of(engine), job, len, &result.flag, &error);
  took(api, &result, NULL, error);
  return result;
}

forebay_go_result forebay_go_headroom(const forebay_api_v1 *api, uintptr_t engine, const char *kind, size_t len) {
  forebay_go_result result = {0};
  forebay_error *error = NULL;
  uint32_t count = 0;
  result.code = api->headroom(engine_of(engine), kind, len, &count, &error);
  result.number = count;
  took(api, &result, NULL, error);
  return result;
}

forebay_go_result forebay_go_preload(const forebay_api_v1 *api, uintptr_t engine, const char *circuit, size_t len) {
  forebay_go_result result = {0};
  forebay_error *error = NULL;
  result.code = api->preload(engine_of(engine), circuit, len, &result.flag, &result.number, &error);
  took(api, &result, NULL, error);
  return result;
}

forebay_go_result forebay_go_evict(const forebay_api_v1 *api, uintptr_t engine, const char *circuit, size_t len) {
  forebay_go_result result = {0};
  forebay_error *error = NULL;
  result.code = api->evict(engine_of(engine), circuit, len, &result.flag, &result.number, &error);
  took(api, &result, NULL, error);
  return result;
}

forebay_go_result forebay_go_completion_fd(const forebay_api_v1 *api, uintptr_t engine) {
  forebay_go_result result = {0};
  forebay_error *error = NULL;
  int32_t fd = -1;
  result.code = api->completion_fd(engine_of(engine), &fd, &error);
  result.number = fd < 0 ? 0 : (uint64_t)fd;
  took(api, &result, NULL, error);
  return result;
}

static void log_line(void *user_data, int32_t level, const char *target, size_t target_len, const char *message,
                     size_t message_len) {
  forebayGoLog((uintptr_t)user_data, level, (char *)target, target_len, (char *)message, message_len);
}

forebay_go_result forebay_go_set_log(const forebay_api_v1 *api, int32_t level, uintptr_t user_data) {
  forebay_go_result result = {0};
  forebay_error *error = NULL;
  result.code = api->set_log(level, user_data == 0 ? NULL : log_line, (void *)user_data, &error);
  took(api, &result, NULL, error);
  return result;
}

const char *forebay_go_version(const forebay_api_v1 *api) {
  return api->library_version();
}

const char *forebay_go_code_name(const forebay_api_v1 *api, int32_t code) {
  return api->code_name(code);
}

void forebay_go_release(const forebay_api_v1 *api, uintptr_t buffer, uintptr_t error) {
  if (buffer != 0) {
    api->buffer_free((forebay_buffer *)buffer);
  }
  if (error != 0) {
    api->error_free((forebay_error *)error);
  }
}
