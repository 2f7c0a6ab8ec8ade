//! The format of a source or destination: what it says itself, then what its connection says.

use super::fields::Kind;
use super::node::Shape;
use super::open::Fields;
use super::options::READ_OPTIONS;
use super::report::Located;
use super::report::Report;
use super::scalars;
use super::words::PATH_BASED;
use crate::problem::Code;

/// What one block says about its format; the parts do not contradict each other.
#[derive(Debug, Clone, Default)]
pub(super) struct Declared {
    /// `format`.
    format: Option<Located<&'static str>>,
    /// `connection_type`, which counts where no `format` is.
    kind: Option<Located<&'static str>>,
    /// `file_format`, or `options.format` of what is read.
    files: Option<Located<&'static str>>,
}

impl Declared {
    /// What the block says.
    ///
    /// # Errors
    /// Where a part of it is wrong; that is told, and another format would only confuse.
    pub(super) fn read(report: &Report, fields: &Fields<'_>) -> Result<Self, ()> {
        let part = |name| match fields.word(name) {
            Some(word) => Ok(Some(word.map(|word| word.name))),
            None if fields.is_attempted(name) => Err(()),
            None => Ok(None),
        };
        let (format, kind, files) = (part("format"), part("connection_type"), part("file_format"));
        let files = (files?, of_options(report, fields)?);
        if let (Some(files), Some(options)) = &files
            && files.value != options.value
        {
            let what = format!(
                "`file_format` is `{}` and `options.format` is `{}`",
                files.value, options.value
            );
            report.add_hint(Code::Contradiction, &options.spot, what, "keep one of them");
            return Err(());
        }
        let declared = Self { format: format?, kind: kind?, files: files.0.or(files.1) };
        declared.check_kind(report, declared.format.as_ref())?;
        declared.check_files(report, declared.format.as_ref())?;
        Ok(declared)
    }

    /// The format that this block alone means, its files' own where it is path-based; `None` where it does not tell.
    pub(super) fn alone(&self) -> Option<&'static str> {
        match (self.format.as_ref().or(self.kind.as_ref())?.value, &self.files) {
            ("file", files) => files.as_ref().map(|files| files.value),
            (format, _) => Some(format),
        }
    }

    fn check_kind(
        &self,
        report: &Report,
        format: Option<&Located<&'static str>>,
    ) -> Result<(), ()> {
        let (Some(format), Some(kind)) = (format, &self.kind) else { return Ok(()) };
        if format.value == kind.value || kind.value == "file" && PATH_BASED.contains(&format.value)
        {
            return Ok(());
        }
        let what =
            format!("`connection_type` is `{}` and `format` is `{}`", kind.value, format.value);
        report.add_hint(Code::Contradiction, &kind.spot, what, "leave `connection_type` out");
        Err(())
    }

    fn check_files(
        &self,
        report: &Report,
        format: Option<&Located<&'static str>>,
    ) -> Result<(), ()> {
        let (Some(format), Some(files)) = (format, &self.files) else { return Ok(()) };
        if format.value == "file" || format.value == files.value {
            return Ok(());
        }
        let said =
            if files.spot.path.ends_with(".format") { "options.format" } else { "file_format" };
        let what = format!("`{said}` is `{}` and `format` is `{}`", files.value, format.value);
        let hint = format!("leave `{said}` out, or write `format: file`");
        report.add_hint(Code::Contradiction, &files.spot, what, hint);
        Err(())
    }
}

/// `options.format` of a block that is read.
fn of_options(report: &Report, fields: &Fields<'_>) -> Result<Option<Located<&'static str>>, ()> {
    let Some(found) = fields.get("options") else { return Ok(None) };
    let Kind::Block(block) = found.field.kind else { return Ok(None) };
    if !std::ptr::eq(block, &READ_OPTIONS) || !matches!(found.node.shape, Shape::Map(_)) {
        return Ok(None);
    }
    // What is wrong with the options is told once, although they are read elsewhere as well.
    let options = Fields::open(report, block, found.node, &found.spot).ok_or(())?;
    match options.get("format") {
        None => Ok(None),
        Some(_) => Ok(Some(options.word("format").ok_or(())?.map(|word| word.name))),
    }
}

/// The one format that a block means with its connection, if this version has it on this side of the flow.
pub(super) fn format(
    report: &Report,
    fields: &Fields<'_>,
    connection: Option<&Result<Declared, ()>>,
) -> Option<Located<&'static str>> {
    let own = Declared::read(report, fields).ok()?;
    let shared = match connection {
        Some(Ok(shared)) => shared.clone(),
        Some(Err(())) => return None,
        None => Declared::default(),
    };
    let format = match &own.format {
        Some(format) => format.clone(),
        None => {
            let format = shared.format.clone();
            own.check_kind(report, format.as_ref())
                .and_then(|()| own.check_files(report, format.as_ref()))
                .ok()?;
            let Some(format) = format.or_else(|| own.kind.clone()).or_else(|| shared.kind.clone())
            else {
                fields.missing("format");
                return None;
            };
            format
        }
    };
    let format = match (format.value, own.files.or(shared.files)) {
        ("file", Some(files)) => files,
        ("file", None) => format.map(|_| "parquet"),
        _ => format,
    };
    // The connection's own table knows formats that this side of the flow cannot use.
    let Kind::Word(words) = fields.block.find("format")?.kind else { return None };
    scalars::word(report, &fields.key_of("connection"), "format", format.value, words)
        .map(|word| Located { value: word.name, spot: format.spot })
}
