//! Style, script and picture of the pages, under names that change with their bytes: a browser keeps
//! them for ever and never has an old one.

/// One file.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Its content type.
    pub kind: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// `(file, name on the wire, content type, text)`.
const FILES: &[(&str, &str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Where a file of `src/pages/assets/` is served.
#[must_use]
pub fn path(file: &str) -> String {
    let found = FILES.iter().find(|(name, ..)| *name == file);
    format!("/assets/{}", found.map_or("", |(_, served, ..)| *served))
}

/// The file of a name on the wire.
#[must_use]
pub fn find(served: &str) -> Option<Asset> {
    let found = FILES.iter().find(|(_, name, ..)| *name == served);
    found.map(|(_, _, kind, text)| Asset { kind, text })
}

#[cfg(test)]
mod tests {
    //! What a page names is served.

    use super::*;

    #[test]
    fn every_file_is_found_by_the_name_that_pages_give() {
        for file in ["style.css", "page.js", "icon.svg"] {
            let path = path(file);
            let served = path.strip_prefix("/assets/").unwrap();
            assert!(find(served).is_some_and(|asset| !asset.text.is_empty()), "{path}");
            assert!(find(file).is_none(), "the plain name would be kept for ever");
        }
    }
}
