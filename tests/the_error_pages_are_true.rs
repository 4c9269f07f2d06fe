//! The pages under `docs/errors/` are those of the catalogue: none stale, missing or orphan, and
//! the codes and kinds are the pinned ones.
//!
//! `HOLDFAST_WRITE_PAGES=1 cargo test --test the_error_pages_are_true` writes them.

use holdfast::error::{Code, page};
use std::collections::BTreeMap;
use std::path::Path;

fn expected() -> BTreeMap<String, String> {
    let pages = Code::ALL.iter().map(|code| (page::file_name(*code), page::page(*code)));
    pages.chain([("README.md".to_owned(), page::index())]).collect()
}

#[test]
fn the_pages_are_those_of_the_catalogue() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors");
    if std::env::var_os("HOLDFAST_WRITE_PAGES").is_some() {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in expected() {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
    let found: BTreeMap<String, String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    let expected = expected();
    for (name, text) in &expected {
        assert!(found.contains_key(name), "{name} is missing: write the pages");
        assert_eq!(&found[name], text, "{name} is stale: write the pages");
    }
    for name in found.keys() {
        assert!(expected.contains_key(name), "{name} is an orphan: no entry has it");
    }
}

/// Codes and kinds are a promise. This list only ever grows.
const PINNED: &[(&str, &str)] = &[
    ("HF_E1201", "create_failed"),
    ("HF_E1202", "create_failed"),
    ("HF_E1203", "timed_out"),
    ("HF_E1204", "sandbox_gone"),
    ("HF_E1301", "runtime_error"),
    ("HF_E1030", "not_found"),
    ("HF_E1031", "invalid_request"),
    ("HF_E1032", "not_found"),
    ("HF_E1302", "timed_out"),
    ("HF_E1303", "deadlocked"),
    ("HF_E1304", "syntax_error"),
    ("HF_E1305", "serialization_error"),
    ("HF_E1306", "timed_out"),
    ("HF_E1307", "cancelled"),
    ("HF_E1406", "policy_blocked"),
    ("HF_E1410", "limit_exceeded"),
    ("HF_E1411", "capacity_exceeded"),
    ("HF_E1601", "tool_not_found"),
    ("HF_E1602", "tool_error"),
    ("HF_E1606", "not_found"),
    ("HF_E1607", "not_found"),
    ("HF_E1608", "tool_error"),
    ("HF_E1099", "internal_error"),
];

#[test]
fn pinned_codes_keep_their_kinds() {
    let kinds: BTreeMap<&str, String> = Code::ALL
        .iter()
        .map(|code| code.entry())
        .map(|entry| {
            (entry.code, serde_json::to_value(entry.kind).unwrap().as_str().unwrap().to_owned())
        })
        .collect();
    for (code, kind) in PINNED {
        assert_eq!(kinds.get(code).map(String::as_str), Some(*kind), "{code}");
    }
}
