package forebay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/forebay/forebay/go/cuzkpb"
	"github.com/forebay/forebay/go/internal/native"
)

// Code says what kind of failure an [Error] is. The numbers are those of forebay_code in forebay.h; they are only
// added to, never changed.
type Code int32

// The library's codes, and one of this package's own: [CodeUnavailable].
const (
	CodeInternal           Code = 1  // A bug in the library.
	CodeInvalidArgument    Code = 2  // An argument of a call is malformed.
	CodeInvalidConfig      Code = 3  // The configuration is malformed or holds an unknown key.
	CodeInvalidRequest     Code = 4  // The request does not decode, or its parts do not fit together.
	CodeUnsupported        Code = 5  // The request asks for something that this build does not do.
	CodeDuplicateRequest   Code = 6  // The same request id is in use with other content.
	CodeNotFound           Code = 7  // No such job or file.
	CodeBusy               Code = 8  // The intake is full; retry after Error.RetryAfter.
	CodeBudgetExceeded     Code = 9  // The memory budget can never hold the request.
	CodeParametersMissing  Code = 10 // Groth16 parameters are missing.
	CodeParametersInvalid  Code = 11 // Groth16 parameters are corrupt, foreign or not allowed.
	CodeUnsatisfied        Code = 12 // The witness does not satisfy the circuit.
	CodeVerificationFailed Code = 13 // A finished proof did not verify.
	CodeCancelled          Code = 14 // The job was cancelled, or the context was.
	CodeTimeout            Code = 15 // A deadline ran out: the job's, or the context's.
	CodeClosed             Code = 16 // The prover is closed or shutting down.
	CodeSystem             Code = 17 // The operating system refused.
	CodeBackend            Code = 18 // The prover backend failed or is not available.

	// CodeUnavailable: the server cannot be reached, or its process died. The library never uses it.
	CodeUnavailable Code = 1000
)

var codeNames = map[Code]string{
	CodeInternal: "internal", CodeInvalidArgument: "invalid_argument", CodeInvalidConfig: "invalid_config",
	CodeInvalidRequest: "invalid_request", CodeUnsupported: "unsupported", CodeDuplicateRequest: "duplicate_request",
	CodeNotFound: "not_found", CodeBusy: "busy", CodeBudgetExceeded: "budget_exceeded",
	CodeParametersMissing: "parameters_missing", CodeParametersInvalid: "parameters_invalid",
	CodeUnsatisfied: "unsatisfied", CodeVerificationFailed: "verification_failed", CodeCancelled: "cancelled",
	CodeTimeout: "timeout", CodeClosed: "closed", CodeSystem: "system", CodeBackend: "backend",
	CodeUnavailable: "unavailable",
}

// String is the code's stable lower-case name, such as "invalid_request".
func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return fmt.Sprintf("code_%d", int32(c))
}

// codeNamed is the code of a name; false where there is none.
func codeNamed(name string) (Code, bool) {
	for code, known := range codeNames {
		if known == name {
			return code, true
		}
	}
	return 0, false
}

// Errors to compare with: errors.Is(err, forebay.ErrBusy) holds for every [Error] of that code.
var (
	ErrInternal           error = &Error{Code: CodeInternal}
	ErrInvalidArgument    error = &Error{Code: CodeInvalidArgument}
	ErrInvalidConfig      error = &Error{Code: CodeInvalidConfig}
	ErrInvalidRequest     error = &Error{Code: CodeInvalidRequest}
	ErrUnsupported        error = &Error{Code: CodeUnsupported}
	ErrDuplicateRequest   error = &Error{Code: CodeDuplicateRequest}
	ErrNotFound           error = &Error{Code: CodeNotFound}
	ErrBusy               error = &Error{Code: CodeBusy}
	ErrBudgetExceeded     error = &Error{Code: CodeBudgetExceeded}
	ErrParametersMissing  error = &Error{Code: CodeParametersMissing}
	ErrParametersInvalid  error = &Error{Code: CodeParametersInvalid}
	ErrUnsatisfied        error = &Error{Code: CodeUnsatisfied}
	ErrVerificationFailed error = &Error{Code: CodeVerificationFailed}
	ErrCancelled          error = &Error{Code: CodeCancelled}
	ErrTimeout            error = &Error{Code: CodeTimeout}
	ErrClosed             error = &Error{Code: CodeClosed}
	ErrSystem             error = &Error{Code: CodeSystem}
	ErrBackend            error = &Error{Code: CodeBackend}
	ErrUnavailable        error = &Error{Code: CodeUnavailable}
)

// Error is every error of this package: the same codes and messages through the loaded library and through gRPC.
type Error struct {
	// Code is what kind of failure it is.
	Code Code
	// Message says what was expected, what came, where, and what to do.
	Message string
	// RetryAfter is how long to wait before the same call may succeed; with CodeBusy, else 0.
	RetryAfter time.Duration
	// Op is the call that failed, such as "submit"; "prove" where the job itself failed.
	Op string

	cause error
}

// Error gives "forebay: OP: CODE: MESSAGE".
func (e *Error) Error() string {
	text := "forebay: "
	if e.Op != "" {
		text += e.Op + ": "
	}
	text += e.Code.String()
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Is tells whether target is an [Error] of the same code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// Unwrap gives the context's error, where a context ended the call.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf is the code of an error of this package, also where it is wrapped; 0 for nil and for other errors.
func CodeOf(err error) Code {
	var failed *Error
	if errors.As(err, &failed) {
		return failed.Code
	}
	return 0
}

func newError(code Code, op, format string, args ...any) *Error {
	return &Error{Code: code, Op: op, Message: fmt.Sprintf(format, args...)}
}

// closedError is for calls on a closed prover.
func closedError(op string) *Error { return newError(CodeClosed, op, "the prover is closed") }

// contextError is for calls that a context ended; nil where it has not.
func contextError(ctx context.Context, op string) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	code := CodeCancelled
	if errors.Is(err, context.DeadlineExceeded) {
		code = CodeTimeout
	}
	return &Error{Code: code, Op: op, Message: context.Cause(ctx).Error(), cause: err}
}

// nativeError is the typed form of what the library said; nil for nil.
func nativeError(op string, err error) error {
	if err == nil {
		return nil
	}
	var said *native.Error
	if !errors.As(err, &said) {
		return newError(CodeInternal, op, "%v", err)
	}
	return &Error{Code: Code(said.Code), Op: op, Message: said.Message, RetryAfter: said.RetryAfter}
}

// jobError is how a job ended that has no proof; nil where it has one, or has not ended. The text of a failed job
// begins with the name of its code.
func jobError(response *cuzkpb.AwaitProofResponse) error {
	code := CodeInternal
	switch response.GetStatus() {
	case cuzkpb.AwaitProofResponse_COMPLETED, cuzkpb.AwaitProofResponse_UNKNOWN:
		return nil
	case cuzkpb.AwaitProofResponse_TIMEOUT:
		code = CodeTimeout
	case cuzkpb.AwaitProofResponse_CANCELLED:
		code = CodeCancelled
	}
	text := response.GetErrorMessage()
	if name, rest, ok := strings.Cut(text, ": "); ok {
		if named, known := codeNamed(name); known {
			code, text = named, rest
		}
	}
	return &Error{Code: code, Op: "prove", Message: text}
}
