//! The members of an event that are kept in clear, where a tenant keeps only what its definitions
//! read.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// The parts of a value that may be kept; all of it, or its members in part.
#[derive(Debug, Default)]
pub(super) struct Tree {
    is_whole: bool,
    members: HashMap<Box<str>, Tree, RandomState>,
}

impl Tree {
    /// The members at some paths, each with all that is inside it.
    pub(super) fn of(paths: &[Vec<String>]) -> Self {
        let mut root = Self::default();
        for path in paths {
            let mut tree = &mut root;
            for name in path {
                tree = tree.members.entry(name.as_str().into()).or_default();
            }
            tree.is_whole = true;
        }
        root
    }

    pub(super) fn kept(&self) -> Kept<'_> {
        if self.is_whole { Kept::Whole } else { Kept::Part(self) }
    }
}

/// The parts of one value that may be kept unless they are secrets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kept<'k> {
    Whole,
    Part(&'k Tree),
    Nothing,
}

impl<'k> Kept<'k> {
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Whole)
    }

    /// The parts of a member that may be kept; `None` if nothing may be kept.
    pub(super) fn member(self, name: &str) -> Option<Self> {
        match self {
            Self::Whole => Some(Self::Whole),
            Self::Part(tree) => tree.members.get(name).map(Tree::kept),
            Self::Nothing => None,
        }
    }

    /// Whether all of a member may be kept.
    pub(super) fn has(self, path: &[&str]) -> bool {
        let found = path.iter().try_fold(self, |kept, name| kept.member(name));
        found.is_some_and(Self::is_whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_all_that_is_inside_its_member_and_nothing_next_to_it() {
        let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let tree = Tree::of(&[path(&["a", "b", "c"]), path(&["a", "b"]), path(&["d", "e"])]);
        let kept = tree.kept();
        assert!(kept.has(&["a", "b"]) && kept.has(&["a", "b", "x"]) && kept.has(&["d", "e"]));
        assert!(!kept.has(&["a"]) && !kept.has(&["d", "x"]) && !kept.has(&[]));
        assert!(Tree::of(&[Vec::new()]).kept().has(&["a"]));
        assert!(Tree::of(&[]).kept().member("a").is_none());
    }
}
