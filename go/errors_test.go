package forebay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forebay/forebay/go/cuzkpb"
	"github.com/forebay/forebay/go/internal/native"
)

var sentinels = map[Code]error{
	CodeInternal: ErrInternal, CodeInvalidArgument: ErrInvalidArgument, CodeInvalidConfig: ErrInvalidConfig,
	CodeInvalidRequest: ErrInvalidRequest, CodeUnsupported: ErrUnsupported, CodeDuplicateRequest: ErrDuplicateRequest,
	CodeNotFound: ErrNotFound, CodeBusy: ErrBusy, CodeBudgetExceeded: ErrBudgetExceeded,
	CodeParametersMissing: ErrParametersMissing, CodeParametersInvalid: ErrParametersInvalid,
	CodeUnsatisfied: ErrUnsatisfied, CodeVerificationFailed: ErrVerificationFailed, CodeCancelled: ErrCancelled,
	CodeTimeout: ErrTimeout, CodeClosed: ErrClosed, CodeSystem: ErrSystem, CodeBackend: ErrBackend,
}

// headerCodes are those of the C header.
func headerCodes(t *testing.T) map[string]Code {
	t.Helper()
	file, err := os.Open("internal/native/forebay.h")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	found := map[string]Code{}
	line := regexp.MustCompile(`^\s+FOREBAY_CODE_([A-Z_]+) = (\d+),$`)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if match := line.FindStringSubmatch(lines.Text()); match != nil {
			number, _ := strconv.Atoi(match[2])
			found[strings.ToLower(match[1])] = Code(number)
		}
	}
	return found
}

func TestCodesAreThoseOfTheHeader(t *testing.T) {
	header := headerCodes(t)
	if len(header) != len(sentinels) {
		t.Errorf("%d codes in the header, %d here", len(header), len(sentinels))
	}
	for name, code := range header {
		if code.String() != name || sentinels[code] == nil {
			t.Errorf("%d is %s in the header and %s here", code, name, code)
		}
	}
	library, err := native.Load(libraryPath(t))
	if err != nil {
		t.Fatal(err)
	}
	for code := range sentinels {
		if name := library.CodeName(int32(code)); name != code.String() {
			t.Errorf("%d is %s in the library and %s here", code, name, code)
		}
	}
}

// Every code arrives alike by every way: from a call of the library, in a job's answer, and over gRPC.
func TestEveryCodeArrivesAlike(t *testing.T) {
	for code, sentinel := range sentinels {
		details, err := status.New(codes.Unknown, "what happened").WithDetails(
			&errdetails.ErrorInfo{Reason: strings.ToUpper(code.String()), Domain: errorDomain},
			&errdetails.RetryInfo{RetryDelay: durationpb.New(7 * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		ways := map[string]error{
			"library": nativeError("op", &native.Error{Code: int32(code), Message: "what happened", RetryAfter: 7 * time.Second}),
			"answer": jobError(&cuzkpb.AwaitProofResponse{Status: cuzkpb.AwaitProofResponse_FAILED,
				ErrorMessage: code.String() + ": what happened"}),
			"grpc": statusError("op", details.Err()),
		}
		for way, err := range ways {
			wrapped := fmt.Errorf("sealing: %w", err)
			var failed *Error
			if !errors.Is(wrapped, sentinel) || CodeOf(wrapped) != code || !errors.As(wrapped, &failed) || failed.Message != "what happened" {
				t.Errorf("%s by %s: %#v", code, way, err)
				continue
			}
			if way != "answer" && failed.RetryAfter != 7*time.Second {
				t.Errorf("%s by %s: retry after %v", code, way, failed.RetryAfter)
			}
			for other, not := range sentinels {
				if other != code && errors.Is(err, not) {
					t.Errorf("%s is %s too", code, other)
				}
			}
		}
	}
}

func TestStatusesWithoutDetails(t *testing.T) {
	for from, want := range map[codes.Code]error{
		codes.Unavailable: ErrUnavailable, codes.InvalidArgument: ErrInvalidArgument, codes.Unimplemented: ErrUnsupported,
		codes.DeadlineExceeded: ErrTimeout, codes.Canceled: ErrCancelled, codes.ResourceExhausted: ErrBusy, codes.DataLoss: ErrInternal,
	} {
		if err := statusError("op", status.Error(from, "x")); !errors.Is(err, want) {
			t.Errorf("%s: %v", from, err)
		}
	}
	if err := jobError(&cuzkpb.AwaitProofResponse{Status: cuzkpb.AwaitProofResponse_FAILED, ErrorMessage: "no code: here"}); !errors.Is(err, ErrInternal) || !strings.Contains(err.Error(), "no code: here") {
		t.Error(err)
	}
}

// refusals are requests and calls that a real engine refuses, and how.
func refusals(t *testing.T, prover Prover) {
	ctx := withTime(t, time.Minute)
	changed := func(change func(*cuzkpb.SubmitProofRequest)) *cuzkpb.SubmitProofRequest {
		request := request(t, WindowPost, "-refused")
		change(request)
		return request
	}
	prove := func(request *cuzkpb.SubmitProofRequest) error { _, err := prover.Prove(ctx, request); return err }
	for name, refused := range map[string]struct {
		err  error
		want error
	}{
		"nil":       {prove(nil), ErrInvalidArgument},
		"no id":     {prove(changed(func(r *cuzkpb.SubmitProofRequest) { r.RequestId = "" })), ErrInvalidRequest},
		"no kind":   {prove(changed(func(r *cuzkpb.SubmitProofRequest) { r.ProofKind = 0 })), ErrInvalidRequest},
		"no proofs": {prove(changed(func(r *cuzkpb.SubmitProofRequest) { r.VanillaProofs = nil })), ErrInvalidRequest},
		"disabled kind": {func() error {
			return prove(request(t, WinningPost, "-disabled"))
		}(), ErrUnsupported},
		"no job":     {func() error { _, err := prover.Await(ctx, "nothing"); return err }(), ErrNotFound},
		"no cancel":  {func() error { _, err := prover.Cancel(ctx, "nothing"); return err }(), ErrNotFound},
		"no report":  {func() error { _, err := prover.Report(ctx, "nothing"); return err }(), ErrNotFound},
		"no kind to": {func() error { _, err := prover.Headroom(ctx, "porep"); return err }(), ErrInvalidArgument},
		"no circuit": {func() error { _, err := prover.Preload(ctx, "porep"); return err }(), ErrInvalidArgument},
		"no keys":    {func() error { _, err := prover.Preload(ctx, "wpost-32g"); return err }(), ErrParametersMissing},
		"too large":  {prove(request(t, PorepC2, "-large")), ErrBudgetExceeded},
	} {
		if !errors.Is(refused.err, refused.want) {
			t.Errorf("%s: %v, expected %v", name, refused.err, refused.want)
		}
	}
	busy(t, prover)
}

// busy has one request more than the intake takes, and another request of a used id.
func busy(t *testing.T, prover Prover) {
	ctx := withTime(t, time.Minute)
	one, err := prover.Submit(ctx, request(t, SnapUpdate, "-full-1"))
	if err != nil {
		t.Fatal(err)
	}
	other := request(t, SnapUpdate, "-full-1")
	other.SectorNumber++
	if _, err := prover.Submit(ctx, other); !errors.Is(err, ErrDuplicateRequest) {
		t.Errorf("another request of the same id: %v", err)
	}
	_, err = prover.Submit(ctx, request(t, SnapUpdate, "-full-2"))
	var failed *Error
	if !errors.As(err, &failed) || failed.Code != CodeBusy || failed.RetryAfter <= 0 {
		t.Errorf("a full intake: %v", err)
	}
	if was, err := prover.Cancel(ctx, one.GetJobId()); err != nil || !was {
		t.Error(was, err)
	}
	if response, err := prover.Await(ctx, one.GetJobId()); !errors.Is(err, ErrCancelled) || response.GetStatus() != cuzkpb.AwaitProofResponse_CANCELLED {
		t.Error(response, err)
	}
	if _, err := ProveWhenRoom(ctx, prover, request(t, WindowPost, "-room")); err != nil {
		t.Error(err)
	}
}

func refusing(t *testing.T) Config {
	config := testConfig(t)
	config.Kinds = []Kind{PorepC2, WindowPost, SnapUpdate}
	config.MemoryLimit = 1 << 30
	config.MaxRequests = 1
	return config
}

func TestRefusalsThroughTheLoadedLibrary(t *testing.T) { refusals(t, openLibrary(t, refusing(t))) }

func TestRefusalsThroughServe(t *testing.T) { refusals(t, dial(t, serve(t, refusing(t), "").target)) }

func TestATimeoutOfTheEngine(t *testing.T) {
	config := testConfig(t)
	config.Timeouts = map[Kind]time.Duration{PorepC2: time.Second}
	_, err := openLibrary(t, config).Prove(context.Background(), request(t, PorepC2, "-late"))
	if !errors.Is(err, ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}
