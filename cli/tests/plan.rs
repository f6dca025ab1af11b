//! `forebay plan`, as an operator types it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

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
    assert_eq!(json["asked"]["seed"], 3);
    assert_eq!(json["configure"]["memory_limit"], "124GiB");
}

#[test]
fn the_classes_of_the_peak_are_all_of_it() {
    for more in [
        &["--mix", "porep_c2=30,winning_post=10@45s"][..],
        &["--mix", "porep_c2=10,snap_update=10,window_post=2@60s,winning_post=4@45s", "--queued", "20"],
        &["--mix", "snap_update=12", "--workers", "3", "--slots", "1"],
        &["--mix", "porep_c2=6", "--core", "compact", "--seed", "9"],
        &["--mix", "porep_c2=10", "--policy", "held", "--workers", "2"],
        &["--mix", "porep_c2=10", "--policy", "early"],
    ] {
        let json = json(&on_machine(more));
        let classes: f64 = json["peak"].as_object().unwrap().values().map(number).sum();
        assert_eq!(classes, number(&json["outcome"]["peak"]), "{more:?}");
        assert!(classes > GIB, "{more:?}");
    }
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
    let advice = &json(&on_machine(&late))["advice"];
    assert!(advice["what_if"].as_array().unwrap().iter().all(|what| what["gain"].is_null()), "{advice}");
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
    contains(&text, &["KILLED FOR MEMORY after", "Unlimited, it would hold", "it lives with one more GPU"]);
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
        (&["--profile", "/dev/null", "--mix", "porep_c2=1"], 12, "no regular file"),
        (&["--profile", "/", "--mix", "porep_c2=1"], 12, "no regular file"),
        (&["--profile", "zen3-2c", "--mix", "porep_c2=1", "--slots", "2"], 12, "--slots is about GPUs"),
        (&["--profile", "zen3-2c", "--mix", "porep_c2=1", "--core", "compact"], 12, "--core is about GPUs"),
        (&["--profile", "zen3-2c", "--mix", "porep_c2=1", "--sweep", "slots=1..2"], 12, "is about GPUs"),
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
        (&["--ram", "128GiB", "--workers", "0"], 12, "--workers 0: expected 1 to 4096"),
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
        (&["--ram", "128GiB", "--cores", "0"], 12, "--cores 0: expected 1 to 4096"),
        (&["--ram", "128GiB", "--workers", "5000"], 12, "--workers 5000: expected 1 to 4096"),
        (&["--ram", "128GiB", "--slots", "0"], 12, "--slots 0: expected 1 to 64"),
        (&["--ram", "96GiB", "--sweep", "ram=96GiB..128GiB"], 12, "--ram and --sweep ram both"),
        (&["--limit", "96GiB", "--sweep", "ram=96GiB..128GiB"], 12, "--limit and --sweep ram both"),
        (&["--sweep", "ram=96GiB...128GiB"], 12, "more than two dots"),
        (&["--sweep", "ram=96..128"], 12, "name one, such as ram=96GiB"),
    ] {
        refused(&[&known[..], more].concat(), code, hint);
    }
    // Usage is clap's to judge, and takes more than a line.
    assert_eq!(forebay(&["--plot", "x.svg"]).status.code(), Some(2));
    for alone in [&["--published"][..], &["--measure", "/nowhere/profile.toml"]] {
        for other in [
            &["--mix", "porep_c2=1"][..],
            &["--profile", "zen3-2c"],
            &["--ram", "1GiB"],
            &["--policy", "early"],
            &["--seed", "2"],
            &["--sweep", "gpus=1..2"],
            &["--timeline", "/nowhere/t.svg"],
        ] {
            assert_eq!(forebay(&[alone, other].concat()).status.code(), Some(2), "{alone:?} {other:?}");
        }
    }
    assert_eq!(forebay(&["--measure", "/nowhere/profile.toml", "--json"]).status.code(), Some(2));
    assert_eq!(forebay(&["--measure", "/nowhere/profile.toml", "--published"]).status.code(), Some(2));
}

fn refused(args: &[&str], code: i32, hint: &str) {
    let output = forebay(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
    assert!(stderr.contains(hint), "{args:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(output.stdout.is_empty());
}

#[test]
fn memory_that_the_system_takes_in_full_is_a_row_that_does_not_fit() {
    let question = ["--profile", "rtx5070ti-96c", "--mix", "porep_c2=10", "--reserve", "200GiB"];
    let text = plan(&[&question[..], &["--sweep", "ram=96GiB..320GiB/32GiB"]].concat());
    let row = |ram: &str| text.lines().find(|line| line.starts_with(ram)).unwrap();
    for ram in ["96 GiB", "192 GiB", "224 GiB"] {
        contains(row(ram), &["does not fit: needs 261 GiB"]);
    }
    assert!(!row("288 GiB").contains("does not fit"), "{text}");
}

#[test]
fn how_many_requests_are_queued_depends_on_nothing_else() {
    for mix in ["porep_c2=8", "porep_c2=8,winning_post=8", "winning_post=8"] {
        for machine in [["--workers", "2"], ["--workers", "64"], ["--gpus", "8"]] {
            let question = ["--profile", "rtx5070ti-96c", "--ram", "256GiB", "--mix", mix];
            assert_eq!(json(&[&question[..], &machine].concat())["asked"]["queued"], 5, "{mix} {machine:?}");
        }
    }
}

#[test]
fn an_intake_that_limits_the_queue_is_said() {
    let limited = |queued| plan(&on_machine(&["--mix", "porep_c2=40", "--queued", queued]));
    contains(&limited("40"), &["at most 14 requests were unfinished, fewer", "intake.max_bytes limits them"]);
    assert!(!limited("14").contains("intake.max_bytes"));
}

#[test]
fn changes_that_no_plan_may_have_are_left_out() {
    let question = ["--mix", "porep_c2=4", "--profile", "rtx5070ti-96c", "--ram", "2TiB"];
    let changes = |machine: &[&str]| {
        let answer = json(&[&question[..], machine].concat());
        let all = answer["advice"]["what_if"].as_array().unwrap().clone();
        assert!(all.iter().all(|what| what["an_hour"].is_f64()), "{answer}");
        all.into_iter().flat_map(|what| what["changes"].as_array().unwrap().clone()).collect::<Vec<_>>()
    };
    let most = changes(&["--gpus", "64", "--slots", "1", "--workers", "4096"]);
    assert!(
        most.iter().all(|change| !["gpu", "slot", "workers"].contains(&change.as_str().unwrap())),
        "{most:?}"
    );
    assert!(most.iter().any(|change| change == "memory"), "{most:?}");
}

#[test]
fn scaled_stage_times_are_said() {
    let question = ["--profile", "zen3-2c", "--ram", "16GiB", "--mix", "porep_c2=4", "--sector", "2k"];
    let scaled = "stage times were measured with 2 threads and are scaled to 8";
    contains(&plan(&[&question[..], &["--cores", "8"]].concat()).replace("\n  ", " "), &[scaled]);
    assert!(!plan(&question).contains("are scaled to"));
}

#[test]
fn a_profile_that_is_no_toml_gets_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.toml");
    std::fs::write(&path, "name = \"x\"\ncores = = 2\n").unwrap();
    refused(&["--profile", path.to_str().unwrap(), "--mix", "porep_c2=1"], 13, "profile.toml");
}

#[test]
fn a_reader_that_has_had_enough_is_no_failure() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.arg("plan").args(on_machine(&["--mix", "porep_c2=20"]));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_profile_that_exists_survives_a_measurement_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let (profile, request) = (folder.path().join("mine.toml"), folder.path().join("request"));
    std::fs::write(&profile, "what was there").unwrap();
    std::fs::write(&request, [0xff; 8]).unwrap();
    let [profile_name, request] = [&profile, &request].map(|path| path.to_str().unwrap());
    refused(&["--measure", profile_name, "--request", request], 14, "no cuzk.v1.SubmitProofRequest");
    assert_eq!(std::fs::read_to_string(&profile).unwrap(), "what was there");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    refused(&["--measure", "/nowhere/profile.toml"], 27, "writing /nowhere/profile.toml");
    refused(&["--measure", folder.path().to_str().unwrap()], 12, "no regular file");
}

#[test]
fn the_planning_document_shows_what_the_commands_print() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/planning.md");
    let document = std::fs::read_to_string(document).unwrap();
    for printed in [plan(&["--published"]), plan(&on_machine(&["--mix", "porep_c2=100"]))] {
        for line in printed.lines() {
            assert!(document.lines().any(|shown| shown == line), "docs/planning.md lacks this line:\n{line}");
        }
        assert!(document.contains(&printed), "docs/planning.md has these lines in another order:\n{printed}");
    }
}
