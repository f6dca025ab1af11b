package forebay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/forebay/forebay/go/cuzkpb"
)

// server is a running `forebay serve` of the test's own.
type server struct {
	command *exec.Cmd
	target  string
	output  *lockedBuffer
	exited  chan error
}

// serve starts `forebay serve` on a private unix socket, or on loopback, and waits until it is healthy.
func serve(t *testing.T, config Config, listen string) *server {
	t.Helper()
	folder, err := os.MkdirTemp("", "forebay-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if listen == "" {
		listen = "unix://" + filepath.Join(folder, "s")
	}
	config.JournalFile = filepath.Join(folder, "proofs.journal")
	file := filepath.Join(folder, "forebay.toml")
	if err := os.WriteFile(file, []byte(config.TOML()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &server{target: listen, output: &lockedBuffer{}, exited: make(chan error, 1)}
	s.command = exec.Command(binaryPath(t), "serve", "--config", file, "--listen", listen)
	s.command.Stderr = s.output
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.exited <- s.command.Wait() }()
	t.Cleanup(func() { _ = s.command.Process.Kill() })
	ctx := withTime(t, 30*time.Second)
	for {
		answer, err := grpc_health_v1.NewHealthClient(connect(t, s.target)).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		if err == nil && answer.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING {
			return s
		}
		if ctx.Err() != nil {
			t.Fatalf("serve is not healthy: %v: %s", err, s.output.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// connect makes a plain connection of grpc-go, without this package.
func connect(t *testing.T, target string) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func dial(t *testing.T, target string) *Client {
	t.Helper()
	client, err := Dial(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestTheFourKindsThroughServe(t *testing.T) {
	s := serve(t, testConfig(t), freeAddress(t))
	collectOften(t)
	proveFour(t, dial(t, s.target), "")
}

func TestAClientBehavesAsALibrary(t *testing.T) {
	client := dial(t, serve(t, testConfig(t), "").target)
	ctx := withTime(t, time.Minute)
	for after, want := range map[time.Duration]error{0: context.Canceled, 300 * time.Millisecond: context.Canceled} {
		own, cancel := context.WithCancel(ctx)
		stop := time.AfterFunc(after, cancel)
		_, err := client.Prove(own, request(t, PorepC2, fmt.Sprintf("-cancel-%d", after)))
		stop.Stop()
		if !errors.Is(err, want) || !errors.Is(err, ErrCancelled) {
			t.Fatal(err)
		}
	}
	waitUntil(t, "no job is left", func() bool {
		status, err := client.Status(ctx)
		return err == nil && len(status.Jobs) == 0
	})
	if loaded, err := client.Preload(ctx, "wpost-2k"); err != nil || loaded.AlreadyLoaded {
		t.Fatal(loaded, err)
	}
	if evicted, err := client.Evict(ctx, "wpost-2k"); err != nil || !evicted.WasLoaded || evicted.FreedBytes == 0 {
		t.Fatal(evicted, err)
	}
	if room, err := client.Headroom(ctx, WindowPost); err != nil || room < 1 {
		t.Fatal(room, err)
	}
	if families, err := client.Gatherer().Gather(); err != nil || len(families) < 10 {
		t.Fatal(len(families), err)
	}
	submitted, err := client.Submit(ctx, request(t, WindowPost, "-alike"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Await(ctx, submitted.GetJobId()); err != nil {
		t.Fatal(err)
	}
	if report, err := client.Report(ctx, submitted.GetJobId()); err != nil || report.State != "completed" {
		t.Fatal(report, err)
	}
	if err := errors.Join(client.Close(), client.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Prove(ctx, request(t, WindowPost, "")); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

func TestNoServerIsUnavailable(t *testing.T) {
	client := dial(t, "unix://"+filepath.Join(t.TempDir(), "nobody"))
	if _, err := client.Status(withTime(t, 10*time.Second)); !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
}

func TestServicesAreListedByReflection(t *testing.T) {
	s := serve(t, testConfig(t), "")
	stream, err := reflection.NewServerReflectionClient(connect(t, s.target)).ServerReflectionInfo(withTime(t, 20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(question *reflection.ServerReflectionRequest) *reflection.ServerReflectionResponse {
		if err := stream.Send(question); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	list := ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{}})
	var names []string
	for _, service := range list.GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
	}
	for _, want := range []string{"cuzk.v1.ProvingEngine", "forebay.v1.Engine", "grpc.health.v1.Health"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not listed: %v", want, names)
		}
	}
	file := ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "cuzk.v1.ProvingEngine"}})
	if !bytes.Contains(bytes.Join(file.GetFileDescriptorResponse().GetFileDescriptorProto(), nil), []byte("SubmitProofRequest")) {
		t.Error("the service's file is not described")
	}
}

func TestTerminationDrains(t *testing.T) {
	s := serve(t, testConfig(t), "")
	client, ctx := dial(t, s.target), withTime(t, time.Minute)
	running, err := client.Submit(ctx, request(t, PorepC2, "-drain"))
	if err != nil {
		t.Fatal(err)
	}
	proved := make(chan error, 1)
	go func() { _, err := client.Await(ctx, running.GetJobId()); proved <- err }()
	waitUntil(t, "the proof has begun", func() bool {
		report, err := client.Report(ctx, running.GetJobId())
		return err == nil && report.State == "running"
	})
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "new requests are refused", func() bool {
		_, err := client.Submit(ctx, request(t, WindowPost, "-late"))
		return errors.Is(err, ErrClosed) || errors.Is(err, ErrUnavailable)
	})
	if err := <-proved; err != nil {
		t.Fatalf("the running proof: %v: %s", err, s.output.String())
	}
	if err := <-s.exited; err != nil {
		t.Fatalf("serve ended with %v: %s", err, s.output.String())
	}
}

func TestTwoHundredCallsAtOnce(t *testing.T) {
	const calls = 200
	config := testConfig(t)
	config.MemoryLimit = 512 << 20
	s := serve(t, config, "")
	client, ctx := dial(t, s.target), withTime(t, 8*time.Minute)
	var all sync.WaitGroup
	var mu sync.Mutex
	var latencies []time.Duration
	begun := time.Now()
	for i := range calls {
		all.Add(1)
		go func() {
			defer all.Done()
			sent := time.Now()
			response, err := client.Prove(ctx, request(t, WindowPost, fmt.Sprintf("-load-%d", i)))
			mu.Lock()
			defer mu.Unlock()
			if err != nil || len(response.GetProof()) != 192 {
				t.Errorf("call %d: %v", i, err)
				return
			}
			latencies = append(latencies, time.Since(sent))
		}()
	}
	all.Wait()
	if len(latencies) != calls {
		t.Fatalf("%d of %d calls have a proof", len(latencies), calls)
	}
	status, err := client.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	peak := residentPeak(t, s.command.Process.Pid)
	if status.Memory.Peak > status.Memory.Limit || status.Process.Anonymous > config.MemoryLimit || peak > config.MemoryLimit {
		t.Errorf("limit %d: promised %d, anonymous %d, resident peak %d", config.MemoryLimit,
			status.Memory.Peak, status.Process.Anonymous, peak)
	}
	slices.Sort(latencies)
	at := func(percent int) time.Duration { return latencies[(calls-1)*percent/100].Round(time.Millisecond) }
	t.Logf("%d calls in %v: p50 %v, p90 %v, p99 %v, longest %v; promised at most %d MiB of %d, resident at most %d MiB",
		calls, time.Since(begun).Round(time.Millisecond), at(50), at(90), at(99), at(100),
		status.Memory.Peak>>20, status.Memory.Limit>>20, peak>>20)
}

// residentPeak is the most that a process had resident, in bytes.
func residentPeak(t *testing.T, pid int) uint64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

func TestServersMessagesHaveNoNameTwice(t *testing.T) {
	// A miner's own copy of cuzk.v1 registers that name; ours must leave it free.
	if name := (&cuzkpb.SubmitProofRequest{}).ProtoReflect().Descriptor().FullName(); name != "forebay.wire.cuzk.v1.SubmitProofRequest" {
		t.Fatal(name)
	}
}
