package forebay

import (
	"context"
	"sync"
	"time"

	"github.com/forebay/forebay/go/cuzkpb"
)

// cancelTime is how long a job's cancellation may take, after its callers have gone.
const cancelTime = 2 * time.Second

// jobs is what Prove is made of.
type jobs interface {
	Submit(ctx context.Context, request *cuzkpb.SubmitProofRequest) (*cuzkpb.SubmitProofResponse, error)
	Cancel(ctx context.Context, jobID string) (bool, error)
	// await is Await without the counting of holders.
	await(ctx context.Context, jobID string) (*cuzkpb.AwaitProofResponse, error)
}

// holders counts who waits for a job, so that one caller's going does not take the job from another.
type holders struct {
	mu        sync.Mutex
	waiting   map[string]int
	cancelled map[string]time.Time
}

// cancelledFor is how long it is remembered that a job was cancelled because nobody waited for it.
const cancelledFor = time.Minute

func newHolders() *holders {
	return &holders{waiting: map[string]int{}, cancelled: map[string]time.Time{}}
}

func (h *holders) enter(jobID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting[jobID]++
}

// leave gives back an enter; true where the caller gave the job up and was the last one.
func (h *holders) leave(jobID string, givenUp bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting[jobID]--
	if h.waiting[jobID] > 0 {
		return false
	}
	delete(h.waiting, jobID)
	if givenUp {
		h.forget()
		h.cancelled[jobID] = time.Now()
	}
	return givenUp
}

func (h *holders) forget() {
	for id, at := range h.cancelled {
		if time.Since(at) > cancelledFor {
			delete(h.cancelled, id)
		}
	}
}

func (h *holders) wasGivenUp(jobID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, given := h.cancelled[jobID]
	return given
}

// await waits as one of the job's holders.
func (h *holders) await(ctx context.Context, p jobs, jobID string) (*cuzkpb.AwaitProofResponse, error) {
	h.enter(jobID)
	defer h.leave(jobID, false)
	return p.await(ctx, jobID)
}

// prove submits and waits, and cancels the job when the last who waits for it has gone.
func (h *holders) prove(ctx context.Context, p jobs, request *cuzkpb.SubmitProofRequest) (*cuzkpb.AwaitProofResponse, error) {
	for {
		submitted, err := h.submit(ctx, p, request)
		if err != nil {
			return nil, err
		}
		jobID := submitted.GetJobId()
		response, err := p.await(ctx, jobID)
		givenUp := response == nil && ctx.Err() != nil
		if h.leave(jobID, givenUp) {
			giveUp(p, jobID)
		}
		// Another caller was the last to go, just before this one came to the same job.
		lost := response.GetStatus() == cuzkpb.AwaitProofResponse_CANCELLED && h.wasGivenUp(jobID)
		if !lost || ctx.Err() != nil {
			return response, err
		}
	}
}

// submit is Submit whose job is held when it returns, and is given up where the context ended first.
func (h *holders) submit(ctx context.Context, p jobs, request *cuzkpb.SubmitProofRequest) (*cuzkpb.SubmitProofResponse, error) {
	type outcome struct {
		submitted *cuzkpb.SubmitProofResponse
		err       error
	}
	if err := contextError(ctx, "submit"); err != nil {
		return nil, err
	}
	done := make(chan outcome, 1)
	go func() {
		// What was begun is finished, so that a job that is accepted late does not go on for nobody.
		submitted, err := p.Submit(detached(ctx), request)
		if err == nil {
			h.enter(submitted.GetJobId())
		}
		done <- outcome{submitted, err}
	}()
	select {
	case end := <-done:
		return end.submitted, end.err
	case <-ctx.Done():
		go func() {
			if end := <-done; end.err == nil && h.leave(end.submitted.GetJobId(), true) {
				giveUp(p, end.submitted.GetJobId())
			}
		}()
		return nil, contextError(ctx, "submit")
	}
}

// detached has the context's values, and one wish more: submissions that wait for their turn stop when it ends.
func detached(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), waitFor{}, ctx)
}

// waitFor is the key of the context that ends waiting for a turn.
type waitFor struct{}

// turnContext is the context that ends waiting for a turn.
func turnContext(ctx context.Context) context.Context {
	if own, ok := ctx.Value(waitFor{}).(context.Context); ok {
		return own
	}
	return ctx
}

func giveUp(p jobs, jobID string) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelTime)
	defer cancel()
	// A job that has ended, or whose engine has, needs no cancellation.
	_, _ = p.Cancel(ctx, jobID)
}
