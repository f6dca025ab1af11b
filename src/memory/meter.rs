//! The bytes that one step of work really maps, against those it was promised.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::units::Bytes;

/// Counts the regions made for one step of work; clones share the count.
///
/// A region counts from its mapping to its drop, so what outlives the step (a witness) must be given to the
/// next one's meter, or to none.
#[derive(Clone)]
pub struct Meter(Option<Arc<Shared>>);

struct Shared {
    promised: u64,
    now: AtomicU64,
    peak: AtomicU64,
    exceeded: Box<dyn Fn(Bytes) + Send + Sync>,
}

impl Meter {
    /// A meter that calls `exceeded` with the new peak when the sum first exceeds what was promised, and whenever it
    /// exceeds the last peak after that: on the thread that maps, with nothing locked. Two threads that map at once may
    /// call in either order, so the receiver keeps the largest.
    pub fn new(promised: Bytes, exceeded: impl Fn(Bytes) + Send + Sync + 'static) -> Meter {
        Meter(Some(Arc::new(Shared {
            promised: promised.0,
            now: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            exceeded: Box::new(exceeded),
        })))
    }

    /// A meter that counts and never calls.
    pub fn unlimited() -> Meter {
        Meter::new(Bytes(u64::MAX), |_| ())
    }

    /// For regions that belong to no step: counts nothing.
    pub const fn none() -> Meter {
        Meter(None)
    }

    /// What was promised.
    pub fn promised(&self) -> Bytes {
        Bytes(self.0.as_ref().map_or(u64::MAX, |shared| shared.promised))
    }

    /// Bytes counted now.
    pub fn now(&self) -> Bytes {
        Bytes(self.0.as_ref().map_or(0, |shared| shared.now.load(Ordering::Relaxed)))
    }

    /// The most there ever were.
    pub fn peak(&self) -> Bytes {
        Bytes(self.0.as_ref().map_or(0, |shared| shared.peak.load(Ordering::Relaxed)))
    }

    pub(super) fn add(&self, bytes: u64) {
        let Some(shared) = &self.0 else { return };
        let now = shared.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let peak = shared.peak.fetch_max(now, Ordering::Relaxed);
        if now > shared.promised.max(peak) {
            (shared.exceeded)(Bytes(now));
        }
    }

    pub(super) fn sub(&self, bytes: u64) {
        if let Some(shared) = &self.0 {
            shared.now.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("now", &self.now()).field("peak", &self.peak()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use proptest::prelude::*;

    use super::*;
    use crate::memory::{usage, Class, Region, RegionVec, Stage};

    /// A meter and the peaks it reported.
    fn reporting(promised: u64) -> (Meter, Arc<Mutex<Vec<u64>>>) {
        let reports = Arc::<Mutex<Vec<u64>>>::default();
        let sink = reports.clone();
        (Meter::new(Bytes(promised), move |peak| sink.lock().unwrap().push(peak.0)), reports)
    }

    fn region(meter: &Meter, len: usize) -> Region {
        Region::zeroed_for(meter, Class::WorkingSet, Stage::Proving, len).unwrap()
    }

    #[test]
    fn each_new_peak_above_the_promise_is_reported_once() {
        let (meter, reports) = reporting(10_000);
        let mut first = region(&meter, 10_000);
        assert_eq!(*reports.lock().unwrap(), [0; 0]);
        let second = region(&meter, 1);
        drop(second);
        let second = region(&meter, 1);
        first.resize(12_000).unwrap();
        drop(first);
        assert_eq!(*reports.lock().unwrap(), [10_001, 12_001]);
        assert_eq!((meter.now(), meter.peak()), (Bytes(1), Bytes(12_001)));
        drop(second);
        assert_eq!(meter.now(), Bytes::ZERO);
    }

    #[test]
    fn a_buffer_that_outlives_its_step_is_handed_on() {
        let (one, two) = (Meter::unlimited(), Meter::unlimited());
        let mut values =
            RegionVec::<u64>::with_capacity_for(&one, Class::Witness, Stage::Synthesis, 0).unwrap();
        for i in 0..100_000 {
            values.push(i).unwrap();
        }
        values.shrink_to_fit().unwrap();
        assert_eq!(one.now(), Bytes(800_000));
        assert!(one.peak() > Bytes(800_000));
        values.set_meter(&two);
        assert_eq!((one.now(), two.now()), (Bytes::ZERO, Bytes(800_000)));
        values.set_meter(&Meter::none());
        assert_eq!(two.now(), Bytes::ZERO);
    }

    #[test]
    fn a_report_that_panics_leaves_the_counters_whole() {
        let meter = Meter::new(Bytes(10), |_| panic!("the receiver's fault"));
        let before = usage::mapped(Class::Matrices, Stage::Finishing);
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            Region::zeroed_for(&meter, Class::Matrices, Stage::Finishing, 11).unwrap();
        }));
        assert!(made.is_err());
        assert_eq!(meter.now(), Bytes::ZERO);
        assert_eq!(usage::mapped(Class::Matrices, Stage::Finishing), before);
    }

    /// One random step: what, which of the buffers, how long.
    type Step = (u8, usize, usize);

    /// The buffers held, each with whether the meter counts it.
    type Held = Vec<(Region, bool)>;

    fn apply((what, which, len): Step, meter: &Meter, held: &mut Held) {
        let which = which % held.len().max(1);
        match (what, held.get_mut(which)) {
            (0, _) => held.push((region(meter, len), true)),
            (1, Some(_)) => drop(held.swap_remove(which)),
            (2, Some((region, metered))) => {
                region.set_meter(if *metered { &NONE } else { meter });
                *metered = !*metered;
            }
            (3, Some((region, _))) => region.set_stage(Stage::ALL[len % Stage::ALL.len()]),
            (_, Some((region, _))) => region.resize(len).unwrap(),
            (_, None) => (),
        }
    }

    static NONE: Meter = Meter::none();

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let len = prop_oneof![Just(0_usize), 1_usize..20_000, (2_usize << 20)..(3 << 20)];
        proptest::collection::vec((0_u8..6, any::<usize>(), len), 1..60)
    }

    proptest! {
        #[test]
        fn the_count_is_the_sum_of_what_exists(steps in steps(), promised in 0_u64..5_000_000) {
            let (meter, reports) = reporting(promised);
            let (mut held, mut peak) = (Vec::new(), 0);
            for step in steps {
                apply(step, &meter, &mut held);
                let metered = held.iter().filter(|(_, metered)| *metered);
                let sum = metered.map(|(region, _)| region.len() as u64).sum::<u64>();
                peak = peak.max(sum);
                prop_assert_eq!((meter.now(), meter.peak()), (Bytes(sum), Bytes(peak)));
            }
            let reports = reports.lock().unwrap();
            prop_assert!(reports.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(reports.iter().all(|report| *report > promised));
            prop_assert_eq!(reports.last().copied().unwrap_or(0), if peak > promised { peak } else { 0 });
            held.clear();
            prop_assert_eq!(meter.now(), Bytes::ZERO);
        }
    }

    #[test]
    fn threads_that_map_at_once_lose_no_byte() {
        let (meter, reports) = reporting(50_000);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for len in 0..500 {
                        let mut region = region(&meter, len * 100);
                        region.resize(len * 37).unwrap();
                    }
                });
            }
        });
        assert_eq!(meter.now(), Bytes::ZERO);
        assert!(meter.peak() >= Bytes(49_900));
        let largest = reports.lock().unwrap().iter().copied().max();
        assert_eq!(largest, (meter.peak() > meter.promised()).then_some(meter.peak().0));
    }
}
