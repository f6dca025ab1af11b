package forebay

import (
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errorDomain is that of the server's error details.
const errorDomain = "forebay"

// fromGRPC are the codes of a status without details: it does not come from the engine.
var fromGRPC = map[codes.Code]Code{
	codes.Canceled:           CodeCancelled,
	codes.InvalidArgument:    CodeInvalidArgument,
	codes.DeadlineExceeded:   CodeTimeout,
	codes.NotFound:           CodeNotFound,
	codes.AlreadyExists:      CodeDuplicateRequest,
	codes.ResourceExhausted:  CodeBusy,
	codes.FailedPrecondition: CodeBudgetExceeded,
	codes.Unimplemented:      CodeUnsupported,
	codes.Unavailable:        CodeUnavailable,
	codes.Unauthenticated:    CodeUnavailable,
	codes.PermissionDenied:   CodeUnavailable,
}

// statusError is the typed form of a gRPC error: the engine's own code where it is in the details.
func statusError(op string, err error) error {
	said, ok := status.FromError(err)
	if !ok {
		return newError(CodeUnavailable, op, "%v", err)
	}
	failed := &Error{Code: CodeInternal, Op: op, Message: said.Message()}
	if code, known := fromGRPC[said.Code()]; known {
		failed.Code = code
	}
	for _, detail := range said.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if code, known := codeNamed(strings.ToLower(detail.GetReason())); known && detail.GetDomain() == errorDomain {
				failed.Code = code
			}
		case *errdetails.RetryInfo:
			failed.RetryAfter = detail.GetRetryDelay().AsDuration()
		}
	}
	return failed
}
