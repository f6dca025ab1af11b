package forebay

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"
)

const (
	// firstPause and longestPause bound the time between a death and the next start; it doubles.
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
	// soundAfter a life of this length the pause begins small again.
	soundAfter = time.Minute
	// wordsKept is how many of the child's last lines an error tells.
	wordsKept = 5
)

// life is one process of a Child.
type life struct {
	command *exec.Cmd
	begun   time.Time
	// The child serves while its standard input is open; the kernel closes it when this process ends.
	stdin io.Closer
	ended chan struct{}

	mu    sync.Mutex
	words []string
}

func (l *life) hasEnded() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

func (l *life) lastWords() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.words, " / ")
}

func (l *life) heard(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.words = append(l.words, line)
	if len(l.words) > wordsKept {
		l.words = l.words[1:]
	}
}

func findBinary(path string) (string, error) {
	const name = "forebay"
	if path == "" {
		path = os.Getenv("FOREBAY_BINARY")
	}
	if path == "" {
		path = name
		if program, err := os.Executable(); err == nil {
			beside := filepath.Join(filepath.Dir(program), name)
			if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
				path = beside
			}
		}
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return "", newError(CodeNotFound, "spawn", "%v; give SpawnConfig.Binary, or set FOREBAY_BINARY", err)
	}
	return filepath.Abs(found)
}

// start starts a process and waits until it is healthy.
func (c *Child) start(ctx context.Context) (*life, error) {
	command := exec.Command(c.binary, "-v", "serve", "--config", c.configFile(), "--listen", "unix://"+c.socket(), "--while-stdin")
	// What the service manager gave this process is not the child's: it would speak in its name.
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "NOTIFY_SOCKET=") || strings.HasPrefix(variable, "WATCHDOG_") || strings.HasPrefix(variable, "LISTEN_")
	})
	// Signals to the terminal's group are the parent's to pass on.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, newError(CodeSystem, "spawn", "%v", err)
	}
	lines, writer := io.Pipe()
	command.Stdout, command.Stderr = writer, writer
	if err := command.Start(); err != nil {
		return nil, newError(CodeSystem, "spawn", "%v", err)
	}
	l := &life{command: command, begun: time.Now(), stdin: stdin, ended: make(chan struct{})}
	go c.listen(l, lines)
	go func() {
		_ = command.Wait()
		_ = writer.Close()
		close(l.ended)
	}()
	if err := c.healthy(ctx, l); err != nil {
		_ = command.Process.Kill()
		<-l.ended
		return nil, err
	}
	return l, nil
}

// healthy waits until the child serves.
func (c *Child) healthy(ctx context.Context, l *life) error {
	within, cancel := context.WithTimeout(ctx, c.config.StartTime)
	defer cancel()
	for {
		asked, done := context.WithTimeout(within, time.Second)
		answer, err := grpc_health_v1.NewHealthClient(c.client.connection).Check(asked, &grpc_health_v1.HealthCheckRequest{})
		done()
		if err == nil && answer.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING {
			return nil
		}
		// What grpc-go waits before it tries again is for networks; this is a file that is not there yet.
		c.client.connection.ResetConnectBackoff()
		select {
		case <-l.ended:
			return newError(CodeUnavailable, "spawn", "the child ended at its start (%v): %s", l.command.ProcessState, l.lastWords())
		case <-c.closing:
			return closedError("spawn")
		case <-within.Done():
			if err := contextError(ctx, "spawn"); err != nil {
				return err
			}
			return newError(CodeUnavailable, "spawn", "the child is not healthy after %v: %s", c.config.StartTime, l.lastWords())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// listen hands the child's lines to the logger.
func (c *Child) listen(l *life, lines io.Reader) {
	// Lines are read whether the logger keeps up or not: a child whose lines nobody reads stands still.
	type said struct {
		text string
		long bool
	}
	queue := make(chan said, 1024)
	defer close(queue)
	go func() {
		for line := range queue {
			c.say(levelOf(line.text), line.text, "cut", line.long)
		}
	}()
	reader := bufio.NewReaderSize(lines, 64<<10)
	for {
		line, long, err := reader.ReadLine()
		if err != nil {
			return
		}
		if text := strings.TrimSpace(string(line)); text != "" {
			l.heard(text)
			select {
			case queue <- said{text, long}:
			default:
			}
		}
	}
}

// say gives a line to the logger, whose panic must not end this process.
func (c *Child) say(level slog.Level, text string, attributes ...any) {
	defer func() { _ = recover() }()
	c.config.Logger.With("forebay", "serve").Log(context.Background(), level, text, attributes...)
}

// levelOf is the level that a line of the child names, after its time.
func levelOf(line string) slog.Level {
	words := strings.Fields(line)
	for _, word := range words[:min(len(words), 2)] {
		switch word {
		case "ERROR":
			return slog.LevelError
		case "WARN":
			return slog.LevelWarn
		case "DEBUG":
			return slog.LevelDebug
		case "TRACE":
			return LevelTrace
		}
	}
	return slog.LevelInfo
}

// keep starts the child again whenever it ends, until Close.
func (c *Child) keep() {
	defer close(c.ended)
	pause := firstPause
	for {
		now, _ := c.current()
		select {
		case <-now.ended:
		case <-c.closing:
			return
		}
		if time.Since(now.begun) > soundAfter {
			pause = firstPause
		}
		c.say(slog.LevelError, "the child ended and is started again", "state", now.command.ProcessState.String(), "pause", pause)
		for {
			select {
			case <-time.After(pause):
			case <-c.closing:
				return
			}
			pause = min(2*pause, longestPause)
			next, err := c.start(context.Background())
			if err == nil {
				c.mu.Lock()
				c.life, c.lives, c.failed = next, c.lives+1, 0
				c.mu.Unlock()
				break
			}
			c.mu.Lock()
			c.failed, c.why = c.failed+1, err
			c.mu.Unlock()
			c.say(slog.LevelError, "the child does not start", "error", err)
		}
	}
}

// Close implements [Prover]. What was accepted is finished within SpawnConfig.DrainTime; then the child is killed.
func (c *Child) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), c.config.DrainTime)
	defer cancel()
	return c.Shutdown(ctx)
}

// Shutdown is Close whose limit is the context: jobs that are not finished by then are lost. New calls get ErrClosed
// at once; those who wait get their answers as long as the child lives.
func (c *Child) Shutdown(ctx context.Context) error {
	c.once.Do(func() {
		close(c.closing)
		<-c.ended
		now, _ := c.current()
		_ = now.command.Process.Signal(syscall.SIGTERM)
		select {
		case <-now.ended:
			if !now.command.ProcessState.Success() {
				c.failure = newError(CodeUnavailable, "close", "the child ended with %v: %s", now.command.ProcessState, now.lastWords())
			}
		case <-ctx.Done():
			_ = now.command.Process.Kill()
			<-now.ended
			c.failure = newError(CodeTimeout, "close", "the child was killed, and its unfinished jobs with it")
		}
		if err := c.client.Close(); c.failure == nil {
			c.failure = err
		}
		_ = os.RemoveAll(c.folder)
	})
	return c.failure
}
