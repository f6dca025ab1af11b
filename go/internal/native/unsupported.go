//go:build !cgo || !linux

// Package native calls libforebay.so through its table of functions. This build cannot: it has no cgo, or is not for
// Linux.
package native

import "time"

// Error is what a failed call of the C ABI said.
type Error struct {
	Code       int32
	Message    string
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.Message }

// How Close ends an engine.
const (
	CloseCancel = uint32(0)
	CloseDrain  = uint32(1)
)

// Engine is a handle.
type Engine uintptr

// Library is never made in this build.
type Library struct{}

// LogFunc receives one event of the library.
type LogFunc func(level int, target, message string)

var errBuild = &Error{Code: 5, Message: "this program was built without cgo or not for Linux and cannot load libforebay.so; use Dial or Spawn"}

// Load fails.
func Load(string) (*Library, error) { return nil, errBuild }

// Version is empty.
func (*Library) Version() string { return "" }

// CodeName is empty.
func (*Library) CodeName(int32) string { return "" }

// Open fails.
func (*Library) Open([]byte) (Engine, error) { return 0, errBuild }

// Close fails.
func (*Library) Close(Engine, uint32) error { return errBuild }

// Submit fails.
func (*Library) Submit(Engine, []byte) (string, uint32, error) { return "", 0, errBuild }

// Poll fails.
func (*Library) Poll(Engine, string) ([]byte, error) { return nil, errBuild }

// Report fails.
func (*Library) Report(Engine, string) ([]byte, error) { return nil, errBuild }

// Cancel fails.
func (*Library) Cancel(Engine, string) (bool, error) { return false, errBuild }

// Headroom fails.
func (*Library) Headroom(Engine, string) (uint32, error) { return 0, errBuild }

// Preload fails.
func (*Library) Preload(Engine, string) (bool, time.Duration, error) { return false, 0, errBuild }

// Evict fails.
func (*Library) Evict(Engine, string) (bool, uint64, error) { return false, 0, errBuild }

// Status fails.
func (*Library) Status(Engine) ([]byte, error) { return nil, errBuild }

// Metrics fails.
func (*Library) Metrics(Engine) ([]byte, error) { return nil, errBuild }

// CompletionFD fails.
func (*Library) CompletionFD(Engine) (uintptr, error) { return 0, errBuild }

// SetLog fails.
func (*Library) SetLog(int, LogFunc) error { return errBuild }
