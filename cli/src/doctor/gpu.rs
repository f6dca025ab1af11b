//! GPUs, their driver, and the compilers that build the CUDA core.

use std::fs;
use std::path::Path;
use std::process::Command;

use forebay::engine::BackendChoice;

use super::finding::Finding;

/// What there is of NVIDIA's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpus {
    /// Names of the GPUs that the driver knows.
    pub names: Vec<String>,
    /// The driver's version; none: no driver is loaded.
    pub driver: Option<String>,
    /// Whether programs may open the device.
    pub device_file: bool,
    /// `nvcc`'s release, such as (12, 4).
    pub nvcc: Option<(u32, u32)>,
    /// The host compiler's major version.
    pub gcc: Option<u32>,
}

/// The newest gcc that a CUDA release compiles with (CUDA installation guide for Linux, host compiler support).
const NEWEST_GCC: [((u32, u32), u32); 7] =
    [((13, 0), 15), ((12, 8), 14), ((12, 4), 13), ((12, 1), 12), ((12, 0), 12), ((11, 4), 11), ((11, 1), 10)];

/// The newest gcc for this release; none where it is older than the table.
fn newest_gcc(release: (u32, u32)) -> Option<u32> {
    NEWEST_GCC.iter().find(|(from, _)| release >= *from).map(|(_, gcc)| *gcc)
}

impl Gpus {
    pub fn gather() -> Gpus {
        let proc = Path::new("/proc/driver/nvidia");
        let folders = fs::read_dir(proc.join("gpus")).into_iter().flatten().flatten();
        let mut names: Vec<_> = folders
            .filter_map(|folder| model(&fs::read_to_string(folder.path().join("information")).ok()?))
            .collect();
        names.sort();
        let driver = fs::read_to_string(proc.join("version")).ok();
        Gpus {
            names,
            driver: driver.and_then(|text| driver_version(&text)),
            device_file: Path::new("/dev/nvidiactl").exists(),
            nvcc: output("nvcc", &["--version"]).and_then(|text| nvcc_release(&text)),
            gcc: output("g++", &["-dumpversion"])
                .and_then(|text| text.split('.').next()?.trim().parse().ok()),
        }
    }
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let ran = Command::new(program).args(arguments).output().ok()?;
    ran.status.success().then(|| String::from_utf8_lossy(&ran.stdout).into_owned())
}

fn model(information: &str) -> Option<String> {
    let line = information.lines().find_map(|line| line.strip_prefix("Model:"))?;
    Some(line.trim().to_owned())
}

/// The first word of the driver's line that looks like a version.
fn driver_version(text: &str) -> Option<String> {
    let words = text.lines().next()?.split_whitespace();
    let version = |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    words.into_iter().find(version).map(str::to_owned)
}

fn nvcc_release(text: &str) -> Option<(u32, u32)> {
    let release = text.split("release ").nth(1)?.split(',').next()?;
    let (major, minor) = release.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// GPUs and driver, as the configured backend needs them.
pub fn devices(backend: BackendChoice, gpus: &Gpus) -> Finding {
    let check = "gpu";
    match (gpus.names.is_empty(), &gpus.driver, backend) {
        (true, _, BackendChoice::Gpu) => Finding::problem(
            check,
            "backend = \"gpu\", and no NVIDIA GPU is seen",
            "load the driver, or set backend = \"cpu\" or \"auto\"",
        ),
        (true, _, _) => Finding::ok(check, "none is seen: proofs are made on the processor"),
        (false, _, BackendChoice::Cpu) => {
            Finding::ok(check, format!("{}; not used: backend = \"cpu\"", gpus.names.join(", ")))
        }
        (false, None, _) => Finding::problem(
            check,
            format!("{}, but no driver is loaded", gpus.names.join(", ")),
            "load the NVIDIA driver",
        ),
        (false, Some(_), _) if !gpus.device_file => Finding::problem(
            check,
            format!("{}, but /dev/nvidiactl is missing", gpus.names.join(", ")),
            "give this process or container the devices",
        ),
        (false, Some(driver), _) => Finding::ok(check, format!("{}; driver {driver}", gpus.names.join(", "))),
    }
}

/// The pair of compilers for the CUDA core; only of interest where there is a GPU.
pub fn compilers(gpus: &Gpus) -> Option<Finding> {
    let check = "cuda compiler";
    if gpus.names.is_empty() && gpus.nvcc.is_none() {
        return None;
    }
    let Some(release) = gpus.nvcc else {
        let remedy = "only needed to build the CUDA core here: install the CUDA toolkit";
        return Some(Finding::warning(check, "nvcc is not in the path", remedy));
    };
    let (major, minor) = release;
    Some(match (newest_gcc(release), gpus.gcc) {
        (_, None) => Finding::warning(
            check,
            format!("nvcc {major}.{minor}, and no g++"),
            "install g++: nvcc needs a host compiler",
        ),
        (None, Some(_)) => Finding::warning(
            check,
            format!("nvcc {major}.{minor} is older than any that is known to work"),
            "install CUDA 12 or later",
        ),
        (Some(newest), Some(gcc)) if gcc > newest => Finding::warning(
            check,
            format!("nvcc {major}.{minor} with g++ {gcc}: it compiles with g++ {newest} at most"),
            format!("install g++-{newest} and set CXX=g++-{newest} (NVCC_CCBIN for nvcc)"),
        ),
        (Some(_), Some(gcc)) => Finding::ok(check, format!("nvcc {major}.{minor} with g++ {gcc}")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    fn one() -> Gpus {
        Gpus {
            names: vec!["NVIDIA H200".into()],
            driver: Some("550.54.15".into()),
            device_file: true,
            nvcc: Some((12, 4)),
            gcc: Some(13),
        }
    }

    #[test]
    fn what_the_driver_and_nvcc_say_is_read() {
        let information = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 151\n";
        assert_eq!(model(information).as_deref(), Some("NVIDIA H200"));
        let version =
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar 5\nGCC version: 12.2.0\n";
        assert_eq!(driver_version(version).as_deref(), Some("550.54.15"));
        let nvcc = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.4, V12.4.131\n";
        assert_eq!(nvcc_release(nvcc), Some((12, 4)));
        assert_eq!(nvcc_release("nonsense"), None);
    }

    #[test]
    fn a_gpu_must_be_there_where_it_is_asked_for() {
        let state = |backend, gpus: &Gpus| devices(backend, gpus).state;
        assert_eq!(state(BackendChoice::Gpu, &Gpus::default()), State::Problem);
        assert_eq!(state(BackendChoice::Auto, &Gpus::default()), State::Ok);
        assert_eq!(state(BackendChoice::Auto, &one()), State::Ok);
        assert_eq!(state(BackendChoice::Auto, &Gpus { driver: None, ..one() }), State::Problem);
        assert_eq!(state(BackendChoice::Gpu, &Gpus { device_file: false, ..one() }), State::Problem);
        assert_eq!(state(BackendChoice::Cpu, &Gpus { driver: None, ..one() }), State::Ok);
    }

    #[test]
    fn compilers_must_fit_each_other() {
        let state = |gpus: Gpus| compilers(&gpus).map(|finding| finding.state);
        assert_eq!(state(Gpus::default()), None);
        assert_eq!(state(one()), Some(State::Ok));
        assert_eq!(state(Gpus { gcc: Some(14), ..one() }), Some(State::Warning));
        assert_eq!(state(Gpus { gcc: None, ..one() }), Some(State::Warning));
        assert_eq!(state(Gpus { nvcc: None, ..one() }), Some(State::Warning));
        assert_eq!(state(Gpus { nvcc: Some((10, 2)), ..one() }), Some(State::Warning));
        assert_eq!((newest_gcc((12, 9)), newest_gcc((11, 8))), (Some(14), Some(11)));
    }
}
