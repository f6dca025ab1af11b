// Command forebay-example proves every request of a folder: files KIND.request, each a serialized
// cuzk.v1.SubmitProofRequest, as `forebay demo --requests` writes them. The proofs are written to another folder.
//
//	forebay-example [--library FILE | --spawn FILE | --dial TARGET] [--cache DIR] REQUESTS PROOFS
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"google.golang.org/protobuf/proto"

	forebay "github.com/forebay/forebay/go"
	"github.com/forebay/forebay/go/cuzkpb"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "forebay-example:", err)
		os.Exit(1)
	}
}

func run() error {
	library := flag.String("library", "", "load this libforebay.so (default: where the package looks)")
	binary := flag.String("spawn", "", "start this program `forebay` as a child instead")
	target := flag.String("dial", "", "use the `forebay serve` at this address instead")
	cache := flag.String("cache", "", "cache folder of `forebay demo`, with development parameters")
	flag.Parse()
	if flag.NArg() != 2 {
		return errors.New("expected two folders: REQUESTS PROOFS")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	prover, err := open(ctx, *library, *binary, *target, config(*cache))
	if err != nil {
		return err
	}
	return errors.Join(proveAll(ctx, prover, flag.Arg(0), flag.Arg(1)), prover.Close())
}

// config takes the development parameters of a demonstration; an empty folder is all defaults.
func config(cache string) forebay.Config {
	if cache == "" {
		return forebay.Config{}
	}
	return forebay.Config{
		AllowDevelopmentParameters: true,
		ParameterDirectories:       []string{filepath.Join(cache, "development-parameters")},
		CacheDirectory:             cache,
	}
}

func open(ctx context.Context, library, binary, target string, config forebay.Config) (forebay.Prover, error) {
	switch {
	case target != "":
		return forebay.Dial(target)
	case binary != "":
		return forebay.Spawn(ctx, forebay.SpawnConfig{Binary: binary, Engine: config, Logger: slog.Default()})
	}
	return forebay.Open(library, config)
}

func proveAll(ctx context.Context, prover forebay.Prover, requests, proofs string) error {
	files, err := filepath.Glob(filepath.Join(requests, "*.request"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no file *.request in %s", requests)
	}
	if err := os.MkdirAll(proofs, 0o755); err != nil {
		return err
	}
	failures := make([]error, len(files))
	var all sync.WaitGroup
	for i, file := range files {
		all.Add(1)
		go func() {
			defer all.Done()
			name := strings.TrimSuffix(filepath.Base(file), ".request")
			if err := prove(ctx, prover, file, filepath.Join(proofs, name+".proof")); err != nil {
				failures[i] = fmt.Errorf("%s: %w", name, err)
			}
		}()
	}
	all.Wait()
	return errors.Join(failures...)
}

func prove(ctx context.Context, prover forebay.Prover, from, to string) error {
	bytes, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	request := &cuzkpb.SubmitProofRequest{}
	if err := proto.Unmarshal(bytes, request); err != nil {
		return fmt.Errorf("not a SubmitProofRequest: %w", err)
	}
	response, err := forebay.ProveWhenRoom(ctx, prover, request)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes, verified, in %.2f s\n", request.GetRequestId(), len(response.GetProof()), float64(response.GetTotalMs())/1000)
	return os.WriteFile(to, response.GetProof(), 0o644)
}
