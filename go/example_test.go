package forebay_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"

	forebay "github.com/forebay/forebay/go"
	"github.com/forebay/forebay/go/cuzkpb"
)

// A whole proof in this process, with the parameters of `forebay demo`.
func ExampleOpen() {
	cache := os.Getenv("FOREBAY_TEST_CACHE")
	prover, err := forebay.Open(library(), forebay.Config{
		AllowDevelopmentParameters: true,
		ParameterDirectories:       []string{filepath.Join(cache, "development-parameters")},
		CacheDirectory:             cache,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer prover.Close()

	bytes, err := os.ReadFile(filepath.Join(cache, "requests", "window_post.request"))
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &cuzkpb.SubmitProofRequest{}
	if err := proto.Unmarshal(bytes, request); err != nil {
		fmt.Println(err)
		return
	}
	response, err := prover.Prove(context.Background(), request)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(response.GetStatus(), len(response.GetProof()), "bytes")
	// Output: COMPLETED 192 bytes
}

// Errors have codes, wherever they come from.
func ExampleError() {
	client, err := forebay.Dial("unix:///nonexistent/forebay.sock")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = client.Status(ctx)
	fmt.Println(errors.Is(err, forebay.ErrUnavailable), forebay.CodeOf(err))
	// Output: true unavailable
}

func ExampleConfig_TOML() {
	patience := 30 * time.Second
	fmt.Print(forebay.Config{MemoryLimit: 64 << 30, Pinned: []string{"winning-32g"}, Patience: &patience}.TOML())
	// Output:
	// [memory]
	// limit = "68719476736"
	// [residency]
	// pinned = ["winning-32g"]
	// [schedule]
	// patience = 30
}

// The calls that a miner makes already take the prover that was named once.
func ExampleUse() {
	prover, err := forebay.Dial("127.0.0.1:9820")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer prover.Close()
	forebay.Use(prover)
	defer forebay.Use(nil)
	_, err = forebay.SealCommitPhase2([]byte("{}"), uint64(7), uint64(1000))
	fmt.Println(err)
	// Output: forebay: porep: invalid_request: 2 bytes are not the JSON of a C1 output: it has no member registered_proof
}
