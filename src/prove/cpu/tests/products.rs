//! Repeated products: this processor's kernels against blst's, on any field elements.

use proptest::prelude::*;

use super::kernels::{coordinate, sets};
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
        let run = |set| {
            let mut values = values.to_vec();
            bridge::repeat_product(set, which, &mut values, factors, rounds).unwrap();
            values
        };
        let (portable, own) = sets();
        for set in own {
            prop_assert_eq!(run(portable), run(set));
        }
    }
}
