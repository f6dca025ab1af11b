package forebay

import (
	"context"
	"os"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/forebay/forebay/go/cuzkpb"
)

// waits lets any number of goroutines wait for jobs without a thread: one goroutine reads the engine's eventfd, which
// waits in the runtime's poller, and looks at the jobs that somebody waits for when it becomes readable.
type waits struct {
	library *Library
	events  *os.File
	ended   chan struct{}

	mu   sync.Mutex
	jobs map[string]*wait
}

// wait is one job that somebody waits for.
type wait struct {
	waiters int
	done    chan struct{}
	// The serialized answer or the error; written before done is closed.
	answer []byte
	err    error
}

func newWaits(library *Library, events *os.File) *waits {
	return &waits{library: library, events: events, ended: make(chan struct{}), jobs: map[string]*wait{}}
}

// run looks at all jobs after every completion, until stop.
func (w *waits) run() {
	defer close(w.ended)
	counter := make([]byte, 8)
	for {
		if _, err := w.events.Read(counter); err != nil {
			w.failAll()
			return
		}
		for _, id := range w.ids() {
			w.look(context.Background(), id)
		}
	}
}

func (w *waits) stop() {
	_ = w.events.Close()
	<-w.ended
}

func (w *waits) ids() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := make([]string, 0, len(w.jobs))
	for id := range w.jobs {
		ids = append(ids, id)
	}
	return ids
}

// look asks the engine for a job's answer and wakes its waiters where there is one.
func (w *waits) look(ctx context.Context, id string) {
	done, err := w.library.turn(ctx, w.library.quick, "await")
	if err != nil {
		return // Closing, which wakes all; or the only caller that would care has gone.
	}
	answer, err := w.library.native.Poll(w.library.engine, id)
	done()
	if err != nil {
		w.wake(id, nil, nativeError("await", err))
		return
	}
	response := &cuzkpb.AwaitProofResponse{}
	if err := proto.Unmarshal(answer, response); err != nil {
		w.wake(id, nil, newError(CodeInternal, "await", "an answer that does not decode: %v", err))
		return
	}
	if response.GetStatus() != cuzkpb.AwaitProofResponse_UNKNOWN {
		w.wake(id, answer, nil)
	}
}

func (w *waits) wake(id string, answer []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if job, ok := w.jobs[id]; ok {
		delete(w.jobs, id)
		job.answer, job.err = answer, err
		close(job.done)
	}
}

// failAll wakes every waiter of a closing library.
func (w *waits) failAll() {
	for _, id := range w.ids() {
		w.wake(id, nil, closedError("await"))
	}
}

func (w *waits) enter(id string) *wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	job, ok := w.jobs[id]
	if !ok {
		job = &wait{done: make(chan struct{})}
		w.jobs[id] = job
	}
	job.waiters++
	return job
}

func (w *waits) leave(id string, job *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	job.waiters--
	if job.waiters == 0 && w.jobs[id] == job {
		delete(w.jobs, id)
	}
}

// await implements jobs.
func (l *Library) await(ctx context.Context, jobID string) (*cuzkpb.AwaitProofResponse, error) {
	if err := contextError(ctx, "await"); err != nil {
		return nil, err
	}
	job := l.waits.enter(jobID)
	defer l.waits.leave(jobID, job)
	// It may have ended before; what ends from here on is seen by run.
	l.waits.look(ctx, jobID)
	select {
	case <-job.done:
	default:
		select {
		case <-job.done:
		case <-l.closing:
			return nil, closedError("await")
		case <-ctx.Done():
			return nil, contextError(ctx, "await")
		}
	}
	if job.err != nil {
		return nil, job.err
	}
	response := &cuzkpb.AwaitProofResponse{}
	if err := proto.Unmarshal(job.answer, response); err != nil {
		return nil, newError(CodeInternal, "await", "an answer that does not decode: %v", err)
	}
	return response, jobError(response)
}
