//! Whether the format and the load strategy of a block use what it sets.

use super::fields::Offer;
use super::open::Fields;
use crate::problem::Code;

impl Fields<'_> {
    /// Tells of each field that the load strategy does not use.
    pub(super) fn check_used_by_load(&self, load_type: &str) {
        for found in self.found.values().filter(|found| !found.field.is_used_by_load(load_type)) {
            let what = format!("`{load_type}` does not use `{}`", found.field.name);
            let users: Vec<_> = found.field.loads.iter().map(|load| format!("`{load}`")).collect();
            let hint = format!("leave it out; it belongs to {}", users.join(", "));
            self.report.add_hint(Code::Contradiction, &found.key, what, hint);
        }
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
