//! A schema becomes tools, arguments a query, answers values.

use super::request::checked;
use super::*;
use crate::tools::exchange::Response;
use crate::tools::import::{self, Listed};
use crate::tools::schema;
use proptest::prelude::*;
use serde_json::Value;

fn named(kind: &str, name: &str) -> Value {
    json!({ "kind": kind, "name": name, "ofType": null })
}

fn not_null(of: &Value) -> Value {
    json!({ "kind": "NON_NULL", "name": null, "ofType": of })
}

fn list(of: &Value) -> Value {
    json!({ "kind": "LIST", "name": null, "ofType": of })
}

fn field(name: &str, of: &Value, args: &Value) -> Value {
    json!({ "name": name, "description": null, "args": args, "type": of })
}

fn input(name: &str, of: &Value, default: &Value) -> Value {
    json!({ "name": name, "description": "Says.", "type": of, "defaultValue": default })
}

fn service() -> Value {
    let string = named("SCALAR", "String");
    let id = not_null(&named("SCALAR", "ID"));
    let repo = named("OBJECT", "Repo");
    let none = json!([]);
    json!({ "data": { "__schema": {
        "queryType": { "name": "Query" }, "mutationType": { "name": "Mutation" },
        "types": [
            { "kind": "OBJECT", "name": "Query", "fields": [
                field("repo", &repo, &json!([
                    input("id", &id, &Value::Null),
                    input("first", &named("SCALAR", "Int"), &json!("10")),
                    input("state", &named("ENUM", "State"), &Value::Null),
                ])),
                field("version", &not_null(&string), &none),
                field("any", &not_null(&list(&named("UNION", "Any"))), &none),
                field("repos", &named("OBJECT", "RepoPage"), &none),
            ] },
            { "kind": "OBJECT", "name": "Mutation", "fields": [
                field("add", &repo, &json!([input("input", &not_null(&named("INPUT_OBJECT", "Add")), &Value::Null)])),
            ] },
            { "kind": "OBJECT", "name": "Repo", "description": "R", "fields": [
                field("id", &id, &none),
                field("stars", &named("SCALAR", "Int"), &none),
                field("state", &named("ENUM", "State"), &none),
                field("when", &named("SCALAR", "DateTime"), &none),
                field("file", &string, &json!([input("path", &not_null(&string), &Value::Null)])),
                field("owner", &not_null(&named("OBJECT", "User")), &none),
                field("issues", &repo, &json!([input("first", &named("SCALAR", "Int"), &Value::Null)])),
                field("parent", &repo, &none),
            ] },
            { "kind": "OBJECT", "name": "RepoPage", "fields": [
                field("total", &named("SCALAR", "Int"), &none),
                field("edges", &list(&named("OBJECT", "RepoEdge")), &none),
            ] },
            { "kind": "OBJECT", "name": "RepoEdge", "fields": [field("node", &repo, &none)] },
            { "kind": "OBJECT", "name": "User", "fields": [
                field("login", &not_null(&string), &none), field("best", &repo, &none),
            ] },
            { "kind": "UNION", "name": "Any", "possibleTypes": [{ "name": "User" }] },
            { "kind": "ENUM", "name": "State", "enumValues": [{ "name": "OPEN" }, { "name": "SHUT" }] },
            { "kind": "INPUT_OBJECT", "name": "Add", "inputFields": [
                input("name", &not_null(&string), &Value::Null),
                input("tags", &list(&not_null(&string)), &Value::Null),
                input("more", &named("INPUT_OBJECT", "Add"), &Value::Null),
            ] },
        ],
    } } })
}

fn tools() -> Vec<Listed> {
    let imported = read(&service().to_string()).unwrap();
    assert_eq!(imported.left_out, []);
    imported.tools
}

fn plan(tool: &Listed) -> &Plan {
    match &tool.plan {
        import::Plan::Graphql(plan) => plan,
        other => panic!("{other:?}"),
    }
}

fn asked(tool: &Listed, arguments: &Value) -> Result<Value, String> {
    let endpoint = Url::parse("https://api.example.com/graphql").unwrap();
    let request = request(plan(tool), &endpoint, &arguments.to_string())?;
    Ok(serde_json::from_slice(&request.body.unwrap()).unwrap())
}

#[test]
fn a_field_is_a_tool() {
    let tools = tools();
    let keys: Vec<&str> = tools.iter().map(|tool| tool.key.as_str()).collect();
    assert_eq!(keys, ["query.repo", "query.version", "query.any", "query.repos", "mutation.add"]);
    for tool in &tools {
        for raw in [Some(&tool.parameters), tool.result.as_ref()].into_iter().flatten() {
            let parsed: Value = serde_json::from_str(raw.get()).unwrap();
            assert_eq!(schema::check(&parsed, "s"), Ok(()), "{parsed}");
        }
    }
    let selections: Vec<&str> = tools.iter().map(|tool| plan(tool).selection.as_str()).collect();
    assert_eq!(
        selections,
        [
            "id stars state when owner { login }",
            "",
            "__typename ... on User { login }",
            "total edges { node { id stars state when owner { login } } }",
            "id stars state when owner { login }",
        ]
    );
    let parameters: Value = serde_json::from_str(tools[0].parameters.get()).unwrap();
    assert_eq!(parameters["required"], json!(["id"]));
    assert_eq!(
        parameters["properties"]["first"],
        json!({ "type": ["integer", "null"], "description": "Says. Default: 10" })
    );
    assert_eq!(parameters["properties"]["state"]["enum"], json!(["OPEN", "SHUT", null]));
    let add: Value = serde_json::from_str(tools[4].parameters.get()).unwrap();
    let fine =
        json!({ "input": { "name": "a", "tags": ["x"], "more": { "name": "b", "more": null } } });
    assert_eq!(schema::validate(&add, &fine, "a"), []);
    let problems = schema::validate(&add, &json!({ "input": { "name": "a", "tags": [1] } }), "a");
    assert_eq!(problems[0].to_string(), "a.input.tags[0] must be a string, not a number");
    assert_eq!((tools[0].hints.reads, tools[4].hints.reads), (Some(true), Some(false)));
}

#[test]
fn values_go_as_variables() {
    let tools = tools();
    assert_eq!(
        asked(&tools[0], &json!({ "id": "1\"}", "state": "OPEN" })).unwrap(),
        json!({
            "query": "query($id: ID!, $state: State) { repo(id: $id, state: $state) { id stars state when owner { login } } }",
            "variables": { "id": "1\"}", "state": "OPEN" },
        })
    );
    assert_eq!(
        asked(&tools[1], &json!({})).unwrap(),
        json!({ "query": "query { version }", "variables": {} })
    );
    let date = json!({ "input": { "name": { "$": "date", "v": "2026-01-01T00:00:00.000Z" } } });
    assert_eq!(
        asked(&tools[4], &date).unwrap()["variables"]["input"]["name"],
        json!("2026-01-01T00:00:00.000Z")
    );
}

#[test]
fn a_selection_stays_in_its_field() {
    let tools = tools();
    let select = |text: &str| asked(&tools[4], &json!({ "input": {}, "select": text }));
    for text in [
        "id",
        "{ id owner { login } }",
        "id, items(first: 2, where: { a: [1, -2.5e+3, \"}\", \"\\\"\", \"\"], b: ENUM }) { n }",
        "a: id ... on Repo @include(if: true) { id }",
    ] {
        let query = select(text).unwrap_or_else(|why| panic!("{text} {why}"));
        assert!(query["query"].as_str().unwrap().starts_with("mutation($input: Add!) { add("));
    }
    for (text, why) in [
        ("id } destroyEverything { id", "closes nothing"),
        ("id } } mutation { x", "closes nothing"),
        ("{ id } evil { x }", "closes nothing"),
        ("id # }", "comments"),
        ("id(a: $input)", "variables"),
        ("id { a", "lacks a }"),
        ("a(b: [1)", "closes nothing"),
        ("a(b: \"x)", "without an end"),
        ("a(b: \"\"\"x\"\"\")", "block"),
        ("", "selects nothing"),
        ("{}", "selects nothing"),
        ("a & b", "which no selection has"),
    ] {
        let told = select(text).unwrap_err();
        assert!(told.contains(why), "{text}: {told}");
    }
    assert!(select(&"a{".repeat(50)).unwrap_err().contains("levels"));
}

#[test]
fn an_answer_is_a_value_or_an_error_with_what_came() {
    let tools = tools();
    let headers = [("content-type".to_owned(), "application/json".to_owned())];
    let told = |status, body: &str| {
        answer(plan(&tools[0]), Response { status, headers: &headers, body: body.as_bytes() })
    };
    assert_eq!(told(200, "{\"data\":{\"repo\":{\"n\":1.0}}}"), Ok("{\"n\":1.0}".into()));
    assert_eq!(told(200, "{\"data\":{\"repo\":null}}"), Ok("null".into()));
    let error = told(
        200,
        "{\"data\":{\"repo\":{\"id\":1}},\"errors\":[{\"message\":\"No stars.\",\"path\":[\"repo\",\"stars\",0],\"extensions\":{\"code\":\"GONE\"}}]}",
    )
    .unwrap_err();
    assert_eq!(
        error.message,
        "query repo failed: No stars at repo.stars.0. Part of the data came all the same."
    );
    assert_eq!(error.code.as_deref(), Some("GONE"));
    let data: Value = serde_json::from_str(&error.data).unwrap();
    assert_eq!(data["data"], json!({ "id": 1 }));
    assert!(
        told(400, "{\"errors\":[{\"message\":\"bad\"}]}")
            .unwrap_err()
            .message
            .contains("failed: bad")
    );
    assert!(told(502, "<html>").unwrap_err().message.contains("502"));
    assert!(told(200, "{}").is_err() && told(200, "[]").is_err());
}

#[test]
fn a_service_that_tells_nothing_says_why() {
    for (text, why) in [
        ("{\"errors\":[{\"message\":\"off\"}]}", "(off)"),
        ("{}", "no reason"),
        ("<html>", "no schema of GraphQL"),
    ] {
        let told = read(text).unwrap_err().to_string();
        assert!(told.contains(why), "{told}");
    }
    let whole = service();
    assert_eq!(read(&whole["data"].to_string()).unwrap().tools.len(), 5);
    let request = introspection(&Url::parse("https://a.example/").unwrap());
    let body: Value = serde_json::from_slice(&request.body.unwrap()).unwrap();
    let query = body["query"].as_str().unwrap();
    assert_eq!(query.matches('{').count(), query.matches('}').count());
}

fn any_reference() -> impl Strategy<Value = Value> {
    let kinds = ["OBJECT", "SCALAR", "ENUM", "UNION", "INTERFACE", "INPUT_OBJECT", "odd"];
    let names = ["A", "B", "C", "Query", "Int", "no name"];
    let leaf = (prop::sample::select(kinds.to_vec()), prop::sample::select(names.to_vec()))
        .prop_map(|(kind, name)| named(kind, name));
    leaf.prop_recursive(3, 8, 1, |inner| {
        prop_oneof![inner.clone().prop_map(|of| list(&of)), inner.prop_map(|of| not_null(&of))]
    })
}

fn any_fields() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec!["a", "b", "edges", "node", "nodes", "select", "no name"]);
    let args = prop::collection::vec((name.clone(), any_reference()), 0..3).prop_map(|all| {
        let all = all.iter().map(|(name, of)| input(name, of, &Value::Null));
        Value::from(all.collect::<Vec<_>>())
    });
    prop::collection::vec((name, any_reference(), args), 0..5).prop_map(|all| {
        all.iter().map(|(name, of, args)| field(name, of, args)).collect::<Vec<_>>().into()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_schema_becomes_tools_or_is_told(
        all in prop::collection::vec((any_fields(), prop::sample::select(vec!["OBJECT", "UNION", "INPUT_OBJECT"])), 4)
    ) {
        let types: Vec<Value> = ["Query", "A", "B", "C"].iter().zip(&all).map(|(name, (fields, kind))| {
            let kind = if *name == "Query" { "OBJECT" } else { *kind };
            json!({ "kind": kind, "name": name, "fields": fields, "inputFields": fields.as_array().map(|all| {
                all.iter().map(|one| input("x", &one["type"], &Value::Null)).collect::<Vec<_>>()
            }), "possibleTypes": [{ "name": "A" }, { "name": "B" }] })
        }).collect();
        let text = json!({ "__schema": { "queryType": { "name": "Query" }, "types": types } });
        for tool in read(&text.to_string()).unwrap().tools {
            for raw in [Some(&tool.parameters), tool.result.as_ref()].into_iter().flatten() {
                let parsed: Value = serde_json::from_str(raw.get()).unwrap();
                prop_assert_eq!(schema::check(&parsed, "s"), Ok(()), "{}", parsed);
            }
            prop_assert!(plan(&tool).selection.len() < 20_000);
            prop_assert!(plan(&tool).selection.is_empty() || checked(&plan(&tool).selection).is_ok());
        }
    }

    #[test]
    fn no_selection_closes_its_field(text in "[a-z{}()\\[\\]\"\\\\#$,:.@! \n]{0,24}") {
        if let Ok(text) = checked(&text) {
            // Without texts, whatever is opened is closed, in order.
            let mut depth = 0_usize;
            let mut quoted = false;
            let mut escaped = false;
            for c in text.chars() {
                match c {
                    _ if escaped => escaped = false,
                    '\\' if quoted => escaped = true,
                    '"' => quoted = !quoted,
                    '{' if !quoted => depth = depth.saturating_add(1),
                    '}' if !quoted => {
                        prop_assert!(depth > 0, "{}", text);
                        depth = depth.saturating_sub(1);
                    }
                    _ => {}
                }
            }
            prop_assert!(depth == 0 && !quoted, "{}", text);
        }
    }
}
