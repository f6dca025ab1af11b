//go:build cgo && linux

// Package native calls libforebay.so through its table of functions. It adds nothing to the C ABI but Go types: no
// waiting, no retries, no state.
package native

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "loader.h"
*/
import "C"

import (
	"strings"
	"sync"
	"time"
	"unsafe"
)

// Error is what a failed call of the C ABI said.
type Error struct {
	Code       int32
	Message    string
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.Message }

// How Close ends an engine.
const (
	CloseCancel = uint32(C.FOREBAY_CLOSE_CANCEL)
	CloseDrain  = uint32(C.FOREBAY_CLOSE_DRAIN)
)

// Engine is a handle: a number that only the library can read.
type Engine uintptr

// Library is a loaded libforebay.so. It stays loaded: the library does not allow to be unmapped.
type Library struct {
	api     *C.forebay_api_v1
	logging sync.Mutex
	sink    uintptr
}

// What was loaded, one for each copy of the library: the log callback is one for all engines of a copy.
var (
	loadedLock sync.Mutex
	loaded     = map[*C.forebay_api_v1]*Library{}
)

// Load loads the library at path, with RTLD_NOW | RTLD_LOCAL. The error is dlopen's text.
func Load(path string) (*Library, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return nil, &Error{Message: "the path has a NUL byte"}
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var failure *C.char
	api := C.forebay_go_load(name, &failure)
	if api == nil {
		defer C.free(unsafe.Pointer(failure))
		message := C.GoString(failure)
		if strings.HasSuffix(message, otherABI) {
			return nil, &Error{Code: codeUnsupported, Message: message}
		}
		return nil, &Error{Message: message}
	}
	loadedLock.Lock()
	defer loadedLock.Unlock()
	library, ok := loaded[api]
	if !ok {
		library = &Library{api: api}
		loaded[api] = library
	}
	return library, nil
}

// What forebay_go_load says of a library of another ABI, and its code.
const (
	otherABI        = "does not speak version 1 of the ABI"
	codeUnsupported = 5
)

// Version is the library's version, such as "0.1.0".
func (l *Library) Version() string { return C.GoString(C.forebay_go_version(l.api)) }

// CodeName is the library's name of a code.
func (l *Library) CodeName(code int32) string {
	return C.GoString(C.forebay_go_code_name(l.api, C.int32_t(code)))
}

// take copies what a call gave and frees it.
func (l *Library) take(result C.forebay_go_result) ([]byte, error) {
	defer C.forebay_go_release(l.api, result.buffer, result.error)
	if result.code != C.FOREBAY_OK {
		failed := &Error{Code: int32(result.code), RetryAfter: time.Duration(result.retry_ms) * time.Millisecond}
		if result.message != nil {
			failed.Message = C.GoString(result.message)
		}
		return nil, failed
	}
	if result.data == nil {
		return nil, nil
	}
	// GoBytes takes an int of C, too small for the longest buffer.
	return append([]byte(nil), unsafe.Slice((*byte)(result.data), int(result.len))...), nil
}

// bytesOf gives C a pointer to bytes that stay where they are during the call.
func bytesOf(text []byte) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(text))), C.size_t(len(text))
}

// stringOf is bytesOf for a string.
func stringOf(text string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text))
}

// Open opens an engine with a TOML text.
func (l *Library) Open(config []byte) (Engine, error) {
	text, n := bytesOf(config)
	result := C.forebay_go_open(l.api, text, n)
	_, err := l.take(result)
	return Engine(result.number), err
}

// Close ends an engine and returns when its threads have ended.
func (l *Library) Close(engine Engine, mode uint32) error {
	_, err := l.take(C.forebay_go_close(l.api, C.uintptr_t(engine), C.uint32_t(mode)))
	return err
}

// Submit hands in a serialized request and gives the job's id and its place in the queue. It blocks while the engine
// decides, which takes long where a circuit is compiled for the first time.
func (l *Library) Submit(engine Engine, request []byte) (string, uint32, error) {
	text, n := bytesOf(request)
	result := C.forebay_go_submit(l.api, C.uintptr_t(engine), (*C.uint8_t)(unsafe.Pointer(text)), n)
	id, err := l.take(result)
	return string(id), uint32(result.number), err
}

// Poll gives a job's serialized answer, of status UNKNOWN while it is unfinished.
func (l *Library) Poll(engine Engine, job string) ([]byte, error) {
	text, n := stringOf(job)
	return l.take(C.forebay_go_poll(l.api, C.uintptr_t(engine), text, n))
}

// Report gives one job's facts as JSON.
func (l *Library) Report(engine Engine, job string) ([]byte, error) {
	text, n := stringOf(job)
	return l.take(C.forebay_go_report(l.api, C.uintptr_t(engine), text, n))
}

// Cancel ends a job; false where it had ended before.
func (l *Library) Cancel(engine Engine, job string) (bool, error) {
	text, n := stringOf(job)
	result := C.forebay_go_cancel(l.api, C.uintptr_t(engine), text, n)
	_, err := l.take(result)
	return bool(result.flag), err
}

// Headroom is how many more requests of a kind make no earlier one wait.
func (l *Library) Headroom(engine Engine, kind string) (uint32, error) {
	text, n := stringOf(kind)
	result := C.forebay_go_headroom(l.api, C.uintptr_t(engine), text, n)
	_, err := l.take(result)
	return uint32(result.number), err
}

// Preload loads a circuit: whether it was loaded before, and the time that it took.
func (l *Library) Preload(engine Engine, circuit string) (bool, time.Duration, error) {
	text, n := stringOf(circuit)
	result := C.forebay_go_preload(l.api, C.uintptr_t(engine), text, n)
	_, err := l.take(result)
	return bool(result.flag), time.Duration(result.number) * time.Millisecond, err
}

// Evict gives a circuit's memory back: whether it was loaded, and its bytes.
func (l *Library) Evict(engine Engine, circuit string) (bool, uint64, error) {
	text, n := stringOf(circuit)
	result := C.forebay_go_evict(l.api, C.uintptr_t(engine), text, n)
	_, err := l.take(result)
	return bool(result.flag), uint64(result.number), err
}

// Status is the engine's status document, JSON.
func (l *Library) Status(engine Engine) ([]byte, error) {
	return l.take(C.forebay_go_status(l.api, C.uintptr_t(engine)))
}

// Metrics is every metric in Prometheus' text format.
func (l *Library) Metrics(engine Engine) ([]byte, error) {
	return l.take(C.forebay_go_metrics(l.api, C.uintptr_t(engine)))
}

// CompletionFD is a non-blocking eventfd, the caller's own, that becomes readable when jobs end.
func (l *Library) CompletionFD(engine Engine) (uintptr, error) {
	result := C.forebay_go_completion_fd(l.api, C.uintptr_t(engine))
	_, err := l.take(result)
	return uintptr(result.number), err
}
