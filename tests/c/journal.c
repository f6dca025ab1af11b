// Proves a request, says where the proof is from, waits until the journal has it, and then for its own death.
// Usage: journal LIBRARY CONFIG_FILE REQUEST_FILE REQUEST_ID
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

static bool says(forebay_buffer* text, const char* what) {
    bool found = strstr((const char*)api->buffer_data(text), what) != NULL;
    api->buffer_free(text);
    return found;
}

static bool is_kept(forebay_engine* engine) {
    forebay_buffer* text = NULL;
    SUCCEEDS(api->metrics(engine, &text, &error));
    return says(text, "\nforebay_journal_proofs 0\n") == false;
}

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    alarm(300);
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    api = table(library, FOREBAY_ABI_VERSION);
    CHECK(api != NULL);
    struct bytes config = read_file(argv[2]), request = read_file(argv[3]);
    forebay_engine* engine = open_engine(config);
    forebay_buffer* job = submit_as(engine, request, argv[4]);
    const char* id = (const char*)api->buffer_data(job);
    forebay_buffer *first = NULL, *report = NULL;
    SUCCEEDS(api->poll(engine, id, api->buffer_len(job), &first, &error));
    bool at_once = take_answer(first).status == COMPLETED;
    struct answer answer = wait_for(engine, job, 0);
    CHECK(answer.status == COMPLETED);
    SUCCEEDS(api->report(engine, id, api->buffer_len(job), &report, &error));
    bool from_journal = says(report, "\"from_journal\":true");
    CHECK(at_once == from_journal);
    SUCCEEDS(api->wait(engine, id, api->buffer_len(job), 0, &first, &error));
    printf("%s ", from_journal ? "kept" : "made");
    // The whole answer but for the job's name, which comes first and is each engine's own.
    const uint8_t* bytes = api->buffer_data(first);
    for (size_t i = 2 + api->buffer_len(job); i < api->buffer_len(first); i++) printf("%02x", bytes[i]);
    printf("\n");
    fflush(stdout);
    while (!is_kept(engine)) usleep(1000);
    puts("durable");
    fflush(stdout);
    pause();
    return 1;
}
