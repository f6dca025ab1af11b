//! The engine's configuration: TOML, parsed once, at open.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::toml_reader::{invalid, Section};
use crate::error::{Code, Error, Result};
use crate::kind::{CircuitId, ProofKind, Urgency};
use crate::prove::cpu::Kernels;
use crate::schedule::{Settings, SlotSettings};
use crate::units::Bytes;

/// Which prover runs the heavy step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// This library's own core on the processor.
    Cpu,
    /// A GPU; an error where this build or machine has none.
    Gpu,
    /// A GPU where there is one, else the processor.
    #[default]
    Auto,
}

/// Everything that can be configured. [`Config::example`] documents every key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `memory.limit`: bytes that this library may hold; `None`: what machine and control group leave.
    pub memory_limit: Option<Bytes>,
    /// `memory.margin`: part of the limit kept back for what is not in large buffers: the program, its
    /// stacks and its heap.
    pub memory_margin: Bytes,
    /// `memory.pressure`: percent of the last ten seconds in which something on the machine waited for
    /// memory (PSI), above which sealing is slowed to one partition at a time; 0: never.
    pub memory_pressure: u32,
    /// `residency.pinned`: circuits that are loaded at open and never leave to make room.
    pub pinned: Vec<CircuitId>,
    /// `residency.min_idle`: how long a circuit that nobody uses is kept, where no PoSt needs its memory.
    pub min_idle: Duration,
    /// `schedule.patience`: how long others may pass a request that waits for memory.
    pub patience: Duration,
    /// `threads`: size of each thread pool.
    pub threads: usize,
    /// `synthesis_workers`: partitions synthesised at once, one thread each.
    pub synthesis_workers: usize,
    /// `backend`: `cpu`, `gpu` or `auto`.
    pub backend: BackendChoice,
    /// `kernels`: `auto` (the fastest that this processor runs), `portable`, `avx2` or `ifma`.
    pub kernels: Kernels,
    /// `kinds`: the proof kinds that are accepted.
    pub kinds: Vec<ProofKind>,
    /// `keep_results`: finished jobs whose results are kept.
    pub keep_results: usize,
    /// `allow_development_parameters`: whether parameters made by an insecure local setup are accepted.
    pub allow_development_parameters: bool,
    /// `intake.max_requests`: unfinished requests of one kind; the next is answered with `busy`.
    pub intake_max_requests: usize,
    /// `intake.max_bytes`: bytes that unfinished decoded requests may hold together.
    pub intake_max_bytes: Bytes,
    /// `parameters.directories`: where `.params` and `.vk` files are looked for, in order.
    pub parameter_directories: Vec<PathBuf>,
    /// `cache.directory`: where native parameters and compiled matrices are kept.
    pub cache_directory: PathBuf,
    /// `journal.file`: where finished proofs are kept over a restart; `None` or empty: nowhere.
    pub journal_file: Option<PathBuf>,
    /// `journal.max_proofs`: proofs that the journal keeps; beyond it the oldest leave.
    pub journal_max_proofs: usize,
    /// `timeouts.KIND`: longest time from acceptance to answer; a kind without one has no limit.
    pub timeouts: BTreeMap<ProofKind, Duration>,
}

impl Default for Config {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        Config {
            memory_limit: None,
            memory_margin: Bytes::mib(32),
            memory_pressure: 20,
            pinned: Vec::new(),
            min_idle: Duration::from_secs(10),
            patience: Duration::from_secs(60),
            threads,
            synthesis_workers: threads.div_ceil(4),
            backend: BackendChoice::Auto,
            kernels: Kernels::Fastest,
            kinds: ProofKind::ALL.to_vec(),
            keep_results: 1024,
            allow_development_parameters: false,
            intake_max_requests: 256,
            intake_max_bytes: Bytes::gib(1),
            parameter_directories: vec![default_parameter_directory()],
            cache_directory: default_cache_directory(),
            journal_file: None,
            journal_max_proofs: 10_000,
            timeouts: BTreeMap::new(),
        }
    }
}

/// Synthesis workers beside the configured ones, for PoSt only; the last is kept for winning_post.
pub(super) const URGENT_WORKERS: usize = 2;

/// More proofs than a journal may keep: each takes some 200 bytes of memory.
const MAX_JOURNAL: usize = 1_000_000;

impl Config {
    /// The journal's file, where there is to be one.
    pub fn journal(&self) -> Option<&Path> {
        self.journal_file.as_deref().filter(|file| !file.as_os_str().is_empty())
    }

    /// The scheduler's settings for these slots, with no memory yet and nothing learnt about projections.
    pub fn scheduling(&self, slots: Vec<SlotSettings>) -> Settings {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let patient = slots.iter().filter(|slot| slot.serves == Urgency::Patient).count();
        Settings {
            budget: Bytes::ZERO,
            ceiling: Bytes::ZERO,
            workers: self.synthesis_workers,
            urgent_workers: URGENT_WORKERS,
            ahead: self.synthesis_workers + 2 * patient,
            slots,
            max_requests: self.intake_max_requests,
            max_intake: self.intake_max_bytes,
            patience: nanoseconds(self.patience),
            min_idle: nanoseconds(self.min_idle),
            pinned: self.pinned.iter().copied().collect(),
            factors: BTreeMap::new(),
        }
    }
}

fn default_parameter_directory() -> PathBuf {
    std::env::var_os("FIL_PROOFS_PARAMETER_CACHE")
        .filter(|dir| !dir.is_empty())
        .map_or_else(|| PathBuf::from("/var/tmp/filecoin-proof-parameters"), PathBuf::from)
}

fn default_cache_directory() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|dir| !dir.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(|| PathBuf::from("/var/tmp"))
        .join("forebay")
}

const EXAMPLE: &str = r#"# Threads that heavy work runs on at once. Default: the processors.
threads = 2
# Partitions synthesised at once, one thread each. Default: a quarter of the processors.
synthesis_workers = 1
# "cpu", "gpu" or "auto" (a GPU where there is one).
backend = "auto"
# Kernels of the processor's core: "auto" (the fastest that it runs), "ifma" (AVX-512), "avx2" or "portable"
# (those that run everywhere). A set that the processor does not run is an error.
kernels = "auto"
# Proof kinds that are accepted. Default: all four.
kinds = ["winning_post", "window_post", "porep_c2", "snap_update"]
# Finished jobs whose results are kept for later waits and repeated requests.
keep_results = 1024
# Accept parameters made by `forebay params dev`. Never on a real network: such proofs can be forged.
allow_development_parameters = false

[memory]
# Bytes this library may hold. Default: what the machine or its control group leaves, less a margin.
limit = "8GiB"
# Part of the limit that is kept back for the program, its stacks and its heap.
margin = "32MiB"
# Percent of the last ten seconds in which something on the machine waited for memory (PSI); above it, sealing
# is slowed to one partition at a time. 0: never.
pressure = 20

[residency]
# Circuits that are loaded at open and never leave to make room, such as "winning-32g".
pinned = []
# Seconds that a circuit which nobody uses is kept, unless PoSt needs its memory.
min_idle = 10

[schedule]
# Seconds that others may pass a request which waits for memory; then nothing new starts before it.
patience = 60

[intake]
# Unfinished requests of one kind; the next is answered with `busy`.
max_requests = 256
# Bytes that unfinished decoded requests may hold together.
max_bytes = "1GiB"

[parameters]
# Folders with Filecoin's .params and .vk files. Default: $FIL_PROOFS_PARAMETER_CACHE, else
# /var/tmp/filecoin-proof-parameters.
directories = ["/var/tmp/filecoin-proof-parameters"]

[cache]
# Folder for native parameters and compiled matrices. Default: ${XDG_CACHE_HOME:-~/.cache}/forebay.
directory = "/var/cache/forebay"

[journal]
# File in which finished proofs are kept, so that a request that comes again after a crash or restart has its proof
# at once. Default: none; "" is none too.
file = "/var/lib/forebay/proofs.journal"
# Proofs that it keeps; beyond it the oldest leave.
max_proofs = 10000

[timeouts]
# Seconds from acceptance to answer, by kind; 0 or absent: no limit.
winning_post = 0
window_post = 0
porep_c2 = 0
snap_update = 0
"#;

impl Config {
    /// A configuration file with every key, its meaning and a value.
    pub fn example() -> &'static str {
        EXAMPLE
    }

    /// Parses a TOML text. Keys that are left out have their defaults; an unknown key or a value of the
    /// wrong type is an `InvalidConfig` error that names it.
    pub fn from_toml(text: &str) -> Result<Config> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let message = e.to_string();
            Error::new(
                Code::InvalidConfig,
                format!("the configuration is not valid TOML: {}", message.trim_end()),
            )
        })?;
        let mut config = Config::default();
        let mut root = Section::new("", table);
        config.read_root(&mut root)?;
        config.read_sections(&mut root)?;
        root.finish()?;
        config.validate()?;
        Ok(config)
    }

    fn read_root(&mut self, root: &mut Section) -> Result<()> {
        root.count("threads", &mut self.threads)?;
        root.count("synthesis_workers", &mut self.synthesis_workers)?;
        root.count("keep_results", &mut self.keep_results)?;
        root.boolean("allow_development_parameters", &mut self.allow_development_parameters)?;
        if let Some(name) = root.take_text("backend")? {
            self.backend = match name.as_str() {
                "cpu" => BackendChoice::Cpu,
                "gpu" => BackendChoice::Gpu,
                "auto" => BackendChoice::Auto,
                other => {
                    return Err(invalid("backend", "\"cpu\", \"gpu\" or \"auto\"", &format!("{other:?}")))
                }
            };
        }
        if let Some(name) = root.take_text("kernels")? {
            self.kernels = name.parse()?;
        }
        if let Some(names) = root.take_texts("kinds")? {
            self.kinds = names.iter().map(|name| parsed("kinds", name)).collect::<Result<_>>()?;
        }
        Ok(())
    }

    fn read_sections(&mut self, root: &mut Section) -> Result<()> {
        let mut memory = root.section("memory")?;
        if let Some(limit) = memory.take_bytes("limit")? {
            self.memory_limit = Some(limit);
        }
        if let Some(margin) = memory.take_bytes("margin")? {
            self.memory_margin = margin;
        }
        let mut percent = self.memory_pressure as usize;
        memory.count("pressure", &mut percent)?;
        self.memory_pressure = u32::try_from(percent).unwrap_or(u32::MAX);
        memory.finish()?;
        self.read_scheduling(root)?;
        let mut intake = root.section("intake")?;
        intake.count("max_requests", &mut self.intake_max_requests)?;
        if let Some(bytes) = intake.take_bytes("max_bytes")? {
            self.intake_max_bytes = bytes;
        }
        intake.finish()?;
        let mut parameters = root.section("parameters")?;
        if let Some(directories) = parameters.take_texts("directories")? {
            self.parameter_directories = directories.into_iter().map(PathBuf::from).collect();
        }
        parameters.finish()?;
        let mut cache = root.section("cache")?;
        if let Some(directory) = cache.take_text("directory")? {
            self.cache_directory = PathBuf::from(directory);
        }
        cache.finish()?;
        let mut journal = root.section("journal")?;
        if let Some(file) = journal.take_text("file")? {
            self.journal_file = Some(PathBuf::from(file));
        }
        journal.count("max_proofs", &mut self.journal_max_proofs)?;
        journal.finish()?;
        let mut timeouts = root.section("timeouts")?;
        for kind in ProofKind::ALL {
            let mut seconds = 0;
            timeouts.count(kind.name(), &mut seconds)?;
            if seconds > 0 {
                self.timeouts.insert(kind, Duration::from_secs(seconds as u64));
            }
        }
        timeouts.finish()
    }

    fn read_scheduling(&mut self, root: &mut Section) -> Result<()> {
        let mut residency = root.section("residency")?;
        if let Some(names) = residency.take_texts("pinned")? {
            self.pinned = names.iter().map(|name| parsed("residency.pinned", name)).collect::<Result<_>>()?;
        }
        residency.seconds("min_idle", &mut self.min_idle)?;
        residency.finish()?;
        let mut schedule = root.section("schedule")?;
        schedule.seconds("patience", &mut self.patience)?;
        schedule.finish()
    }

    /// Refuses values that no engine can run with.
    pub fn validate(&self) -> Result<()> {
        let positive = [
            ("threads", self.threads),
            ("synthesis_workers", self.synthesis_workers),
            ("intake.max_requests", self.intake_max_requests),
            ("keep_results", self.keep_results),
            ("journal.max_proofs", self.journal_max_proofs),
        ];
        for (key, value) in positive {
            if value == 0 {
                return Err(invalid(key, "at least 1", "0"));
            }
        }
        for (key, value) in [("threads", self.threads), ("synthesis_workers", self.synthesis_workers)] {
            if value > 4096 {
                return Err(invalid(key, "at most 4096", &value.to_string()));
            }
        }
        if self.journal_max_proofs > MAX_JOURNAL {
            let expected = format!("at most {MAX_JOURNAL}");
            return Err(invalid("journal.max_proofs", &expected, &self.journal_max_proofs.to_string()));
        }
        if let Some(limit) = self.memory_limit.filter(|limit| *limit <= self.memory_margin) {
            let expected = format!("a size above memory.margin ({}) such as \"8GiB\"", self.memory_margin);
            return Err(invalid("memory.limit", &expected, &limit.to_string()));
        }
        if self.memory_pressure > 100 {
            return Err(invalid("memory.pressure", "a percentage", &self.memory_pressure.to_string()));
        }
        if let Some(circuit) = self.pinned.iter().find(|circuit| !self.kinds.contains(&circuit.kind)) {
            let found = format!("{circuit}, whose kind {} is not among them", circuit.kind);
            return Err(invalid("residency.pinned", "circuits of the enabled kinds", &found));
        }
        if self.kinds.is_empty() {
            return Err(invalid("kinds", "at least one proof kind", "an empty list"));
        }
        Ok(())
    }
}

fn parsed<T: std::str::FromStr<Err = Error>>(key: &str, name: &str) -> Result<T> {
    name.parse().map_err(|e: Error| Error::new(Code::InvalidConfig, e.message()).at(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_documents_every_key_and_parses() {
        let config = Config::from_toml(Config::example()).unwrap();
        assert_eq!(config.memory_limit, Some(Bytes::gib(8)));
        assert_eq!(config.threads, 2);
        assert_eq!(config.kinds, ProofKind::ALL);
        assert_eq!(config.cache_directory, PathBuf::from("/var/cache/forebay"));
        assert!(config.timeouts.is_empty());
    }

    #[test]
    fn an_empty_text_is_the_default() {
        assert_eq!(Config::from_toml("").unwrap(), Config::default());
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        for (text, nearest) in [
            ("thread = 2", "\"threads\""),
            ("[memory]\nlimt = \"1GiB\"", "\"memory.limit\""),
            ("[intakes]\nmax_requests = 1", "\"intake\""),
            ("[timeouts]\nwindowpost = 1", "\"timeouts.window_post\""),
        ] {
            let error = Config::from_toml(text).unwrap_err();
            assert_eq!(error.code(), Code::InvalidConfig);
            assert!(error.message().contains(nearest), "{error}");
        }
    }

    #[test]
    fn wrong_values_say_what_was_expected() {
        for (text, expected) in [
            ("threads = \"two\"", "a whole number"),
            ("threads = -1", "a whole number"),
            ("threads = 0", "at least 1"),
            ("memory = 8", "a table"),
            ("[memory]\nlimit = true", "a size"),
            ("[memory]\nlimit = \"8 parsecs\"", "a size"),
            ("[memory]\nlimit = 0", "above memory.margin (32.0 MiB)"),
            ("kernels = \"fast\"", "\"auto\", \"portable\", \"avx2\", \"ifma\""),
            ("backend = \"tpu\"", "\"cpu\", \"gpu\" or \"auto\""),
            ("kinds = [\"porep\"]", "porep_c2"),
            ("kinds = []", "at least one"),
            ("[memory]\npressure = 101", "a percentage"),
            ("[residency]\npinned = [\"porep\"]", "porep-32g"),
            ("kinds = [\"porep_c2\"]\n[residency]\npinned = [\"winning-2k\"]", "of the enabled kinds"),
            ("[schedule]\npatience = \"long\"", "a whole number"),
            ("kinds = [1]", "a list of texts"),
            ("allow_development_parameters = 1", "true or false"),
            ("not toml", "TOML"),
        ] {
            let error = Config::from_toml(text).unwrap_err();
            assert_eq!(error.code(), Code::InvalidConfig);
            assert!(error.message().contains(expected), "{text}: {error}");
        }
    }
}
