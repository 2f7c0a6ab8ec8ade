//! Rows against a target that is there already: its columns, its types, its partitions, its other files.

use std::sync::Arc;

use arrow::datatypes::Field;
use arrow::datatypes::Schema;

use super::Ask;
use super::Check;
use super::Landing;
use crate::flow::DateFolders;
use crate::flow::SchemaChange;
use crate::flow::WriteFormat;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::storage::plain::plain_type;
use crate::storage::target::FolderFacts;
use crate::storage::target::Split;
use crate::storage::target::TableFacts;
use crate::storage::target::types;
use crate::table::Scope;
use crate::table::TableChange;

impl Check<'_> {
    /// The columns as a target has them that is there already, in its order.
    fn existing(&mut self, known: &Schema, lacking_is_null: bool) -> Vec<Field> {
        let (schema, format) = (self.schema, self.format);
        let adds = self.ask.schema_change == SchemaChange::Merge;
        let mut new = Vec::new();
        for field in schema.fields() {
            if known.column_with_name(field.name()).is_none() {
                let folded = |known: &&Arc<Field>| {
                    known.name().to_lowercase() == field.name().to_lowercase()
                };
                let near = known.fields().iter().find(folded);
                if adds && near.is_none() {
                    new.extend(self.fresh_field(field));
                    continue;
                }
                let hint = match (near, self.format) {
                    (Some(near), _) => format!("the target spells it `{}`", near.name()),
                    (None, WriteFormat::Delta(_)) => {
                        "name the columns to write in `columns`, or add it by `merge_schema: true`"
                            .to_owned()
                    }
                    (None, _) => "name the columns to write in `columns`, or write to a new target"
                        .to_owned(),
                };
                self.add(
                    Code::Schema,
                    "columns",
                    format!("the target has no column `{}`", field.name()),
                    hint,
                );
            }
        }
        let mut written = Vec::new();
        for field in known.fields() {
            let Some((_, ours)) = schema.column_with_name(field.name()) else {
                if !(lacking_is_null && field.is_nullable()) {
                    let what = format!(
                        "the target's column `{}` is not among those to write",
                        field.name()
                    );
                    self.add(
                        Code::Schema,
                        "columns",
                        what,
                        "add it to the rows, NULL where it has no value",
                    );
                }
                continue;
            };
            let to = plain_type(field.data_type());
            let own = types::written(format, ours.data_type());
            let fits = types::fits(&plain_type(ours.data_type()), &to)
                || own.as_ref().is_ok_and(|own| types::fits(own, &to));
            if fits {
                written.push(Field::new(field.name(), to, field.is_nullable()));
            } else {
                let what = format!(
                    "column `{}` is {}, and the target's is {to}, which does not hold every such value",
                    field.name(),
                    ours.data_type()
                );
                self.add(
                    Code::Schema,
                    "columns",
                    what,
                    own.err().unwrap_or_else(|| "cast it in a step before".to_owned()),
                );
            }
        }
        written.extend(new);
        written
    }

    pub(super) fn table(&mut self, table: &TableFacts) -> Landing {
        let Ask { partition_columns, change, schema_change, .. } = *self.ask;
        match change {
            // Whether it is there because this very run made it, the writer finds out.
            TableChange::Create { .. } => return self.new_target(),
            TableChange::Append {} | TableChange::Replace { .. } | TableChange::Merge(_) => {}
        }
        for refusal in &table.refusals {
            let what = format!("the table demands {refusal}, which wasmhost does not do");
            self.add(
                Code::NotOffered,
                "path",
                what,
                "write it with an engine that does, or to another table",
            );
        }
        if table.append_only && !matches!(change, TableChange::Append {}) {
            let what = "the table is append-only (`delta.appendOnly`)".to_owned();
            self.add(
                Code::Contradiction,
                "load_type",
                what,
                "use `append`, or clear the table's property",
            );
        }
        if table.change_feed && change.rewrites_rows() {
            let what = "the table keeps a feed of its changes (`delta.enableChangeDataFeed`), which wasmhost does not write";
            let hint = "clear the table's property, or use `append` or `overwrite`";
            self.add(Code::NotOffered, "load_type", what.to_owned(), hint);
        }
        self.split_alike(&table.partition_columns, partition_columns);
        match schema_change {
            SchemaChange::Overwrite => {
                let rows = self.fresh();
                self.landing(rows.clone(), rows, Some(&table.schema))
            }
            SchemaChange::Refuse | SchemaChange::Merge => {
                let rows = self.existing(&table.schema, true);
                let known = table.schema.fields().iter().map(|field| field.as_ref().clone());
                let is_new = |field: &&Field| table.schema.column_with_name(field.name()).is_none();
                let all = known.chain(rows.iter().filter(is_new).cloned()).collect();
                self.landing(rows, all, Some(&table.schema))
            }
        }
    }

    pub(super) fn folder(&mut self, folder: &FolderFacts) -> Landing {
        let Ask { partition_columns, date_folders, change, .. } = *self.ask;
        let list = |names: &[String]| {
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        // As with a table: whether this very run made it, the writer finds out.
        if folder.is_table && matches!(change, TableChange::Create { .. }) {
            return self.new_target();
        }
        let is_whole = matches!(change, TableChange::Replace { scope: Scope::All, .. });
        let rows = match is_whole && date_folders.is_none() {
            // Other files stay, and rows have to be like theirs.
            false => {
                if !folder.other_data.is_empty() {
                    let what = format!(
                        "the folder holds files of another format: {}",
                        list(&folder.other_data)
                    );
                    self.add(
                        Code::WrongValue,
                        "path",
                        what,
                        "name a folder of its own for each format",
                    );
                }
                if let Some(Split { columns, date_folders: known }) = &folder.split {
                    self.split_alike(columns, partition_columns);
                    self.dated_alike(known.as_deref(), date_folders);
                }
                match &folder.schema {
                    Some(known) => {
                        let nullable = known
                            .fields()
                            .iter()
                            .map(|field| field.as_ref().clone().with_nullable(true));
                        self.existing(&Schema::new(nullable.collect::<Vec<_>>()), false)
                    }
                    None => self.fresh(),
                }
            }
            true => {
                if !folder.foreign.is_empty() {
                    let what = format!(
                        "an overwrite would delete files that are not the destination's: {}",
                        list(&folder.foreign)
                    );
                    self.add(
                        Code::WrongValue,
                        "path",
                        what,
                        "move them away, or name a folder of its own",
                    );
                }
                self.fresh()
            }
        };
        self.landing(rows.clone(), rows, None)
    }

    fn dated_alike(&mut self, known: Option<&str>, asked: Option<&DateFolders>) {
        let asked = asked.map(DateFolders::as_str);
        if known == asked {
            return;
        }
        let said = |folders: Option<&str>| {
            folders.map_or_else(|| "none".to_owned(), |folders| format!("`{folders}`"))
        };
        let what = format!(
            "the target's date folders are {}, the destination's {}",
            said(known),
            said(asked)
        );
        let hint = match known {
            Some(known) => {
                format!("say `date_folder_partitions: \"{known}\"`, or write to another folder")
            }
            None => "leave `date_folder_partitions` out, or write to another folder".to_owned(),
        };
        self.add(Code::Contradiction, "date_folder_partitions", what, hint);
    }

    fn split_alike(&mut self, known: &[ColumnName], asked: &[ColumnName]) {
        if known == asked {
            return;
        }
        let list = |names: &[ColumnName]| match names.is_empty() {
            true => "nothing".to_owned(),
            false => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        };
        let what = format!(
            "the target is partitioned by {}, the destination by {}",
            list(known),
            list(asked)
        );
        let names = known.iter().map(ColumnName::as_str).collect::<Vec<_>>().join(", ");
        self.add(
            Code::Contradiction,
            "partition_columns",
            what,
            format!("say `partition_columns: [{names}]`"),
        );
    }
}
