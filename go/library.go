package forebay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/forebay/forebay/go/cuzkpb"
	"github.com/forebay/forebay/go/internal/native"
)

const (
	// quickCalls is how many short calls are inside the library at once: each holds an OS thread.
	quickCalls = 8
	// slowCalls is how many submissions of one kind are; a submission may wait for its circuit to be compiled.
	slowCalls = 4
)

// Library is an engine in this process, on a libforebay.so that was loaded at run time. It is a [Prover].
type Library struct {
	native *native.Library
	engine native.Engine
	held   *holders

	quick   chan struct{}
	submits map[Kind]chan struct{}
	loads   chan struct{}

	closing chan struct{} // Closed when Close begins.
	closed  chan struct{} // Closed when it has ended.
	once    sync.Once
	failure error // Of Close; written before closed is closed.

	waits *waits
}

var _ Prover = (*Library)(nil)

// Open loads libforebay.so and opens an engine. Needs cgo and Linux.
//
// An empty path looks in three places: $FOREBAY_LIBRARY, which must load where it is set; the folder of the running
// program; the system's search path. Opening the same file again gives another engine of the same library.
//
// Fails with ErrNotFound or ErrSystem where the library does not load, with ErrUnsupported where it is of another
// ABI, and as the engine does: ErrInvalidConfig, ErrBudgetExceeded, ErrParametersMissing, ErrBackend, ErrSystem.
func Open(path string, config Config) (*Library, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	loaded, err := load(path)
	if err != nil {
		return nil, err
	}
	engine, err := loaded.Open([]byte(config.TOML()))
	if err != nil {
		return nil, nativeError("open", err)
	}
	l := &Library{
		native: loaded, engine: engine, held: newHolders(),
		quick:   make(chan struct{}, quickCalls),
		loads:   make(chan struct{}, slowCalls),
		submits: map[Kind]chan struct{}{},
		closing: make(chan struct{}), closed: make(chan struct{}),
	}
	for _, kind := range append(Kinds(), "") {
		l.submits[kind] = make(chan struct{}, slowCalls)
	}
	fd, err := loaded.CompletionFD(engine)
	if err != nil {
		_ = loaded.Close(engine, native.CloseCancel)
		return nil, nativeError("open", err)
	}
	// The descriptor is non-blocking, so reading it waits in the runtime's poller and holds no thread.
	l.waits = newWaits(l, os.NewFile(fd, "forebay-completion"))
	go l.waits.run()
	return l, nil
}

// load finds and loads the library.
func load(path string) (*native.Library, error) {
	tried := []string{path}
	if path == "" {
		if set := os.Getenv("FOREBAY_LIBRARY"); set != "" {
			tried = []string{set}
		} else {
			tried = defaultPaths()
		}
	}
	var last error
	for _, candidate := range tried {
		loaded, err := native.Load(candidate)
		if err == nil {
			return loaded, nil
		}
		last = errors.Join(last, err)
		if _, err := os.Stat(candidate); err == nil {
			break // A file that is there is meant: another version elsewhere is not.
		}
	}
	code := CodeSystem
	var said *native.Error
	if errors.As(last, &said) && said.Code != 0 {
		code = Code(said.Code)
	} else if _, err := os.Stat(tried[0]); errors.Is(err, os.ErrNotExist) {
		code = CodeNotFound
	}
	return nil, newError(code, "open", "%v (tried %q; give the path, or set FOREBAY_LIBRARY)", last, tried)
}

func defaultPaths() []string {
	const name = "libforebay.so"
	var paths []string
	if program, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(program), name)
		if _, err := os.Stat(beside); err == nil {
			paths = append(paths, beside)
		}
	}
	return append(paths, name)
}

// Version is the loaded library's version, such as "0.1.0".
func (l *Library) Version() string { return l.native.Version() }

// turn waits for a place among the calls that are inside the library. The caller calls the function that it gives.
func (l *Library) turn(ctx context.Context, places chan struct{}, op string) (func(), error) {
	waiting := turnContext(ctx)
	if err := contextError(waiting, op); err != nil {
		return nil, err
	}
	select {
	case <-l.closing:
		return nil, closedError(op)
	default:
	}
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-l.closing:
		return nil, closedError(op)
	case <-waiting.Done():
		return nil, contextError(waiting, op)
	}
}

// Prove implements [Prover].
func (l *Library) Prove(ctx context.Context, request *cuzkpb.SubmitProofRequest) (*cuzkpb.AwaitProofResponse, error) {
	return l.held.prove(ctx, l, request)
}

// Submit implements [Prover].
func (l *Library) Submit(ctx context.Context, request *cuzkpb.SubmitProofRequest) (*cuzkpb.SubmitProofResponse, error) {
	places, kind := l.submits[""], KindOf(request)
	if kind != "" {
		places = l.submits[kind]
	}
	done, err := l.turn(ctx, places, "submit")
	if err != nil {
		return nil, err
	}
	defer done()
	message, err := serialize(request)
	if err != nil {
		return nil, err
	}
	id, position, err := l.native.Submit(l.engine, message)
	if err != nil {
		return nil, nativeError("submit", err)
	}
	return &cuzkpb.SubmitProofResponse{JobId: id, QueuePosition: position}, nil
}

// serialize gives the same bytes for the same request: its content is part of a job's identity.
func serialize(request *cuzkpb.SubmitProofRequest) ([]byte, error) {
	if request == nil {
		return nil, newError(CodeInvalidArgument, "submit", "the request is nil")
	}
	message, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return nil, newError(CodeInvalidRequest, "submit", "serializing the request: %v", err)
	}
	return message, nil
}

// Await implements [Prover].
func (l *Library) Await(ctx context.Context, jobID string) (*cuzkpb.AwaitProofResponse, error) {
	return l.held.await(ctx, l, jobID)
}

// Cancel implements [Prover].
func (l *Library) Cancel(ctx context.Context, jobID string) (bool, error) {
	done, err := l.turn(ctx, l.quick, "cancel")
	if err != nil {
		return false, err
	}
	defer done()
	running, err := l.native.Cancel(l.engine, jobID)
	return running, nativeError("cancel", err)
}

// Headroom implements [Prover].
func (l *Library) Headroom(ctx context.Context, kind Kind) (int, error) {
	done, err := l.turn(ctx, l.quick, "headroom")
	if err != nil {
		return 0, err
	}
	defer done()
	count, err := l.native.Headroom(l.engine, string(kind))
	return int(count), nativeError("headroom", err)
}

// Preload implements [Prover]. Once it has begun, loading goes on when the context ends.
func (l *Library) Preload(ctx context.Context, circuit string) (Preloaded, error) {
	return apart(ctx, l, "preload", func() (Preloaded, error) {
		already, took, err := l.native.Preload(l.engine, circuit)
		return Preloaded{AlreadyLoaded: already, LoadTime: took}, err
	})
}

// Evict implements [Prover].
func (l *Library) Evict(ctx context.Context, circuit string) (Evicted, error) {
	return apart(ctx, l, "evict", func() (Evicted, error) {
		was, freed, err := l.native.Evict(l.engine, circuit)
		return Evicted{WasLoaded: was, FreedBytes: freed}, err
	})
}

// apart makes a long call, and returns before it where the context ends first.
func apart[T any](ctx context.Context, l *Library, op string, call func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	var none T
	done, err := l.turn(ctx, l.loads, op)
	if err != nil {
		return none, err
	}
	ended := make(chan outcome, 1)
	go func() {
		defer done()
		value, err := call()
		ended <- outcome{value, nativeError(op, err)}
	}()
	select {
	case end := <-ended:
		return end.value, end.err
	case <-ctx.Done():
		return none, contextError(ctx, op)
	}
}

// Status implements [Prover].
func (l *Library) Status(ctx context.Context) (*Status, error) {
	document, err := l.read(ctx, "status", func() ([]byte, error) { return l.native.Status(l.engine) })
	if err != nil {
		return nil, err
	}
	return readStatus(document)
}

// Report implements [Prover].
func (l *Library) Report(ctx context.Context, jobID string) (*JobReport, error) {
	document, err := l.read(ctx, "report", func() ([]byte, error) { return l.native.Report(l.engine, jobID) })
	if err != nil {
		return nil, err
	}
	return readReport(document)
}

// Metrics implements [Prover].
func (l *Library) Metrics(ctx context.Context) (string, error) {
	text, err := l.read(ctx, "metrics", func() ([]byte, error) { return l.native.Metrics(l.engine) })
	return string(text), err
}

func (l *Library) read(ctx context.Context, op string, call func() ([]byte, error)) ([]byte, error) {
	done, err := l.turn(ctx, l.quick, op)
	if err != nil {
		return nil, err
	}
	defer done()
	bytes, err := call()
	return bytes, nativeError(op, err)
}

// Gatherer implements [Prover].
func (l *Library) Gatherer() prometheus.Gatherer { return gatherer(l) }

// Close implements [Prover]: unfinished jobs end as cancelled. A step of a proof that cannot be interrupted is waited
// for.
func (l *Library) Close() error {
	l.once.Do(func() {
		close(l.closing)
		l.waits.failAll()
		l.failure = nativeError("close", l.native.Close(l.engine, native.CloseCancel))
		l.waits.stop()
		close(l.closed)
	})
	<-l.closed
	return l.failure
}
