//! Which of the core's kernels run.

use std::fmt;
use std::str::FromStr;

use super::bridge::{self, KernelTable};
use crate::error::{Code, Error, Result};

/// Kernels of the CPU core, by the instruction set that they are made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// The fastest that this processor runs.
    #[default]
    Fastest,
    /// Those that run on every processor.
    Portable,
    /// Four lanes on AVX2 and FMA.
    Avx2,
    /// Eight lanes on AVX-512 IFMA (with VBMI2: Ice Lake, Zen 4 and later).
    Ifma,
}

impl Kernels {
    /// Every choice there is.
    pub const ALL: [Kernels; 4] = [Kernels::Fastest, Kernels::Portable, Kernels::Avx2, Kernels::Ifma];

    /// As in the configuration: `auto`, `portable`, `avx2` or `ifma`.
    pub fn as_str(self) -> &'static str {
        match self {
            Kernels::Fastest => "auto",
            Kernels::Portable => "portable",
            Kernels::Avx2 => "avx2",
            Kernels::Ifma => "ifma",
        }
    }

    /// The name of the set that runs: never `auto`. Fails where this processor does not run it.
    pub fn name(self) -> Result<&'static str> {
        bridge::kernel_name(self.table()?).map_err(|e| failed(self, &e))
    }

    /// The sets that this processor runs, the fastest first.
    pub fn available() -> Result<Vec<Kernels>> {
        let names = bridge::kernel_names().map_err(|e| failed(Kernels::Fastest, &e))?;
        names.iter().map(|name| name.parse()).collect()
    }

    pub(super) fn table(self) -> Result<&'static KernelTable> {
        bridge::find_kernels(self.as_str()).map_err(|e| failed(self, &e))
    }
}

fn failed(kernels: Kernels, exception: &cxx::Exception) -> Error {
    Error::new(Code::InvalidConfig, format!("{exception}; use `kernels = \"auto\"` or one of these"))
        .at(format!("kernels = \"{kernels}\""))
}

impl fmt::Display for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kernels {
    type Err = Error;

    fn from_str(name: &str) -> Result<Kernels> {
        Kernels::ALL.into_iter().find(|kernels| kernels.as_str() == name).ok_or_else(|| {
            let known: Vec<String> = Kernels::ALL.iter().map(|kernels| format!("\"{kernels}\"")).collect();
            Error::new(Code::InvalidConfig, format!("expected {}, got {name:?}", known.join(", ")))
                .at("kernels")
        })
    }
}
