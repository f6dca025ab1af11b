//! What a browser, Prometheus and `forebay top` get.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use forebay::kind::ProofKind;

use crate::client::Client;
use crate::request;
use crate::server::{Serve, PATIENCE};

fn ask(mut stream: impl Read + Write, request: &str) -> String {
    write!(stream, "{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get(serve: &Serve, path: &str) -> String {
    ask(TcpStream::connect(&serve.addresses[0]).unwrap(), &format!("GET {path}"))
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").expect("a head and a body").1
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_where_grpc_is() {
    let mut serve = Serve::start(&["127.0.0.1:0", "unix://DIR/s"], &[], "");
    let client = Client::dial(&serve.addresses[0]).await;
    client.submit(request::good(ProofKind::WindowPost)).await.unwrap();
    for (path, kind, text) in [
        ("/", "text/html", "<title>forebay</title>"),
        ("/style.css", "text/css", "prefers-color-scheme"),
        ("/page.js", "text/javascript", "EventSource"),
        ("/icon.svg", "image/svg+xml", "<svg"),
        (
            "/metrics",
            "text/plain; version=0.0.4",
            "forebay_jobs_accepted_total{proof_kind=\"window_post\"} 1",
        ),
        ("/status", "application/json", "\"version\":1"),
        ("/healthz", "text/plain", "ok"),
        ("/readyz", "text/plain", "ok"),
    ] {
        let answer = get(&serve, path).to_lowercase();
        assert!(
            answer.starts_with("http/1.1 200") && answer.contains(&format!("content-type: {kind}")),
            "{answer}"
        );
        assert!(answer.contains(&text.to_lowercase()), "{path}: {answer}");
        assert!(answer.contains("content-security-policy: default-src 'self'"), "{answer}");
    }
    let socket = serve.addresses[1].trim_start_matches("unix://");
    let answer = ask(UnixStream::connect(socket).unwrap(), "GET /status");
    let status: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(status["state"], "running");
    serve.stop();
}

#[test]
fn what_is_no_page_and_no_call_is_refused() {
    let mut serve = Serve::start(&["127.0.0.1:0"], &[], "");
    assert!(get(&serve, "/nothing").starts_with("HTTP/1.1 404"));
    let of = |request: &str| ask(TcpStream::connect(&serve.addresses[0]).unwrap(), request);
    // What a page of another site could send.
    let foreign = of("POST /cuzk.v1.ProvingEngine/GetMetrics");
    assert!(foreign.starts_with("HTTP/1.1 404"), "{foreign}");
    let typed =
        of("POST /cuzk.v1.ProvingEngine/GetMetrics HTTP/1.1\r\nContent-Type: application/grpc\r\nX: y");
    assert!(typed.starts_with("HTTP/1.1 505"), "{typed}");
    assert!(of("POST /status").starts_with("HTTP/1.1 405"));
    serve.stop();
}

#[test]
fn events_begin_with_the_history_and_end_with_the_engine() {
    let mut serve = Serve::start(&["127.0.0.1:0"], &[], "");
    let mut stream = TcpStream::connect(&serve.addresses[0]).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut events = lines.by_ref().filter_map(|line| line.strip_prefix("event: ").map(str::to_owned));
    assert_eq!(events.next().as_deref(), Some("history"));
    for _ in 0..3 {
        assert_eq!(events.next().as_deref(), Some("status"));
    }
    let begun = std::time::Instant::now();
    serve.stop();
    assert!(lines.count() < 1000);
    assert!(begun.elapsed() < Duration::from_secs(30), "a browser that stays open does not hold it");
}

#[test]
fn top_prints_a_snapshot_and_names_a_server_that_is_away() {
    let mut serve = Serve::start(&["unix://DIR/s"], &[], "");
    let top = |address: &str| {
        let run = Command::new(env!("CARGO_BIN_EXE_forebay"))
            .args(["top", "--once", "--connect", address])
            .output();
        let run = run.unwrap();
        (run.status.code(), String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap())
    };
    let (code, text, said) = top(&serve.addresses[0]);
    assert_eq!(code, Some(0), "{said}");
    for part in ["running", "promised of", "window_post", "cpu-critical"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    serve.stop();
    let (code, _, said) = top(&serve.addresses[0]);
    assert_ne!(code, Some(0));
    assert!(said.contains("unix://"), "{said}");
}

#[test]
fn doctor_says_what_is_wrong_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let doctor = |arguments: &[&str]| {
        let run = Command::new(env!("CARGO_BIN_EXE_forebay")).arg("doctor").args(arguments).output().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        (run.status.code(), document)
    };
    let config = folder.path().join("forebay.toml");
    std::fs::write(&config, format!("[parameters]\ndirectories = [{:?}]\n", folder.path())).unwrap();
    let cache = folder.path().to_str().unwrap();
    let (code, found) = doctor(&["--json", "--config", config.to_str().unwrap(), "--cache", cache]);
    assert_eq!(code, Some(1));
    assert!(found["problems"].as_u64().unwrap() >= 4, "no kind has parameters: {found}");
    assert!(found["findings"].as_array().unwrap().iter().any(|f| f["check"] == "processor"), "{found}");
    std::fs::write(&config, "kinds = 7\n").unwrap();
    let (code, found) = doctor(&["--json", "--config", config.to_str().unwrap()]);
    assert_eq!((code, &found["findings"][0]["check"]), (Some(1), &"configuration".into()));
}

#[test]
fn a_watcher_too_many_is_told_and_the_place_of_one_that_goes_is_free() {
    let mut serve = Serve::start(&["127.0.0.1:0"], &[], "");
    let watch = || {
        let mut stream = TcpStream::connect(&serve.addresses[0]).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        (stream, String::from_utf8_lossy(&head).into_owned())
    };
    let mut watchers: Vec<_> = (0..256).map(|_| watch()).collect();
    assert!(watchers.iter().all(|(_, head)| head == "HTTP/1.1 200"));
    assert_eq!(watch().1, "HTTP/1.1 503");
    watchers.pop();
    let freed = std::iter::from_fn(|| {
        std::thread::sleep(Duration::from_millis(100));
        Some(watch().1)
    });
    assert!(freed.take(300).any(|head| head == "HTTP/1.1 200"));
    serve.stop();
}
