//! Last words: a panic ends in a trap, which says nothing, so the message and its place go to the host's log before it.

use std::panic::PanicHookInfo;
use std::sync::Once;

/// Installs the hook, the first time it is called. Every export calls it first.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| crate::log::error(&last_words(panic))))
    });
}

/// `panicked at src/lib.rs:12:5: the message`
fn last_words(panic: &PanicHookInfo<'_>) -> String {
    let message = panic.payload_as_str().unwrap_or("no message");
    match panic.location() {
        Some(place) => format!(
            "panicked at {}:{}:{}: {message}",
            short(place.file()),
            place.line(),
            place.column()
        ),
        None => format!("panicked: {message}"),
    }
}

/// An absolute path says more of the machine that built the component than of the place: what counts starts at the
/// crate's folder.
fn short(file: &str) -> &str {
    if !file.starts_with('/') {
        return file;
    }
    let crate_folder_end = file.rfind("/src/").unwrap_or(0);
    let start = file[..crate_folder_end].rfind('/').map_or(0, |slash| slash + 1);
    &file[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_says_what_and_where() {
        let before = std::panic::take_hook();
        install();
        let result = std::panic::catch_unwind(|| panic!("row {} is odd", 3));
        std::panic::set_hook(before);
        assert!(result.is_err());
        let lines = crate::log::captured::take();
        let (level, line) = &lines[0];
        assert_eq!(*level, crate::log::Level::Error);
        assert!(line.starts_with("panicked at ") && line.contains("panic.rs:"), "{line}");
        assert!(line.ends_with(": row 3 is odd"), "{line}");
    }

    #[test]
    fn paths_start_at_the_crate() {
        assert_eq!(short("src/lib.rs"), "src/lib.rs");
        assert_eq!(short("/home/me/work/my-rule/src/lib.rs"), "my-rule/src/lib.rs");
        assert_eq!(
            short("/r/arrow-array-59.3.2/src/array/mod.rs"),
            "arrow-array-59.3.2/src/array/mod.rs"
        );
        assert_eq!(short("/strange"), "/strange");
    }
}
