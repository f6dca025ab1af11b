package forebay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/forebay/forebay/go/cuzkpb"
)

// collectOften forces a collection every 2 ms until the test ends.
func collectOften(t *testing.T) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				runtime.GC()
			}
		}
	}()
	before := debug.SetGCPercent(10)
	t.Cleanup(func() { close(stop); <-done; debug.SetGCPercent(before) })
}

func TestTheFourKindsThroughTheLoadedLibrary(t *testing.T) {
	library := openLibrary(t, testConfig(t))
	collectOften(t)
	proveFour(t, library, "")
}

// proveFour proves all kinds at once, each verified by Filecoin's own code.
func proveFour(t *testing.T, prover Prover, suffix string) {
	ctx := withTime(t, 2*time.Minute)
	proofs := make(map[Kind][]byte)
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, kind := range Kinds() {
		all.Add(1)
		go func() {
			defer all.Done()
			response, err := prover.Prove(ctx, request(t, kind, suffix))
			if err != nil {
				t.Errorf("%s: %v", kind, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			proofs[kind] = response.GetProof()
		}()
	}
	all.Wait()
	for kind, proof := range proofs {
		verify(t, kind, proof)
	}
}

// The judge of these tests refuses what is no proof of the statement.
func TestTheJudgeRefuses(t *testing.T) {
	response, err := openLibrary(t, testConfig(t)).Prove(withTime(t, time.Minute), request(t, WindowPost, ""))
	if err != nil {
		t.Fatal(err)
	}
	proof := response.GetProof()
	swapped := append([]byte(nil), proof...)
	copy(swapped[:48], proof[144:]) // Points of the curve, and the wrong ones.
	copy(swapped[144:], proof[:48])
	for name, wrong := range map[string][]byte{"swapped points": swapped, "half": proof[:96], "empty": nil} {
		if out, accepted := judge(t, WindowPost, wrong); accepted {
			t.Errorf("%s: %s", name, out)
		}
	}
	verify(t, WindowPost, proof)
}

func TestManyGoroutinesWaitWithoutThreads(t *testing.T) {
	const waiters, jobs = 1000, 4
	config := testConfig(t)
	library := openLibrary(t, config)
	ctx := withTime(t, 2*time.Minute)
	// The engine's own threads start on the first proof.
	if _, err := library.Prove(ctx, request(t, WindowPost, "-first")); err != nil {
		t.Fatal(err)
	}
	before, most := threads(t), 0
	var all sync.WaitGroup
	errs := make(chan error, waiters)
	for i := range waiters {
		all.Add(1)
		go func() {
			defer all.Done()
			_, err := library.Prove(ctx, request(t, WindowPost, fmt.Sprintf("-many-%d", i%jobs)))
			errs <- err
		}()
	}
	go func() { all.Wait(); close(errs) }()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for left := waiters; left > 0; {
		select {
		case err := <-errs:
			if err != nil {
				t.Fatal(err)
			}
			left--
		case <-ticker.C:
			most = max(most, threads(t))
		}
	}
	// The calls inside the library and the runtime's own, whatever the number of waiters.
	if bound := before + quickCalls + slowCalls + runtime.GOMAXPROCS(0) + 6; most > bound {
		t.Errorf("%d threads while %d goroutines waited; %d before, at most %d expected", most, waiters, before, bound)
	}
	t.Logf("threads: %d before, %d at most with %d goroutines in Prove", before, most, waiters)
}

func TestCancellationReachesTheEngine(t *testing.T) {
	library := openLibrary(t, testConfig(t))
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond, 1500 * time.Millisecond} {
		ctx, cancel := context.WithCancel(context.Background())
		stop := time.AfterFunc(after, cancel)
		_, err := library.Prove(ctx, request(t, PorepC2, fmt.Sprintf("-cancel-%d", after)))
		stop.Stop()
		if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrCancelled) {
			t.Fatalf("after %v: %v", after, err)
		}
	}
	waitUntil(t, "no job is left", func() bool {
		status, err := library.Status(context.Background())
		return err == nil && len(status.Jobs) == 0 && status.Totals.Completed == 0
	})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := library.Prove(ctx, request(t, PorepC2, "-deadline"))
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrTimeout) {
		t.Fatalf("deadline: %v", err)
	}
}

func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after 20 s it does not hold that %s", what)
		}
	}
}

func TestOneCallersGoingLeavesTheJobToTheOthers(t *testing.T) {
	library := openLibrary(t, testConfig(t))
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error, 1)
	stays := make(chan error, 1)
	go func() { _, err := library.Prove(ctx, request(t, PorepC2, "-shared")); gone <- err }()
	go func() {
		_, err := library.Prove(withTime(t, time.Minute), request(t, PorepC2, "-shared"))
		stays <- err
	}()
	waitUntil(t, "both wait for one job", func() bool {
		library.held.mu.Lock()
		defer library.held.mu.Unlock()
		for _, n := range library.held.waiting {
			return n == 2
		}
		return false
	})
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := <-stays; err != nil {
		t.Fatal(err)
	}
}

func TestAwaitOnlyStopsWaiting(t *testing.T) {
	library := openLibrary(t, testConfig(t))
	submitted, err := library.Submit(context.Background(), request(t, WindowPost, "-await"))
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := library.Await(short, submitted.GetJobId()); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	response, err := library.Await(withTime(t, time.Minute), submitted.GetJobId())
	if err != nil || response.GetStatus() != cuzkpb.AwaitProofResponse_COMPLETED {
		t.Fatal(response.GetStatus(), err)
	}
	report, err := library.Report(context.Background(), submitted.GetJobId())
	if err != nil || report.State != "completed" || report.Circuit != "wpost-2k" {
		t.Fatalf("%+v %v", report, err)
	}
}

func TestCloseWakesAHundredWaiters(t *testing.T) {
	library, err := Open(libraryPath(t), testConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	submitted, err := library.Submit(context.Background(), request(t, PorepC2, "-close"))
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 100)
	for range 100 {
		go func() { _, err := library.Await(context.Background(), submitted.GetJobId()); errs <- err }()
	}
	waitUntil(t, "all wait", func() bool {
		library.held.mu.Lock()
		defer library.held.mu.Unlock()
		return library.held.waiting[submitted.GetJobId()] == 100
	})
	closed := make(chan error, 2)
	go func() { closed <- library.Close() }()
	go func() { closed <- library.Close() }()
	for range 100 {
		if err := <-errs; !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
	}
	after := []error{library.Close()}
	_, err = library.Prove(context.Background(), request(t, WindowPost, ""))
	after = append(after, err)
	_, err = library.Status(context.Background())
	after = append(after, err)
	_, err = library.Headroom(context.Background(), PorepC2)
	after = append(after, err)
	if after[0] != nil || !errors.Is(after[1], ErrClosed) || !errors.Is(after[2], ErrClosed) || !errors.Is(after[3], ErrClosed) {
		t.Fatal(after)
	}
}

func TestTwoEnginesWithDifferentBudgets(t *testing.T) {
	small, large := testConfig(t), testConfig(t)
	small.MemoryLimit, large.MemoryLimit = 256<<20, 2<<30
	one, two := openLibrary(t, small), openLibrary(t, large)
	if one.native != two.native || one.engine == two.engine {
		t.Fatal("two engines of one loaded library are expected")
	}
	ctx := withTime(t, time.Minute)
	if _, err := one.Prove(ctx, request(t, PorepC2, "")); !errors.Is(err, ErrBudgetExceeded) {
		t.Fatal(err)
	}
	if _, err := one.Prove(ctx, request(t, WindowPost, "")); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Prove(ctx, request(t, WindowPost, "")); err != nil {
		t.Fatal(err)
	}
	for library, limit := range map[*Library]uint64{one: small.MemoryLimit, two: large.MemoryLimit} {
		status, err := library.Status(ctx)
		if err != nil || status.Memory.Limit > limit || status.Memory.Limit < limit/2 || status.Version != StatusVersion {
			t.Fatalf("%+v %v", status, err)
		}
	}
}

func TestCircuitsAndMetrics(t *testing.T) {
	library := openLibrary(t, testConfig(t))
	ctx := withTime(t, time.Minute)
	first, err := library.Preload(ctx, "wpost-2k")
	if err != nil || first.AlreadyLoaded {
		t.Fatal(first, err)
	}
	again, err := library.Preload(ctx, "wpost-2k")
	if err != nil || !again.AlreadyLoaded {
		t.Fatal(again, err)
	}
	evicted, err := library.Evict(ctx, "wpost-2k")
	if err != nil || !evicted.WasLoaded || evicted.FreedBytes < 1<<20 {
		t.Fatal(evicted, err)
	}
	room, err := library.Headroom(ctx, WindowPost)
	if err != nil || room < 1 {
		t.Fatal(room, err)
	}
	families, err := prometheus.Gatherers{prometheus.DefaultGatherer, library.Gatherer()}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, family := range families {
		if strings.HasPrefix(family.GetName(), "forebay_") {
			own++
		}
	}
	if own < 10 {
		t.Fatalf("%d metrics of forebay", own)
	}
}

func TestEventsReachTheLogger(t *testing.T) {
	library := openLibrary(t, testConfig(t))
	var text lockedBuffer
	logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: LevelTrace}))
	if err := library.SetLogger(logger, slog.LevelDebug); err != nil {
		t.Fatal(err)
	}
	if _, err := library.Prove(withTime(t, time.Minute), request(t, WindowPost, "-log")); err != nil {
		t.Fatal(err)
	}
	if err := library.SetLogger(slog.New(panicking{}), slog.LevelDebug); err != nil {
		t.Fatal(err)
	}
	if seen := text.String(); !strings.Contains(seen, "module=forebay") || !strings.Contains(seen, "accepted") {
		t.Fatalf("logged: %s", seen)
	}
	if _, err := library.Prove(withTime(t, time.Minute), request(t, WindowPost, "-log-2")); err != nil {
		t.Fatal(err)
	}
	if err := library.SetLogger(nil, 0); err != nil {
		t.Fatal(err)
	}
}

func TestALoggerThatIsSlowAndPanicsEndsNothing(t *testing.T) {
	sink := &logSink{events: make(chan logEvent, 1), done: make(chan struct{})}
	sink.receive(3, "forebay", "kept")
	sink.receive(3, "forebay", "dropped")
	close(sink.events)
	sink.run(slog.New(panicking{}))
	<-sink.done
	if sink.lost != 0 {
		t.Errorf("%d events are still to be told of", sink.lost)
	}
}

func TestEveryFieldOfTheStatusIsKnown(t *testing.T) {
	library := openLibrary(t, testConfig(t))
	if _, err := library.Prove(withTime(t, time.Minute), request(t, WindowPost, "-status")); err != nil {
		t.Fatal(err)
	}
	status, err := library.Status(withTime(t, time.Minute))
	if err != nil || len(status.Recent) != 1 || len(status.Circuits) == 0 || len(status.Cells) == 0 {
		t.Fatal(status, err)
	}
	strict := json.NewDecoder(bytes.NewReader(status.Raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&Status{}); err != nil {
		t.Error(err)
	}
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

type panicking struct{}

func (panicking) Enabled(context.Context, slog.Level) bool  { return true }
func (panicking) Handle(context.Context, slog.Record) error { panic("a logger's panic") }
func (p panicking) WithAttrs([]slog.Attr) slog.Handler      { return p }
func (p panicking) WithGroup(string) slog.Handler           { return p }

func TestWhatDoesNotLoad(t *testing.T) {
	for path, want := range map[string]error{
		"/nonexistent/libforebay.so": ErrNotFound,
		"/bin/sh":                    ErrSystem,
		"a\x00b":                     ErrSystem,
		"libm.so.6":                  ErrNotFound, // Loads, and is not ours; no such file here.
	} {
		if _, err := Open(path, Config{}); !errors.Is(err, want) {
			t.Errorf("%q: %v, expected %v", path, err, want)
		}
	}
	text := t.TempDir() + "/libforebay.so"
	if err := os.WriteFile(text, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FOREBAY_LIBRARY", text)
	if _, err := Open("", Config{}); !errors.Is(err, ErrSystem) {
		t.Error(err)
	}
}
