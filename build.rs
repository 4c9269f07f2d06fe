//! Puts the harness of the sandbox where `src/sandbox/dynamic_worker.rs` includes it from.
//!
//! `scripts/build.mjs` bundles `src/sandbox/harness/` into one module and names it in
//! `HOLDFAST_HARNESS`: a sub-worker starts sooner from one small file. Without it (native tests)
//! the files go in as they are.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The main module: the one that exports the entrypoint.
const MAIN: &str = "harness.js";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("src/sandbox/harness");
    println!("cargo:rerun-if-env-changed=HOLDFAST_HARNESS");
    println!("cargo:rerun-if-changed={}", folder.display());
    let modules: Vec<(String, PathBuf)> = match std::env::var_os("HOLDFAST_HARNESS") {
        Some(bundle) => {
            println!("cargo:rerun-if-changed={}", Path::new(&bundle).display());
            vec![(MAIN.to_owned(), PathBuf::from(bundle))]
        }
        None => files(&folder)?,
    };
    let mut list = "&[\n".to_owned();
    for (name, path) in modules {
        writeln!(list, "    ({name:?}, include_str!({:?})),", path.display().to_string())?;
    }
    list.push_str("]\n");
    let out = Path::new(&std::env::var("OUT_DIR")?).join("harness.rs");
    std::fs::write(out, list)?;
    Ok(())
}

/// The files of the harness, the main module first.
fn files(folder: &Path) -> std::io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "js") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, path));
        }
    }
    found.sort_by_key(|(name, _)| (name != MAIN, name.clone()));
    Ok(found)
}
