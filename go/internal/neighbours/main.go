// Command neighbours loads libforebay.so into a program that has a Rust static library and another copy of blst
// linked in, and lets all three compute at once.
//
//	neighbours LIBRARY CACHE REQUEST PROOF
package main

/*
#cgo LDFLAGS: -lforebay_neighbour -lm -ldl -lpthread
#include <stdint.h>
int32_t neighbour_check(uint8_t seed);
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	blst "github.com/supranational/blst/bindings/go"
	"google.golang.org/protobuf/proto"

	forebay "github.com/forebay/forebay/go"
	"github.com/forebay/forebay/go/cuzkpb"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "neighbours:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return errors.New("expected LIBRARY CACHE REQUEST PROOF")
	}
	if err := errors.Join(rustChecks(1), goChecks(1)); err != nil {
		return fmt.Errorf("before forebay is loaded: %w", err)
	}
	prover, err := forebay.Open(args[0], forebay.Config{
		AllowDevelopmentParameters: true,
		ParameterDirectories:       []string{filepath.Join(args[1], "development-parameters")},
		CacheDirectory:             args[1],
	})
	if err != nil {
		return err
	}
	defer prover.Close()
	var stop atomic.Bool
	others := make(chan error, 2)
	for _, check := range []func(byte) error{rustChecks, goChecks} {
		go func() {
			var failed error
			for seed := byte(0); failed == nil && (seed < 3 || !stop.Load()); seed++ {
				failed = check(seed)
			}
			others <- failed
		}()
	}
	failed := prove(prover, args[2], args[3])
	stop.Store(true)
	return errors.Join(failed, <-others, <-others)
}

func prove(prover forebay.Prover, from, to string) error {
	bytes, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	request := &cuzkpb.SubmitProofRequest{}
	if err := proto.Unmarshal(bytes, request); err != nil {
		return err
	}
	response, err := prover.Prove(context.Background(), request)
	if err != nil {
		return err
	}
	return os.WriteFile(to, response.GetProof(), 0o600)
}

func rustChecks(seed byte) error {
	if C.neighbour_check(C.uint8_t(seed)) != 1 {
		return errors.New("the Rust neighbour computes wrongly")
	}
	return nil
}

func goChecks(seed byte) error {
	domain := []byte("BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_")
	material := make([]byte, 32)
	material[0] = seed
	key := blst.KeyGen(material)
	public := new(blst.P1Affine).From(key)
	signature := new(blst.P2Affine).Sign(key, []byte("a message"), domain)
	if !signature.Verify(true, public, true, []byte("a message"), domain) ||
		signature.Verify(true, public, true, []byte("another one"), domain) {
		return errors.New("the other copy of blst computes wrongly")
	}
	return nil
}
