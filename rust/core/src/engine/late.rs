//! Events that were decided elsewhere and are counted here, at the time they were observed.

use bumpalo::Bump;

use crate::decision::effects::{self, EffectsError};
use crate::decision::late::write_late;
use crate::engine::Engine;
use crate::json::write::list;

impl Engine {
    /// Counts a decision that was made elsewhere, by its effects there. A window counts the event at
    /// its time, unless it holds nothing that old at `now`; a window that is reached with it
    /// mitigates from that time on. Gives the effects here.
    ///
    /// # Errors
    /// They are malformed, and nothing is counted.
    pub fn count_late(&self, effects: &[u8], now: i64) -> Result<String, EffectsError> {
        let definitions = self.definitions();
        let arena = Bump::new();
        let read = effects::read_late(definitions, effects, &arena);
        let read = read.map_err(|fault| EffectsError::new(fault, 0))?;
        let mut state = self.state();
        let mut counted = Vec::with_capacity(read.len());
        for effect in read {
            let Some(effect) = effect.judged(definitions, &state, now) else { continue };
            effect.apply(definitions, &mut state);
            counted.push(effect);
        }
        let mut out = String::new();
        list(&mut out, counted.iter(), |out, effect| write_late(out, definitions, effect));
        self.followers().tell(|| out.clone());
        Ok(out)
    }
}
