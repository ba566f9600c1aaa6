//! Events decided on one after another, in less time than one by one: the memory of
//! their entities comes in together.

use crate::conditions::KnownOutcomes;
use crate::engine::{Engine, Scratch};
use crate::error::EventError;
use crate::wire;

/// Events whose entities are looked for at the same time: more misses than a core has at
/// once, and few enough that what is surveyed stays in its nearest cache.
const TOGETHER: usize = 16;

impl Engine {
    /// Decides on events in order and counts them, as [`Engine::answer`] does on each.
    /// Others may decide between two of them.
    pub fn answer_batch(
        &self,
        events: &[&[u8]],
        received_at: i64,
    ) -> Vec<Result<String, EventError>> {
        let mut scratch = self.take_scratch();
        scratch.together.resize_with(TOGETHER, KnownOutcomes::default);
        let mut answers = Vec::with_capacity(events.len());
        for events in events.chunks(TOGETHER) {
            self.answer_together(events, received_at, &mut scratch, &mut answers);
            scratch.arena.reset();
        }
        self.put_back(scratch);
        answers
    }

    fn answer_together(
        &self,
        events: &[&[u8]],
        received_at: i64,
        Scratch { arena, together, concerns, .. }: &mut Scratch,
        answers: &mut Vec<Result<String, EventError>>,
    ) {
        let surveyed = events
            .iter()
            .zip(together)
            .map(|(event, outcomes)| self.survey(arena, (outcomes, concerns), *event, received_at));
        let surveyed: Vec<_> = surveyed.collect();
        let entities = surveyed.iter().flatten().flat_map(|event| &event.survey.entities);
        self.prefetch(entities.map(|entity| &*entity.key));
        answers.extend(surveyed.into_iter().map(|surveyed| {
            let (decision, return_url) = self.apply(self.decide(surveyed?));
            Ok(wire::answer(&decision, return_url))
        }));
    }
}
