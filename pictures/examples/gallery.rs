//! Writes sample pictures into the folder that is named: `cargo run -p forebay-pictures --example gallery -- FOLDER`.

#[path = "../src/tests/samples.rs"]
mod samples;

fn main() -> std::io::Result<()> {
    let folder = std::path::PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    for (name, svg) in samples::all() {
        std::fs::write(folder.join(format!("{name}.svg")), svg)?;
    }
    Ok(())
}
