//! The columns that an expression may name.

use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use arrow::datatypes::SchemaRef;
use datafusion_common::DFSchema;

use crate::problem::known_names;
use crate::problem::nearest;

use super::Mistake;
use super::words::quoted;

/// The rows that an expression may name: those of one table, or of several side by side.
#[derive(Debug, Clone)]
pub struct Scope {
    tables: Vec<(Option<String>, SchemaRef)>,
}

impl Scope {
    /// One table; columns are named without an alias.
    #[must_use]
    pub fn table(schema: SchemaRef) -> Self {
        Self { tables: vec![(None, schema)] }
    }

    /// Several tables, each with its alias. Their columns count side by side, in this order; a name that only one of them has
    /// needs no alias.
    #[must_use]
    pub fn aliased<'a>(tables: impl IntoIterator<Item = (&'a str, SchemaRef)>) -> Self {
        let named = |(alias, schema): (&str, SchemaRef)| (Some(alias.to_owned()), schema);
        Self { tables: tables.into_iter().map(named).collect() }
    }

    /// All columns in order, each with its table's alias.
    pub(super) fn columns(&self) -> impl Iterator<Item = (Option<&str>, &FieldRef)> {
        self.tables.iter().flat_map(|(alias, schema)| {
            schema.fields().iter().map(move |field| (alias.as_deref(), field))
        })
    }

    /// What the columns are called between check and plan: as a user would spell them, and each unlike every other.
    pub(super) fn labels(&self) -> Vec<String> {
        let mut taken = HashSet::new();
        let label = |(position, (alias, field)): (usize, (Option<&str>, &FieldRef))| {
            let spelt = spelt(alias, field);
            if taken.insert(spelt.clone()) { spelt } else { format!("{spelt}#{position}") }
        };
        self.columns().enumerate().map(label).collect()
    }

    /// The columns under their labels, unqualified.
    pub(super) fn schema(&self) -> Result<DFSchema, Mistake> {
        let fields = self
            .columns()
            .zip(self.labels())
            .map(|((_, field), label)| (None, Arc::new(field.as_ref().clone().with_name(label))));
        DFSchema::new_with_metadata(fields.collect(), HashMap::default())
            .map_err(|error| Mistake::from_engine(&error))
    }

    /// The position of the column that `parts` (`x`, or `T`, `x`) name.
    pub(super) fn resolve(&self, parts: &[String]) -> Result<usize, Mistake> {
        let joined = parts.join(".");
        let rest = parts.get(1..).unwrap_or_default().join(".");
        let alias = parts.first().map(String::as_str).unwrap_or_default();
        let named = |table: Option<&str>, field: &str| {
            field == joined || (parts.len() > 1 && table == Some(alias) && field == rest)
        };
        let found: Vec<_> = self
            .columns()
            .enumerate()
            .filter(|(_, (table, field))| named(*table, field.name()))
            .map(|(position, _)| position)
            .collect();
        match found[..] {
            [position] => Ok(position),
            [] => Err(self.unknown(parts, &joined)),
            [..] => {
                let all: Vec<_> =
                    self.columns().map(|(alias, field)| spelt(alias, field)).collect();
                let all: Vec<_> = found.iter().map(|at| format!("`{}`", all[*at])).collect();
                let what = format!("`{joined}` is in more than one table");
                Err(Mistake::new(what, format!("write {}", all.join(" or "))))
            }
        }
    }

    fn unknown(&self, parts: &[String], joined: &str) -> Mistake {
        let aliases = self.tables.iter().filter_map(|(alias, _)| alias.as_deref());
        if let [alias, rest @ ..] = parts
            && !rest.is_empty()
        {
            let own =
                self.tables.iter().find(|(known, _)| known.as_deref() == Some(alias.as_str()));
            if let Some((_, schema)) = own {
                let what = format!("`{}` has no column `{}`", quoted(alias), rest.join("."));
                let names = schema.fields().iter().map(|field| field.name().as_str());
                return Mistake::new(what, known_names(&rest.join("."), names));
            }
            if self.tables.iter().any(|(alias, _)| alias.is_some()) {
                let what = format!("`{alias}` in `{joined}` is no alias of a table");
                return Mistake::new(what, known_names(alias, aliases));
            }
        }
        let names: Vec<_> = self.columns().map(|(_, field)| field.name().as_str()).collect();
        let what = format!("there is no column `{joined}`");
        // A text in double quotes is a name in SQL; a value was likely meant where no name is near.
        let hint = match nearest(joined, names.iter().copied()) {
            Some(near) => format!("did you mean `{}`?", quoted(near)),
            None => known_names(joined, names.iter().copied()),
        };
        Mistake::new(what, format!("{hint} (text stands in single quotes)"))
    }
}

fn spelt(alias: Option<&str>, field: &FieldRef) -> String {
    match alias {
        Some(alias) => format!("{}.{}", quoted(alias), quoted(field.name())),
        None => quoted(field.name()),
    }
}
