//! Prepares programs for the JavaScript tests: a JSON line in, a JSON line out.
//!
//! In: `{"source", "guard", "ambient"?}`. Out: `{"module", "warnings"}` or `{"refusal": {…}}`; with
//! `"positions": [[line, column], …]` also where those lead.

use std::io::{BufRead, Write};

use holdfast::code::{Options, prepare};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Request {
    source: String,
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
