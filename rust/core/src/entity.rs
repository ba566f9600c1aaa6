//! The block of one entity key: what is remembered of one actor.

use foldhash::fast::RandomState;

use crate::state::Change;
use crate::stored_key::StoredKey;
use crate::window::Window;

/// The end of a clause's mitigation of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveMitigation {
    pub clause: u32,
    pub expires_at: i64,
}

/// What clauses keep. Most entities have one window and were never mitigated.
#[derive(Clone, Debug, Default)]
enum Clauses {
    #[default]
    None,
    One(Window),
    Many(Block),
}

/// Windows and mitigations, each in the order of clauses.
#[derive(Clone, Debug, Default)]
struct Block {
    windows: Vec<Window>,
    mitigations: Vec<ActiveMitigation>,
}

impl Block {
    fn count(&mut self, clause: u32, make: fn(u32) -> Window, add: impl FnOnce(&mut Window)) {
        let place = match self.windows.binary_search_by_key(&clause, Window::clause) {
            Ok(place) => place,
            Err(place) => {
                self.windows.insert(place, make(clause));
                place
            }
        };
        if let Some(window) = self.windows.get_mut(place) {
            add(window);
        }
    }

    fn mitigate(&mut self, clause: u32, expires_at: i64) {
        match self.mitigations.binary_search_by_key(&clause, |each| each.clause) {
            Ok(place) => {
                if let Some(active) = self.mitigations.get_mut(place) {
                    active.expires_at = active.expires_at.max(expires_at);
                }
            }
            Err(place) => self.mitigations.insert(place, ActiveMitigation { clause, expires_at }),
        }
    }
}

/// One entity key and its state.
#[derive(Clone, Debug)]
pub struct Entity {
    key: StoredKey,
    touch: u64,
    event_count: u64,
    first_seen: i64,
    last_seen: i64,
    clauses: Clauses,
}

impl Entity {
    /// A block that has seen no event. The key is the number of the entity's
    /// definition and the canonical JSON array of its parts.
    pub fn new(key: &str, time: i64) -> Self {
        Self {
            key: StoredKey::new(key),
            touch: 0,
            event_count: 0,
            first_seen: time,
            last_seen: time,
            clauses: Clauses::None,
        }
    }

    /// A block from a snapshot; windows and mitigations in the order of clauses.
    pub fn restored(
        key: &str,
        event_count: u64,
        (first_seen, last_seen): (i64, i64),
        windows: Vec<Window>,
        mitigations: Vec<ActiveMitigation>,
    ) -> Self {
        let clauses = Clauses::Many(Block { windows, mitigations });
        let key = StoredKey::new(key);
        let mut entity = Self { key, touch: 0, event_count, first_seen, last_seen, clauses };
        entity.simplify();
        entity
    }

    pub fn key(&self) -> &str {
        self.key.as_str()
    }

    /// The same, without a check that they are text.
    pub(crate) fn key_bytes(&self) -> &[u8] {
        self.key.as_bytes()
    }

    pub fn touch(&self) -> u64 {
        self.touch
    }

    pub fn set_touch(&mut self, touch: u64) {
        self.touch = touch;
    }

    pub fn event_count(&self) -> u64 {
        self.event_count
    }

    pub fn first_seen(&self) -> i64 {
        self.first_seen
    }

    pub fn last_seen(&self) -> i64 {
        self.last_seen
    }

    pub fn windows(&self) -> &[Window] {
        match &self.clauses {
            Clauses::None => &[],
            Clauses::One(window) => std::slice::from_ref(window),
            Clauses::Many(block) => &block.windows,
        }
    }

    pub fn mitigations(&self) -> &[ActiveMitigation] {
        match &self.clauses {
            Clauses::Many(block) => &block.mitigations,
            _ => &[],
        }
    }

    pub fn window(&self, clause: u32) -> Option<&Window> {
        let windows = self.windows();
        windows.get(windows.binary_search_by_key(&clause, Window::clause).ok()?)
    }

    /// Whether a clause mitigates the entity at `time`.
    pub fn is_mitigated_by(&self, clause: u32, time: i64) -> bool {
        self.mitigations().iter().any(|each| each.clause == clause && time < each.expires_at)
    }

    pub fn is_mitigated_at(&self, time: i64) -> bool {
        self.mitigations().iter().any(|each| time < each.expires_at)
    }

    /// Whether it had a mitigation at its last touch.
    pub fn is_mitigated(&self) -> bool {
        !self.mitigations().is_empty()
    }

    /// Applies one change of an event at `time`.
    pub fn change(&mut self, change: Change<'_>, time: i64, hasher: &RandomState) {
        match change {
            Change::Count { clause, rule } => {
                self.count(clause, Window::count, |window| window.add(rule, time));
            }
            Change::CountValue { clause, rule, value } => {
                let add = |window: &mut Window| window.add_value(rule, time, value, hasher);
                self.count(clause, Window::distinct, add);
            }
            Change::Mitigate { clause, expires_at } => {
                self.edit(|block| block.mitigate(clause, expires_at));
            }
        }
    }

    /// Counts the event itself, after its changes.
    pub fn see(&mut self, time: i64, touch: u64) {
        self.event_count = self.event_count.saturating_add(1);
        self.last_seen = self.last_seen.max(time);
        self.touch = touch;
        self.forget(&[], time);
    }

    /// Forgets the mitigations of some clauses, and those that have ended at `time`.
    pub fn forget(&mut self, clauses: &[u32], time: i64) {
        if let Clauses::Many(block) = &mut self.clauses {
            let is_kept =
                |each: &ActiveMitigation| time < each.expires_at && !clauses.contains(&each.clause);
            block.mitigations.retain(is_kept);
            self.simplify();
        }
    }

    /// Bytes on the heap, the key included.
    pub fn heap_bytes(&self) -> usize {
        let windows: usize = self.windows().iter().map(Window::heap_bytes).sum();
        let block = match &self.clauses {
            Clauses::Many(block) => {
                let mitigations = block.mitigations.capacity();
                let windows = block.windows.capacity().saturating_mul(size_of::<Window>());
                windows.saturating_add(mitigations.saturating_mul(size_of::<ActiveMitigation>()))
            }
            _ => 0,
        };
        self.key.heap_bytes().saturating_add(windows).saturating_add(block)
    }

    fn count(&mut self, clause: u32, make: fn(u32) -> Window, add: impl FnOnce(&mut Window)) {
        match &mut self.clauses {
            Clauses::None => {
                let mut window = make(clause);
                add(&mut window);
                self.clauses = Clauses::One(window);
            }
            Clauses::One(window) if window.clause() == clause => add(window),
            _ => self.edit(|block| block.count(clause, make, add)),
        }
    }

    /// Edits the general form, whatever the form was.
    fn edit(&mut self, edit: impl FnOnce(&mut Block)) {
        let mut block = match std::mem::take(&mut self.clauses) {
            Clauses::None => Block::default(),
            Clauses::One(window) => Block { windows: vec![window], mitigations: vec![] },
            Clauses::Many(block) => block,
        };
        edit(&mut block);
        self.clauses = Clauses::Many(block);
    }

    /// Goes back to the small forms where they suffice.
    fn simplify(&mut self) {
        if let Clauses::Many(block) = &mut self.clauses
            && block.mitigations.is_empty()
            && block.windows.len() <= 1
        {
            self.clauses = block.windows.pop().map_or(Clauses::None, Clauses::One);
        }
    }
}
