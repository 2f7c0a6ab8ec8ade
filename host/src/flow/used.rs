//! Whether the format and the load strategy of a block use what it sets.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::connection::Connections;
use super::fields::Offer;
use super::open::Fields;
use super::open::Found;
use super::report::Report;
use crate::problem::Code;

/// Options of a connection that some of its destinations had no use for: the load strategy that had none, or nothing once another
/// one has.
#[derive(Debug, Clone, Default)]
pub(super) struct Left(Rc<RefCell<BTreeMap<&'static str, Option<String>>>>);

/// Tells of options of connections that destinations had before them, and none used.
pub(super) fn tell_left(report: &Report, connections: &Connections<'_>) {
    for connection in connections.values().flatten() {
        for (name, load_type) in &*connection.left.0.borrow() {
            let options = connection.write_options.as_ref();
            let found = options.and_then(|options| options.found.get(name));
            if let (Some(found), Some(load_type)) = (found, load_type) {
                tell_not_used(report, found, load_type);
            }
        }
    }
}

fn tell_not_used(report: &Report, found: &Found<'_>, load_type: &str) {
    let what = format!("`{load_type}` does not use `{}`", found.field.name);
    let users: Vec<_> = found.field.loads.iter().map(|load| format!("`{load}`")).collect();
    let hint = format!("leave it out; it belongs to {}", users.join(", "));
    report.add_hint(Code::Contradiction, &found.key, what, hint);
}

impl<'a> Fields<'a> {
    /// Tells of each field that the load strategy does not use.
    pub(super) fn check_used_by_load(&self, load_type: &str) {
        let unused = self.found.values().filter(|found| !found.field.is_used_by_load(load_type));
        unused.for_each(|found| tell_not_used(self.report, found, load_type));
    }

    /// Those of a connection's options that the load strategy uses: the others are for other destinations.
    pub(super) fn used_by_load(&self, load_type: Option<&str>, left: &Left) -> Self {
        let mut options = self.clone();
        let Some(load_type) = load_type else { return options };
        let mut left = left.0.borrow_mut();
        options.found.retain(|name, found| {
            let is_used = found.field.is_used_by_load(load_type);
            match left.get_mut(name) {
                Some(others) if is_used => *others = None,
                Some(_) => {}
                None => drop(left.insert(name, (!is_used).then(|| load_type.to_owned()))),
            }
            is_used
        });
        options
    }

    /// Tells of each option that `format` does not use, and takes it out.
    pub(super) fn keep_used_by(&mut self, format: &str) {
        let Self { report, block, found, .. } = self;
        let taken: Vec<_> = block
            .fields
            .iter()
            .filter(|field| field.offer == Offer::Now && field.is_used_by(format))
            .map(|field| format!("`{}`", field.name))
            .collect();
        found.retain(|name, found| {
            let used = found.field.is_used_by(format);
            if !used {
                let what = format!("`{name}` is no option of {} `{format}`", block.name);
                let hint = match taken.as_slice() {
                    [] => format!("{} `{format}` takes no options", block.name),
                    taken => format!("{} `{format}` takes {}", block.name, taken.join(", ")),
                };
                report.add_hint(Code::UnknownKey, &found.key, what, hint);
            }
            used
        });
    }
}
