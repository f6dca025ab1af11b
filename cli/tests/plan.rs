//! `forebay plan`, as an operator types it.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const MACHINE: [&str; 6] = ["--ram", "128GiB", "--gpus", "1", "--profile", "rtx5070ti-96c"];
const GIB: f64 = (1u64 << 30) as f64;

fn forebay(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.arg("plan").args(args).output().unwrap()
}

/// Standard output of a plan that succeeds.
fn plan(args: &[&str]) -> String {
    let output = forebay(args);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&plan(&[args, &["--json"]].concat())).unwrap()
}

fn on_machine<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&MACHINE[..], more].concat()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

fn narrow(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

/// The texts of a picture, which must be well-formed.
fn texts(path: &Path) -> String {
    let svg = std::fs::read_to_string(path).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.filter_map(|node| node.text()).collect::<Vec<_>>().join("\n").replace('\u{a0}', " ")
}

#[test]
fn a_plan_tells_throughput_peak_bottleneck_and_what_to_configure() {
    let text = plan(&on_machine(&["--mix", "porep_c2=100"]));
    contains(
        &text,
        &[
            "128.0 GiB RAM, 4.0 GiB of it for the system",
            "profile rtx5070ti-96c: NOTE, not all of its figures are measured",
            "porep_c2     100",
            "SRS 44.0 GiB",
            "bottleneck: the GPU: busy 99 % of the time",
            "64 GiB more",
            "one more GPU",
            "4 more synthesis workers",
            "enough for 98 % of it",
            "synthesis_workers = 12, and in [memory] limit = \"124GiB\"",
            "assumes:",
        ],
    );
    narrow(&text);
}

#[test]
fn json_has_the_figures_of_the_table() {
    let question = on_machine(&["--mix", "porep_c2=30,winning_post=10@45s", "--seed", "3"]);
    let (text, json) = (plan(&question), json(&question));
    for kind in json["outcome"]["kinds"].as_array().unwrap() {
        let row = text.lines().find(|line| line.starts_with(kind["kind"].as_str().unwrap())).unwrap();
        let cells: Vec<_> = row.split_whitespace().collect();
        assert_eq!(cells[1].parse::<f64>().unwrap(), number(&kind["proofs"]));
        for (cell, figure) in [(cells[2], "an_hour"), (cells[3], "seconds_a_proof")] {
            let (told, exact) = (cell.parse::<f64>().unwrap(), number(&kind[figure]));
            assert!((told / exact - 1.0).abs() < 0.006, "{figure}: {told} {exact}");
        }
    }
    let peak = number(&json["outcome"]["peak"]);
    contains(&text, &[&format!("at most {:.1} GiB of", peak / GIB)]);
    let classes: f64 = json["peak"].as_object().unwrap().values().map(number).sum();
    assert_eq!(classes, peak);
    assert_eq!(json["asked"]["seed"], 3);
    assert_eq!(json["configure"]["memory_limit"], "124GiB");
}

#[test]
fn what_more_would_bring_is_what_a_plan_of_that_machine_says() {
    let mix = ["--mix", "porep_c2=40", "--profile", "rtx5070ti-96c", "--queued", "6"];
    let ask = |machine: &[&str]| json(&[&mix[..], machine].concat());
    let advice = &ask(&["--ram", "80GiB", "--workers", "8"])["advice"];
    for (change, machine) in [
        ("memory", ["--ram", "144GiB", "--workers", "8", "--gpus", "1"]),
        ("gpu", ["--ram", "80GiB", "--workers", "8", "--gpus", "2"]),
        ("workers", ["--ram", "80GiB", "--workers", "12", "--gpus", "1"]),
    ] {
        let all = advice["what_if"].as_array().unwrap();
        let what = all.iter().find(|what| what["changes"] == serde_json::json!([change])).unwrap();
        let planned = number(&ask(&machine)["advice"]["an_hour"]);
        assert!((number(&what["an_hour"]) / planned - 1.0).abs() < 1e-9, "{what} {planned}");
    }
}

#[test]
fn the_least_memory_and_workers_still_give_98_percent() {
    let mix = ["--mix", "porep_c2=40", "--profile", "rtx5070ti-96c", "--queued", "6"];
    let ask = |machine: &[&str]| json(&[&mix[..], machine].concat())["advice"].clone();
    let advice = ask(&["--ram", "256GiB"]);
    let (least, fewest) = (number(&advice["least_memory"]), number(&advice["fewest_workers"]));
    assert!(least < 100.0 * GIB && (1.0..12.0).contains(&fewest), "{advice}");
    let enough = 0.98 * number(&advice["an_hour"]);
    let (least, workers) = (least.to_string(), fewest.to_string());
    assert!(number(&ask(&["--ram", &least])["an_hour"]) >= enough);
    assert!(number(&ask(&["--ram", "256GiB", "--workers", &workers])["an_hour"]) >= enough);
    let fewer = (fewest - 1.0).to_string();
    assert!(number(&ask(&["--ram", "256GiB", "--workers", &fewer])["an_hour"]) < enough);
}

#[test]
fn post_that_comes_too_late_is_said_loudly() {
    let late = ["--mix", "window_post=40@1s,winning_post=2@45s", "--workers", "1"];
    contains(&plan(&on_machine(&late)), &["LATE: window_post took", "its deadline is 30.0 min"]);
    let fine = plan(&on_machine(&["--mix", "window_post=2@600s,winning_post=20@45s"]));
    assert!(!fine.contains("LATE"), "{fine}");
    contains(&fine, &["bottleneck: nothing: the machine keeps up"]);
}

#[test]
fn a_sweep_has_a_row_for_every_value_and_says_what_the_small_ones_lack() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.svg");
    let plot = path.to_str().unwrap();
    let question =
        ["--profile", "rtx5070ti-96c", "--mix", "porep_c2=20", "--sweep", "ram=48GiB..176GiB/16GiB"];
    let text = plan(&[&question[..], &["--plot", plot]].concat());
    contains(&text, &["48 GiB", "176 GiB", "does not fit: needs 65 GiB", "oom"]);
    narrow(&text);
    let answer = json(&question);
    let points = answer["points"].as_array().unwrap();
    assert_eq!(points.len(), 9);
    for point in points {
        let fits = number(&point["value"]) >= 65.0 * GIB;
        assert_eq!(point["outcome"].is_object(), fits, "{point}");
        assert_eq!(point["needs"].is_u64(), !fits, "{point}");
    }
    // The prior art needs more memory for the same speed, and is killed where there is little.
    let rival = |point: &Value, figure: &str| point["beside"][1][figure].as_f64();
    assert_eq!(rival(&points[2], "seconds_a_proof"), None);
    let (last, ours) = (&points[8], number(&points[8]["outcome"]["kinds"][0]["seconds_a_proof"]));
    assert!(rival(last, "seconds_a_proof").unwrap() > ours);
    assert!(rival(last, "peak").unwrap() > number(&last["outcome"]["peak"]));
    contains(
        &texts(&path),
        &[
            "20 porep-32g simulated",
            "seconds a proof",
            "peak memory",
            "prior art, permit held",
            "RAM of the machine",
        ],
    );
}

#[test]
fn every_variable_can_be_swept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.svg");
    let mixed = "porep_c2=6,snap_update=3,winning_post=4@45s,window_post=1@60s";
    for (mix, range, points) in [
        ("porep_c2=10", "gpus=1..4", 4),
        (mixed, "workers=2..12/5", 3),
        ("porep_c2=10", "slots=1..3", 3),
        ("porep_c2=10", "cores=16..96/16", 6),
    ] {
        let question =
            ["--ram", "256GiB", "--profile", "rtx5070ti-96c", "--mix", mix, "--sweep", range, "--plot"];
        let answer = json(&[&question[..], &[path.to_str().unwrap()]].concat());
        assert_eq!(answer["points"].as_array().unwrap().len(), points, "{range}");
        assert!(answer["points"].as_array().unwrap().iter().all(|point| number(&point["an_hour"]) > 0.0));
        contains(&texts(&path), &["peak memory"]);
    }
}

#[test]
fn a_timeline_shows_classes_the_limit_and_every_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("timeline.svg");
    let draw = |question: &[&str]| {
        let text =
            plan(&[question, &["--profile", "rtx5070ti-96c", "--timeline", path.to_str().unwrap()]].concat());
        (text, texts(&path))
    };
    let mixed = "porep_c2=3,snap_update=2,winning_post=2@45s,window_post=1@60s";
    let (_, picture) = draw(&["--ram", "192GiB", "--mix", mixed]);
    contains(
        &picture,
        &[
            "SRS",
            "prover slots",
            "compact witnesses",
            "memory.limit less memory.margin: 188.0 GiB",
            "porep_c2 1",
        ],
    );
    contains(
        &picture,
        &["snap_update 1, part", "waits, witness ready", "minutes since the first request came"],
    );
    let prior = ["--ram", "400GiB", "--mix", "porep_c2=20", "--policy", "early", "--queued", "20"];
    let (text, picture) = draw(&prior);
    contains(&text, &["KILLED FOR MEMORY after", "Unlimited, it would hold"]);
    contains(
        &picture,
        &["killed for memory", "waits with its evaluation vectors", "evaluation vectors a, b, c"],
    );
}

#[test]
fn the_published_runs_are_reproduced() {
    let text = plan(&["--published"]);
    contains(&text, &["permit held, channel of pw", "10 of 10 tested rows are within 10 %", "28 waited"]);
    narrow(&text);
    let answer = json(&["--published"]);
    let rows = answer["rows"].as_array().unwrap();
    let tested: Vec<_> = rows.iter().filter(|row| row["used"] == "tested").collect();
    assert!(tested.len() >= 10);
    for row in tested {
        for off in ["seconds_off", "peak_off"] {
            assert!(number(&row[off]).abs() <= 0.10, "{row}");
        }
    }
}

#[test]
fn nonsense_gets_one_line_that_says_what_would_be_right() {
    let known = ["--profile", "rtx5070ti-96c", "--mix", "porep_c2=10"];
    for (args, code, hint) in [
        (&["--mix", "porep_c2=1"][..], 12, "rtx5070ti-96c, zen3-2c"),
        (&["--profile", "rtx9090", "--mix", "porep_c2=1"], 17, "none of rtx5070ti-96c, zen3-2c"),
        (&["--profile", "rtx5070ti-96c"], 12, "--mix porep_c2=100"),
        (&["--profile", "rtx5070ti-96c", "--mix", ""], 12, "sums to nothing"),
        (&["--profile", "rtx5070ti-96c", "--mix", "porep_c2=0"], 12, "sums to nothing"),
        (&["--profile", "rtx5070ti-96c", "--mix", "porep=1"], 12, "porep_c2, snap_update"),
        (&["--profile", "rtx5070ti-96c", "--mix", "porep_c2=1", "--sector", "2k"], 12, "it has"),
    ] {
        refused(args, code, hint);
    }
    for (more, code, hint) in [
        (&["--ram", "0"][..], 12, "fits with --ram 65.0 GiB"),
        (&["--limit", "0"], 12, "fits with --limit 61.0 GiB"),
        (&["--ram", "32GiB"], 19, "plan with --ram 65.0 GiB or more, 4.0 GiB of it"),
        (&["--ram", "80GiB", "--reserve", "30GiB"], 19, "plan with --ram 91.0 GiB or more"),
        (&["--ram", "1"], 19, "plan with --ram 65.0 GiB"),
        (&["--limit", "60GiB"], 19, "plan with --limit 61.0 GiB"),
        (&["--ram", "64GiB", "--reserve", "64GiB"], 12, "leaves nothing"),
        (&["--ram", "128GiB", "--gpus", "0"], 12, "plan with one GPU at least"),
        (&["--ram", "128GiB", "--workers", "0"], 12, "at least"),
        (&["--ram", "128GiB", "--gpus", "1000000000000"], 12, "no more than"),
        (&["--ram", "128GiB", "--policy", "late"], 12, "expected forebay, early, held-1, held or bytes=SIZE"),
        (&["--ram", "128GiB", "--timeline", "/nowhere/t.svg"], 27, "writing /nowhere/t.svg"),
        (
            &["--sweep", "gpus=1..2", "--ram", "128GiB", "--plot", "/nowhere/s.svg"],
            27,
            "writing /nowhere/s.svg",
        ),
        (&["--ram", "128GiB", "--slots", "65"], 12, "no more than 64"),
        (&["--sweep", "slots=60..70", "--ram", "128GiB"], 12, "no more than 64"),
        (&["--sweep", "ram=768GiB..96GiB"], 12, "reversed"),
        (&["--sweep", "ram=96GiB..768GiB/0"], 12, "step of zero"),
        (&["--sweep", "ram=1GiB..768GiB/1GiB"], 12, "at most 200"),
        (&["--sweep", "disk=1..2"], 12, "ram, gpus, slots, workers, cores"),
        (&["--sweep", "gpus=0..2", "--ram", "128GiB"], 12, "starts at zero"),
    ] {
        refused(&[&known[..], more].concat(), code, hint);
    }
    // Usage is clap's to judge, and takes more than a line.
    assert_eq!(forebay(&["--plot", "x.svg"]).status.code(), Some(2));
    assert_eq!(forebay(&["--published", "--mix", "porep_c2=1"]).status.code(), Some(2));
}

fn refused(args: &[&str], code: i32, hint: &str) {
    let output = forebay(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
    assert!(stderr.contains(hint), "{args:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(output.stdout.is_empty());
}
