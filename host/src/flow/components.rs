//! The components that chains run.

use std::collections::BTreeMap;

use super::ComponentSource;
use super::blocks::COMPONENT;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::places::Folder;
use super::report::Report;
use super::report::Spot;
use crate::name::ComponentName;
use crate::problem::Code;

/// Components by name; `None` where one cannot be read, so that its users are not blamed.
pub(super) type Components = BTreeMap<String, Option<ComponentSource>>;

/// The flow's components. Their files are not opened, but they have to be there.
pub(super) fn components(report: &Report, flow: &Fields<'_>, folder: &Folder) -> Components {
    let mut components = Components::new();
    let Some(found) = flow.get("components") else { return components };
    let Shape::Map(entries) = &found.node.shape else {
        let what =
            format!("`components` is a map from name to component; this is {}", found.node.kind());
        report.add(Code::WrongType, &found.spot, what);
        return components;
    };
    for entry in entries {
        let spot = found.spot.key(&entry.key, entry.at);
        let source = if entry.key.starts_with("std:") {
            let what = format!(
                "`{}` is a component of the standard library, which this version does not have",
                entry.key
            );
            report.add(Code::NotOffered, &spot, what);
            None
        } else if let Err(what) = ComponentName::new(entry.key.as_str()) {
            report.add(Code::WrongValue, &spot, what);
            None
        } else {
            component(report, &entry.value, &spot, folder)
        };
        components.insert(entry.key.clone(), source);
    }
    components
}

fn component(
    report: &Report,
    node: &Node,
    spot: &Spot,
    folder: &Folder,
) -> Option<ComponentSource> {
    let fields = Fields::open(report, &COMPONENT, node, spot)?;
    fields.word("profile");
    let digest = fields.text("digest").map(|digest| {
        let hex = digest.value.strip_prefix("sha256:").unwrap_or_default().to_owned();
        if hex.len() != 64 || !hex.chars().all(|c| c.is_ascii_hexdigit()) {
            let what =
                format!("`{}` is no digest: `sha256:` and 64 hexadecimal digits", digest.value);
            report.add(Code::WrongValue, &digest.spot, what);
        }
        format!("sha256:{}", hex.to_lowercase())
    });
    let Some(path) = fields.text("path") else {
        let has_ref = matches!(&node.shape, Shape::Map(entries) if entries.iter().any(|entry| entry.key == "ref"));
        if fields.get("path").is_none() && !has_ref {
            fields.missing("path");
        }
        return None;
    };
    let path = folder.resolve(report, path)?;
    if !path.value.is_file() {
        let what = match path.value.exists() {
            true => format!("`{}` is not a file", path.value.display()),
            false => format!("there is no file `{}`", path.value.display()),
        };
        report.add_hint(
            Code::NotFound,
            &path.spot,
            what,
            "build the component first, or correct the path",
        );
    }
    Some(ComponentSource { path: path.value, digest, at: report.place(spot) })
}
