//! Helpers of this room's tests: real sectors, and a constraint system that checks everything.

use std::path::PathBuf;
use std::sync::OnceLock;

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;
use forebay_sector::{Kind, Recipe, Sector};
use prost::Message as _;

use crate::wire::SubmitProofRequest;

/// A folder that outlives the test run.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/sectors")
}

pub fn sector(recipe: Recipe) -> Sector {
    static SETTINGS: OnceLock<()> = OnceLock::new();
    SETTINGS.get_or_init(|| forebay_sector::use_folder(&folder()));
    Sector::load_or_make(&folder(), recipe).unwrap()
}

/// The sector of most tests.
pub fn default_sector() -> &'static Sector {
    static SECTOR: OnceLock<Sector> = OnceLock::new();
    SECTOR.get_or_init(|| sector(Recipe::new(1)))
}

pub fn request(sector: &Sector, kind: Kind) -> SubmitProofRequest {
    SubmitProofRequest::decode(sector.request(kind).encode_to_vec().as_slice()).unwrap()
}

pub fn default_request(kind: Kind) -> SubmitProofRequest {
    request(default_sector(), kind)
}

/// Evaluates every constraint; counts everything.
#[derive(Default)]
pub struct Checked {
    /// With the leading ONE.
    pub inputs: Vec<Scalar>,
    pub aux: Vec<Scalar>,
    pub constraints: usize,
    pub violated: Option<usize>,
}

impl Checked {
    pub fn run(circuit: impl Circuit<Scalar>) -> Checked {
        let mut checked = Checked { inputs: vec![Scalar::ONE], ..Checked::default() };
        circuit.synthesize(&mut checked).unwrap();
        checked
    }

    fn value(&self, lc: &LinearCombination<Scalar>) -> Scalar {
        lc.iter()
            .map(|(variable, coefficient)| match variable.get_unchecked() {
                Index::Input(i) => self.inputs[i] * coefficient,
                Index::Aux(i) => self.aux[i] * coefficient,
            })
            .sum()
    }
}

impl ConstraintSystem<Scalar> for Checked {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.aux.push(value()?);
        Ok(Variable::new_unchecked(Index::Aux(self.aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.inputs.push(value()?);
        Ok(Variable::new_unchecked(Index::Input(self.inputs.len() - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        let [a, b, c] =
            [a(LinearCombination::zero()), b(LinearCombination::zero()), c(LinearCombination::zero())]
                .map(|lc| self.value(&lc));
        if a * b != c {
            self.violated.get_or_insert(self.constraints);
        }
        self.constraints += 1;
    }

    fn push_namespace<NR, N>(&mut self, _: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
    }

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self::Root {
        self
    }
}
