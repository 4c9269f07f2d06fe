//! Prints what agents are told of schemas, for tests that compile it.
//!
//! ```text
//! cargo run --example describe_schemas -- MOST-BYTES < schemas.json
//! ```
//!
//! `schemas.json` is a list; for each schema, adopted, one line of JSON comes out: the text of a
//! declaration whose parameters and whose result are of that schema.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a tool for tests: whatever is wrong with its input ends it"
)]

use holdfast::tools::{schema, typescript};
use serde_json::Value;

fn main() {
    let most = std::env::args().nth(1).and_then(|most| most.parse().ok()).expect("a number");
    let all: Vec<Value> = serde_json::from_reader(std::io::stdin()).expect("a list of schemas");
    for one in &all {
        let own = schema::adopt(one, "schema").schema;
        let text = typescript::declaration("api.group.delete", "Says.", &own, Some(&own), most);
        println!("{}", Value::from(text));
    }
}
