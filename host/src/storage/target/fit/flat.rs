//! What flat files take of a load, and what of it only they take.

use super::Check;
use crate::flow::SchemaChange;
use crate::problem::Code;
use crate::storage::partition;
use crate::storage::target::types;
use crate::table::Scope;
use crate::table::TableChange;

impl Check<'_> {
    /// Flat files are added, or replaced as a whole; a table's are where its log says.
    pub(super) fn offered(&mut self) {
        let flat = !self.is_table();
        let whole = match self.ask.change {
            TableChange::Append {} | TableChange::Create { .. } => true,
            TableChange::Replace { scope, .. } => !matches!(scope, Scope::Predicate(_)),
            TableChange::Merge(_) => false,
        };
        if flat && !(whole && self.ask.schema_change == SchemaChange::Refuse) {
            let what = format!(
                "`{}` takes `append`, `overwrite`, `overwrite_partitions` by partition columns, `error_if_exists` and `ignore`",
                self.format.name()
            );
            self.add(Code::NotOffered, "load_type", what, "use one of these, or a Delta table");
        }
        if !flat && self.ask.date_folders.is_some() {
            let what = "folders by date are for flat files".to_owned();
            let hint = "split a table by `partition_columns`";
            self.add(Code::NotOffered, "date_folder_partitions", what, hint);
        }
    }

    /// What readers take for a column in the name of a folder must not be one of the rows as well.
    pub(super) fn date_folders(&mut self) {
        let Some(folders) = self.ask.date_folders else { return };
        for column in folders.columns() {
            if self.schema.column_with_name(column).is_some() {
                let what = format!("the rows have a column `{column}`, and so do the date folders");
                let hint =
                    format!("call one of them otherwise, or leave `{column}` out of `columns`");
                self.add(Code::Contradiction, "date_folder_partitions", what, hint);
            }
        }
    }

    /// The value of the one partition that is replaced, as far as it can be one.
    pub(super) fn partition_value(&mut self) {
        let TableChange::Replace { scope: Scope::Partition { column, value }, .. } =
            self.ask.change
        else {
            return;
        };
        let Some((_, field)) = self.schema.column_with_name(column.as_str()) else { return };
        let Ok(data_type) = types::written(self.format, field.data_type()) else { return };
        let misfit = partition::read(value, &data_type).err().map(|misfit| misfit.what);
        if let Some(what) = misfit.or_else(|| partition::refused(Some(value)).map(str::to_owned)) {
            let what = format!("`partition_value` is no value of `{column}`: {what}");
            self.add(
                Code::WrongValue,
                "partition_value",
                what,
                "write it as a folder's name has it",
            );
        }
    }
}
