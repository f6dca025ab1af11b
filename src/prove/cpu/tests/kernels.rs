//! This processor's kernels against the portable ones, and those against blst, on any field elements.

use blstrs::Scalar;
use ff::Field;
use proptest::prelude::*;

use super::scalar;
use crate::memory::{Class, Region, Stage};
use crate::prove::cpu::bridge::{self, KernelTable};
use crate::prove::cpu::kernels::Kernels;
use crate::prove::cpu::limbs::{limbs, limbs_mut};

/// `right` of a pair that only moves its left operand.
const NO_OPERAND: u32 = u32::MAX;
/// The base field's modulus, less one.
const LARGEST: [u64; 6] = [
    0xb9fe_ffff_ffff_aaaa,
    0x1eab_fffe_b153_ffff,
    0x6730_d2a0_f6b0_f624,
    0x6477_4b84_f385_12bf,
    0x4b1b_a7b6_434b_acd7,
    0x1a01_11ea_397f_e69a,
];
type Kernel =
    fn(&KernelTable, &[u64], &[u32], &mut [u64], &mut [u8]) -> std::result::Result<(), cxx::Exception>;

/// A coordinate, in whatever form: the ends of the range, sparse limbs, random ones.
pub(super) fn coordinate() -> impl Strategy<Value = [u64; 6]> {
    let random = (any::<[u64; 5]>(), 0..LARGEST[5]).prop_map(|([a, b, c, d, e], top)| [a, b, c, d, e, top]);
    let sparse = (prop::collection::vec(prop_oneof![Just(0), Just(u64::MAX)], 5), 0..LARGEST[5])
        .prop_map(|(low, top)| [low[0], low[1], low[2], low[3], low[4], top]);
    prop_oneof![1 => Just([0; 6]), 1 => Just([1, 0, 0, 0, 0, 0]), 1 => Just(LARGEST), 3 => sparse, 6 => random]
}

/// Points of so many coordinates, few enough that equal operands meet, and pairs of them.
fn points_and_pairs(coordinates: usize) -> impl Strategy<Value = (Vec<u64>, Vec<u32>)> {
    let point = prop_oneof![
        1 => Just(vec![0; coordinates * 6]),
        8 => prop::collection::vec(coordinate(), coordinates).prop_map(|point| point.concat()),
    ];
    (prop::collection::vec(point, 1..30), 1_usize..120).prop_flat_map(|(points, pairs)| {
        let operand = 0..points.len() as u32 * 2;
        let second = prop_oneof![1 => Just(NO_OPERAND), 7 => operand.clone()];
        let pair = (operand, second).prop_map(|(left, right)| [left, right]);
        (Just(points.concat()), prop::collection::vec(pair, pairs).prop_map(|pairs| pairs.concat()))
    })
}

/// The portable set, and those of this processor that are held against it.
pub(super) fn sets() -> (&'static KernelTable, Vec<&'static KernelTable>) {
    let own = Kernels::available().unwrap().into_iter().filter(|set| *set != Kernels::Portable);
    (Kernels::Portable.table().unwrap(), own.map(|set| set.table().unwrap()).collect())
}

fn sums(kernel: Kernel, set: &KernelTable, points: &[u64], pairs: &[u32], point: usize) -> Vec<u64> {
    let mut out = vec![0; pairs.len() / 2 * point];
    let mut scratch = Region::zeroed(Class::WorkingSet, Stage::Proving, 1 << 16).unwrap();
    kernel(set, points, pairs, &mut out, scratch.as_mut_slice()).unwrap();
    out
}

fn butterflies(set: &KernelTable, inverse: bool, levels: u32, tile: &mut [Scalar], twiddles: &[Scalar]) {
    let mut scratch = Region::zeroed(Class::WorkingSet, Stage::Proving, 1 << 19).unwrap();
    let scratch = scratch.as_mut_slice();
    bridge::butterflies(set, inverse, levels, limbs_mut(tile), limbs(twiddles), scratch).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn g1_sums_agree((points, pairs) in points_and_pairs(2)) {
        let sums = |set| sums(bridge::add_pairs_g1, set, &points, &pairs, 12);
        let (portable, own) = sets();
        for set in own {
            prop_assert_eq!(sums(portable), sums(set));
        }
    }

    #[test]
    fn portable_g1_sums_are_blsts((points, pairs) in points_and_pairs(2)) {
        let blst: Kernel = |_, points, pairs, out, scratch| bridge::blst_pairs_g1(points, pairs, out, scratch);
        let (portable, _) = sets();
        prop_assert_eq!(
            sums(bridge::add_pairs_g1, portable, &points, &pairs, 12),
            sums(blst, portable, &points, &pairs, 12)
        );
    }

    #[test]
    fn portable_butterflies_are_blsts(
        tile in prop::collection::vec(scalar(), 2),
        twiddle in scalar(),
        inverse: bool,
    ) {
        let (low, high) = (tile[0], tile[1]);
        let expected = if inverse {
            vec![low + high, (low - high) * twiddle]
        } else {
            vec![low + twiddle * high, low - twiddle * high]
        };
        let mut got = tile.clone();
        let twiddles = [Scalar::ZERO, twiddle];
        butterflies(sets().0, inverse, 1, &mut got, &twiddles);
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn g2_sums_agree((points, pairs) in points_and_pairs(4)) {
        let sums = |set| sums(bridge::add_pairs_g2, set, &points, &pairs, 24);
        let (portable, own) = sets();
        for set in own {
            prop_assert_eq!(sums(portable), sums(set));
        }
    }

    #[test]
    fn butterflies_agree(
        (levels, tile, twiddles) in prop_oneof![(3_u32..10, Just(8_usize)), (6_u32..12, Just(1))]
            .prop_flat_map(|(levels, width)| (
                Just(levels),
                prop::collection::vec(scalar(), width << levels),
                prop::collection::vec(scalar(), 1 << levels),
            )),
        inverse: bool,
    ) {
        let run = |set| {
            let mut tile: Vec<Scalar> = tile.clone();
            butterflies(set, inverse, levels, &mut tile, &twiddles);
            tile
        };
        let (portable, own) = sets();
        for set in own {
            prop_assert_eq!(run(portable), run(set));
        }
    }
}

/// A host may have made its threads in another floating-point mode; ours have that mode too.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_threads_rounding_mode_does_not_matter() {
    const TOWARDS_ZERO_AND_FLUSHING: u32 = 0xffc0;
    let values: Vec<Scalar> = (1..=1 << 8).map(|i: u64| Scalar::from(i).square() - Scalar::from(7)).collect();
    let run = |set: &KernelTable| {
        let mut tile = values.clone();
        butterflies(set, false, 8, &mut tile, &values);
        tile
    };
    let expected = run(Kernels::Portable.table().unwrap());
    let (got, mode) = std::thread::scope(|scope| {
        let changed = || {
            set_mode(TOWARDS_ZERO_AND_FLUSHING);
            (run(Kernels::Fastest.table().unwrap()), mode())
        };
        scope.spawn(changed).join().unwrap()
    });
    assert_eq!(got, expected);
    assert_eq!(mode & TOWARDS_ZERO_AND_FLUSHING, TOWARDS_ZERO_AND_FLUSHING, "the host's mode is put back");
}

#[cfg(target_arch = "x86_64")]
fn set_mode(mode: u32) {
    // SAFETY: loads the control register of this thread from a value with no reserved bit set.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &mode, options(nostack, readonly)) }
}

#[cfg(target_arch = "x86_64")]
fn mode() -> u32 {
    let mut mode = 0;
    // SAFETY: stores the control register of this thread to a local.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut mode, options(nostack)) }
    mode
}

#[test]
fn a_set_is_found_by_its_name() {
    let available = Kernels::available().unwrap();
    assert_eq!(available.last(), Some(&Kernels::Portable));
    assert_eq!(Kernels::Fastest.name().unwrap(), available[0].as_str());
    for set in Kernels::ALL.into_iter().filter(|set| *set != Kernels::Fastest) {
        match set.name() {
            Ok(name) => assert_eq!((name, available.contains(&set)), (set.as_str(), true)),
            Err(error) => {
                assert!(!available.contains(&set));
                assert!(error.message().contains(&format!("kernels = \"{set}\"")), "{error}");
                assert!(error.message().contains("portable"), "{error}");
            }
        }
    }
}
