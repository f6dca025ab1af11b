//! Circuits behind one type. Circuits are often large generic code: each is compiled once for the system
//! here, instead of once more for every use.

use bellpepper_core::{Circuit, ConstraintSystem, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;

type Synthesize = dyn FnOnce(&mut AnySystem) -> Result<(), SynthesisError> + Send;
type Combine<'a> = &'a mut dyn FnMut(LinearCombination<Scalar>) -> LinearCombination<Scalar>;
type Name<'a> = &'a mut dyn FnMut() -> String;
type Value<'a> = &'a mut dyn FnMut() -> Result<Scalar, SynthesisError>;

/// Any circuit. Its variables and constraints are those of the circuit it was made from, in the same order.
pub struct AnyCircuit(Box<Synthesize>);

impl AnyCircuit {
    /// The circuit behind this type.
    pub fn new<C: Circuit<Scalar> + Send + 'static>(circuit: C) -> AnyCircuit {
        AnyCircuit(Box::new(|system| circuit.synthesize(system)))
    }
}

impl Circuit<Scalar> for AnyCircuit {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        (self.0)(&mut AnySystem(cs.get_root()))
    }
}

/// What a constraint system does, without type parameters.
trait System: Send {
    fn any_alloc(&mut self, name: Name, value: Value) -> Result<Variable, SynthesisError>;
    fn any_alloc_input(&mut self, name: Name, value: Value) -> Result<Variable, SynthesisError>;
    fn any_enforce(&mut self, name: Name, a: Combine, b: Combine, c: Combine);
    fn any_push_namespace(&mut self, name: Name);
    fn any_pop_namespace(&mut self);
}

impl<CS: ConstraintSystem<Scalar>> System for CS {
    fn any_alloc(&mut self, name: Name, value: Value) -> Result<Variable, SynthesisError> {
        self.alloc(name, value)
    }

    fn any_alloc_input(&mut self, name: Name, value: Value) -> Result<Variable, SynthesisError> {
        self.alloc_input(name, value)
    }

    fn any_enforce(&mut self, name: Name, a: Combine, b: Combine, c: Combine) {
        self.enforce(name, a, b, c);
    }

    fn any_push_namespace(&mut self, name: Name) {
        self.push_namespace(name);
    }

    fn any_pop_namespace(&mut self) {
        self.pop_namespace();
    }
}

struct AnySystem<'a>(&'a mut dyn System);

/// A closure that the system calls at most once, as one that could be called again: then it is absent.
fn again<I, O>(once: impl FnOnce(I) -> O, absent: impl Fn(I) -> O) -> impl FnMut(I) -> O {
    let mut once = Some(once);
    move |input| match once.take() {
        Some(once) => once(input),
        None => absent(input),
    }
}

fn name<N: Into<String>>(name: impl FnOnce() -> N) -> impl FnMut() -> String {
    let mut name = again(|()| name().into(), |()| String::new());
    move || name(())
}

fn value(
    value: impl FnOnce() -> Result<Scalar, SynthesisError>,
) -> impl FnMut() -> Result<Scalar, SynthesisError> {
    let mut value = again(|()| value(), |()| Err(SynthesisError::AssignmentMissing));
    move || value(())
}

impl ConstraintSystem<Scalar> for AnySystem<'_> {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, annotation: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.0.any_alloc(&mut name(annotation), &mut value(f))
    }

    fn alloc_input<F, A, AR>(&mut self, annotation: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.0.any_alloc_input(&mut name(annotation), &mut value(f))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, annotation: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        self.0.any_enforce(
            &mut name(annotation),
            &mut again(a, |lc| lc),
            &mut again(b, |lc| lc),
            &mut again(c, |lc| lc),
        );
    }

    fn push_namespace<NR, N>(&mut self, name_fn: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
        self.0.any_push_namespace(&mut name(name_fn));
    }

    fn pop_namespace(&mut self) {
        self.0.any_pop_namespace();
    }

    fn get_root(&mut self) -> &mut Self::Root {
        self
    }
}
