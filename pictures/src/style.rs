//! What the parts of a picture look like, on light and on dark backgrounds.

/// A band of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandStyle {
    /// The SRS.
    Srs,
    /// The circuit's matrices.
    Matrices,
    /// What a prover slot works in.
    WorkingSet,
    /// Witnesses that wait.
    Witness,
    /// Evaluation vectors that wait with their partition.
    Evaluations,
    /// All else.
    Other,
}

impl BandStyle {
    pub(crate) fn class(self) -> &'static str {
        match self {
            BandStyle::Srs => "srs",
            BandStyle::Matrices => "mat",
            BandStyle::WorkingSet => "work",
            BandStyle::Witness => "wit",
            BandStyle::Evaluations => "eval",
            BandStyle::Other => "other",
        }
    }
}

/// A line above the bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStyle {
    /// What the ledger promised: dotted.
    Promised,
    /// What the process really holds: violet.
    Resident,
}

impl LineStyle {
    pub(crate) fn class(self) -> &'static str {
        match self {
            LineStyle::Promised => "promised",
            LineStyle::Resident => "resident",
        }
    }
}

/// A stage of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageStyle {
    /// Waits, decoded.
    WaitsDecoded,
    /// Synthesis.
    Synthesis,
    /// Waits with its witness.
    WaitsWitness,
    /// In a prover slot.
    Slot,
    /// The last part, after the slot.
    Finish,
    /// Waits with all its evaluation vectors.
    WaitsEvaluated,
}

impl StageStyle {
    pub(crate) fn class(self) -> &'static str {
        match self {
            StageStyle::WaitsDecoded => "wdec",
            StageStyle::Synthesis => "syn",
            StageStyle::WaitsWitness => "wwit",
            StageStyle::Slot => "slot",
            StageStyle::Finish => "fin",
            StageStyle::WaitsEvaluated => "weval",
        }
    }
}

/// Distinct colours for the series of a sweep; further series repeat them dashed.
pub(crate) const SERIES_COLOURS: usize = 6;

/// The style sheet.
pub(crate) const SHEET: &str = r##"<style>
.card{fill:#ffffff;stroke:#d0d7de}
text{font:13px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#1f2328}
.title{font-size:17px;font-weight:600}
.small{font-size:12px;fill:#59636e}
.grid{stroke:#d9dee4;stroke-width:1}
.axis{stroke:#59636e;stroke-width:1}
.halo{stroke:#ffffff;stroke-width:4;stroke-opacity:.75;fill:none}
.limit{stroke:#c9252d;stroke-width:2;stroke-dasharray:8 5;fill:none}
.promised{stroke:#1f2328;stroke-width:1.6;stroke-dasharray:3 3;fill:none}
.resident{stroke:#8250df;stroke-width:1.8;fill:none}
.srs{fill:#5a9bd8}.mat{fill:#c2468b}.work{fill:#e16f24}.wit{fill:#1a7f37}.eval{fill:#4a4fb0}.other{fill:#9aa4af}
.wdec{fill:#d3d9e0}.syn{fill:#1a7f37}.wwit{fill:#a6d9b0}.slot{fill:#e16f24}.fin{fill:#f2c27e}.weval{fill:#9094e0}
.q0,.q1,.q2,.q3,.q4,.q5{stroke-width:2;fill:none;stroke-linejoin:round}
.q0{stroke:#1a7f37}.q1{stroke:#e16f24}.q2{stroke:#3a7fc4}.q3{stroke:#c2468b}.q4{stroke:#6b70d6}.q5{stroke:#8a5a2b}
.m0{fill:#1a7f37}.m1{fill:#e16f24}.m2{fill:#3a7fc4}.m3{fill:#c2468b}.m4{fill:#6b70d6}.m5{fill:#8a5a2b}
.again{stroke-dasharray:6 4}
@media (prefers-color-scheme:dark){
.card{fill:#0d1117;stroke:#3d444d}
text{fill:#f0f6fc}
.small{fill:#b1bac4}
.grid{stroke:#2a313a}
.axis{stroke:#9198a1}
.halo{stroke:#0d1117}
.limit{stroke:#ff6b70}
.promised{stroke:#f0f6fc}
.resident{stroke:#c297ff}
.eval{fill:#5b61c9}.other{fill:#6e7781}
.wdec{fill:#3d444d}
.q0{stroke:#3fb950}.q4{stroke:#8b90f0}.q5{stroke:#c69464}
.m0{fill:#3fb950}.m4{fill:#8b90f0}.m5{fill:#c69464}
}
</style>"##;
