//! A machine's stage times and its circuits' sizes: what the simulator knows of the world.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::circuit::{footprint, Shape};
use crate::error::{Code, Error, Result};
use crate::kind::CircuitId;
use crate::prove::cpu::{Kernels, Projection};
use crate::schedule::{Costs, SlotCost};
use crate::srs::Counts;
use crate::units::Bytes;

/// The profiles that come with the library.
const BUILT_IN: [&str; 2] =
    [include_str!("profiles/rtx5070ti-96c.toml"), include_str!("profiles/zen3-2c.toml")];

/// What a device's slot holds of a partition on the host while its heavy step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Core {
    /// Evaluation vectors a, b, c and the private variables as scalars.
    Supraseal,
    /// Two evaluation vectors, computed from the compact witness.
    Compact,
}

/// One machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name on the command line.
    pub name: String,
    /// Where the figures come from.
    pub about: String,
    /// Threads that run at once.
    pub cores: usize,
    /// Partitions synthesised at once, where the machine runs with another number than a quarter of its threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
    /// Bytes a second that parameters are read with.
    pub disk: Bytes,
    /// Kernels of the processor's core, where they were chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<String>,
    /// Coefficient of variation of stage times.
    #[serde(default)]
    pub spread: f64,
    /// By how much each further synthesis at the same time slows all of them, as a share of its time alone.
    #[serde(default)]
    pub synthesis_slowdown: f64,
    /// The device that the heavy steps ran on; without one they ran on the processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// What was measured of the prior art's pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior: Option<Prior>,
    /// By circuit.
    pub circuits: BTreeMap<CircuitId, CircuitProfile>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// What its slots hold on the host.
    pub core: Core,
    /// Prover slots of one device: the processor's part of one overlaps the kernels of the other.
    pub slots: usize,
}

/// The prior art's pipeline: how a partition's memory grows while it is synthesised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prior {
    /// The last part of synthesis, in which a, b and c are evaluated, as a share of the whole.
    pub evaluation: f64,
    /// Copies of the private variables that exist beside them in that part.
    pub copies: f64,
    /// The part of the kernels after which a, b and c may be freed, as a share of the whole.
    pub vectors_used: f64,
}

/// Seconds of one partition's stages, each alone on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seconds {
    /// The witness, on one thread.
    pub synthesis: f64,
    /// The heavy step's part on the processor: all of it, or what comes before a device's kernels.
    pub start: f64,
    /// A device's kernels.
    #[serde(default)]
    pub kernels: f64,
    /// The rest of the proof.
    pub finish: f64,
    /// Verification.
    pub verify: f64,
}

/// Threads that the processor's stages keep busy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threads {
    /// The heavy step.
    pub start: f64,
    /// The rest of the proof and its verification.
    pub finish: f64,
}

/// Sizes of the prior art for one circuit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Materialised {
    /// Compiled matrices.
    pub matrices: Bytes,
    /// a, b and c of one partition.
    pub vectors: Bytes,
    /// The private variables of one partition as scalars.
    pub aux: Bytes,
}

/// One circuit on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CircuitProfile {
    /// Partitions of one request.
    pub partitions: usize,
    /// Public inputs, the constant ONE included.
    pub inputs: u64,
    /// Private variables.
    pub aux: u64,
    /// Constraints, without the rows of the inputs.
    pub constraints: u64,
    /// Private variables of a witness that are neither 0 nor 1.
    pub wide: u64,
    /// Private variables in A, private variables in B, public inputs in B: points of the queries. Not needed
    /// where `srs` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub densities: Option<[u64; 3]>,
    /// The proving key, where it is not computed from the sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srs: Option<Bytes>,
    /// Compact matrices, where they are not projected from the sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrices: Option<Bytes>,
    /// What one decoded request holds.
    pub intake: Bytes,
    /// How long the stages take.
    pub seconds: Seconds,
    /// How many threads they use.
    pub threads: Threads,
    /// The same circuit in the prior art.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub materialised: Option<Materialised>,
}

impl Profile {
    /// Names of the profiles that come with the library.
    pub fn names() -> Vec<String> {
        BUILT_IN.iter().filter_map(|text| Profile::parse(text).ok()).map(|profile| profile.name).collect()
    }

    /// A profile by its name, or of a file.
    pub fn find(name: &str) -> Result<Profile> {
        let built_in = BUILT_IN.iter().filter_map(|text| Profile::parse(text).ok());
        if let Some(profile) = built_in.into_iter().find(|profile| profile.name == name) {
            return Ok(profile);
        }
        let path = Path::new(name);
        if !path.is_file() {
            let known = Profile::names().join(", ");
            return Err(Error::new(
                Code::NotFound,
                format!("unknown profile {name:?}: no file of that name, and none of {known}; make one with `forebay plan --measure FILE`"),
            ));
        }
        let text = std::fs::read_to_string(path)
            .map_err(|e| Error::system(format!("reading {}", path.display()), e))?;
        Profile::parse(&text).map_err(|e| e.at(path.display()))
    }

    /// Reads and checks a profile.
    pub fn parse(text: &str) -> Result<Profile> {
        let profile: Profile = toml::from_str(text).map_err(|e| invalid(one_line(&e.to_string())))?;
        profile.check()?;
        Ok(profile)
    }

    /// The profile as TOML.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self).map_err(|e| Error::internal(format!("writing a profile: {e}")))
    }

    /// One circuit, or which there are.
    pub fn circuit(&self, id: CircuitId) -> Result<&CircuitProfile> {
        self.circuits.get(&id).ok_or_else(|| {
            let known: Vec<_> = self.circuits.keys().map(ToString::to_string).collect();
            Error::new(
                Code::InvalidArgument,
                format!("profile {} has no stage times of {id}; it has {}", self.name, known.join(", ")),
            )
        })
    }

    /// What the processor's core would need on so many threads: with the profile's kernels where this
    /// processor runs them, else with those that run everywhere.
    pub fn processor(&self, threads: usize) -> Result<Projection> {
        let chosen = self.kernels.as_deref().map_or(Ok(Kernels::Portable), str::parse)?;
        Projection::new(chosen, threads).or_else(|_| Projection::new(Kernels::Portable, threads))
    }

    fn check(&self) -> Result<()> {
        let share = |name: &str, value: f64| match (0.0..=1.0).contains(&value) {
            true => Ok(()),
            false => Err(invalid(format!("{name} = {value}: expected 0 to 1"))),
        };
        let positive = |name: &str, fine: bool| match fine {
            true => Ok(()),
            false => Err(invalid(format!("{name} is zero: expected at least one"))),
        };
        positive("cores", self.cores > 0)?;
        positive("workers", self.workers != Some(0))?;
        positive("disk", self.disk > Bytes::ZERO)?;
        positive("circuits", !self.circuits.is_empty())?;
        share("spread", self.spread)?;
        share("synthesis_slowdown", self.synthesis_slowdown)?;
        if let Some(device) = &self.device {
            positive("device.slots", device.slots > 0)?;
        }
        if let Some(prior) = &self.prior {
            share("prior.evaluation", prior.evaluation)?;
            share("prior.vectors_used", prior.vectors_used)?;
            share("prior.copies", prior.copies)?;
        }
        self.circuits
            .iter()
            .try_for_each(|(id, circuit)| circuit.check(self).map_err(|e| e.at(format!("circuits.{id}"))))
    }
}

impl CircuitProfile {
    fn check(&self, profile: &Profile) -> Result<()> {
        let Seconds { synthesis, start, kernels, finish, verify } = self.seconds;
        let times = [synthesis, start, kernels, finish, verify];
        const LONGEST: f64 = 1e6;
        if let Some(wrong) = times.into_iter().find(|t| !(0.0..=LONGEST).contains(t)) {
            return Err(invalid(format!("seconds = {wrong}: expected 0 to {LONGEST}")));
        }
        if synthesis <= 0.0 || start + kernels <= 0.0 {
            return Err(invalid("synthesis and the heavy step must take some time".into()));
        }
        if profile.device.is_none() && kernels > 0.0 {
            return Err(invalid("kernels take time, but the profile names no device".into()));
        }
        let threads = [self.threads.start, self.threads.finish];
        if let Some(wrong) = threads.into_iter().find(|t| !(*t > 0.0 && *t <= 65536.0)) {
            return Err(invalid(format!("threads = {wrong}: expected more than 0")));
        }
        if self.partitions == 0 || self.partitions > 1024 {
            return Err(invalid(format!("partitions = {}: expected 1 to 1,024", self.partitions)));
        }
        self.check_sizes()?;
        if self.wide > self.aux || self.inputs == 0 {
            return Err(invalid(
                "expected an input at least, and no more wide values than private variables".into(),
            ));
        }
        if self.densities.is_none() && self.srs.is_none() {
            return Err(invalid("expected srs, or densities to compute it from".into()));
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<()> {
        const MOST: u64 = 1 << 36;
        const LARGEST: Bytes = Bytes(1 << 48);
        let counts = [("inputs", self.inputs), ("aux", self.aux), ("constraints", self.constraints)];
        let densities = self.densities.into_iter().flatten().map(|density| ("densities", density));
        if let Some((name, count)) = counts.into_iter().chain(densities).find(|(_, count)| *count > MOST) {
            return Err(invalid(format!("{name} = {count}: expected {MOST} at most")));
        }
        let Materialised { matrices, vectors, aux } = self.materialised.unwrap_or(Materialised {
            matrices: Bytes::ZERO,
            vectors: Bytes::ZERO,
            aux: Bytes::ZERO,
        });
        let sizes = [
            ("intake", self.intake),
            ("srs", self.srs.unwrap_or_default()),
            ("matrices", self.matrices.unwrap_or_default()),
            ("materialised.matrices", matrices),
            ("materialised.vectors", vectors),
            ("materialised.aux", aux),
        ];
        match sizes.into_iter().find(|(_, size)| *size > LARGEST) {
            Some((name, size)) => Err(invalid(format!("{name} = {size}: expected {LARGEST} at most"))),
            None => Ok(()),
        }
    }

    /// The circuit's sizes, as far as footprints need them.
    pub fn shape(&self) -> Shape {
        let [a_aux_density, b_aux_density, b_input_density] = self.densities.unwrap_or_default();
        Shape {
            inputs: self.inputs,
            aux: self.aux,
            constraints: self.constraints,
            a_aux_density,
            b_aux_density,
            b_input_density,
            ..Shape::default()
        }
    }

    /// The proving key.
    pub fn srs(&self) -> Bytes {
        let computed = || Bytes(Counts::of_shape(&self.shape()).params_len().unwrap_or(u64::MAX));
        self.srs.unwrap_or_else(computed)
    }

    /// What one partition holds as vectors of scalars.
    pub fn materialised(&self) -> Materialised {
        const SCALAR: u64 = 32;
        let shape = self.shape();
        self.materialised.unwrap_or(Materialised {
            matrices: Bytes::ZERO,
            vectors: Bytes(shape.rows().saturating_mul(3 * SCALAR)),
            aux: Bytes(shape.aux.saturating_mul(SCALAR)),
        })
    }

    /// The projection that the scheduler works with, of the same functions as the engine's.
    pub fn costs(&self, id: CircuitId, slots: usize, slot: SlotCost) -> Costs {
        let shape = self.shape();
        Costs {
            circuit: id,
            witness: footprint::witness_bytes(&shape, self.wide),
            matrices: self.matrices.unwrap_or_else(|| footprint::matrices_bytes(&shape)),
            srs: self.srs(),
            slots: vec![slot; slots],
        }
    }

    /// One turn of a slot: of a device with this core, or of the processor.
    pub fn slot(&self, core: Option<Core>, processor: Projection) -> SlotCost {
        let shape = self.shape();
        let device = Bytes::ZERO;
        match core {
            None => SlotCost {
                start: processor.working_set(&shape),
                finish: processor.finishing_set(&shape, self.wide),
                device,
            },
            Some(Core::Compact) => SlotCost {
                start: Bytes(footprint::evaluation_bytes(&shape).0.saturating_mul(2)),
                finish: processor.finishing_set(&shape, self.wide),
                device,
            },
            Some(Core::Supraseal) => {
                let Materialised { vectors, aux, .. } = self.materialised();
                SlotCost { start: vectors.saturating_add(aux), finish: aux, device }
            }
        }
    }
}

/// Errors are one line each.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

fn invalid(text: String) -> Error {
    Error::new(Code::InvalidConfig, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published() -> Profile {
        Profile::find("rtx5070ti-96c").unwrap()
    }

    #[test]
    fn every_profile_that_comes_with_the_library_is_sound() {
        assert_eq!(Profile::names().len(), BUILT_IN.len());
        for name in Profile::names() {
            let profile = Profile::find(&name).unwrap();
            assert_eq!(Profile::parse(&profile.to_toml().unwrap()).unwrap(), profile);
        }
    }

    #[test]
    fn footprints_of_a_published_circuit_are_what_the_design_says() {
        let profile = published();
        let id: CircuitId = "porep-32g".parse().unwrap();
        let circuit = profile.circuit(id).unwrap();
        let computed = CircuitProfile { srs: None, ..circuit.clone() }.srs();
        // 44 GiB were published.
        assert!((43.5..44.5).contains(&(computed.0 as f64 / (1u64 << 30) as f64)), "{computed}");
        let processor = profile.processor(16).unwrap();
        let costs = circuit.costs(id, 1, circuit.slot(None, processor));
        assert!(costs.witness <= Bytes::mib(105) && costs.matrices <= Bytes(64_000_000), "{costs:?}");
        assert!(costs.turn(0) >= Bytes::gib(8) && costs.turn(0) <= Bytes::gib(9), "{costs:?}");
        let supraseal = circuit.slot(Some(Core::Supraseal), processor);
        assert_eq!(supraseal.turn().to_string(), "16.7 GiB");
        assert_eq!(circuit.slot(Some(Core::Compact), processor).start, Bytes::gib(8));
    }

    #[test]
    fn what_is_wrong_in_a_profile_is_named() {
        let text = include_str!("profiles/rtx5070ti-96c.toml");
        for (from, to, hint) in [
            ("cores = 96", "cores = 0", "cores is zero"),
            ("disk = \"2GiB\"", "disk = 0", "disk is zero"),
            ("workers = 12", "workers = 0", "workers is zero"),
            ("spread = 0.05", "spread = -1", "spread = -1"),
            ("spread = 0.05", "spread = nan", "spread = NaN"),
            ("spread = 0.05", "sprad = 0.05", "unknown field `sprad`"),
            ("slots = 2", "slots = 0", "device.slots is zero"),
            ("synthesis = 28.9", "synthesis = -28.9", "seconds = -28.9"),
            ("synthesis = 28.9", "synthesis = 0", "must take some time"),
            ("partitions = 10", "partitions = 0", "1 to 1,024"),
            ("inputs = 328", "inputs = 9223372036854775807", "inputs = 9223372036854775807"),
            ("vectors = \"12.5GiB\"", "vectors = 9223372036854775807", "materialised.vectors"),
            ("intake = \"64MiB\"", "intake = 9223372036854775807", "intake = "),
            ("inputs = 328", "inputs = 0", "an input at least"),
            ("srs = \"44GiB\"", "srs = \"44 parsec\"", "44 parsec"),
            ("[circuits.porep-32g]", "[circuits.porep-33g]", "porep-33g"),
            ("threads = { start = 16, finish = 8 }", "threads = { start = 0, finish = 8 }", "threads = 0"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = Profile::parse(&text.replacen(from, to, 1)).unwrap_err();
            assert_eq!(error.code(), Code::InvalidConfig, "{to}");
            assert!(error.to_string().contains(hint), "{to}: {error}");
        }
        assert!(Profile::parse("").is_err());
    }

    #[test]
    fn unknown_names_tell_the_known_ones() {
        let error = Profile::find("rtx9090").unwrap_err();
        assert_eq!(error.code(), Code::NotFound);
        assert!(error.to_string().contains("rtx5070ti-96c, zen3-2c"), "{error}");
        let missing = published().circuit("porep-2k".parse().unwrap()).unwrap_err();
        assert!(missing.to_string().contains("porep-32g, snap-32g"), "{missing}");
    }
}
