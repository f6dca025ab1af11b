// Calls through the table of functions, with handles as numbers: Go's collector never sees one as a pointer.
#ifndef FOREBAY_GO_LOADER_H
#define FOREBAY_GO_LOADER_H

#include "forebay.h"

// What a call gave. Whoever receives one copies what it needs and gives it to forebay_go_release.
typedef struct {
  int32_t code;
  bool flag;
  uint64_t number;
  uint64_t retry_ms;
  uintptr_t buffer;
  uintptr_t error;
  const uint8_t *data;
  size_t len;
  const char *message;
} forebay_go_result;

typedef int32_t (*forebay_go_named)(forebay_engine *, const char *, size_t, forebay_buffer **, forebay_error **);
typedef int32_t (*forebay_go_plain)(forebay_engine *, forebay_buffer **, forebay_error **);

// Loads the library at `path`. On failure NULL, and *failure is a text that the caller frees.
const forebay_api_v1 *forebay_go_load(const char *path, char **failure);

forebay_go_result forebay_go_open(const forebay_api_v1 *api, const char *config, size_t len);
forebay_go_result forebay_go_close(const forebay_api_v1 *api, uintptr_t engine, uint32_t mode);
forebay_go_result forebay_go_submit(const forebay_api_v1 *api, uintptr_t engine, const uint8_t *request, size_t len);
forebay_go_result forebay_go_poll(const forebay_api_v1 *api, uintptr_t engine, const char *job, size_t len);
forebay_go_result forebay_go_report(const forebay_api_v1 *api, uintptr_t engine, const char *job, size_t len);
forebay_go_result forebay_go_cancel(const forebay_api_v1 *api, uintptr_t engine, const char *job, size_t len);
forebay_go_result forebay_go_headroom(const forebay_api_v1 *api, uintptr_t engine, const char *kind, size_t len);
forebay_go_result forebay_go_preload(const forebay_api_v1 *api, uintptr_t engine, const char *circuit, size_t len);
forebay_go_result forebay_go_evict(const forebay_api_v1 *api, uintptr_t engine, const char *circuit, size_t len);
forebay_go_result forebay_go_status(const forebay_api_v1 *api, uintptr_t engine);
forebay_go_result forebay_go_metrics(const forebay_api_v1 *api, uintptr_t engine);
forebay_go_result forebay_go_completion_fd(const forebay_api_v1 *api, uintptr_t engine);
forebay_go_result forebay_go_set_log(const forebay_api_v1 *api, int32_t level, uintptr_t user_data);
const char *forebay_go_version(const forebay_api_v1 *api);
const char *forebay_go_code_name(const forebay_api_v1 *api, int32_t code);

// Frees a result's buffer and error.
void forebay_go_release(const forebay_api_v1 *api, uintptr_t buffer, uintptr_t error);

#endif
