package forebay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forebay/forebay/go/cuzkpb"
)

func spawn(t *testing.T, change func(*SpawnConfig)) *Child {
	t.Helper()
	config := SpawnConfig{Binary: binaryPath(t), Engine: testConfig(t), DrainTime: time.Minute}
	config.Engine.JournalFile = filepath.Join(t.TempDir(), "proofs.journal")
	if change != nil {
		change(&config)
	}
	child, err := Spawn(withTime(t, time.Minute), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := child.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return child
}

func TestTheFourKindsThroughAChild(t *testing.T) {
	var lines lockedBuffer
	child := spawn(t, func(c *SpawnConfig) { c.Logger = slog.New(slog.NewTextHandler(&lines, nil)) })
	info, err := os.Stat(child.folder)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatal(info.Mode(), err)
	}
	proveFour(t, child, "")
	if !strings.Contains(lines.String(), "forebay=serve") {
		t.Errorf("no line of the child reached the logger: %s", lines.String())
	}
	pid, folder := child.Pid(), child.folder
	if err := errors.Join(child.Close(), child.Close()); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Error("the child lives after Close")
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Error("the private folder is left behind")
	}
	if _, err := child.Prove(context.Background(), request(t, WindowPost, "")); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// alive tells whether a process runs; one that nobody has waited for yet does not.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// proving begins a PoRep, and returns when the child is in the middle of it.
func proving(t *testing.T, child *Child, suffix string) chan error {
	t.Helper()
	done, req := make(chan error, 1), request(t, PorepC2, suffix)
	go func() {
		defer close(done) // Also where a check ends this goroutine.
		response, err := child.Prove(withTime(t, 4*time.Minute), req)
		if err == nil && response.GetStatus() != cuzkpb.AwaitProofResponse_COMPLETED {
			err = fmt.Errorf("status %v", response.GetStatus())
		}
		if err == nil && suffix == "" {
			verify(t, PorepC2, response.GetProof())
		}
		done <- err
	}()
	inTheMiddle(t, child)
	return done
}

func inTheMiddle(t *testing.T, child *Child) {
	t.Helper()
	waitUntil(t, "the proof has begun", func() bool {
		status, err := child.client.Status(context.Background())
		return err == nil && len(status.Jobs) == 1 && status.Jobs[0].State == "running"
	})
}

func TestAKilledChildIsStartedAgainAndTheProofIsMade(t *testing.T) {
	child := spawn(t, nil)
	done, pid := proving(t, child, ""), child.Pid()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if child.Restarts() != 1 || child.Pid() == pid {
		t.Fatalf("%d restarts", child.Restarts())
	}
	// The journal has it: the same request has its proof at once, in another life too.
	if err := syscall.Kill(child.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	response, err := child.Prove(withTime(t, time.Minute), request(t, PorepC2, ""))
	if err != nil {
		t.Fatal(err)
	}
	if status, err := child.Status(context.Background()); err != nil || status.Totals.Proofs != 0 {
		t.Errorf("proved anew: %+v %v", status, err)
	}
	verify(t, PorepC2, response.GetProof())
	t.Logf("a journalled proof after a restart: %v", time.Since(begun).Round(time.Millisecond))
}

func TestARequestThatKillsTheChildIsGivenUp(t *testing.T) {
	child := spawn(t, nil)
	done := proving(t, child, "-deadly")
	for range 3 {
		inTheMiddle(t, child)
		pid := child.Pid()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, "another child is there", func() bool { return child.Pid() != pid })
	}
	if err := <-done; !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
	if _, err := child.Prove(withTime(t, time.Minute), request(t, WindowPost, "-after")); err != nil {
		t.Fatalf("the child is of use no more: %v", err)
	}
}

func TestAJobIsAwaitedOverARestart(t *testing.T) {
	child := spawn(t, nil)
	ctx := withTime(t, 2*time.Minute)
	submitted, err := child.Submit(ctx, request(t, PorepC2, "-over"))
	if err != nil {
		t.Fatal(err)
	}
	inTheMiddle(t, child)
	if err := syscall.Kill(child.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	own, cancel := context.WithCancel(ctx)
	gone := make(chan error, 1)
	go func() { _, err := child.Await(own, submitted.GetJobId()); gone <- err }()
	inTheMiddle(t, child)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if was, err := child.Cancel(ctx, submitted.GetJobId()); err != nil || !was {
		t.Fatal(was, err)
	}
}

func TestWhatDoesNotSpawn(t *testing.T) {
	ctx := withTime(t, time.Minute)
	if _, err := Spawn(ctx, SpawnConfig{Binary: "/nonexistent/forebay"}); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	_, err := Spawn(ctx, SpawnConfig{Binary: binaryPath(t), Engine: Config{Backend: "abacus"}})
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "backend") {
		t.Error(err)
	}
}

// The child of a process that is killed must end too. This test is both: run again by itself it is that process.
func TestTheChildDoesNotOutliveItsParent(t *testing.T) {
	if os.Getenv("FOREBAY_TEST_PARENT") != "" {
		child := spawn(t, nil)
		fmt.Printf("child %d\n", child.Pid())
		time.Sleep(time.Minute)
		return
	}
	binaryPath(t)
	parent := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	parent.Env = append(os.Environ(), "FOREBAY_TEST_PARENT=1")
	var out lockedBuffer
	parent.Stdout = &out
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	waitUntil(t, "the child is there", func() bool {
		_, rest, ok := strings.Cut(out.String(), "child ")
		line, _, whole := strings.Cut(rest, "\n")
		if ok && whole {
			pid, _ = strconv.Atoi(line)
		}
		return pid != 0
	})
	if !alive(pid) {
		t.Fatal("the child is not alive")
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	waitUntil(t, "the child has ended", func() bool { return !alive(pid) })
}
