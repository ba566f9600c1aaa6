//! Names that identify state outside the process: slugs of entity definitions, and slugs of
//! policies with the names of their clauses. Snapshots and effects are read by these names.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::definitions::{Clause, Definitions, EntityDefinition, Policy};

type ByName<T> = HashMap<Box<str>, T, RandomState>;

/// The numbers of names.
#[derive(Debug, Default)]
pub struct Names {
    entities: ByName<u32>,
    /// The number of each clause, by policy and name.
    clauses: ByName<ByName<u32>>,
}

impl Names {
    pub fn new(entities: &[EntityDefinition], policies: &[Policy]) -> Self {
        let entities = (0..).zip(entities);
        let clauses = policies.iter().map(|policy| {
            let clauses = policy.clauses.iter().map(|clause| (clause.name.clone(), clause.number));
            (policy.slug.clone(), clauses.collect())
        });
        Self {
            entities: entities.map(|(position, entity)| (entity.slug.clone(), position)).collect(),
            clauses: clauses.collect(),
        }
    }
}

impl Definitions {
    /// Position and number of key fields of an entity definition.
    pub fn entity_of(&self, slug: &str) -> Option<(u32, usize)> {
        let position = *self.names.entities.get(slug)?;
        Some((position, self.entity(position)?.key_fields.len()))
    }

    /// A clause that is about the entities of a definition.
    pub fn clause_of(&self, definition: u32, policy: &str, clause: &str) -> Option<&Clause> {
        let number = *self.names.clauses.get(policy)?.get(clause)?;
        let (_, clause) = self.clause(number)?;
        (clause.entity == Some(definition)).then_some(clause)
    }
}
