//! Prepares programs for the JavaScript tests: a JSON line in, a JSON line out.
//!
//! In: `{"source", "guard", "ambient"?}`. Out: `{"module", "warnings"}` or `{"refusal": {…}}`; with
//! `"positions": [[line, column], …]` also where those lead. With `"package": {path: source}` in place
//! of a source: `{"modules": {name: text}, "exports", "warnings"}`.

use std::io::{BufRead, Write};

use std::collections::BTreeMap;

use holdfast::code::{Options, prepare, prepare_package};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    source: String,
    #[serde(default)]
    package: Option<BTreeMap<String, String>>,
    #[serde(default)]
    guard: bool,
    #[serde(default)]
    ambient: Vec<String>,
    #[serde(default)]
    positions: Vec<(u32, u32)>,
    #[serde(default)]
    engine: Option<String>,
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let ambient: Vec<&str> = request.ambient.iter().map(String::as_str).collect();
        let options = Options { guard: request.guard, ambient: &ambient };
        if let Some(package) = &request.package {
            let answer = match prepare_package(package, &options) {
                Ok(prepared) => {
                    let exports = prepared.exports.iter();
                    let exports = exports.map(|it| json!([it.name, it.is_function]));
                    let modules = prepared.modules.iter().map(|it| (&it.name, &it.text));
                    json!({
                        "modules": modules.collect::<BTreeMap<_, _>>(),
                        "exports": exports.collect::<Vec<_>>(),
                        "warnings": prepared.warnings,
                    })
                }
                Err(refused) => json!({ "refusal": {
                    "path": refused.path,
                    "message": refused.refusal.message,
                    "place": refused.refusal.place.map(|at| [at.line, at.column]),
                    "excerpt": refused.refusal.excerpt,
                }}),
            };
            writeln!(out, "{answer}")?;
            continue;
        }
        let answer = match prepare(&request.source, &options) {
            Ok(prepared) => {
                let positions = request.positions.iter().map(|(line, column)| {
                    prepared.position(*line, *column).map(|at| [at.line, at.column])
                });
                let engine = request.engine.as_deref();
                let engine = engine.and_then(|message| prepared.refusal_from_engine(message));
                json!({
                    "module": prepared.module,
                    "warnings": prepared.warnings,
                    "positions": positions.collect::<Vec<_>>(),
                    "engine": engine.map(|refusal| refusal.to_string()),
                })
            }
            Err(refusal) => json!({ "refusal": {
                "message": refusal.message,
                "place": refusal.place.map(|at| [at.line, at.column]),
                "excerpt": refusal.excerpt,
            }}),
        };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}
