package forebay

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/forebay/forebay/go/cuzkpb"
)

// ProveWhenRoom is Prover.Prove that waits while the prover is busy: as long as it said, and up to half as long again
// so that callers do not come back together. The context is the limit of it all.
func ProveWhenRoom(ctx context.Context, prover Prover, request *cuzkpb.SubmitProofRequest) (*cuzkpb.AwaitProofResponse, error) {
	for {
		response, err := prover.Prove(ctx, request)
		var failed *Error
		if !errors.As(err, &failed) || failed.Code != CodeBusy {
			return response, err
		}
		pause := max(failed.RetryAfter, 100*time.Millisecond)
		select {
		case <-time.After(pause + rand.N(pause/2)):
		case <-ctx.Done():
			return nil, contextError(ctx, "prove")
		}
	}
}
