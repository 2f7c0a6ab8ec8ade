//! Which files a run replaces. Decided from names alone: nothing is opened or changed here.

use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;

use arrow::datatypes::DataType;

use crate::name::ColumnName;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::listing::SourceFile;
use crate::storage::partition;
use crate::storage::partition::Values;

/// A part of a target whose files a run replaces.
#[derive(Debug)]
pub(super) enum Part {
    /// What lies below a folder, from the target's on.
    Below(PathBuf),
    /// Some partitions.
    Partitions(Partitions),
}

/// The partitions of a target that have certain values.
#[derive(Debug)]
pub(super) struct Partitions {
    /// All partition columns, outermost first, and their types.
    pub(super) columns: Vec<ColumnName>,
    pub(super) types: Vec<DataType>,
    pub(super) which: Which,
}

#[derive(Debug)]
pub(super) enum Which {
    /// Those with these values, in our spelling.
    Of(HashSet<Values>),
    /// Those with this value, in our spelling, in the column of this place.
    With(usize, String),
}

impl Part {
    /// Those of a target's files that belong to the part.
    ///
    /// # Errors
    /// Where a file lies in folders that name no partition: nobody knows whether it belongs to it.
    pub(super) fn files(
        &self,
        target: &Path,
        files: &[SourceFile],
    ) -> Result<Vec<SourceFile>, StorageError> {
        let mut found = Vec::new();
        for file in files {
            let inside = file.path.strip_prefix(target).unwrap_or(&file.path);
            let has = match self {
                Self::Below(folder) => inside.starts_with(folder),
                Self::Partitions(partitions) => {
                    let folder = inside.parent().unwrap_or(Path::new(""));
                    let has = partitions.has(folder).map_err(|what| {
                        StorageError::data(&file.path, DataPlace::default(), what)
                            .hint("move the file away, or into the folder of its partition")
                    })?;
                    has.ok_or_else(|| {
                        let what = "its folders do not name the partition columns";
                        StorageError::data(&file.path, DataPlace::default(), what)
                            .hint("move the file away, or into the folder of its partition")
                    })?
                }
            };
            if has {
                found.push(file.clone());
            }
        }
        Ok(found)
    }

    /// Those of other people's files and links that lie in the part.
    pub(super) fn others<'a>(&self, target: &Path, others: &'a [PathBuf]) -> Vec<&'a PathBuf> {
        let has = |path: &&PathBuf| {
            let inside = path.strip_prefix(target).unwrap_or(path);
            match self {
                // A link may stand where one of the folders should be.
                Self::Below(folder) => inside.starts_with(folder) || folder.starts_with(inside),
                Self::Partitions(partitions) => [inside.parent(), Some(inside)]
                    .into_iter()
                    .flatten()
                    .any(|folder| matches!(partitions.has(folder), Ok(Some(true)))),
            }
        };
        others.iter().filter(has).collect()
    }
}

impl Partitions {
    /// Whether a folder is that of such a partition; `None` where its names are not those of the columns.
    fn has(&self, folder: &Path) -> Result<Option<bool>, String> {
        let named = partition::named(folder);
        if !named
            .iter()
            .map(|(name, _)| name.as_str())
            .eq(self.columns.iter().map(ColumnName::as_str))
        {
            return Ok(None);
        }
        let values: Values = named.into_iter().map(|(_, value)| value).collect();
        // Somebody else may spell the same value in another way.
        let values = partition::respelt(&values, &self.types)
            .map_err(|error| format!("its folder's name: {error}"))?;
        Ok(Some(match &self.which {
            Which::Of(those) => those.contains(&values),
            Which::With(place, value) => values.get(*place) == Some(&Some(value.clone())),
        }))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn partitions(which: Which) -> Part {
        let columns = ["a", "n"].map(|name| ColumnName::new(name).unwrap()).to_vec();
        Part::Partitions(Partitions {
            columns,
            types: vec![DataType::Utf8, DataType::Int64],
            which,
        })
    }

    fn found(part: &Part, files: &[&str]) -> Result<String, String> {
        let file = |name: &&str| SourceFile::on_disk(Path::new("t").join(name), 1, None);
        let files: Vec<_> = files.iter().map(file).collect();
        let found = part.files(Path::new("t"), &files).map_err(|error| error.to_string())?;
        let names = found.iter().map(|file| file.path.strip_prefix("t").unwrap().to_str().unwrap());
        Ok(names.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn files_belong_to_partitions_by_value_and_not_by_spelling() {
        let files = [
            "a=x/n=1/f",
            "a=x/n=001/g",
            "a=a%20b/n=2/f",
            "a=a b/n=2/g",
            "a=a%2520b/n=2/f",
            "a=x/n=__HIVE_DEFAULT_PARTITION__/f",
        ];
        let of = |values: &[(&str, Option<&str>)]| {
            let values =
                values.iter().map(|(a, n)| vec![Some((*a).to_owned()), n.map(str::to_owned)]);
            partitions(Which::Of(values.collect()))
        };
        for (values, right) in [
            (&[("x", Some("1"))][..], "a=x/n=1/f a=x/n=001/g"),
            (&[("a b", Some("2"))], "a=a%20b/n=2/f a=a b/n=2/g"),
            (&[("a%20b", Some("2"))], "a=a%2520b/n=2/f"),
            (&[("x", None)], "a=x/n=__HIVE_DEFAULT_PARTITION__/f"),
            (&[("y", Some("1"))], ""),
            (&[], ""),
        ] {
            assert_eq!(found(&of(values), &files).unwrap(), right, "{values:?}");
        }
        let with = partitions(Which::With(0, "x".to_owned()));
        assert_eq!(
            found(&with, &files).unwrap(),
            "a=x/n=1/f a=x/n=001/g a=x/n=__HIVE_DEFAULT_PARTITION__/f"
        );
    }

    #[test]
    fn files_that_are_in_no_partition_are_errors() {
        let part = partitions(Which::Of(HashSet::new()));
        for (file, right) in [
            ("f", "its folders do not name the partition columns"),
            ("a=x/f", "its folders do not name the partition columns"),
            ("n=1/a=x/f", "its folders do not name the partition columns"),
            ("a=x/n=1/b=2/f", "its folders do not name the partition columns"),
            ("a=x/n=one/f", "its folder's name: "),
        ] {
            let error = found(&part, &[file]).unwrap_err();
            assert!(error.contains(right), "{file}: {error}");
        }
    }

    #[test]
    fn what_lies_below_a_folder_and_links_in_its_place_belong_to_it() {
        let part = Part::Below(PathBuf::from("2026/11"));
        assert_eq!(
            found(&part, &["2026/11/f", "2026/11/30/f", "2026/110/f", "2026/1/f", "f"]).unwrap(),
            "2026/11/f 2026/11/30/f"
        );
        let others = ["t/2026", "t/2026/11/x", "t/2026/12/x", "t/x"].map(PathBuf::from);
        assert_eq!(part.others(Path::new("t"), &others), [&others[0], &others[1]]);
        let part = partitions(Which::With(0, "x".to_owned()));
        let others = ["t/a=x/n=1", "t/a=x/n=1/x", "t/a=y/n=1/x", "t/x"].map(PathBuf::from);
        assert_eq!(part.others(Path::new("t"), &others), [&others[0], &others[1]]);
    }
}
