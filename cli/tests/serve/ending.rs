//! How a server ends, and what is left.

use std::io::Write;
use std::time::Duration;

use forebay::kind::ProofKind;
use forebay::wire::await_proof_response::Status as Ended;
use forebay::wire::AwaitProofResponse;
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::client::{is_proved, is_refused, Client};
use crate::request;
use crate::server::{refused, Serve};

type Waiting = tokio::task::JoinHandle<AwaitProofResponse>;

/// Calls that wait for jobs.
fn waiting(client: &Client, jobs: &[String]) -> Vec<Waiting> {
    let wait = |job: &String| {
        let (client, job) = (client.clone(), job.clone());
        tokio::spawn(async move { client.wait(&job).await })
    };
    jobs.iter().map(wait).collect()
}

async fn answers(waiting: Vec<Waiting>) -> Vec<AwaitProofResponse> {
    let mut answers = Vec::new();
    for wait in waiting {
        answers.push(wait.await.expect("an answer"));
    }
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_finishes_what_was_accepted_and_takes_nothing_new() {
    let mut serve = Serve::start(&["unix://DIR/s"], &[], "");
    let client = Client::dial(&serve.addresses[0]).await;
    let accepted = waiting(&client, &client.occupy(6).await);
    serve.signal("TERM");
    serve.hear("stopping");
    let new = loop {
        // The signal may be heard a moment before the engine knows.
        match client.submit(request::good(ProofKind::WindowPost)).await {
            Ok(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            refused => break refused,
        }
    };
    is_refused(new, Code::Unavailable, "CLOSED");
    let check = tonic::Request::new(HealthCheckRequest { service: "cuzk.v1.ProvingEngine".into() });
    let health: HealthCheckResponse = client.request("/grpc.health.v1.Health/Check", check).await.unwrap();
    assert_eq!(health.status, 2, "NOT_SERVING");
    assert_eq!(client.status().await["state"], "draining");
    answers(accepted).await.iter().for_each(is_proved);
    drop(client);
    assert!(serve.ended().success());
    assert!(!serve.path("s").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_cancels_the_rest() {
    let mut serve = Serve::start(&["127.0.0.1:0"], &[], "");
    let client = Client::dial(&serve.addresses[0]).await;
    let accepted = waiting(&client, &client.occupy(12).await);
    serve.signal("INT");
    serve.hear("stopping");
    serve.signal("TERM");
    let answers = answers(accepted).await;
    let cancelled = answers.iter().filter(|answer| answer.status() == Ended::Cancelled).count();
    assert!(cancelled >= 6, "only {cancelled} of 12 were cancelled");
    drop(client);
    assert!(serve.ended().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn drain_seconds_are_a_limit() {
    let mut serve = Serve::start(&["127.0.0.1:0"], &[], "[serve]\ndrain_seconds = 1");
    let client = Client::dial(&serve.addresses[0]).await;
    let accepted = waiting(&client, &client.occupy(16).await);
    serve.signal("TERM");
    let answers = answers(accepted).await;
    assert!(answers.iter().any(|answer| answer.status() == Ended::Cancelled));
    assert!(serve.ended().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_standard_input_is_an_end_where_that_is_asked_for() {
    let mut careless = Serve::start(&["127.0.0.1:0"], &[], "");
    let mut bound = Serve::start(&["127.0.0.1:0"], &["--while-stdin"], "");
    drop(careless.stdin());
    let mut input = bound.stdin();
    input.write_all(b"anything\n").unwrap();
    let client = Client::dial(&bound.addresses[0]).await;
    let accepted = waiting(&client, &client.occupy(1).await);
    drop(input);
    answers(accepted).await.iter().for_each(is_proved);
    drop(client);
    assert!(bound.ended().success());
    assert!(careless.is_running());
    careless.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_of_a_killed_server_is_taken_over_and_that_of_a_live_one_is_not() {
    let mut killed = Serve::start(&["unix://DIR/s"], &[], "");
    killed.signal("KILL");
    assert!(!killed.ended().success());
    assert!(killed.path("s").exists(), "the stale socket");
    let address = killed.addresses[0].clone();
    let mut next = Serve::start(&[&address], &[], "");
    let second = refused(&["--listen", &address]);
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && said.contains("somebody listens on it"), "{said}");
    Client::dial(&next.addresses[0]).await.status().await;
    next.stop();
    assert!(!killed.path("s").exists());
}
