//! Circuits for tests: random ones that are always satisfied, from a seed.

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// A random satisfied circuit. Inputs are allocated between the constraints, every private variable occurs
/// in some constraint, combinations repeat variables and have zero coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomCircuit {
    /// Where everything random comes from. The same seed gives the same constraints, whatever `values` is.
    pub seed: u64,
    /// Public inputs beside ONE.
    pub inputs: usize,
    /// Private variables.
    pub aux: usize,
    /// How many of a hundred private variables are boolean; the others are mostly wide.
    pub boolean_percent: u32,
    /// Whether variables have values; without, allocating asks for one in vain.
    pub values: bool,
}

impl RandomCircuit {
    /// The same circuit without values.
    pub fn blank(self) -> Self {
        RandomCircuit { values: false, ..self }
    }

    /// The public inputs' values, ONE left out.
    pub fn public_inputs(&self) -> Vec<Scalar> {
        let mut recorder = Recorder::new();
        // A recorder refuses nothing.
        let _ = RandomCircuit { values: true, ..*self }.synthesize(&mut recorder);
        recorder.inputs.split_off(1)
    }
}

impl Circuit<Scalar> for RandomCircuit {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let mut builder = Builder {
            circuit: self,
            rng: StdRng::seed_from_u64(self.seed),
            inputs: vec![Scalar::ONE],
            aux: Vec::new(),
        };
        let (mut inputs, mut aux) = (self.inputs, self.aux);
        while inputs + aux > 0 {
            let cs = &mut cs.namespace(|| format!("step {}", inputs + aux));
            if builder.rng.gen_range(0..inputs + aux) < inputs {
                inputs -= 1;
                builder.input(cs)?;
            } else {
                aux -= 1;
                builder.private(cs)?;
            }
        }
        builder.odd_rows(cs);
        Ok(())
    }
}

struct Builder {
    circuit: RandomCircuit,
    rng: StdRng,
    inputs: Vec<Scalar>,
    aux: Vec<Scalar>,
}

/// A combination as a sum of terms, and its value.
type Terms = (Vec<(Scalar, Variable)>, Scalar);

impl Builder {
    /// An input equal to a random combination.
    fn input<CS: ConstraintSystem<Scalar>>(&mut self, cs: &mut CS) -> Result<(), SynthesisError> {
        let (terms, value) = self.combination();
        let input = cs.alloc_input(|| "input", || self.value(value))?;
        self.inputs.push(value);
        cs.enforce(|| "input is", |lc| sum(lc, &terms), |lc| lc + CS::one(), |lc| lc + input);
        Ok(())
    }

    fn private<CS: ConstraintSystem<Scalar>>(&mut self, cs: &mut CS) -> Result<(), SynthesisError> {
        if self.rng.gen_range(0..100) < self.circuit.boolean_percent {
            return self.boolean(cs);
        }
        let (a, b) = (self.combination(), self.combination());
        let value = a.1 * b.1;
        let product = cs.alloc(|| "product", || self.value(value))?;
        self.aux.push(value);
        cs.enforce(|| "product is", |lc| sum(lc, &a.0), |lc| sum(lc, &b.0), |lc| lc + product);
        Ok(())
    }

    fn boolean<CS: ConstraintSystem<Scalar>>(&mut self, cs: &mut CS) -> Result<(), SynthesisError> {
        let value = if self.rng.gen() { Scalar::ONE } else { Scalar::ZERO };
        let bit = cs.alloc(|| "bit", || self.value(value))?;
        self.aux.push(value);
        cs.enforce(|| "bit is boolean", |lc| lc + CS::one() - bit, |lc| lc + bit, |lc| lc);
        Ok(())
    }

    /// Rows that a careless compiler trips over: empty sides, and the last variables after all others.
    fn odd_rows<CS: ConstraintSystem<Scalar>>(&mut self, cs: &mut CS) {
        let (terms, value) = self.combination();
        cs.enforce(|| "nothing times", |lc| lc, |lc| sum(lc, &terms), |lc| lc);
        cs.enforce(|| "times nothing", |lc| sum(lc, &terms), |lc| lc, |lc| lc);
        let negated = |lc| sum(lc, &terms) - (value, CS::one());
        cs.enforce(|| "a zero", negated, |lc| sum(lc, &terms), |lc| lc);
        cs.enforce(|| "constants", |lc| lc + CS::one(), |lc| lc + CS::one(), |lc| lc + CS::one());
    }

    fn value(&self, value: Scalar) -> Result<Scalar, SynthesisError> {
        if self.circuit.values {
            Ok(value)
        } else {
            Err(SynthesisError::AssignmentMissing)
        }
    }

    fn combination(&mut self) -> Terms {
        let count = match self.rng.gen_range(0..20) {
            0..=13 => self.rng.gen_range(1..4),
            14..=18 => self.rng.gen_range(4..12),
            _ => self.rng.gen_range(12..80),
        };
        let mut terms: Vec<(Scalar, Variable)> = Vec::with_capacity(count);
        let mut value = Scalar::ZERO;
        for i in 0..count {
            let variable = match terms.last() {
                Some((_, last)) if self.rng.gen_range(0..8) == 0 => *last,
                _ => self.variable(),
            };
            let coefficient = match terms.last() {
                // Cancels the term before where the variable is the same.
                Some((last, _)) if i % 3 == 1 && self.rng.gen_range(0..4) == 0 => -last,
                _ => self.coefficient(),
            };
            terms.push((coefficient, variable));
            value += coefficient * self.value_of(variable);
        }
        if self.rng.gen_range(0..4) == 0 {
            self.pack(&mut terms, &mut value);
        }
        (terms, value)
    }

    /// Adds neighbouring variables with doubling coefficients, as gadgets pack bits.
    fn pack(&mut self, terms: &mut Vec<(Scalar, Variable)>, value: &mut Scalar) {
        let len = self.rng.gen_range(1..70).min(self.aux.len());
        let reach = if self.rng.gen() { self.aux.len() } else { self.aux.len().min(len + 100) };
        let first = self.aux.len() - self.rng.gen_range(len..=reach);
        let mut coefficient = self.coefficient();
        for (i, packed) in self.aux.iter().enumerate().skip(first).take(len) {
            terms.push((coefficient, Variable(Index::Aux(i))));
            *value += coefficient * packed;
            coefficient = coefficient.double();
        }
    }

    /// Mostly one of the newest variables, as in real circuits.
    fn variable(&mut self) -> Variable {
        let newest = self.aux.len();
        if newest == 0 || self.rng.gen_range(0..6) == 0 {
            return Variable(Index::Input(self.rng.gen_range(0..self.inputs.len())));
        }
        let reach = if self.rng.gen_range(0..5) == 0 { newest } else { newest.min(40) };
        Variable(Index::Aux(newest - 1 - self.rng.gen_range(0..reach)))
    }

    fn coefficient(&mut self) -> Scalar {
        match self.rng.gen_range(0..10) {
            0 => Scalar::ZERO,
            1..=4 => Scalar::ONE,
            5 | 6 => -Scalar::ONE,
            7 => Scalar::from(1 << self.rng.gen_range(0..40)),
            8 => -Scalar::from(self.rng.gen_range(2..9)),
            _ => Scalar::random(&mut self.rng),
        }
    }

    fn value_of(&self, variable: Variable) -> Scalar {
        match variable.0 {
            Index::Input(i) => self.inputs[i],
            Index::Aux(i) => self.aux[i],
        }
    }
}

fn sum(lc: LinearCombination<Scalar>, terms: &[(Scalar, Variable)]) -> LinearCombination<Scalar> {
    terms.iter().fold(lc, |lc, term| lc + *term)
}

/// Keeps everything of a circuit in the plainest way: what the compact forms are compared with.
pub struct Recorder {
    /// Inputs, ONE first.
    pub inputs: Vec<Scalar>,
    /// Private variables.
    pub aux: Vec<Scalar>,
    /// A, B and C of each constraint.
    pub rows: Vec<[LinearCombination<Scalar>; 3]>,
}

impl Recorder {
    /// A recorder that knows ONE.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Recorder { inputs: vec![Scalar::ONE], aux: Vec::new(), rows: Vec::new() }
    }

    /// Records a circuit with values.
    pub fn of<C: Circuit<Scalar>>(circuit: C) -> Result<Recorder, SynthesisError> {
        let mut recorder = Recorder::new();
        circuit.synthesize(&mut recorder)?;
        Ok(recorder)
    }

    /// A·w (side 0), B·w (1) or C·w (2): the constraints, then a row for each input, zeros to `len`.
    pub fn evaluate(&self, side: usize, len: usize) -> Vec<Scalar> {
        let mut out: Vec<_> = self.rows.iter().map(|row| row[side].eval(&self.inputs, &self.aux)).collect();
        match side {
            0 => out.extend_from_slice(&self.inputs),
            _ => out.extend(self.inputs.iter().map(|_| Scalar::ZERO)),
        }
        out.resize(len, Scalar::ZERO);
        out
    }
}

impl ConstraintSystem<Scalar> for Recorder {
    type Root = Self;

    fn new() -> Self {
        Recorder::new()
    }

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.aux.push(value()?);
        Ok(Variable(Index::Aux(self.aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.inputs.push(value()?);
        Ok(Variable(Index::Input(self.inputs.len() - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        let zero = LinearCombination::zero;
        self.rows.push([a(zero()), b(zero()), c(zero())]);
    }

    fn push_namespace<NR, N>(&mut self, _: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
    }

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self {
        self
    }
}
