//! Tells the scheduler what a step's working set came to.

use super::shared::Shared;
use super::work::{Claim, Item, Message};
use crate::memory::{ClaimId, Meter};
use crate::schedule::{Event, Step};
use crate::units::Bytes;

/// The meter of a step that runs. The scheduler hears at once of each new peak above the projection, and
/// of the peak when this is dropped, which must be before the step's claim is.
pub(super) struct Metered<'a> {
    shared: &'a Shared,
    measures: Option<(ClaimId, Step)>,
    meter: Meter,
}

impl<'a> Metered<'a> {
    pub fn new(shared: &'a Shared, item: &Item, step: Step) -> Metered<'a> {
        let own = match step {
            Step::Start => None,
            Step::Finish => item.finishing.as_ref(),
        };
        let Some(claim) = own.or(item.turn.as_ref()).map(Claim::id) else {
            return Metered { shared, measures: None, meter: Meter::unlimited() };
        };
        let messages = shared.messages.clone();
        let projection = shared.projection(item.entry.identity.circuit).ok();
        let cost = projection.and_then(|known| known.costs.slots.get(item.slot).copied());
        let promised = match (cost, own) {
            (None, _) => Bytes(u64::MAX),
            (Some(cost), None) => cost.turn(),
            (Some(cost), Some(_)) => cost.finish,
        };
        let meter = Meter::new(promised, move |bytes| {
            // The receiver is gone only once the scheduler is.
            let _ = messages.send(Message::Event(Event::Measured { claim, step, bytes }));
        });
        Metered { shared, measures: Some((claim, step)), meter }
    }

    pub fn meter(&self) -> &Meter {
        &self.meter
    }
}

impl Drop for Metered<'_> {
    fn drop(&mut self) {
        if let Some((claim, step)) = self.measures {
            let bytes = self.meter.peak();
            let _ = self.shared.send(Message::Event(Event::Measured { claim, step, bytes }));
        }
    }
}
