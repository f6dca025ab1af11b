package forebay

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/forebay/forebay/go/cuzkpb"
)

// need skips a test that lacks a file, saying why; in CI it fails.
func need(t testing.TB, path, made string) string {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return path
	}
	text := path + " is missing; " + made
	if os.Getenv("CI") == "true" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

func setOr(variable, otherwise string) string {
	if set := os.Getenv(variable); set != "" {
		return set
	}
	return otherwise
}

func libraryPath(t testing.TB) string {
	path, _ := filepath.Abs(setOr("FOREBAY_LIBRARY", "../target/release/libforebay.so"))
	return need(t, path, "make it with `cargo build --release` or set FOREBAY_LIBRARY")
}

func binaryPath(t testing.TB) string {
	path, _ := filepath.Abs(setOr("FOREBAY_BINARY", "../target/release/forebay"))
	return need(t, path, "make it with `cargo build --release` or set FOREBAY_BINARY")
}

// testCache has requests, parameters and matrices of 2 KiB sectors.
func testCache(t testing.TB) string {
	home, _ := os.UserHomeDir()
	cache := setOr("FOREBAY_TEST_CACHE", filepath.Join(home, ".cache", "forebay"))
	need(t, filepath.Join(cache, "requests", "porep_c2.request"),
		"make it with `forebay demo --cache CACHE --requests CACHE/requests` and set FOREBAY_TEST_CACHE")
	return cache
}

func requestPath(t testing.TB, kind Kind) string {
	return filepath.Join(testCache(t), "requests", string(kind)+".request")
}

// request is the 2 KiB sector's, with an id of its own where suffix is not empty.
func request(t testing.TB, kind Kind, suffix string) *cuzkpb.SubmitProofRequest {
	t.Helper()
	bytes, err := os.ReadFile(requestPath(t, kind))
	if err != nil {
		t.Fatal(err)
	}
	request := &cuzkpb.SubmitProofRequest{}
	if err := proto.Unmarshal(bytes, request); err != nil {
		t.Fatal(err)
	}
	request.RequestId += suffix
	return request
}

func testConfig(t testing.TB) Config {
	cache := testCache(t)
	return Config{
		AllowDevelopmentParameters: true,
		ParameterDirectories:       []string{filepath.Join(cache, "development-parameters")},
		CacheDirectory:             cache,
	}
}

func openLibrary(t testing.TB, config Config) *Library {
	t.Helper()
	library, err := Open(libraryPath(t), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := library.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return library
}

// withTime is a context that ends a test which hangs.
func withTime(t testing.TB, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// verify has filecoin-proofs-api judge a proof, in a process of its own.
func verify(t testing.TB, kind Kind, proof []byte) {
	t.Helper()
	if out, accepted := judge(t, kind, proof); !accepted {
		t.Fatalf("%s: the proof is not accepted: %s", kind, out)
	}
}

func judge(t testing.TB, kind Kind, proof []byte) (string, bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "proof")
	if err := os.WriteFile(file, proof, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binaryPath(t), "verify", "--request", requestPath(t, kind), "--proof", file,
		"--parameters", filepath.Join(testCache(t), "development-parameters")).CombinedOutput()
	return string(out), err == nil && strings.Contains(string(out), "accepted by filecoin-proofs-api")
}

// threads is how many OS threads this process has.
func threads(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
