//! Files of profiles as the AWS tools read them: sections of names and values, each with its place.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::build::Unusable;

/// A value, and where it stands: `file:line`. Further lines of it follow line breaks.
#[derive(Clone)]
pub(super) struct Said {
    pub(super) value: String,
    pub(super) at: String,
}

/// Values are secrets.
impl std::fmt::Debug for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.at)
    }
}

/// A part of a file: `[title]` and what is below.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) said: BTreeMap<String, Said>,
    /// The first mistake in it, which is one for whoever uses it.
    pub(super) wrong: Option<Unusable>,
}

/// A file of profiles, by the variable that names it.
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) variable: &'static str,
    /// Whether somebody has named it, or a profile, and waits for what it says.
    pub(super) is_due: bool,
}

/// What a file has; nothing where it is not there.
pub(super) fn sections(File { path, variable, is_due }: &File) -> Result<Vec<Section>, Unusable> {
    match fs::read_to_string(path) {
        Ok(text) => parsed(&path.display().to_string(), &text),
        Err(error) if is_absent(error.kind(), *is_due) => Ok(Vec::new()),
        Err(error) => Err(Unusable {
            what: format!("{} cannot be read: {error}", path.display()),
            hint: match error.kind() {
                ErrorKind::InvalidData => {
                    "it is a text of profiles, as `aws configure` writes it".to_owned()
                }
                _ => format!("let it be read, or name another file by `{variable}`"),
            },
        }),
    }
}

/// Whether a file is not there. Of one that nobody has named, that is all that a home can tell which is none, or somebody else's.
fn is_absent(kind: ErrorKind, is_due: bool) -> bool {
    match kind {
        ErrorKind::NotFound => true,
        ErrorKind::NotADirectory | ErrorKind::PermissionDenied => !is_due,
        _ => false,
    }
}

/// As the AWS tools read it: a line that is indented deeper than the key before goes on with its value, which is how settings of
/// services are nested. What belongs to no section is a mistake for everybody, a mistake in a section is one for those who use it.
pub(super) fn parsed(file: &str, text: &str) -> Result<Vec<Section>, Unusable> {
    let mut sections: Vec<Section> = Vec::new();
    let mut last: Option<(String, usize)> = None;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (at, line) in text.lines().enumerate() {
        let at = format!("{file}:{}", at + 1);
        // Never with the line itself: it may be a secret.
        let wrong = |what: &str| Unusable {
            what: format!("{at}: {what}"),
            hint: "a profile is `[name]`, and lines of `name = value` below it".to_owned(),
        };
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        if line.is_empty() || is_comment(line) {
            continue;
        }
        if let Some(title) = line.strip_prefix('[') {
            let (title, rest) = title.split_once(']').ok_or_else(|| wrong("`]` is missing"))?;
            if !(rest.is_empty() || is_comment(rest.trim_start())) {
                return Err(wrong("there is more behind `]`"));
            }
            sections.push(Section { title: title.trim().to_owned(), ..Section::default() });
            last = None;
            continue;
        }
        let section = sections.last_mut().ok_or_else(|| wrong("this belongs to no profile"))?;
        if let Some((name, of_key)) = &last
            && indent > *of_key
        {
            if let Some(Said { value, .. }) = section.said.get_mut(name) {
                value.push('\n');
                value.push_str(line);
            }
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            section.wrong.get_or_insert_with(|| wrong("`=` is missing"));
            last = None;
            continue;
        };
        let name = name.trim().to_ascii_lowercase();
        let comment = [" #", " ;", "\t#", "\t;"].iter().filter_map(|mark| value.find(mark)).min();
        let value = value[..comment.unwrap_or(value.len())].trim().to_owned();
        section.said.insert(name.clone(), Said { value, at });
        last = Some((name, indent));
    }
    // What is empty is not said.
    sections.iter_mut().for_each(|section| section.said.retain(|_, said| !said.value.is_empty()));
    Ok(sections)
}

fn is_comment(text: &str) -> bool {
    text.starts_with(['#', ';'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_that_cannot_be_reached_has_no_files_unless_one_is_named() {
        for kind in [ErrorKind::NotADirectory, ErrorKind::PermissionDenied] {
            assert!(is_absent(kind, false) && !is_absent(kind, true), "{kind}");
        }
        assert!(is_absent(ErrorKind::NotFound, true) && !is_absent(ErrorKind::IsADirectory, false));
    }
}
