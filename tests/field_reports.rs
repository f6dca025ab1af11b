//! The table of faults from the field names tests that exist.

use std::fs;
use std::path::Path;

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
        match word.ends_with(".rs") {
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

#[test]
fn every_line_has_tests_and_every_test_named_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let design = fs::read_to_string(root.join("docs/design.md")).expect("docs/design.md");
    let rows = rows(&design);
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
