//! What a fused file does, apart from where its members lie: two programs can use one file if it must do the same for both.

use crate::bind::Binding;
use crate::layout::Layout;
use crate::tables::Tables;
use crate::{Closure, Plan};
use bstr::BString;
use std::collections::BTreeSet;

/// Where a reference of a member leads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Leads {
    /// To a member, by its path.
    Inside(BString),
    /// To the program or a library that stays shared; which one, the loader looks up for each program.
    Outside,
    Nowhere,
}

/// A definition that a fused file offers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Offer {
    pub name: BString,
    /// Empty if it has none.
    pub version: BString,
    /// Whether references without a version do not get it.
    pub hidden: bool,
    /// The member that has it, as an index of the closure, and its value there.
    pub of: (usize, u64),
}

/// What one fused file does for a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// The members, in the order of their constructors.
    initialisation: Vec<BString>,
    bindings: BTreeSet<(BString, BString, BString, Leads)>,
    /// Name, version, whether it is hidden, the member's path, the value in it.
    offers: BTreeSet<(BString, BString, bool, BString, u64)>,
    /// The libraries that stay shared and that it asks for.
    needs: BTreeSet<BString>,
    /// The names that lead to it.
    names: Vec<BString>,
    /// Where it searches.
    search: BTreeSet<BString>,
    /// The members that are opened by their path inside it.
    opened: BTreeSet<BString>,
    /// Those of its names that the loader is told only when something is opened.
    later: BTreeSet<BString>,
}

/// What a file asks of others and is called.
pub(crate) struct Asks<'r> {
    pub needs: &'r [BString],
    pub names: &'r [BString],
    pub search: &'r [BString],
    /// Members, as indices.
    pub opened: &'r [(usize, BString)],
    pub later: &'r [BString],
}

impl Meaning {
    pub(crate) fn new(
        closure: &Closure,
        plan: &Plan,
        layout: &Layout,
        bindings: &[Binding],
        tables: &Tables,
        asks: &Asks,
    ) -> Meaning {
        let path = |object: usize| closure.objects[object].path.clone();
        let order = closure.initialisation.iter().filter(|object| plan.members.contains(object));
        let leads = |to: Option<usize>| match to {
            Some(object) if layout.place_of(object).is_some() => Leads::Inside(path(object)),
            Some(_) => Leads::Outside,
            None => Leads::Nowhere,
        };
        let bound = bindings.iter().map(|one| (path(one.from), one.name.clone(), one.version.clone(), leads(one.to)));
        let offers = tables.offers.iter().map(|offer| {
            let Offer { name, version, hidden, of: (object, value) } = offer.clone();
            (name, version, hidden, path(object), value)
        });
        Meaning {
            initialisation: order.map(|&object| path(object)).collect(),
            bindings: bound.collect(),
            offers: offers.collect(),
            needs: asks.needs.iter().cloned().collect(),
            names: asks.names.to_vec(),
            search: asks.search.iter().cloned().collect(),
            opened: asks.opened.iter().map(|(member, _)| path(*member)).collect(),
            later: asks.later.iter().cloned().collect(),
        }
    }

    /// What a file that does `self` would do otherwise for a program that needs `other`; `None` if nothing.
    #[must_use]
    pub fn difference(&self, other: &Meaning) -> Option<String> {
        if self.names != other.names || self.members() != other.members() {
            return Some("it has other libraries".to_owned());
        }
        if self.initialisation != other.initialisation {
            return Some("its constructors run in another order".to_owned());
        }
        let bound = self.bindings.symmetric_difference(&other.bindings).next();
        if let Some((from, name, _, _)) = bound {
            return Some(format!("its {name} of {from} is another one"));
        }
        let offered = self.offers.symmetric_difference(&other.offers).next();
        if let Some((name, _, _, path, _)) = offered {
            return Some(format!("its {name} is found in {path}, or not"));
        }
        if let Some(path) = self.opened.symmetric_difference(&other.opened).next() {
            return Some(format!("{path} is opened by its path as another file"));
        }
        // To know a name earlier than it is asked for changes nothing.
        if let Some(name) = self.later.difference(&other.later).next() {
            return Some(format!("{name} must be known at start"));
        }
        let asks = self.needs != other.needs || self.search != other.search;
        asks.then(|| "its libraries are searched for in other folders".to_owned())
    }

    fn members(&self) -> BTreeSet<&BString> {
        self.initialisation.iter().collect()
    }
}
