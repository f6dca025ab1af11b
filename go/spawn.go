package forebay

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/forebay/forebay/go/cuzkpb"
)

// SpawnConfig is how [Spawn] starts its child.
type SpawnConfig struct {
	// Binary is the program `forebay`. Empty: $FOREBAY_BINARY, else beside the running program, else on $PATH.
	Binary string
	// Engine is the engine's configuration. Where it names no JournalFile, finished proofs are kept in the cache folder,
	// so that a request that comes again after a crash has its proof at once.
	Engine Config
	// Logger gets the child's log lines, with attribute "forebay" = "serve", and a line for every restart. Nil: none.
	Logger *slog.Logger
	// StartTime is how long a start may take until the child is healthy. Default: 1 minute.
	StartTime time.Duration
	// DrainTime is how long Close lets accepted jobs finish before it kills the child. Default: 30 s.
	DrainTime time.Duration
	// MaxDeaths is how many deaths of the child one request survives; then it fails with ErrUnavailable. A request
	// that kills the child takes the others of that time with it only so often. Default: 3.
	MaxDeaths int
}

func (c SpawnConfig) withDefaults() SpawnConfig {
	orTime := func(value *time.Duration, otherwise time.Duration) {
		if *value == 0 {
			*value = otherwise
		}
	}
	orTime(&c.StartTime, time.Minute)
	orTime(&c.DrainTime, 30*time.Second)
	if c.MaxDeaths == 0 {
		c.MaxDeaths = 3
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Child is a `forebay serve` in a process of its own: whatever happens in there, this process lives on. It is a
// [Prover]. A child that dies is started again; requests that were under way are handed in again.
type Child struct {
	config SpawnConfig
	binary string
	folder string // Private: the socket and the configuration.
	client *Client
	held   *holders

	closing chan struct{}
	once    sync.Once
	failure error
	ended   chan struct{} // Closed when the keeper has ended.

	mu     sync.Mutex
	life   *life
	lives  int               // Started so far.
	known  map[string]*known // Jobs submitted through this Child, by the id that it gave out.
	memory []string          // Their ids, the oldest first.
	bytes  int               // Of their requests.
	failed int               // Starts that failed since the last life began.
	why    error
}

// known is a job that can be submitted again after the child's death.
type known struct {
	handing sync.Mutex                 // Held while it is handed in again.
	request *cuzkpb.SubmitProofRequest // Nil when it has its answer.
	// The job's id in the child of that life; they follow each other.
	jobID string
	life  int
}

// maxKnown is how many submitted jobs can be awaited over a restart.
const maxKnown = 4096

// maxKnownBytes is how large the requests of these are together.
const maxKnownBytes = 1 << 30

var _ Prover = (*Child)(nil)

// Spawn starts `forebay serve` as a child on a private unix socket and waits until it is healthy, or the context ends.
// The child ends when this process does, however that ends. Fails with ErrNotFound where there is no program, and
// with ErrUnavailable, which has the child's last words, where it does not start.
func Spawn(ctx context.Context, config SpawnConfig) (*Child, error) {
	config = config.withDefaults()
	if err := config.Engine.check(); err != nil {
		return nil, err
	}
	binary, err := findBinary(config.Binary)
	if err != nil {
		return nil, err
	}
	// MkdirTemp makes it for this user only.
	folder, err := os.MkdirTemp("", "forebay-")
	if err != nil {
		return nil, newError(CodeSystem, "spawn", "%v", err)
	}
	c := &Child{
		config: config, binary: binary, folder: folder, held: newHolders(),
		closing: make(chan struct{}), ended: make(chan struct{}), known: map[string]*known{},
	}
	if err := c.begin(ctx); err != nil {
		_ = os.RemoveAll(folder)
		return nil, err
	}
	go c.keep()
	return c, nil
}

func (c *Child) begin(ctx context.Context) error {
	if err := os.WriteFile(c.configFile(), []byte(c.config.Engine.TOML()), 0o600); err != nil {
		return newError(CodeSystem, "spawn", "%v", err)
	}
	client, err := Dial("unix://" + c.socket())
	if err != nil {
		return err
	}
	c.client = client
	first, err := c.start(ctx)
	if err != nil {
		_ = client.Close()
		return err
	}
	c.life, c.lives = first, 1
	return nil
}

func (c *Child) socket() string     { return filepath.Join(c.folder, "s") }
func (c *Child) configFile() string { return filepath.Join(c.folder, "forebay.toml") }

// current is the child's life, and its number.
func (c *Child) current() (*life, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.life, c.lives
}

// Pid is the child's process id now; it changes when the child is started again.
func (c *Child) Pid() int {
	now, _ := c.current()
	return now.command.Process.Pid
}

// Restarts is how often the child was started again.
func (c *Child) Restarts() int {
	_, lives := c.current()
	return lives - 1
}

// failures is how many starts failed since the last life began, and why the last of them.
func (c *Child) failures() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed, c.why
}

// lost tells whether a call failed because the child died or is going.
func lost(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrClosed)
}

// again makes a call until it gets an answer, over the child's deaths; it gets the number of the child's life.
func again[T any](ctx context.Context, c *Child, op string, try func(life int) (T, error)) (T, error) {
	var none T
	if c.isClosing() && op != "await" {
		return none, closedError(op)
	}
	for deaths := 0; ; deaths++ {
		now, number := c.current()
		value, err := try(number)
		if err == nil || !lost(err) {
			return value, err
		}
		if c.isClosing() {
			return none, closedError(op)
		}
		if deaths+1 >= c.config.MaxDeaths {
			return none, newError(CodeUnavailable, op, "the child died %d times under it: %v; last words: %s", deaths+1, err, now.lastWords())
		}
		if err := c.next(ctx, number, op); err != nil {
			return none, err
		}
	}
}

func (c *Child) isClosing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

// next waits for a life after this one. A broken connection to a child that lives is waited out alike.
func (c *Child) next(ctx context.Context, number int, op string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	// A child that is alive and answers counts as a next life: the call failed for another reason.
	patience := time.After(2 * time.Second)
	for {
		now, lives := c.current()
		if lives > number {
			return nil
		}
		if failed, why := c.failures(); failed >= c.config.MaxDeaths {
			return newError(CodeUnavailable, op, "the child does not start again: %v", why)
		}
		select {
		case <-patience:
			if !now.hasEnded() {
				return nil
			}
		case <-tick.C:
		case <-c.closing:
			return closedError(op)
		case <-turnContext(ctx).Done():
			return contextError(turnContext(ctx), op)
		}
	}
}

// Prove implements [Prover]: over restarts of the child too.
func (c *Child) Prove(ctx context.Context, request *cuzkpb.SubmitProofRequest) (*cuzkpb.AwaitProofResponse, error) {
	return c.held.prove(ctx, c, request)
}

// Submit implements [Prover]. The job can be awaited over restarts of the child: its request is kept until then.
func (c *Child) Submit(ctx context.Context, request *cuzkpb.SubmitProofRequest) (*cuzkpb.SubmitProofResponse, error) {
	var at int
	submitted, err := again(ctx, c, "submit", func(life int) (*cuzkpb.SubmitProofResponse, error) {
		at = life
		return c.client.Submit(ctx, request)
	})
	if err == nil {
		submitted.JobId = c.remember(&known{request: request, jobID: submitted.GetJobId(), life: at})
	}
	return submitted, err
}

// remember gives the id by which the job is known outside: its first one, where it was handed in again since.
func (c *Child) remember(job *known) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for outside, other := range c.known {
		if other.jobID == job.jobID && other.life == job.life {
			return outside
		}
	}
	c.known[job.jobID] = job
	c.memory = append(c.memory, job.jobID)
	c.bytes += proto.Size(job.request)
	for len(c.memory) > maxKnown || c.bytes > maxKnownBytes {
		c.bytes -= proto.Size(c.known[c.memory[0]].request)
		delete(c.known, c.memory[0])
		c.memory = c.memory[1:]
	}
	return job.jobID
}

// forget drops the request of a job that has its answer; by its name the job is known as long as the child keeps it.
func (c *Child) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if job := c.known[id]; job != nil {
		c.bytes -= proto.Size(job.request)
		job.request = nil
	}
}

// Await implements [Prover]: over restarts of the child too, where the job was submitted through it.
func (c *Child) Await(ctx context.Context, jobID string) (*cuzkpb.AwaitProofResponse, error) {
	return c.held.await(ctx, c, jobID)
}

// await implements jobs.
func (c *Child) await(ctx context.Context, jobID string) (*cuzkpb.AwaitProofResponse, error) {
	response, err := again(ctx, c, "await", func(life int) (*cuzkpb.AwaitProofResponse, error) {
		id, err := c.jobIn(ctx, jobID, life)
		if err != nil {
			return nil, err
		}
		response, err := c.client.await(ctx, id)
		if response.GetStatus() == cuzkpb.AwaitProofResponse_CANCELLED && errors.Is(err, ErrClosed) {
			return nil, err // The child is going, and took the job with it.
		}
		return response, err
	})
	if response != nil {
		response.JobId = jobID
	}
	if response != nil || lost(err) {
		c.forget(jobID)
	}
	return response, err
}

// jobIn is the job's id in the child's present life; the request is handed in again where it is of an earlier one.
func (c *Child) jobIn(ctx context.Context, jobID string, life int) (string, error) {
	c.mu.Lock()
	job := c.known[jobID]
	c.mu.Unlock()
	if job == nil {
		return jobID, nil
	}
	job.handing.Lock()
	defer job.handing.Unlock()
	c.mu.Lock()
	request, name, of := job.request, job.jobID, job.life
	c.mu.Unlock()
	if of == life || request == nil {
		return name, nil
	}
	submitted, err := c.client.Submit(ctx, request)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	job.jobID, job.life = submitted.GetJobId(), life
	return job.jobID, nil
}

// named is the job's last known id in the child.
func (c *Child) named(jobID string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if job := c.known[jobID]; job != nil {
		return job.jobID
	}
	return jobID
}

// Cancel implements [Prover].
func (c *Child) Cancel(ctx context.Context, jobID string) (bool, error) {
	running, err := again(ctx, c, "cancel", func(life int) (bool, error) {
		id, err := c.jobIn(ctx, jobID, life)
		if err != nil {
			return false, err
		}
		return c.client.Cancel(ctx, id)
	})
	c.forget(jobID)
	return running, err
}

// Headroom implements [Prover].
func (c *Child) Headroom(ctx context.Context, kind Kind) (int, error) {
	return again(ctx, c, "headroom", func(int) (int, error) { return c.client.Headroom(ctx, kind) })
}

// Preload implements [Prover].
func (c *Child) Preload(ctx context.Context, circuit string) (Preloaded, error) {
	return again(ctx, c, "preload", func(int) (Preloaded, error) { return c.client.Preload(ctx, circuit) })
}

// Evict implements [Prover].
func (c *Child) Evict(ctx context.Context, circuit string) (Evicted, error) {
	return again(ctx, c, "evict", func(int) (Evicted, error) { return c.client.Evict(ctx, circuit) })
}

// Status implements [Prover].
func (c *Child) Status(ctx context.Context) (*Status, error) {
	return again(ctx, c, "status", func(int) (*Status, error) { return c.client.Status(ctx) })
}

// Report implements [Prover].
func (c *Child) Report(ctx context.Context, jobID string) (*JobReport, error) {
	return again(ctx, c, "report", func(int) (*JobReport, error) { return c.client.Report(ctx, c.named(jobID)) })
}

// Metrics implements [Prover].
func (c *Child) Metrics(ctx context.Context) (string, error) {
	return again(ctx, c, "metrics", func(int) (string, error) { return c.client.Metrics(ctx) })
}

// Gatherer implements [Prover].
func (c *Child) Gatherer() prometheus.Gatherer { return gatherer(c) }
