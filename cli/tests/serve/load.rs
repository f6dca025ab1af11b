//! Many callers at once.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use forebay::kind::ProofKind;

use crate::client::{is_proved, Client};
use crate::request;
use crate::server::Serve;

const CALLS: usize = 200;
/// Proofs that the calls ask for; several callers ask for each. `FOREBAY_LOAD_PROOFS` changes it.
const PROOFS: usize = 20;

fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)].as_secs_f64()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_calls_at_once_lose_none_and_stay_under_the_limit() {
    let proofs = std::env::var("FOREBAY_LOAD_PROOFS").ok().and_then(|n| n.parse().ok()).unwrap_or(PROOFS);
    let mut serve = Serve::start(&["unix://DIR/s"], &[], "");
    let client = Client::dial(&serve.addresses[0]).await;
    let requests: Vec<_> = (0..proofs).map(|_| request::good(ProofKind::WindowPost)).collect();
    let started = Instant::now();
    let calls: Vec<_> = (0..CALLS)
        .map(|i| {
            let (client, request) = (client.clone(), requests[i % proofs].clone());
            tokio::spawn(async move {
                (request.request_id.clone(), client.prove(request).await, started.elapsed())
            })
        })
        .collect();
    let (mut took, mut proved) = (Vec::new(), HashMap::new());
    for call in calls {
        let (request_id, answer, time) = call.await.unwrap();
        let answer = answer.unwrap();
        is_proved(&answer);
        let first = proved.entry(request_id).or_insert_with(|| answer.clone());
        assert_eq!((&first.job_id, &first.proof), (&answer.job_id, &answer.proof));
        took.push(time);
    }
    took.sort();
    let [p50, p90, p99] = [50, 90, 99].map(|percent| percentile(&took, percent));
    println!("{CALLS} calls for {proofs} proofs: p50 {p50:.2} s, p90 {p90:.2} s, p99 {p99:.2} s");
    let memory = &client.status().await["memory"];
    let (peak, limit) = (memory["peak"].as_u64().unwrap(), memory["limit"].as_u64().unwrap());
    assert!(peak > 0 && peak <= limit, "{peak} of {limit}");
    assert_eq!(client.status().await["totals"]["completed"], proofs);
    drop(client);
    serve.stop();
}
