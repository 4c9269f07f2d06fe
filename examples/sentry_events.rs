//! Judges the event cases of a file: prints `true` for each event that is noise, `false` for the
//! rest, one a line, in the file's order. `scripts/cases-sentry.mjs` compares.

use std::error::Error;
use std::io::Write as _;

use holdfast::report::filter::is_noise;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Case<'a> {
    #[serde(borrow)]
    event: &'a RawValue,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: sentry_events FILE")?;
    let text = std::fs::read_to_string(path)?;
    let cases: Vec<Case<'_>> = serde_json::from_str(&text)?;
    let mut out = std::io::stdout().lock();
    for case in cases {
        writeln!(out, "{}", is_noise(case.event.get().as_bytes()))?;
    }
    Ok(())
}
