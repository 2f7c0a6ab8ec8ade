//! Row groups: what the footer tells of their values.

use std::collections::BTreeMap;
use std::fmt;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::compute::concat;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::Type;
use parquet::file::statistics::Statistics;

use crate::storage::bounds::Told;

/// The places of columns among a file's own, by the names that a table has for them; those that the file lacks are not there.
pub type Names = BTreeMap<String, usize>;

/// A row group of a file.
#[derive(Clone, Copy)]
pub struct Group<'a> {
    footer: &'a ArrowReaderMetadata,
    /// Where the file's own names do not count.
    names: Option<&'a Names>,
    index: usize,
}

impl fmt::Debug for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("index", &self.index).finish_non_exhaustive()
    }
}

impl<'a> Group<'a> {
    pub(super) fn all(
        footer: &'a ArrowReaderMetadata,
        names: Option<&'a Names>,
    ) -> impl Iterator<Item = Self> {
        (0..footer.metadata().num_row_groups()).map(move |index| Self { footer, names, index })
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Its rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        u64::try_from(self.footer.metadata().row_group(self.index).num_rows()).unwrap_or_default()
    }

    /// What is told of a column; `None` where the file does not have it.
    #[must_use]
    pub fn told(&self, column: &str) -> Option<Told> {
        let own = self.footer.schema();
        let place = match self.names {
            Some(names) => *names.get(column)?,
            None => own.index_of(column).ok()?,
        };
        let column = own.field(place).name();
        // Statistics are found by name, which is another column's where two have the same.
        if own.index_of(column).ok() != Some(place) {
            return Some(Told::default());
        }
        Some(Told {
            bounds: bounds(self.footer, self.index, column),
            nulls: self.nulls(column),
            rows: Some(self.rows()),
        })
    }

    fn nulls(&self, column: &str) -> Option<u64> {
        let group = [self.footer.metadata().row_group(self.index)];
        let told = StatisticsConverter::try_new(
            column,
            self.footer.schema(),
            self.footer.parquet_schema(),
        );
        // A count that nobody wrote is not zero.
        let told = told.ok()?.with_missing_null_counts_as_zero(false);
        told.parquet_column_index()?;
        let counts = told.row_group_null_counts(group).ok()?;
        (counts.len() == 1 && counts.is_valid(0)).then(|| counts.value(0))
    }
}

/// The least and the greatest value of a column in a row group, NULL and NaN aside, in the file's type; `None` where it does not tell.
///
/// Statistics are a help that a file may do without; whatever is odd about them, its rows are read.
#[must_use]
pub fn bounds(footer: &ArrowReaderMetadata, group: usize, column: &str) -> Option<ArrayRef> {
    let group = [footer.metadata().row_group(group)];
    let told =
        StatisticsConverter::try_new(column, footer.schema(), footer.parquet_schema()).ok()?;
    let chunk = group[0].column(told.parquet_column_index()?);
    // Old writers ordered bytes as signed ones, in fields of their own; and the old timestamps by their bytes.
    if chunk.statistics().is_none_or(Statistics::is_min_max_deprecated)
        || chunk.column_type() == Type::INT96
    {
        return None;
    }
    let least = told.row_group_mins(group).ok()?;
    let greatest = told.row_group_maxes(group).ok()?;
    let both = concat(&[least.as_ref(), greatest.as_ref()]).ok()?;
    (both.len() == 2 && both.null_count() == 0).then_some(both)
}
