//! Sample events, by which an index learns how often its conditions are true.

use bumpalo::Bump;

use crate::event;
use crate::event::encode::{Settings, encode};
use crate::event::layout::Layout;
use crate::event::record::Record;
use crate::event::user_agent::UserAgents;
use crate::value::address::NetworkSet;
use crate::value::limits::Limits;

/// Events that an index is trained on, at most.
const EVENTS: usize = 1024;
/// Samples kept for the indexes that follow.
const KEPT: usize = 256;

/// Events like future ones; they don't change any answer.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    events: Vec<Box<[u8]>>,
    user_agents: Option<&'static UserAgents>,
}

impl Sample {
    /// Some of the events, spread over all of them; values that are not events are skipped.
    pub(crate) fn of(events: &[&[u8]], user_agents: Option<&'static UserAgents>) -> Self {
        let step = events.len().div_ceil(EVENTS).max(1);
        let events = events.iter().step_by(step).map(|event| Box::from(*event)).collect();
        Self { events, user_agents }
    }

    /// Part of the sample, which is nearly as representative.
    pub(crate) fn thinned(&self) -> Self {
        let step = self.events.len().div_ceil(KEPT).max(1);
        let events = self.events.iter().step_by(step).cloned().collect();
        Self { events, user_agents: self.user_agents }
    }

    /// The records of the samples that are events.
    pub(crate) fn records<'a>(
        &'a self,
        layout: &Layout,
        trusted_proxies: &NetworkSet,
        limits: &Limits,
        arena: &'a Bump,
    ) -> Vec<Record<'a>> {
        let user_agents = self.user_agents;
        let settings = Settings { trusted_proxies, databases: None, user_agents, limits };
        let record = |bytes: &'a [u8]| {
            let event = event::read(bytes, layout, arena, limits).ok()?;
            encode(&event, layout, arena, settings).ok()
        };
        self.events.iter().filter_map(|bytes| record(bytes)).collect()
    }
}
