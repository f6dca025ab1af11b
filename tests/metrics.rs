//! `docs/metrics.md` is what the catalogue says. After a change of it, write the file anew with
//! `FOREBAY_WRITE_METRICS=1 cargo test --release --test metrics`.

use std::path::Path;

#[test]
fn the_reference_is_what_the_catalogue_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    let expected = forebay::telemetry::reference();
    if std::env::var_os("FOREBAY_WRITE_METRICS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} is old; see the head of this test", path.display());
}
