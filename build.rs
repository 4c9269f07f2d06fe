//! Puts into `OUT_DIR` what is not written in Rust: the harness of the sandbox, the files of the
//! pages under names that change with their bytes, and the documentation as HTML.
//!
//! `scripts/build.mjs` bundles `src/sandbox/harness/` into one module and names it in
//! `HOLDFAST_HARNESS`: a sub-worker starts sooner from one small file. Without it (native tests)
//! the files go in as they are.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

type Done = Result<(), Box<dyn std::error::Error>>;

/// The main module: the one that exports the entrypoint.
const MAIN: &str = "harness.js";

fn main() -> Done {
    let top = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    harness(&top, &out)?;
    assets(&top, &out)?;
    docs(&top, &out)
}

fn harness(top: &Path, out: &Path) -> Done {
    let folder = top.join("src/sandbox/harness");
    println!("cargo:rerun-if-env-changed=HOLDFAST_HARNESS");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut modules = files(&folder, "js")?;
    modules.sort_by_key(|(name, _)| (name != MAIN, name.clone()));
    if let Some(bundle) = std::env::var_os("HOLDFAST_HARNESS") {
        println!("cargo:rerun-if-changed={}", Path::new(&bundle).display());
        modules = vec![(MAIN.to_owned(), PathBuf::from(bundle))];
    }
    let mut list = "&[\n".to_owned();
    for (name, path) in modules {
        writeln!(list, "    ({name:?}, include_str!({:?})),", path.display().to_string())?;
    }
    list.push_str("]\n");
    std::fs::write(out.join("harness.rs"), list)?;
    Ok(())
}

/// `(name, name on the wire, content type, bytes)` of each file of the pages.
fn assets(top: &Path, out: &Path) -> Done {
    let folder = top.join("src/pages/assets");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut list = "&[\n".to_owned();
    for (extension, kind) in [
        ("css", "text/css; charset=utf-8"),
        ("js", "text/javascript; charset=utf-8"),
        ("svg", "image/svg+xml"),
    ] {
        for (name, path) in files(&folder, extension)? {
            let hash = fnv(&std::fs::read(&path)?);
            let stem = name.strip_suffix(extension).unwrap_or(&name);
            let path = path.display().to_string();
            let served = format!("{stem}{hash:016x}.{extension}");
            writeln!(list, "    ({name:?}, {served:?}, {kind:?}, include_str!({path:?})),")?;
        }
    }
    list.push_str("]\n");
    std::fs::write(out.join("assets.rs"), list)?;
    Ok(())
}

/// FNV-1a: names a file by its bytes. Nobody gains by making two of them alike.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// `(name, title, HTML)` of each page under `docs/use/`.
fn docs(top: &Path, out: &Path) -> Done {
    let folder = top.join("docs/use");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut list = "&[\n".to_owned();
    for (name, path) in files(&folder, "md")? {
        let (title, text) = page(&std::fs::read_to_string(path)?);
        let name = name.strip_suffix(".md").unwrap_or(&name);
        writeln!(list, "    ({name:?}, {title:?}, {text:?}),")?;
    }
    list.push_str("]\n");
    std::fs::write(out.join("docs.rs"), list)?;
    Ok(())
}

/// A page of Markdown as its title and HTML, its links those of a deployment.
fn page(markdown: &str) -> (String, String) {
    let mut events: Vec<Event<'_>> = Vec::new();
    let mut title = String::new();
    let mut dropped = Vec::new();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => {}
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let target = link(&dest_url);
                dropped.push(target.is_none());
                if let Some(target) = target {
                    let dest_url = CowStr::from(target);
                    events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
                }
            }
            Event::End(TagEnd::Link) => {
                if dropped.pop() == Some(false) {
                    events.push(Event::End(TagEnd::Link));
                }
            }
            Event::End(TagEnd::Heading(level)) => {
                let from =
                    events.iter().rposition(|e| matches!(e, Event::Start(Tag::Heading { .. })));
                let text: String = events
                    .iter()
                    .skip(from.unwrap_or_default())
                    .filter_map(|event| match event {
                        Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
                        _ => None,
                    })
                    .collect();
                if let Some(Event::Start(Tag::Heading { id, .. })) =
                    from.and_then(|from| events.get_mut(from))
                {
                    *id = Some(slug(&text).into());
                }
                if title.is_empty() {
                    title = text;
                }
                events.push(Event::End(TagEnd::Heading(level)));
            }
            other => events.push(other),
        }
    }
    let mut text = String::new();
    html::push_html(&mut text, events.into_iter());
    // What can be scrolled sideways can be reached by keyboard; text never holds a bare `<`.
    let text = text
        .replace("<pre>", "<pre tabindex=\"0\">")
        .replace("<table>", "<div class=\"scroll\" tabindex=\"0\"><table>")
        .replace("</table>", "</table></div>");
    (title, text)
}

/// Where a link leads on a deployment; `None` where it has no such page.
fn link(target: &str) -> Option<String> {
    if target.starts_with("https://") || target.starts_with('#') {
        return Some(target.to_owned());
    }
    let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
    let fragment = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
    let page = file.strip_suffix(".md")?;
    if let Some(code) = page.strip_prefix("../errors/") {
        let place = if code == "README" { String::new() } else { format!("/{code}") };
        return Some(format!("/docs/errors{place}{fragment}"));
    }
    (!page.contains('/')).then(|| format!("/docs/{page}{fragment}"))
}

fn slug(text: &str) -> String {
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The files of a folder with an extension, by name.
fn files(folder: &Path, extension: &str) -> std::io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|own| own == extension) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, path));
        }
    }
    found.sort();
    Ok(found)
}
