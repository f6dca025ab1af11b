//! The sizes of a constraint system.

/// Sizes of one circuit. Everything that the memory projections need; a pure fact of the circuit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    /// Public inputs, the constant ONE included.
    pub inputs: u64,
    /// Private variables.
    pub aux: u64,
    /// Constraints that the circuit enforces, without the one row per input that the prover adds
    /// (`input_i · 0 = 0`, which keeps the A polynomials of the inputs independent).
    pub constraints: u64,
    /// Non-zero coefficients of A over the circuit's constraints.
    pub nonzeros_a: u64,
    /// Non-zero coefficients of B over the circuit's constraints.
    pub nonzeros_b: u64,
    /// Private variables with a non-zero coefficient somewhere in A: points of the A query after its inputs.
    pub a_aux_density: u64,
    /// Public inputs with a non-zero coefficient somewhere in B.
    pub b_input_density: u64,
    /// Private variables with a non-zero coefficient somewhere in B.
    pub b_aux_density: u64,
}

impl Shape {
    /// Rows of the evaluation vectors: the constraints and one row per input.
    pub fn rows(&self) -> u64 {
        self.constraints + self.inputs
    }

    /// log2 of the transform's size: the smallest power of two that holds the rows.
    pub fn domain_log2(&self) -> u32 {
        self.rows().max(1).next_power_of_two().trailing_zeros()
    }

    /// Size of the evaluation domain.
    pub fn domain(&self) -> u64 {
        1 << self.domain_log2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domain_holds_constraints_and_inputs() {
        let porep = Shape { inputs: 40, constraints: 2_687_921, ..Shape::default() };
        assert_eq!(porep.domain(), 1 << 22);
        let full = Shape { inputs: 1, constraints: (1 << 15) - 1, ..Shape::default() };
        assert_eq!(full.domain(), 1 << 15);
        assert_eq!(Shape { inputs: 2, ..full }.domain(), 1 << 16);
        assert_eq!(Shape::default().domain(), 1);
    }
}
