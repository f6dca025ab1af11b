package forebay

import (
	"context"
	"crypto/tls"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"

	"github.com/forebay/forebay/go/cuzkpb"
	"github.com/forebay/forebay/go/forebaypb"
)

// DialOption changes how [Dial] connects.
type DialOption func(*dialing)

type dialing struct {
	tls       *tls.Config
	keepalive keepalive.ClientParameters
	grpc      []grpc.DialOption
}

// WithTLS connects with TLS; a client certificate is in the configuration's Certificates. Without it the connection
// is plain.
func WithTLS(config *tls.Config) DialOption {
	return func(d *dialing) { d.tls = config }
}

// WithKeepalive has a silent connection looked after: it is broken when the server answers no ping within timeout.
// Default: every 30 s, within 20 s, while calls are open.
func WithKeepalive(every, timeout time.Duration) DialOption {
	return func(d *dialing) { d.keepalive = keepalive.ClientParameters{Time: every, Timeout: timeout} }
}

// WithGRPC hands options to grpc-go, such as interceptors.
func WithGRPC(options ...grpc.DialOption) DialOption {
	return func(d *dialing) { d.grpc = append(d.grpc, options...) }
}

// Client speaks gRPC to a `forebay serve`. It is a [Prover].
type Client struct {
	connection *grpc.ClientConn
	proving    cuzkpb.ProvingEngineClient
	engine     forebaypb.EngineClient
	held       *holders
	closing    context.Context
	close      context.CancelFunc
	once       sync.Once
	failure    error
}

var _ Prover = (*Client)(nil)

// Dial makes a client of the `forebay serve` at target: "host:port" or "unix:///path". It connects on the first call,
// and again where the connection breaks; a call fails with ErrUnavailable while there is none. Messages have at most
// [MaxMessage] bytes. Fails where target or an option is malformed.
func Dial(target string, options ...DialOption) (*Client, error) {
	d := dialing{keepalive: keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}}
	for _, option := range options {
		option(&d)
	}
	secure := insecure.NewCredentials()
	if d.tls != nil {
		secure = credentials.NewTLS(d.tls)
	}
	connection, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithTransportCredentials(secure),
		grpc.WithKeepaliveParams(d.keepalive),
		// A response holds a request's proof, a request a whole C1 output.
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage+1024), grpc.MaxCallSendMsgSize(MaxMessage+1024)),
	}, d.grpc...)...)
	if err != nil {
		return nil, newError(CodeInvalidArgument, "dial", "%q: %v", target, err)
	}
	c := &Client{
		connection: connection, held: newHolders(),
		proving: cuzkpb.NewProvingEngineClient(connection), engine: forebaypb.NewEngineClient(connection),
	}
	c.closing, c.close = context.WithCancel(context.Background())
	return c, nil
}

// call makes one call; it ends with ctx, and with the client.
func call[Q, A any](ctx context.Context, c *Client, op string, method func(context.Context, Q, ...grpc.CallOption) (A, error), question Q) (A, error) {
	var none A
	if c.closing.Err() != nil {
		return none, closedError(op)
	}
	if err := contextError(turnContext(ctx), op); err != nil {
		return none, err
	}
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.closing, cancel)()
	answer, err := method(own, question)
	if err == nil {
		return answer, nil
	}
	if c.closing.Err() != nil {
		return none, closedError(op)
	}
	if ended := contextError(ctx, op); ended != nil {
		return none, ended
	}
	return none, statusError(op, err)
}

// Prove implements [Prover].
func (c *Client) Prove(ctx context.Context, request *cuzkpb.SubmitProofRequest) (*cuzkpb.AwaitProofResponse, error) {
	return c.held.prove(ctx, c, request)
}

// Submit implements [Prover].
func (c *Client) Submit(ctx context.Context, request *cuzkpb.SubmitProofRequest) (*cuzkpb.SubmitProofResponse, error) {
	if request == nil {
		return nil, newError(CodeInvalidArgument, "submit", "the request is nil")
	}
	// grpc-go would refuse it itself, with the code of a server that is busy.
	if size := proto.Size(request); size > MaxMessage {
		return nil, newError(CodeInvalidRequest, "submit", "the request has %d bytes; at most %d are read", size, MaxMessage)
	}
	return call(ctx, c, "submit", c.proving.SubmitProof, request)
}

// Await implements [Prover].
func (c *Client) Await(ctx context.Context, jobID string) (*cuzkpb.AwaitProofResponse, error) {
	return c.held.await(ctx, c, jobID)
}

// await implements jobs.
func (c *Client) await(ctx context.Context, jobID string) (*cuzkpb.AwaitProofResponse, error) {
	response, err := call(ctx, c, "await", c.proving.AwaitProof, &cuzkpb.AwaitProofRequest{JobId: jobID})
	if err != nil {
		return nil, err
	}
	return response, jobError(response)
}

// Cancel implements [Prover].
func (c *Client) Cancel(ctx context.Context, jobID string) (bool, error) {
	answer, err := call(ctx, c, "cancel", c.proving.CancelProof, &cuzkpb.CancelProofRequest{JobId: jobID})
	return answer.GetWasRunning(), err
}

// Headroom implements [Prover].
func (c *Client) Headroom(ctx context.Context, kind Kind) (int, error) {
	answer, err := call(ctx, c, "headroom", c.engine.Headroom, &forebaypb.HeadroomRequest{Kind: string(kind)})
	return int(answer.GetCount()), err
}

// Preload implements [Prover].
func (c *Client) Preload(ctx context.Context, circuit string) (Preloaded, error) {
	answer, err := call(ctx, c, "preload", c.proving.PreloadSRS, &cuzkpb.PreloadSrsRequest{CircuitId: circuit})
	took := time.Duration(answer.GetLoadTimeMs()) * time.Millisecond
	return Preloaded{AlreadyLoaded: answer.GetAlreadyLoaded(), LoadTime: took}, err
}

// Evict implements [Prover].
func (c *Client) Evict(ctx context.Context, circuit string) (Evicted, error) {
	answer, err := call(ctx, c, "evict", c.proving.EvictSRS, &cuzkpb.EvictSrsRequest{CircuitId: circuit})
	return Evicted{WasLoaded: answer.GetWasLoaded(), FreedBytes: answer.GetFreedBytes()}, err
}

// Status implements [Prover].
func (c *Client) Status(ctx context.Context) (*Status, error) {
	answer, err := call(ctx, c, "status", c.engine.Status, &forebaypb.StatusRequest{})
	if err != nil {
		return nil, err
	}
	return readStatus([]byte(answer.GetJson()))
}

// Report implements [Prover].
func (c *Client) Report(ctx context.Context, jobID string) (*JobReport, error) {
	answer, err := call(ctx, c, "report", c.engine.Report, &forebaypb.ReportRequest{JobId: jobID})
	if err != nil {
		return nil, err
	}
	return readReport([]byte(answer.GetJson()))
}

// Metrics implements [Prover].
func (c *Client) Metrics(ctx context.Context) (string, error) {
	answer, err := call(ctx, c, "metrics", c.proving.GetMetrics, &cuzkpb.GetMetricsRequest{})
	return answer.GetPrometheusText(), err
}

// Gatherer implements [Prover].
func (c *Client) Gatherer() prometheus.Gatherer { return gatherer(c) }

// Close implements [Prover]: it ends the connection. The server's jobs go on.
func (c *Client) Close() error {
	c.once.Do(func() {
		c.close()
		if err := c.connection.Close(); err != nil {
			c.failure = newError(CodeInternal, "close", "%v", err)
		}
	})
	return c.failure
}
