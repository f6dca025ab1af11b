//go:build cgo && linux

package native

/*
#include "loader.h"
*/
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// LogFunc receives one event of the library: a level from 1 (error) to 5 (trace), the module and the text. It comes
// from many threads and must return at once.
type LogFunc func(level int, target, message string)

var (
	sinks    sync.Map // of uintptr to LogFunc
	lastSink atomic.Uintptr
)

// SetLog sets, replaces or (nil) removes the function that receives the library's events. When it returns, the
// function set before is not called any more.
func (l *Library) SetLog(level int, sink LogFunc) error {
	l.logging.Lock()
	defer l.logging.Unlock()
	key := uintptr(0)
	if sink != nil {
		key = lastSink.Add(1)
		sinks.Store(key, sink)
	}
	if _, err := l.take(C.forebay_go_set_log(l.api, C.int32_t(level), C.uintptr_t(key))); err != nil {
		sinks.Delete(key)
		return err
	}
	sinks.Delete(l.sink)
	l.sink = key
	return nil
}

//export forebayGoLog
func forebayGoLog(key C.uintptr_t, level C.int32_t, target *C.char, targetLen C.size_t, message *C.char, messageLen C.size_t) {
	// A panic must not unwind into the library.
	defer func() { _ = recover() }()
	if sink, ok := sinks.Load(uintptr(key)); ok {
		sink.(LogFunc)(int(level), textAt(target, targetLen), textAt(message, messageLen))
	}
}

func textAt(text *C.char, n C.size_t) string {
	if text == nil {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(text)), int(n)))
}
