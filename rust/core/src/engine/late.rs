//! Events that were decided elsewhere: repeated by their effects, or counted late.

use bumpalo::Bump;

use crate::decision::effects::{self, EffectsError};
use crate::decision::late::write_late;
use crate::engine::Engine;
use crate::json::write::list;

impl Engine {
    /// Repeats decisions by their effects, in order. Skips effects of unknown
    /// definitions.
    ///
    /// # Errors
    /// Some are malformed: effects before the malformed ones are applied, nothing of those is.
    pub fn apply_effects<'e>(
        &self,
        entries: impl IntoIterator<Item = &'e [u8]>,
    ) -> Result<(), EffectsError> {
        let mut arena = Bump::new();
        for (position, entry) in entries.into_iter().enumerate() {
            let effects = effects::read(self.definitions(), entry, &arena);
            let effects = effects.map_err(|fault| EffectsError::new(fault, position))?;
            let mut state = self.state();
            effects.iter().for_each(|effect| effect.apply(self.definitions(), &mut state));
            self.followers().tell(|| String::from_utf8_lossy(entry).into_owned());
            drop(state);
            drop(effects);
            arena.reset();
        }
        Ok(())
    }

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
