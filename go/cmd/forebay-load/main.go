// Command forebay-load puts a `forebay serve` under load: clients of each kind send the requests of a folder again and
// again, each under a new id, for so many seconds. It prints what came of them and how long they took, and fails when one
// was lost.
//
//	forebay-load --dial TARGET [--seconds N] [--clients KIND=N,...] [--cancel SHARE] REQUESTS
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	forebay "github.com/forebay/forebay/go"
	"github.com/forebay/forebay/go/cuzkpb"
)

// What one client's requests of one kind came to.
type tally struct {
	proved    []time.Duration
	cancelled int
	failures  []error
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "forebay-load:", err)
		os.Exit(1)
	}
}

func run() error {
	target := flag.String("dial", "127.0.0.1:9820", "the `forebay serve` at this address")
	seconds := flag.Float64("seconds", 60, "requests are sent for so long; those sent are waited for")
	clients := flag.String("clients", "winning_post=1,window_post=2,snap_update=1,porep_c2=1", "clients of each kind")
	cancel := flag.Float64("cancel", 0, "share of the requests that are cancelled on their way")
	flag.Parse()
	if flag.NArg() != 1 {
		return errors.New("expected a folder: REQUESTS")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	prover, err := forebay.Dial(*target)
	if err != nil {
		return err
	}
	defer prover.Close()
	counts, err := parse(*clients)
	if err != nil {
		return err
	}
	until := time.Now().Add(time.Duration(*seconds * float64(time.Second)))
	var mutex sync.Mutex
	var all sync.WaitGroup
	tallies := map[string]*tally{}
	for kind, n := range counts {
		request, err := read(filepath.Join(flag.Arg(0), kind+".request"))
		if err != nil {
			return err
		}
		tallies[kind] = &tally{}
		for client := range n {
			all.Add(1)
			go func() {
				defer all.Done()
				name := fmt.Sprintf("load-%d-%s-%d", time.Now().UnixNano(), kind, client)
				found := send(ctx, prover, request, name, until, *cancel)
				mutex.Lock()
				defer mutex.Unlock()
				tallies[kind].add(found)
			}()
		}
	}
	all.Wait()
	return report(tallies)
}

// parse reads KIND=N,KIND=N.
func parse(text string) (map[string]int, error) {
	counts := map[string]int{}
	for _, part := range strings.Split(text, ",") {
		kind, number, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || !slices.Contains(forebay.Kinds(), forebay.Kind(kind)) {
			return nil, fmt.Errorf("--clients %q: expected a proof kind and a number, such as window_post=2", part)
		}
		counts[kind] = n
	}
	return counts, nil
}

func read(file string) (*cuzkpb.SubmitProofRequest, error) {
	bytes, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	request := &cuzkpb.SubmitProofRequest{}
	if err := proto.Unmarshal(bytes, request); err != nil {
		return nil, fmt.Errorf("%s: not a SubmitProofRequest: %w", file, err)
	}
	return request, nil
}

// send sends a client's requests one after the other.
func send(ctx context.Context, prover forebay.Prover, request *cuzkpb.SubmitProofRequest, name string, until time.Time, cancel float64) *tally {
	found := &tally{}
	for round := 0; time.Now().Before(until) && ctx.Err() == nil; round++ {
		mine := proto.CloneOf(request)
		mine.RequestId = fmt.Sprintf("%s-%d", name, round)
		call, stop := context.WithCancel(ctx)
		given := rand.Float64() < cancel
		if given {
			time.AfterFunc(rand.N(3*time.Second), stop)
		}
		begun := time.Now()
		_, err := forebay.ProveWhenRoom(call, prover, mine)
		stop()
		switch {
		case err == nil:
			found.proved = append(found.proved, time.Since(begun))
		case given && errors.Is(err, context.Canceled):
			found.cancelled++
		default:
			found.failures = append(found.failures, fmt.Errorf("%s: %w", mine.RequestId, err))
		}
	}
	return found
}

func (t *tally) add(other *tally) {
	t.proved = append(t.proved, other.proved...)
	t.cancelled += other.cancelled
	t.failures = append(t.failures, other.failures...)
}

func (t *tally) quantile(share float64) float64 {
	if len(t.proved) == 0 {
		return 0
	}
	return t.proved[int(share*float64(len(t.proved)-1)+0.5)].Seconds()
}

func report(tallies map[string]*tally) error {
	var failures []error
	for _, kind := range forebay.Kinds() {
		t := tallies[string(kind)]
		if t == nil {
			continue
		}
		slices.Sort(t.proved)
		fmt.Printf("%-12s %5d proved, %4d cancelled, %3d failed; seconds: median %.2f, 99 %% %.2f\n",
			kind, len(t.proved), t.cancelled, len(t.failures), t.quantile(0.5), t.quantile(0.99))
		failures = append(failures, t.failures...)
	}
	return errors.Join(failures...)
}
