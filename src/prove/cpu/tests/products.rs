//! Repeated products: this processor's kernels against blst's, on any field elements.

use proptest::prelude::*;

use super::kernels::coordinate;
use super::scalar;
use crate::prove::cpu::bridge;
use crate::prove::cpu::limbs::limbs;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn products_agree(
        which in 0_u32..5,
        coordinates in prop::collection::vec(coordinate(), 4 * 16),
        scalars in prop::collection::vec(scalar(), 2 * 24),
        rounds in 0_usize..40,
    ) {
        const MULTIPLY_FR: u32 = 2;
        let all = if which == MULTIPLY_FR { limbs(&scalars).to_vec() } else { coordinates.concat() };
        let (values, factors) = all.split_at(all.len() / 2);
        let run = |portable| {
            let mut values = values.to_vec();
            bridge::repeat_product(portable, which, &mut values, factors, rounds).unwrap();
            values
        };
        prop_assert_eq!(run(true), run(false));
    }
}
