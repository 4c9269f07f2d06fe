//! `run/`, `code/`, `error/` and `pages/view/` know no JavaScript value, no platform and no clock.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::path::{Path, PathBuf};

const FORBIDDEN: &[&str] = &[
    "use worker",
    "worker::",
    "js_sys",
    "wasm_bindgen",
    "web_sys",
    "SystemTime",
    "Instant::now",
    "crate::store",
    "crate::platform",
    "crate::sandbox",
    "crate::api",
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_rules_import_nothing_of_the_platform() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut read = 0;
    for module in ["run", "code", "error", "pages/view"] {
        for path in sources(&src.join(module)) {
            let text = std::fs::read_to_string(&path).unwrap();
            read += 1;
            for word in FORBIDDEN {
                assert!(!text.contains(word), "{} names {word}", path.display());
            }
        }
    }
    assert!(read > 5, "the folders were not found");
}
