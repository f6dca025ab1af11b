//! A circuit of any size whose variables are mixed as in a proof of replication.

use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;

/// Of so many private variables, one is wide and the others are bits.
const GROUP: usize = 50;
/// Bits that a wide variable's constraint packs.
const PACKED: usize = 32;
/// Newest bits that constraints refer to.
const REACH: usize = 64;

/// As many constraints as private variables, and one for the public input. Half of the bits are free, half are the
/// exclusive or of two others; each wide variable is the one before times itself, packed bits and 2.
#[derive(Clone, Copy)]
pub struct WitnessLike {
    constraints: usize,
}

impl WitnessLike {
    /// The circuit that fills a domain of 2^log: constraints, and a row for each of two inputs.
    pub fn filling(log: u32) -> WitnessLike {
        WitnessLike { constraints: (1 << log) - 2 }
    }

    /// Its constraints.
    pub fn constraints(self) -> usize {
        self.constraints
    }

    /// Its private variables.
    pub fn aux(self) -> usize {
        self.constraints - 1
    }

    /// Those that are wide.
    pub fn wide(self) -> usize {
        self.aux().div_ceil(GROUP)
    }
}

struct Builder {
    /// Values of the bits, by variable modulo REACH.
    bits: u64,
    variables: [Variable; REACH],
    count: usize,
    random: u64,
    wide: (Variable, Scalar),
}

impl Circuit<Scalar> for WitnessLike {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let one = CS::one();
        let mut builder = Builder {
            // Of ONE, which stands for bits before the first.
            bits: u64::MAX,
            variables: [one; REACH],
            count: 0,
            random: 0x9e37_79b9_7f4a_7c15,
            wide: (one, Scalar::ONE),
        };
        for at in 0..self.aux() {
            match at % GROUP {
                0 => builder.wide(cs)?,
                at if at % 2 == 0 => builder.free(cs)?,
                _ => builder.exclusive_or(cs)?,
            }
        }
        let (variable, value) = builder.wide;
        let input = cs.alloc_input(|| "last", || Ok(value))?;
        cs.enforce(|| "last is", |lc| lc + variable, |lc| lc + CS::one(), |lc| lc + input);
        Ok(())
    }
}

impl Builder {
    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// The bit that was added so many bits ago.
    fn newest(&self, back: usize) -> (Variable, bool) {
        let at = (self.count + REACH - 1 - back % REACH) % REACH;
        (self.variables[at], self.bits >> at & 1 == 1)
    }

    fn add<CS: ConstraintSystem<Scalar>>(
        &mut self,
        cs: &mut CS,
        bit: bool,
    ) -> Result<Variable, SynthesisError> {
        let variable = cs.alloc(|| "bit", || Ok(if bit { Scalar::ONE } else { Scalar::ZERO }))?;
        let at = self.count % REACH;
        self.variables[at] = variable;
        self.bits = self.bits & !(1 << at) | u64::from(bit) << at;
        self.count += 1;
        Ok(variable)
    }

    fn free<CS: ConstraintSystem<Scalar>>(&mut self, cs: &mut CS) -> Result<(), SynthesisError> {
        let value = self.random() >> 40 & 1 == 1;
        let bit = self.add(cs, value)?;
        cs.enforce(|| "boolean", |lc| lc + CS::one() - bit, |lc| lc + bit, |lc| lc);
        Ok(())
    }

    fn exclusive_or<CS: ConstraintSystem<Scalar>>(&mut self, cs: &mut CS) -> Result<(), SynthesisError> {
        let ((a, left), (b, right)) = (self.newest(0), self.newest(31));
        let c = self.add(cs, left ^ right)?;
        cs.enforce(|| "xor", |lc| lc + a + a, |lc| lc + b, |lc| lc + a + b - c);
        Ok(())
    }

    fn wide<CS: ConstraintSystem<Scalar>>(&mut self, cs: &mut CS) -> Result<(), SynthesisError> {
        let (before, value) = self.wide;
        let packed: Vec<(Variable, bool)> =
            (0..PACKED.min(self.count)).map(|back| self.newest(back)).collect();
        // So that it leaves 1, where it starts.
        let mut sum = value + Scalar::ONE.double();
        let mut coefficient = Scalar::ONE;
        for (_, bit) in &packed {
            if *bit {
                sum += coefficient;
            }
            coefficient = coefficient.double();
        }
        let product = value * sum;
        let wide = cs.alloc(|| "wide", || Ok(product))?;
        let with_bits = |mut lc| {
            let mut coefficient = Scalar::ONE;
            for (variable, _) in &packed {
                lc = lc + (coefficient, *variable);
                coefficient = coefficient.double();
            }
            lc + before + CS::one() + CS::one()
        };
        cs.enforce(|| "product", |lc| lc + before, with_bits, |lc| lc + wide);
        self.wide = (wide, product);
        Ok(())
    }
}
