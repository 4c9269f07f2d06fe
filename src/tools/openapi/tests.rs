//! Documents become tools, arguments requests, answers values.

use super::*;
use crate::tools::exchange::{Request, Response};
use crate::tools::import::{self, Listed};
use crate::tools::{schema, typescript};
use proptest::prelude::*;
use serde_json::{Value, json};
use url::Url;

/// A document with one path item and whatever else.
fn document(item: &Value, rest: &Value) -> Value {
    let mut document = json!({
        "openapi": "3.1.0",
        "info": { "title": "Pets", "version": "1" },
        "servers": [{ "url": "https://api.example.com/v1" }],
        "paths": { "/pets/{id}": item },
    });
    for (name, value) in rest.as_object().into_iter().flatten() {
        document[name] = value.clone();
    }
    document
}

fn imported(item: &Value, rest: &Value) -> Imported {
    read(&document(item, rest).to_string()).unwrap()
}

fn only(item: &Value) -> Listed {
    let mut imported = imported(item, &json!({}));
    assert_eq!(imported.left_out, [], "{item}");
    imported.tools.remove(0)
}

fn parse(raw: &serde_json::value::RawValue) -> Value {
    let schema: Value = serde_json::from_str(raw.get()).unwrap();
    assert_eq!(schema::check(&schema, "s"), Ok(()), "{schema}");
    schema
}

fn plan(tool: &Listed) -> &Plan {
    match &tool.plan {
        import::Plan::Openapi(plan) => plan,
        other => panic!("{other:?}"),
    }
}

fn asked(tool: &Listed, arguments: &Value) -> Result<Request, String> {
    let base = Url::parse("https://api.example.com/v1").unwrap();
    request(plan(tool), &base, &arguments.to_string())
}

fn url(tool: &Listed, arguments: &Value) -> String {
    asked(tool, arguments).unwrap().url
}

#[test]
fn an_object_that_is_closed_around_its_parts_has_their_members() {
    let part =
        |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
    let body = json!({
        "type": "object",
        "required": ["name"],
        "additionalProperties": false,
        "allOf": [part("name"), part("note")],
    });
    let tool = only(&json!({ "post": {
        "operationId": "add",
        "requestBody": { "content": { "application/json": { "schema": body } } },
        "responses": {},
    } }));
    let parameters = parse(&tool.parameters);
    let problems =
        |body: Value| schema::validate(&parameters, &json!({ "id": "1", "body": body }), "a");
    assert_eq!(problems(json!({ "name": "Rex", "note": "x" })), []);
    assert_ne!(problems(json!({ "name": "Rex", "other": 1 })), []);
    assert_ne!(problems(json!({})), []);
    let text = typescript::declaration("pets.add", "", &parameters, None, 16_384);
    assert!(!text.contains("never"), "{text}");
}

#[test]
fn an_operation_is_a_tool() {
    let imported = imported(
        &json!({
            "parameters": [{ "name": "id", "in": "path", "required": true, "schema": { "type": "integer" } }],
            "get": {
                "operationId": "pets/get",
                "tags": ["pets"],
                "summary": "One pet",
                "description": "By its number.",
                "parameters": [
                    { "$ref": "#/components/parameters/verbose" },
                    { "name": "id", "in": "query", "schema": { "type": "string" } },
                ],
                "responses": { "200": { "description": "It", "content": {
                    "application/json": { "schema": { "$ref": "#/components/schemas/Pet" } } } } },
            },
            "delete": { "deprecated": true, "summary": "Gone", "responses": { "204": { "description": "" } } },
        }),
        &json!({ "components": {
            "parameters": { "verbose": { "name": "verbose", "in": "query", "description": "Say more", "schema": { "type": "boolean" } } },
            "schemas": { "Pet": { "type": "object", "required": ["id"], "properties": {
                "id": { "type": "integer" },
                "secret": { "type": "string", "writeOnly": true },
                "parent": { "$ref": "#/components/schemas/Pet" },
            } } },
        } }),
    );
    assert_eq!(imported.left_out, []);
    let [get, delete] = imported.tools.as_slice() else { panic!("{:?}", imported.tools) };
    assert_eq!((get.key.as_str(), get.group.as_deref()), ("pets/get", Some("pets")));
    assert_eq!(get.description, "One pet\n\nBy its number.");
    assert_eq!(
        parse(&get.parameters),
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["id"],
            "properties": {
                "id": { "type": "integer" },
                "id_query": { "type": "string" },
                "verbose": { "type": "boolean", "description": "Say more" },
            },
        })
    );
    assert_eq!(
        parse(get.result.as_ref().unwrap()),
        json!({
            "$ref": "#/$defs/Pet",
            "$defs": { "Pet": { "type": "object", "required": ["id"], "properties": {
                "id": { "type": "integer" }, "parent": { "$ref": "#/$defs/Pet" } } } },
        })
    );
    assert_eq!(get.hints.reads, Some(true));
    assert_eq!(
        (delete.key.as_str(), delete.name.as_str()),
        ("DELETE /pets/{id}", "delete /pets/{id}")
    );
    assert_eq!(delete.description, "Deprecated.\n\nGone");
    assert_eq!((delete.hints.destructive, delete.hints.idempotent), (Some(true), Some(true)));
    assert_eq!(parse(delete.result.as_ref().unwrap()), json!({ "type": "null" }));
    assert_eq!(
        url(get, &json!({ "id": 7, "id_query": "a b&c", "verbose": true })),
        "https://api.example.com/v1/pets/7?verbose=true&id=a%20b%26c"
    );
}

#[test]
fn yaml_is_read_as_json_is() {
    let text = "
openapi: 3.0.3
info: {title: T, version: '1'}
paths:
  /a:
    get:
      responses:
        200:
          description: fine
          content:
            application/json:
              schema: {type: string, nullable: true}
";
    let imported = read(text).unwrap();
    assert_eq!(imported.left_out, []);
    assert_eq!(
        parse(imported.tools[0].result.as_ref().unwrap()),
        json!({"type": ["string", "null"]})
    );
}

#[test]
fn parameters_are_written_in_every_style() {
    let list = json!(["a", "b,c"]);
    let object = json!({ "r": 100, "g": "x y" });
    let cases = [
        ("path", "simple", false, "/pets/a,b%2Cc", "/pets/g,x%20y,r,100"),
        ("path", "simple", true, "/pets/a,b%2Cc", "/pets/g=x%20y,r=100"),
        ("path", "label", false, "/pets/.a,b%2Cc", "/pets/.g,x%20y,r,100"),
        ("path", "label", true, "/pets/.a.b%2Cc", "/pets/.g=x%20y.r=100"),
        ("path", "matrix", false, "/pets/;id=a,b%2Cc", "/pets/;id=g,x%20y,r,100"),
        ("path", "matrix", true, "/pets/;id=a;id=b%2Cc", "/pets/;g=x%20y;r=100"),
        ("query", "form", false, "?id=a,b%2Cc", "?id=g,x%20y,r,100"),
        ("query", "form", true, "?id=a&id=b%2Cc", "?g=x%20y&r=100"),
        ("query", "spaceDelimited", false, "?id=a%20b%2Cc", "?id=g%20x%20y%20r%20100"),
        ("query", "pipeDelimited", false, "?id=a%7Cb%2Cc", "?id=g%7Cx%20y%7Cr%7C100"),
        (
            "query",
            "deepObject",
            true,
            "?id%5B%5D=a&id%5B%5D=b%2Cc",
            "?id%5Bg%5D=x%20y&id%5Br%5D=100",
        ),
    ];
    for (place, style, explode, of_list, of_object) in cases {
        let path = if place == "path" { "/pets/{id}" } else { "/pets" };
        let text = json!({ "openapi": "3.1.0", "paths": { path: { "get": { "parameters": [
            { "name": "id", "in": place, "required": true, "style": style, "explode": explode,
              "schema": {} }] } } } });
        let tool = read(&text.to_string()).unwrap().tools.remove(0);
        for (given, expected) in [(&list, of_list), (&object, of_object)] {
            let url = url(&tool, &json!({ "id": given }));
            assert!(url.ends_with(expected), "{place} {style} {explode}: {url}");
        }
    }
}

#[test]
fn headers_cookies_and_json_are_written() {
    let tool = only(&json!({ "get": { "parameters": [
        { "name": "X-Trace", "in": "header", "schema": { "type": "array" } },
        { "name": "Authorization", "in": "header", "schema": { "type": "string" } },
        { "name": "sid", "in": "cookie", "schema": { "type": "string" } },
        { "name": "filter", "in": "query", "content": { "application/json": { "schema": { "type": "object" } } } },
        { "name": "raw", "in": "query", "allowReserved": true, "schema": { "type": "string" } },
    ] } }));
    let asked_for = json!({
        "id": "x", "X-Trace": [1, 2], "sid": "a;b", "filter": { "a": [1] }, "raw": "a/b?c&d#e",
    });
    let request = asked(&tool, &asked_for).unwrap();
    assert_eq!(
        request.url,
        "https://api.example.com/v1/pets/x?filter=%7B%22a%22%3A%5B1%5D%7D&raw=a/b?c%26d%23e"
    );
    let has =
        |name: &str, value: &str| request.headers.contains(&(name.to_owned(), value.to_owned()));
    assert!(has("x-trace", "1,2") && has("cookie", "sid=a%3Bb"), "{:?}", request.headers);
    assert!(parse(&tool.parameters)["properties"].get("Authorization").is_none());
    let why = asked(&tool, &json!({ "id": "x", "X-Trace": "a\r\nevil: 1" })).unwrap_err();
    assert_eq!(why, "X-Trace must have no line breaks: it goes into a header");
}

#[test]
fn a_path_stays_in_its_service() {
    let tool = only(&json!({ "get": {} }));
    assert_eq!(
        url(&tool, &json!({ "id": "a/../../b?c#d" })),
        "https://api.example.com/v1/pets/a%2F..%2F..%2Fb%3Fc%23d"
    );
    for (id, why) in [
        (json!(".."), "id must not be . or .."),
        (json!("."), "id must not be . or .."),
        (json!(""), "id must not be empty"),
        (json!(null), "id must not be empty"),
    ] {
        let told = asked(&tool, &json!({ "id": id })).unwrap_err();
        assert!(told.starts_with(why), "{told}");
    }
    assert!(asked(&tool, &json!({})).unwrap_err().starts_with("id is required"));
    for path in ["/{a}{b}", "/x/../../y", "/%2e%2E/y"] {
        let text = json!({ "openapi": "3.0.0", "paths": { path: { "get": {} } } });
        let tool = read(&text.to_string()).unwrap().tools.remove(0);
        let told = asked(&tool, &json!({ "a": "..", "b": "." }));
        assert!(told.is_err(), "{path} {told:?}");
    }
    let double = json!({ "openapi": "3.0.0", "paths": { "/x/{a}{b}": { "get": {} } } });
    let tool = read(&double.to_string()).unwrap().tools.remove(0);
    let base = Url::parse("https://api.example.com/v1?key=1").unwrap();
    let one = request(plan(&tool), &base, "{\"a\":\"1\",\"b\":\"2\"}").unwrap();
    assert_eq!(one.url, "https://api.example.com/v1/x/12?key=1");
}

fn with_body(content: &Value) -> Listed {
    only(&json!({ "post": { "requestBody": { "required": true, "content": content } } }))
}

fn sent(tool: &Listed, body: &Value) -> (String, String) {
    let request = asked(tool, &json!({ "id": 1, "body": body })).unwrap();
    let media = request.headers.iter().find(|(name, _)| name == "content-type").unwrap().1.clone();
    (media, String::from_utf8(request.body.unwrap()).unwrap())
}

#[test]
fn bodies_are_written_as_their_media_type_says() {
    let any = json!({ "schema": { "type": "object" } });
    let bytes = json!({ "$": "bytes", "v": "aGk=" });
    let json_ = with_body(&json!({ "text/plain": any, "application/json": any }));
    assert_eq!(
        sent(&json_, &json!({ "a": [1, { "$": "date", "v": "2026-01-01T00:00:00.000Z" }] })),
        ("application/json".into(), "{\"a\":[1,\"2026-01-01T00:00:00.000Z\"]}".into())
    );
    let patch = with_body(&json!({ "application/merge-patch+json": any }));
    assert_eq!(sent(&patch, &json!({})).0, "application/merge-patch+json");
    let text = with_body(&json!({ "text/csv": { "schema": { "type": "string" } } }));
    assert_eq!(sent(&text, &json!("a,b")), ("text/csv".into(), "a,b".into()));
    let binary = with_body(&json!({ "image/png": {} }));
    assert_eq!(sent(&binary, &bytes), ("image/png".into(), "hi".into()));
    let form = with_body(&json!({ "application/x-www-form-urlencoded": {
        "schema": { "type": "object" },
        "encoding": { "deep": { "style": "deepObject" }, "list": { "style": "form", "explode": false } },
    } }));
    assert_eq!(
        sent(&form, &json!({
            "a": "x y", "deep": { "b": { "c": 1 }, "d": [{ "e": 2 }] }, "list": [1, 2], "many": [1, 2],
            "none": null, "object": { "f": 1 },
        })).1,
        "a=x%20y&deep%5Bb%5D%5Bc%5D=1&deep%5Bd%5D%5B0%5D%5Be%5D=2&list=1,2&many=1&many=2&object=%7B%22f%22%3A1%7D"
    );
    let parts = with_body(&json!({ "multipart/form-data": {
        "schema": { "type": "object", "properties": { "file": { "type": "string", "format": "binary" } } },
        "encoding": { "file": { "contentType": "image/png, image/gif" } },
    } }));
    let (media, body) =
        sent(&parts, &json!({ "file": bytes, "n\"1": 5, "tags": ["a", "b"], "meta": { "x": 1 } }));
    let boundary = media.strip_prefix("multipart/form-data; boundary=").unwrap();
    let expected = [
        "content-disposition: form-data; name=\"file\"; filename=\"file\"\r\ncontent-type: image/png\r\n\r\nhi",
        "content-disposition: form-data; name=\"meta\"\r\ncontent-type: application/json\r\n\r\n{\"x\":1}",
        "content-disposition: form-data; name=\"n%221\"\r\ncontent-type: application/json\r\n\r\n5",
        "content-disposition: form-data; name=\"tags\"\r\n\r\na",
        "content-disposition: form-data; name=\"tags\"\r\n\r\nb",
    ];
    let whole = expected.map(|part| format!("--{boundary}\r\n{part}\r\n")).concat();
    assert_eq!(body, format!("{whole}--{boundary}--\r\n"));
    // In plain form bytes are an object, and the schema lets them pass.
    let schema = parse(&parts.parameters);
    for file in [json!({ "$bytes": "aGk=" }), json!("hi")] {
        let arguments = json!({ "id": "1", "body": { "file": file } });
        assert_eq!(schema::validate(&schema, &arguments, "a"), []);
    }
}

#[test]
fn what_is_read_only_is_not_sent() {
    let tool = with_body(&json!({ "application/json": { "schema": {
        "type": "object", "required": ["id", "name"],
        "properties": { "id": { "type": "integer", "readOnly": true }, "name": { "type": "string" } },
    } } }));
    let body = &parse(&tool.parameters)["properties"]["body"];
    assert_eq!(
        *body,
        json!({ "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } })
    );
}

#[test]
fn answers_are_values_or_errors() {
    let tool = only(&json!({ "get": {} }));
    let headers = [
        ("content-type".to_owned(), "application/json".to_owned()),
        ("retry-after".to_owned(), "3".to_owned()),
    ];
    let told =
        |status, body: &[u8]| answer(plan(&tool), Response { status, headers: &headers, body });
    assert_eq!(told(200, b"{\"a\":1.50}"), Ok("{\"a\":1.50}".into()));
    assert_eq!(told(204, b""), Ok("null".into()));
    let error = told(429, b"{\"error\":{\"message\":\"slow down\"}}").unwrap_err();
    assert_eq!(error.message, "GET /pets/{id} answered 429 Too Many Requests: slow down");
    assert_eq!(error.code.as_deref(), Some("429"));
    let data: Value = serde_json::from_str(&error.data).unwrap();
    assert_eq!(
        data,
        json!({ "status": 429, "retryAfter": "3", "body": { "error": { "message": "slow down" } } })
    );
    assert_eq!(
        told(500, b"").unwrap_err().message,
        "GET /pets/{id} answered 500 Internal Server Error"
    );
    assert_eq!(
        told(404, b"<html>no</html>").unwrap_err().message,
        "GET /pets/{id} answered 404 Not Found"
    );
    assert!(told(301, b"").is_err());
}

#[test]
fn credentials_are_described() {
    let imported = imported(
        &json!({ "get": { "security": [{ "key": [] }, { "user": [], "unknown": [] }, {}] }, "post": {} }),
        &json!({
            "security": [{ "token": ["read"] }],
            "components": { "securitySchemes": {
                "key": { "type": "apiKey", "in": "query", "name": "api_key" },
                "head": { "type": "apiKey", "in": "header", "name": "X-Key", "description": "Ask us." },
                "token": { "type": "oauth2", "flows": { "clientCredentials": {
                    "tokenUrl": "https://a.example/token", "scopes": { "read": "Read" } } } },
                "user": { "type": "http", "scheme": "Basic" },
                "cert": { "type": "mutualTLS" },
            } },
        }),
    );
    let of = |name: &str| imported.credentials.iter().find(|one| one.scheme == name).unwrap();
    assert_eq!(of("key").place, Place::Query { name: "api_key".into() });
    assert_eq!(of("head").place, Place::Header { name: "x-key".into(), before: String::new() });
    assert_eq!(of("head").description, "An API key. Ask us.");
    assert_eq!(
        of("token").description,
        "An access token of OAuth 2.0, from https://a.example/token, for read"
    );
    assert_eq!(of("user").place, Place::Basic);
    assert_eq!(imported.left_out[0].what, "security scheme cert");
    let security = |i: usize| plan(&imported.tools[i]).security.clone();
    assert_eq!(security(0), [vec!["key".to_owned()], vec!["user".to_owned()], vec![]]);
    assert_eq!(security(1), [vec!["token".to_owned()]]);
}

#[test]
fn what_cannot_be_taken_over_is_told_and_the_rest_works() {
    let imported = imported(
        &json!({
            "trace": {},
            "put": { "parameters": [{ "$ref": "other.yaml#/x" }, { "name": "a b", "in": "header" }, { "name": "q" }] },
            "get": { "operationId": "same", "responses": { "200": { "$ref": "#/nowhere" } } },
            "post": { "operationId": "same", "requestBody": { "content": { "application/xml": { "schema": { "type": "object" } } } } },
            "patch": { "requestBody": { "content": { "application/json": { "schema": {
                "properties": { "a": { "$ref": "https://example.com/a.json" }, "b": { "pattern": "(?=x)" } } } } } } },
            "delete": 5,
        }),
        &json!({ "webhooks": {} }),
    );
    let told: Vec<&str> = imported.left_out.iter().map(|one| one.what.as_str()).collect();
    for what in [
        "webhooks",
        "TRACE /pets/{id}",
        "PUT /pets/{id}, parameter 0",
        "PUT /pets/{id}, parameter a b",
        "PUT /pets/{id}, parameter q",
        "GET /pets/{id}, answer 200",
        "POST /pets/{id}, body",
        "DELETE /pets/{id}",
    ] {
        assert!(told.contains(&what), "{what}: {told:?}");
    }
    let keys: Vec<&str> = imported.tools.iter().map(|tool| tool.key.as_str()).collect();
    assert_eq!(keys, ["same", "POST /pets/{id}", "PUT /pets/{id}", "PATCH /pets/{id}"]);
    let notes: Vec<String> = imported.left_out.iter().map(|one| one.why.clone()).collect();
    assert!(notes.iter().any(|why| why.contains("looks ahead")), "{notes:?}");
    assert!(notes.iter().any(|why| why.contains("https://example.com/a.json")), "{notes:?}");
    for tool in &imported.tools {
        parse(&tool.parameters);
    }
}

#[test]
fn what_is_no_document_says_what_it_is() {
    let cases = [
        ("", "it has no member openapi"),
        ("[]", "it has no member openapi"),
        ("{\"openapi\": \"3.0.0\", \"paths\": 1}", "paths: must be an object"),
        ("{\"swagger\": \"2.0\"}", "is of Swagger 2.0"),
        ("{\"openapi\": \"4.0.0\"}", "is of OpenAPI 4.0.0"),
        ("{\"openapi\": }}", "line 1, column 13: is not JSON"),
        ("a: [", "is not YAML"),
    ];
    for (text, why) in cases {
        let told = read(text).unwrap_err().to_string();
        assert!(told.contains(why), "{text}: {told}");
    }
    assert!(read("openapi: 3.1\npaths: {}").unwrap().tools.is_empty());
}

#[test]
fn a_schema_that_is_far_too_large_is_cut() {
    let mut schemas = serde_json::Map::new();
    for i in 0..600 {
        let properties: serde_json::Map<String, Value> = (0..20)
            .map(|n| {
                (
                    format!("p{n}"),
                    json!({ "$ref": format!("#/components/schemas/S{}", (i * 20 + n) % 600) }),
                )
            })
            .collect();
        schemas.insert(format!("S{i}"), json!({ "type": "object", "properties": properties }));
    }
    let content =
        json!({ "application/json": { "schema": { "$ref": "#/components/schemas/S0" } } });
    let imported = imported(
        &json!({ "post": { "requestBody": { "content": content }, "responses": { "200": { "description": "", "content": content } } } }),
        &json!({ "components": { "schemas": schemas } }),
    );
    let tool = &imported.tools[0];
    assert!(tool.parameters.get().len() < schema::MAX_BYTES, "{}", tool.parameters.get().len());
    parse(&tool.parameters);
    parse(tool.result.as_ref().unwrap());
    let told: Vec<&str> = imported.left_out.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(told, ["POST /pets/{id}, answer", "POST /pets/{id}, arguments"]);
}

#[test]
fn a_large_document_is_imported_whole() {
    let mut schemas = serde_json::Map::new();
    for i in 0..1_500 {
        let properties: serde_json::Map<String, Value> = (0..20)
            .map(|n| {
                let other = (i * 7 + n * 13) % 1_500;
                let one = match n % 4 {
                    0 => json!({ "$ref": format!("#/components/schemas/Model{other}") }),
                    1 => json!({ "type": "array", "items": { "type": "string", "example": "x".repeat(40) } }),
                    _ => json!({ "type": "string", "description": "What this is, in a few words.", "nullable": true }),
                };
                (format!("member{n}"), one)
            })
            .collect();
        schemas.insert(format!("Model{i}"), json!({ "type": "object", "properties": properties }));
    }
    let paths: serde_json::Map<String, Value> = (0..1_500)
        .map(|i| {
            let schema = json!({ "$ref": format!("#/components/schemas/Model{i}") });
            let content = json!({ "application/json": { "schema": schema } });
            let post = json!({
                "operationId": format!("models/create{i}"), "tags": ["models"],
                "requestBody": { "content": content },
                "responses": { "200": { "description": "", "content": content } },
            });
            (format!("/models/{i}"), json!({ "post": post }))
        })
        .collect();
    let text = json!({ "openapi": "3.0.3", "paths": paths, "components": { "schemas": schemas } });
    let text = text.to_string();
    assert!(text.len() > 3_000_000, "{}", text.len());
    let imported = read(&text).unwrap();
    assert_eq!(imported.tools.len(), 1_500);
    let bytes: usize = imported
        .tools
        .iter()
        .map(|tool| {
            tool.parameters.get().len() + tool.result.as_ref().map_or(0, |raw| raw.get().len())
        })
        .sum();
    // What is not described to its end keeps the whole far below an isolate's memory.
    assert!(bytes < 40_000_000, "{bytes}");
    parse(&imported.tools[1_499].parameters);
    parse(imported.tools[1_499].result.as_ref().unwrap());
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i8>().prop_map(|n| json!(n)),
        prop::sample::select(vec![
            "path",
            "query",
            "header",
            "id",
            "string",
            "#/paths",
            "#/components/schemas/a",
            "#",
            "form",
            "deepObject",
            "apiKey",
            "http",
            "x"
        ])
        .prop_map(|text| json!(text)),
        "\\PC{0,4}".prop_map(|text| json!(text)),
    ];
    let name = prop::sample::select(vec![
        "/a",
        "/{id}",
        "get",
        "post",
        "parameters",
        "name",
        "in",
        "schema",
        "content",
        "requestBody",
        "application/json",
        "multipart/form-data",
        "responses",
        "200",
        "default",
        "type",
        "properties",
        "$ref",
        "security",
        "servers",
        "url",
        "variables",
        "enum",
        "style",
        "explode",
        "operationId",
        "tags",
        "encoding",
        "schemas",
        "securitySchemes",
        "required",
        "items",
        "description",
    ]);
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| json!(items)),
            prop::collection::vec((name.clone(), inner), 0..6).prop_map(|members| {
                members
                    .into_iter()
                    .map(|(k, v)| (k.to_owned(), v))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_document_is_read_or_refused(paths in any_value(), components in any_value(), arguments in any_value()) {
        let text = json!({ "openapi": "3.0.1", "paths": { "/a/{id}": paths }, "components": components });
        if let Ok(imported) = read(&text.to_string()) {
            for tool in &imported.tools {
                parse(&tool.parameters);
                tool.result.as_ref().map(|result| parse(result));
                let _ = asked(tool, &arguments);
            }
        }
    }

    #[test]
    fn a_request_says_what_was_asked(id in "\\PC{1,12}", q in "\\PC{0,12}", list in prop::collection::vec("\\PC{0,5}", 0..4)) {
        prop_assume!(id != "." && id != "..");
        let tool = only(&json!({ "get": { "parameters": [
            { "name": "q", "in": "query", "schema": {} }, { "name": "list", "in": "query", "schema": {} }] } }));
        let request = asked(&tool, &json!({ "id": id, "q": q, "list": list })).unwrap();
        let url = Url::parse(&request.url).unwrap();
        let pairs: Vec<(String, String)> =
            url.query_pairs().map(|(k, v)| (k.into_owned(), v.into_owned())).collect();
        let wanted: Vec<(String, String)> = list.iter().map(|one| ("list".to_owned(), one.clone()))
            .chain([("q".to_owned(), q.clone())]).collect();
        let mut pairs_sorted = pairs; pairs_sorted.sort();
        let mut wanted_sorted = wanted; wanted_sorted.sort();
        prop_assert_eq!(pairs_sorted, wanted_sorted);
        let last = url.path_segments().unwrap().next_back().unwrap().replace('+', "%2B");
        let pair = format!("p={last}");
        let decoded = url::form_urlencoded::parse(pair.as_bytes()).next().unwrap().1.into_owned();
        prop_assert_eq!(decoded, id);
        prop_assert_eq!(url.host_str(), Some("api.example.com"));
    }
}
