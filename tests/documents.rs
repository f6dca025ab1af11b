//! The documents say what is there: tests, metrics and configuration keys.

use std::fs;
use std::path::Path;

use forebay::engine::Config;
use forebay::telemetry::metric;

/// Lines of the field reports that concern memory, waiting, order or accounting.
const LINES: [u32; 25] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31];

/// The cells of each row of the table whose first cell is a number.
fn rows(design: &str) -> Vec<(u32, String)> {
    let (_, section) = design.split_once("## Faults from the field and their tests").expect("the section");
    let section = section.split("\n## ").next().unwrap_or(section);
    let cells = |line: &str| {
        let mut cells = line.strip_prefix("| ")?.splitn(3, " | ");
        let number = cells.next()?.parse().ok()?;
        Some((number, cells.nth(1)?.to_owned()))
    };
    section.lines().filter_map(cells).collect()
}

/// What stands in backticks: a file, then names of tests in it, then perhaps another file.
fn named(cell: &str) -> Vec<(String, String)> {
    let mut file = String::new();
    let mut tests = Vec::new();
    for word in cell.split('`').skip(1).step_by(2) {
        match [".rs", ".c", ".cpp"].iter().any(|end| word.ends_with(end)) {
            true => file = word.to_owned(),
            false => tests.push((file.clone(), word.to_owned())),
        }
    }
    tests
}

/// Whether a source has a function of this name with the attribute `test` above it.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<_> = source.lines().map(str::trim).collect();
    let declaration = format!("fn {name}(");
    let at = lines.iter().position(|line| line.starts_with(&declaration));
    let above = at.map(|at| lines[..at].iter().rev().take_while(|line| line.starts_with("#[")));
    above.is_some_and(|mut attributes| attributes.any(|line| *line == "#[test]"))
}

fn document(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).expect(name)
}

#[test]
fn every_metric_and_every_key_is_explained_to_the_operator() {
    let (operating, metrics) = (document("operating.md"), document("metrics.md"));
    for metric in metric::ALL {
        assert!(metrics.contains(&format!("| `{}` |", metric.name)), "{} is not documented", metric.name);
    }
    let example: toml::Table = Config::example().parse().expect("the example");
    for (key, value) in example {
        let keys = match value.as_table() {
            Some(section) => section.keys().map(|name| format!("`{key}.{name}`")).collect(),
            None => vec![format!("`{key}`")],
        };
        for key in keys {
            assert!(operating.contains(&key), "{key} is not documented");
        }
    }
}

#[test]
fn every_fault_from_the_field_has_tests_and_these_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rows = rows(&document("design.md"));
    assert_eq!(rows.iter().map(|(number, _)| *number).collect::<Vec<_>>(), LINES);
    for (number, cell) in rows {
        let tests = named(&cell);
        assert!(!tests.is_empty(), "line {number} names no test");
        for (file, test) in tests {
            let source = fs::read_to_string(root.join(&file)).unwrap_or_else(|e| panic!("{file}: {e}"));
            assert!(has_test(&source, &test), "line {number}: {file} has no test {test}");
        }
    }
}

/// A definition of a function at the beginning of a line.
fn has_function(source: &str, name: &str) -> bool {
    let called = format!("{name}(");
    source.lines().any(|line| {
        let before = line.split_once(&called).map(|(before, _)| before);
        let begins = line.starts_with(|c: char| c.is_ascii_alphabetic());
        begins && !line.ends_with(';') && before.is_some_and(|b| b.ends_with([' ', '*']))
    })
}

#[test]
fn every_fault_of_the_c_abi_has_tests_and_these_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let abi = document("abi.md");
    let (_, section) = abi.split_once("## Fault list").expect("the section");
    let section = section.split("\n## ").next().unwrap_or(section);
    let rows: Vec<_> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() > 30, "{}", rows.len());
    for row in rows {
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let files: Vec<_> = cell.split('`').skip(1).step_by(2).filter(|word| word.contains('.')).collect();
        assert!(!files.is_empty(), "no test: {row}");
        let place = |file: &str| match file.starts_with("src/") {
            true => root.join(file),
            false => root.join("tests").join(file),
        };
        for file in files {
            assert!(place(file).is_file(), "{file} does not exist: {row}");
        }
        for (file, test) in named(cell) {
            let source = fs::read_to_string(place(&file)).unwrap_or_else(|e| panic!("{file}: {e}"));
            let there = match file.ends_with(".rs") {
                true => has_test(&source, &test),
                false => has_function(&source, &test),
            };
            assert!(there, "{file} has no {test}: {row}");
        }
    }
}
