//! The engine's errors as gRPC statuses.

use std::time::Duration;

use forebay::{Code, Error};
use tonic::Status;
use tonic_types::{ErrorDetails, StatusExt};

/// The domain of the details' reasons.
pub const DOMAIN: &str = "forebay";

/// When to try again where the engine gives no hint.
const RETRY: Duration = Duration::from_secs(1);

/// Characters of a status' message.
const MAX_MESSAGE: usize = 2048;

/// The gRPC code of an error: what a client does about it decides.
fn code(code: Code) -> tonic::Code {
    match code {
        Code::InvalidArgument | Code::InvalidConfig | Code::InvalidRequest | Code::Unsatisfied => {
            tonic::Code::InvalidArgument
        }
        Code::Unsupported => tonic::Code::Unimplemented,
        Code::DuplicateRequest => tonic::Code::AlreadyExists,
        Code::NotFound => tonic::Code::NotFound,
        Code::Busy => tonic::Code::ResourceExhausted,
        Code::BudgetExceeded | Code::ParametersMissing | Code::ParametersInvalid => {
            tonic::Code::FailedPrecondition
        }
        Code::Cancelled => tonic::Code::Cancelled,
        Code::Timeout => tonic::Code::DeadlineExceeded,
        Code::Closed => tonic::Code::Unavailable,
        _ => tonic::Code::Internal,
    }
}

/// The status of an error: `google.rpc.ErrorInfo` names the stable code, and a busy engine says when to try again.
pub fn of(error: &Error) -> Status {
    let number = (error.code() as u32).to_string();
    let mut details = ErrorDetails::with_error_info(
        error.code().name().to_uppercase(),
        DOMAIN,
        [("code".to_string(), number)],
    );
    if error.code() == Code::Busy {
        details.set_retry_info(Some(error.retry_after().unwrap_or(RETRY)));
    }
    // It goes into headers, which clients bound.
    let message: String = error.message().chars().take(MAX_MESSAGE).collect();
    Status::with_error_details(code(error.code()), message, details)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_names_itself_and_only_busy_may_be_retried() {
        for each in Code::ALL {
            let status = of(&Error::new(each, "what happened"));
            let details = status.get_error_details();
            let info = details.error_info().expect("a reason");
            assert_eq!(info.reason, each.name().to_uppercase());
            assert_eq!(info.domain, DOMAIN);
            assert_eq!(info.metadata["code"], (each as u32).to_string());
            assert_eq!(details.retry_info().is_some(), each == Code::Busy);
            assert_eq!(status.message(), "what happened");
        }
        let busy = of(&Error::busy("full", Duration::from_secs(7)));
        assert_eq!(busy.get_error_details().retry_info().unwrap().retry_delay, Some(Duration::from_secs(7)));
    }

    #[test]
    fn clients_back_off_retry_or_give_up_by_the_code() {
        for (ours, theirs) in [
            (Code::InvalidRequest, tonic::Code::InvalidArgument),
            (Code::Unsupported, tonic::Code::Unimplemented),
            (Code::DuplicateRequest, tonic::Code::AlreadyExists),
            (Code::NotFound, tonic::Code::NotFound),
            (Code::Busy, tonic::Code::ResourceExhausted),
            (Code::BudgetExceeded, tonic::Code::FailedPrecondition),
            (Code::ParametersMissing, tonic::Code::FailedPrecondition),
            (Code::Cancelled, tonic::Code::Cancelled),
            (Code::Timeout, tonic::Code::DeadlineExceeded),
            (Code::Closed, tonic::Code::Unavailable),
            (Code::Internal, tonic::Code::Internal),
            (Code::System, tonic::Code::Internal),
        ] {
            assert_eq!(code(ours), theirs, "{ours:?}");
        }
    }
}
