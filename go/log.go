package forebay

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/forebay/forebay/go/internal/native"
)

// LevelTrace is below slog.LevelDebug: everything that the library says.
const LevelTrace = slog.LevelDebug - 4

// logQueue is how many events may wait for the logger; what comes when it is full is counted and dropped.
const logQueue = 1024

type logEvent struct {
	level           int
	target, message string
}

// logSink takes events from the library's threads at once, and gives them to the logger from a goroutine of its own:
// a logger that blocks or panics holds up no proof.
type logSink struct {
	events chan logEvent
	done   chan struct{}
	mu     sync.Mutex
	lost   int
}

var (
	loggerLock sync.Mutex
	loggers    = map[*native.Library]*logSink{}
)

// SetLogger gives the library's events to a logger, from this level on; nil ends that. It is for all engines of the
// loaded library, the last call counts. Events have the attribute "module". When it returns, the logger set before is
// not called any more.
func (l *Library) SetLogger(logger *slog.Logger, level slog.Level) error {
	loggerLock.Lock()
	defer loggerLock.Unlock()
	var sink *logSink
	var receive native.LogFunc
	if logger != nil {
		sink = &logSink{events: make(chan logEvent, logQueue), done: make(chan struct{})}
		receive = sink.receive
	}
	if err := l.native.SetLog(nativeLevel(level, logger), receive); err != nil {
		return nativeError("set_log", err)
	}
	if before := loggers[l.native]; before != nil {
		close(before.events)
		<-before.done
	}
	delete(loggers, l.native)
	if sink != nil {
		loggers[l.native] = sink
		go sink.run(logger)
	}
	return nil
}

func nativeLevel(level slog.Level, logger *slog.Logger) int {
	switch {
	case logger == nil:
		return 0
	case level >= slog.LevelError:
		return 1
	case level >= slog.LevelWarn:
		return 2
	case level >= slog.LevelInfo:
		return 3
	case level >= slog.LevelDebug:
		return 4
	}
	return 5
}

func slogLevel(level int) slog.Level {
	switch level {
	case 1:
		return slog.LevelError
	case 2:
		return slog.LevelWarn
	case 3:
		return slog.LevelInfo
	case 4:
		return slog.LevelDebug
	}
	return LevelTrace
}

func (s *logSink) receive(level int, target, message string) {
	select {
	case s.events <- logEvent{level, target, message}:
	default:
		s.mu.Lock()
		s.lost++
		s.mu.Unlock()
	}
}

func (s *logSink) run(logger *slog.Logger) {
	defer close(s.done)
	for event := range s.events {
		s.write(logger, event)
		s.mu.Lock()
		lost := s.lost
		s.lost = 0
		s.mu.Unlock()
		if lost > 0 {
			s.write(logger, logEvent{2, "forebay", fmt.Sprintf("the logger is too slow: %d events were dropped", lost)})
		}
	}
}

func (s *logSink) write(logger *slog.Logger, event logEvent) {
	// The logger is the host's; its panic must not end the process from here.
	defer func() { _ = recover() }()
	logger.Log(context.Background(), slogLevel(event.level), event.message, "module", event.target)
}
