//! Planted snapshots on terminals of several sizes.

use std::time::{Duration, Instant};

use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;
use ratatui::Terminal;

use super::super::model::*;
use super::super::plain::plain;
use super::*;

fn status(jobs: u64) -> Status {
    let cell = |class: &str, gib: u64| super::super::model::Cell { class: class.into(), reserved: gib << 30 };
    let queue = |kind: &str| Queue {
        kind: kind.into(),
        pending: 7,
        in_progress: 3,
        headroom: 2,
        next_deadline_ms: None,
    };
    let job = |i: u64| Job {
        job_id: format!("j{i}"),
        request_id: format!("sector-{i}"),
        kind: "porep_c2".into(),
        waits_for: if i.is_multiple_of(2) { "memory".into() } else { String::new() },
        partitions: 10,
        partitions_done: i % 10,
        stages: "ddffppqss.".into(),
        deadline_ms: (i == 3).then_some(-1500),
        total_ms: 1000 * i,
        ..Job::default()
    };
    Status {
        library: "0.1.0".into(),
        kernels: "ifma".into(),
        state: "running".into(),
        uptime_seconds: 3661,
        memory: Memory { limit: 100 << 30, reserved: 75 << 30, peak: 80 << 30, ..Memory::default() },
        cells: vec![cell("srs", 40), cell("working_set", 25), cell("witness", 10)],
        queues: ["winning_post", "window_post", "porep_c2", "snap_update"].map(queue).to_vec(),
        circuits: vec![Circuit {
            circuit: "porep-32g".into(),
            bytes: 40 << 30,
            pinned: true,
            ..Circuit::default()
        }],
        slots: vec![Slot { name: "cpu".into(), job_id: "j3".into(), partition: Some(4), ..Slot::default() }],
        partitions: Partitions {
            waiting: 70,
            synthesis: 2,
            queued: 9,
            proving: 1,
            finishing: 1,
            ..Partitions::default()
        },
        jobs: (0..jobs).map(job).collect(),
        recent: vec![Job { state: "failed".into(), error: "no parameters".into(), ..job(9) }],
        ..Status::default()
    }
}

fn drawn(seen: &Seen, screen: &mut Screen, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, seen, screen)).unwrap();
    terminal.backend().to_string()
}

fn screen() -> Screen {
    Screen { patience: Duration::from_secs(4), ..Screen::default() }
}

fn seen(status: Status) -> Seen {
    Seen { status: Some(status), at: Instant::now(), error: None }
}

#[test]
fn every_size_shows_what_fits() {
    for size in [(80, 24), (200, 60), (40, 10), (20, 5), (1, 1)] {
        let text = drawn(&seen(status(300)), &mut screen(), size);
        assert_eq!(text.lines().count(), usize::from(size.1));
    }
    let text = drawn(&seen(status(300)), &mut screen(), (110, 40));
    for part in [
        "75.0 GiB of 100.0 GiB promised",
        "keys 40.0 GiB",
        "up 1h01m",
        "synthesis 2",
        "sector-3 [4]",
        "porep-32g*",
        "ddffppqss.",
        "-1.5s",
        "sector-9: no parameters",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Three quarters of the bar are promised.
    let bar = text.lines().find(|line| line.contains('█') && line.contains('░')).unwrap();
    assert_eq!(bar.matches('█').count(), 82, "{bar}");
}

/// The parts of a snapshot that are told on a small terminal.
fn small(size: (u16, u16), parts: &[&str]) {
    let text = drawn(&seen(status(300)), &mut screen(), size);
    for part in parts {
        assert!(text.contains(part), "{part} at {size:?}\n{text}");
    }
}

#[test]
fn small_terminals_show_whole_words_of_what_matters() {
    let both = ["75.0 GiB of 100.0 GiB promised", "█", "░", "sector-0", "0/10", "q end"];
    small((80, 24), &both);
    small((80, 24), &["pressure 0.0 %", "witnesses 10.0 GiB", "requests 0 B", "finishing 1", "time left"]);
    small(
        (80, 24),
        &["porep_c2       7         3", "porep-32g*", "sector-9: no parameters", "s sort (turn)"],
    );
    small((40, 10), &both);
    small((40, 10), &[". 70  s 2  q 9  p 1  f 1", "-1.5s", "sector-2"]);
    small((40, 18), &["porep_c2       7     3    2     -", "requests 0 B"]);
    small((200, 60), &both);
    small((200, 60), &["outside buffers 0 B", "requests 0 B", "ddffppqss.", "sector-40"]);
}

#[test]
fn nonsense_of_a_server_is_shown_as_such() {
    let mut status = status(1);
    status.uptime_seconds = u64::MAX;
    status.partitions.proved = u64::MAX;
    status.cells = vec![status.cells[0].clone(), status.cells[0].clone()];
    status.cells.iter_mut().for_each(|cell| cell.reserved = u64::MAX);
    status.memory.reserved = u64::MAX;
    status.slots[0].job_id = "\u{1b}[2J".into();
    status.jobs[0].request_id = "a\u{1b}[31m\nb\u{9b}".into();
    status.recent[0].error = "first\r\u{1b}]0;title\u{7}".into();
    for text in [plain(&status), drawn(&seen(status.clone()), &mut screen(), (80, 24))] {
        assert!(text.contains("a\u{fffd}[31m\u{fffd}b\u{fffd}"), "{text}");
        assert!(text.contains("first\u{fffd}"), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }
}

#[test]
fn requests_scroll_and_sort() {
    let mut screen = screen();
    let all = seen(status(300));
    drawn(&all, &mut screen, (110, 40));
    screen.press(KeyCode::End);
    assert!(drawn(&all, &mut screen, (110, 40)).contains("sector-299"));
    screen.press(KeyCode::Home);
    screen.press(KeyCode::Char('s'));
    assert!(drawn(&all, &mut screen, (110, 40)).contains("sector-299"), "the oldest comes first");
    screen.press(KeyCode::Char('?'));
    assert!(drawn(&all, &mut screen, (110, 40)).contains("this help"));
}

#[test]
fn a_server_that_is_away_is_said_to_be() {
    let error = Some("127.0.0.1:1: connection refused".to_owned());
    let nothing = Seen { status: None, at: Instant::now(), error: error.clone() };
    assert!(drawn(&nothing, &mut screen(), (80, 24)).contains("connection refused"));
    let at = Instant::now().checked_sub(Duration::from_secs(9)).unwrap();
    let mut old = Seen { status: Some(status(1)), at, error };
    let mut screen = screen();
    let text = drawn(&old, &mut screen, (80, 24));
    assert!(text.contains("no word since 9.0s: 127.0.0.1:1: connection refused"), "{text}");
    assert!(text.contains("sector-0"), "the last snapshot stays\n{text}");
    old.error = None;
    assert!(drawn(&old, &mut screen, (80, 24)).contains("no word since 9.0s"), "it hangs");
    screen.paused = true;
    assert!(!drawn(&old, &mut screen, (80, 24)).contains("no word"), "it was not asked to go on");
}

#[test]
fn plain_text_has_every_request() {
    let text = plain(&status(3));
    for part in [
        "75.0 GiB promised of 100.0 GiB",
        "waiting 70",
        "porep_c2",
        "sector-2",
        "memory",
        "last errors\nporep_c2 sector-9: no parameters",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(plain(&Status::default()).contains("promised of 0 B"));
}

#[test]
fn times_have_the_units_that_say_enough() {
    for (ms, text) in [(0, "0.0s"), (9_950, "9.9s"), (-1_500, "-1.5s"), (61_000, "61s"), (100_000, "1m40s")] {
        assert_eq!(time(ms), text);
    }
    assert_eq!(time(3_661_000), "1h01m");
    assert_eq!(time(i64::MIN), format!("-{}d07h", 106_751_991_167_u64));
}
