//! Imports a description of tools and says what came of it.
//!
//! ```text
//! cargo run --release --example import_openapi -- DOCUMENT [PATH-OF-A-TOOL]
//! ```
//!
//! Prints how many tools there are, what was left out, how long it took and how much memory it held
//! at most; with a path, what an agent is told of that tool. A JSON document with `__schema` is read
//! as the answer to a GraphQL introspection.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a tool for the terminal: whatever is wrong with its file ends it"
)]

use holdfast::tools::import::Imported;
use holdfast::tools::{graphql, naming, openapi, typescript};
use std::collections::BTreeMap;

fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().expect("a file is named");
    let text = std::fs::read_to_string(&file).expect("the file is there");
    let imported: Imported = if text.contains("\"__schema\"") {
        graphql::read(&text).expect("it is a schema")
    } else {
        openapi::read(&text).expect("it is a document")
    };
    let upstream: Vec<naming::Upstream<'_>> = imported.tools.iter().map(Into::into).collect();
    let paths = naming::assign("api", &upstream, &BTreeMap::new());
    if let Some(wanted) = args.next() {
        let place = paths.iter().position(|path| *path == wanted).expect("there is such a tool");
        let tool = imported.tools.get(place).expect("each path has its tool");
        let parse = |raw: &str| serde_json::from_str(raw).expect("a schema is JSON");
        let result = tool.result.as_ref().map(|raw| parse(raw.get()));
        let parameters = parse(tool.parameters.get());
        let told = typescript::declaration(
            &wanted,
            &tool.description,
            &parameters,
            result.as_ref(),
            8_000,
        );
        println!("{told}");
        return;
    }
    let bytes = |of: fn(&holdfast::tools::import::Listed) -> usize| {
        let all: Vec<usize> = imported.tools.iter().map(of).collect();
        (all.iter().sum::<usize>(), all.iter().max().copied().unwrap_or_default())
    };
    println!("document: {} bytes", text.len());
    println!("tools: {}", imported.tools.len());
    println!("credentials: {}", imported.credentials.len());
    println!("parameters, bytes (all, largest): {:?}", bytes(|tool| tool.parameters.get().len()));
    println!(
        "results, bytes (all, largest): {:?}",
        bytes(|tool| tool.result.as_ref().map_or(0, |raw| raw.get().len()))
    );
    println!("left out: {}", imported.left_out.len());
    for left in imported.left_out.iter().take(20) {
        println!("  {}: {}", left.what, left.why);
    }
    for path in paths.iter().take(10) {
        println!("  {path}");
    }
}
