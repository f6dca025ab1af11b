package forebay

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/forebay/forebay/go/cuzkpb"
)

// MaxMessage is the longest serialized request, in bytes.
const MaxMessage = 256 << 20

// Kind names one of the four proof kinds, as in configuration, status and metrics.
type Kind string

// The proof kinds, the most urgent first.
const (
	WinningPost Kind = "winning_post" // Block production.
	WindowPost  Kind = "window_post"  // One partition of a deadline.
	PorepC2     Kind = "porep_c2"     // The second half of sealing.
	SnapUpdate  Kind = "snap_update"  // The update of a sealed sector with data.
)

// Kinds are all four, the most urgent first.
func Kinds() []Kind { return []Kind{WinningPost, WindowPost, PorepC2, SnapUpdate} }

// KindOf is the kind of a request; empty where it names none.
func KindOf(request *cuzkpb.SubmitProofRequest) Kind {
	switch request.GetProofKind() {
	case cuzkpb.ProofKind_POREP_SEAL_COMMIT:
		return PorepC2
	case cuzkpb.ProofKind_SNAP_DEALS_UPDATE:
		return SnapUpdate
	case cuzkpb.ProofKind_WINDOW_POST_PARTITION:
		return WindowPost
	case cuzkpb.ProofKind_WINNING_POST:
		return WinningPost
	}
	return ""
}

// Preloaded is what a preload did.
type Preloaded struct {
	// AlreadyLoaded: the circuit was in memory before.
	AlreadyLoaded bool
	// LoadTime is how long loading took.
	LoadTime time.Duration
}

// Evicted is what an eviction did.
type Evicted struct {
	// WasLoaded: the circuit was in memory.
	WasLoaded bool
	// FreedBytes were given back.
	FreedBytes uint64
}

// Prover makes proofs. [Open] gives one in this process, [Dial] one behind gRPC, [Spawn] one in a child process; all
// three behave alike. Every method may be called from any goroutine. Every error is an [*Error].
type Prover interface {
	// Prove makes one proof: Submit and Await in one. The response's Proof was verified. Where the context ends first the
	// job is cancelled, unless another call of this Prover waits for it too, and the error wraps the context's.
	//
	// A job that ends without a proof gives its response and the job's typed error. A request that repeats the
	// request id and the content of an earlier one is the same job, while it runs and while its proof is kept.
	Prove(ctx context.Context, request *cuzkpb.SubmitProofRequest) (*cuzkpb.AwaitProofResponse, error)
	// Submit hands in a request, and returns once it is accepted. Fails with ErrInvalidRequest, ErrUnsupported,
	// ErrDuplicateRequest, ErrBusy (with RetryAfter), ErrBudgetExceeded, ErrParametersMissing. Where the context
	// ends meanwhile the request may have been accepted; the same request again is the same job.
	Submit(ctx context.Context, request *cuzkpb.SubmitProofRequest) (*cuzkpb.SubmitProofResponse, error)
	// Await waits for a job's end. A context that ends stops the waiting and nothing else. The response is not nil where
	// the job has ended, also where it ended without a proof and the error says why. ErrNotFound: the job is unknown
	// or no longer kept.
	Await(ctx context.Context, jobID string) (*cuzkpb.AwaitProofResponse, error)
	// Cancel ends a job, for all who wait for it; false where it had ended before.
	Cancel(ctx context.Context, jobID string) (bool, error)
	// Headroom is how many more requests of a kind would be accepted now without making an earlier one wait longer
	// for memory.
	Headroom(ctx context.Context, kind Kind) (int, error)
	// Preload loads a circuit, such as "porep-32g", ahead of its first proof: porep, snap, wpost or winning, and 2k, 8m,
	// 512m, 32g or 64g. It returns when the circuit is in memory.
	Preload(ctx context.Context, circuit string) (Preloaded, error)
	// Evict gives an idle circuit's memory back; ErrBusy while a job uses it.
	Evict(ctx context.Context, circuit string) (Evicted, error)
	// Status is a snapshot of the engine.
	Status(ctx context.Context) (*Status, error)
	// Report is one job's facts so far; ErrNotFound where the job is unknown or no longer kept.
	Report(ctx context.Context, jobID string) (*JobReport, error)
	// Metrics is every metric in Prometheus' text format.
	Metrics(ctx context.Context) (string, error)
	// Gatherer gives the engine's metrics to register beside the program's own, such as
	// prometheus.Gatherers{prometheus.DefaultGatherer, prover.Gatherer()}.
	Gatherer() prometheus.Gatherer
	// Close ends the prover. A loaded library's unfinished jobs end as cancelled; waiters get ErrClosed, and so do
	// later calls. It returns when all has ended, may be called more than once, and then returns the same.
	Close() error
}

// RequestFrom copies a message of any Go type that is a cuzk.v1.SubmitProofRequest on the wire: the miner has one,
// generated from its own copy of the definition. Costs one serialization.
func RequestFrom(message proto.Message) (*cuzkpb.SubmitProofRequest, error) {
	if request, ok := message.(*cuzkpb.SubmitProofRequest); ok {
		return request, nil
	}
	bytes, err := proto.Marshal(message)
	if err != nil {
		return nil, newError(CodeInvalidArgument, "request", "serializing: %v", err)
	}
	request := &cuzkpb.SubmitProofRequest{}
	if err := proto.Unmarshal(bytes, request); err != nil {
		return nil, newError(CodeInvalidArgument, "request", "%T is not a SubmitProofRequest: %v", message, err)
	}
	return request, nil
}
