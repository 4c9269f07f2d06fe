//! The tunnel's checks come in their order, and an earlier one's answer is given even where a
//! later one is known first. Own project only, and nothing of the input in an answer.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use holdfast::report::config::SentryConfig;
use holdfast::report::dsn::Dsn;
use holdfast::report::tunnel::{
    Decision, Encoding, Head, Intake, MAX_BODY_BYTES, Refusal, error_body, route, settled_body,
};

const ENVELOPE: &str = "{}\n{\"type\":\"session\"}\n{}";

fn config() -> SentryConfig {
    let dsn = Some(Dsn::parse("http://public@127.0.0.1:9100/1").unwrap());
    SentryConfig { dsn, ..SentryConfig::off() }
}

fn head() -> Head<'static> {
    Head { method: "POST", path: "/sentry-tunnel", ..Head::default() }
}

fn decide(head: &Head<'_>, body: &[u8]) -> Result<Decision, Refusal> {
    let config = config();
    let mut intake = Intake::admit(head, &config)?;
    for piece in body.chunks(1 << 16) {
        intake.take(piece)?;
    }
    intake.finish()
}

fn status(head: &Head<'_>, body: &[u8]) -> u16 {
    decide(head, body).map_or_else(|refusal| refusal.status(), |_| 200)
}

#[test]
fn each_check_has_its_answer_and_the_first_that_fails_gives_it() {
    let large = || Some((MAX_BODY_BYTES + 1).to_string());
    let text = |text: &str| Some(text.to_owned());
    let foreign = "{\"dsn\":\"http://public@attacker.example/1\"}";
    let cases: Vec<(&str, Head<'_>, String, u16)> = vec![
        ("all is well", head(), ENVELOPE.to_owned(), 200),
        (
            "another path",
            Head { path: "/sentry-tunnel/x", method: "GET", ..head() },
            String::new(),
            404,
        ),
        (
            "another method",
            Head { method: "GET", content_encoding: text("zstd"), ..head() },
            String::new(),
            405,
        ),
        (
            "another encoding",
            Head { content_encoding: text("zstd"), content_length: large(), ..head() },
            String::new(),
            415,
        ),
        (
            "two encodings",
            Head { content_encoding: text("gzip, br"), ..head() },
            String::new(),
            415,
        ),
        (
            "announced too large",
            Head { content_length: large(), auth: text("sentry_key=other"), ..head() },
            String::new(),
            413,
        ),
        (
            "announced exactly",
            Head { content_length: Some(MAX_BODY_BYTES.to_string()), ..head() },
            ENVELOPE.to_owned(),
            200,
        ),
        (
            "an announcement that is no number",
            Head { content_length: text("x"), ..head() },
            ENVELOPE.to_owned(),
            200,
        ),
        (
            "a malformed header of another key",
            Head { auth: text("sentry_key=other"), ..head() },
            "x".to_owned(),
            400,
        ),
        ("another project with a malformed item", head(), format!("{foreign}\n\n"), 403),
        (
            "dsn is no string, key is another's",
            Head { query_keys: vec!["other".to_owned()], ..head() },
            "{\"dsn\":7}\n".to_owned(),
            400,
        ),
        ("dsn is null", head(), "{\"dsn\":null}\n".to_owned(), 400),
        ("dsn is no DSN", head(), "{\"dsn\":\"x\"}\n".to_owned(), 403),
        ("a malformed item", head(), "{}\n\n".to_owned(), 400),
    ];
    for (name, head, body, expected) in cases {
        assert_eq!(status(&head, body.as_bytes()), expected, "{name}");
    }
    let off = SentryConfig::off();
    assert_eq!(Intake::admit(&head(), &off).unwrap_err(), Refusal::NotFound);
}

#[test]
fn a_body_is_too_large_from_one_byte_over_even_when_it_is_malformed() {
    let config = config();
    let mut intake = Intake::admit(&head(), &config).unwrap();
    let mebibyte = vec![b'x'; 1 << 20];
    assert_eq!(intake.take(b"{}\n\n"), Ok(false), "no longer needed, but read on");
    for _ in 0..24 {
        assert_eq!(intake.take(&mebibyte), Ok(false));
    }
    assert_eq!(intake.take(&mebibyte[..(1 << 20) - 4]), Ok(false));
    assert_eq!(intake.take(b"x"), Err(Refusal::TooLarge));
}

#[test]
fn every_project_that_a_request_names_must_be_ours() {
    let auth = |text: &str| Head { auth: Some(text.to_owned()), ..head() };
    let query = |keys: &[&str]| Head {
        query_keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        ..head()
    };
    let path = |path| Head { path, ..head() };
    let cases = [
        ("auth ours", auth("Sentry sentry_version=7, sentry_key=public, sentry_client=x/1"), 200),
        ("auth first", auth("Sentry sentry_key=public,sentry_version=7"), 200),
        ("auth without key", auth("Sentry sentry_version=7"), 200),
        ("auth of another", auth("Sentry sentry_version=7, sentry_key=other"), 403),
        ("auth of both", auth("Sentry sentry_key=public, sentry_key=other"), 403),
        ("auth in capitals", auth("sentry SENTRY_KEY=other"), 403),
        ("auth empty", auth("Sentry sentry_key="), 403),
        ("query ours", query(&["public"]), 200),
        ("query of another", query(&["other"]), 403),
        ("query of both", query(&["public", "other"]), 403),
        ("path ours", path("/sentry-tunnel/api/1/envelope/"), 200),
        ("path without its slash", path("/sentry-tunnel/api/1/envelope"), 200),
        ("path of another", path("/sentry-tunnel/api/2/envelope/"), 403),
        ("path of another spelling", path("/sentry-tunnel/api/01/envelope/"), 403),
    ];
    for (name, head, expected) in cases {
        assert_eq!(status(&head, ENVELOPE.as_bytes()), expected, "{name}");
    }
}

#[test]
fn the_tunnel_has_two_routes() {
    assert_eq!(route("/sentry-tunnel"), Some(None));
    assert_eq!(route("/sentry-tunnel/"), Some(None));
    assert_eq!(route("/sentry-tunnel/api/42/envelope/"), Some(Some("42")));
    for other in [
        "/",
        "/sentry-tunnels",
        "/sentry-tunnel//",
        "/sentry-tunnel/api//envelope/",
        "/sentry-tunnel/api/1/store/",
        "/sentry-tunnel/api/1/2/envelope/",
        "/sentry-tunnel/api/1/envelope/x",
        "/a/sentry-tunnel",
    ] {
        assert_eq!(route(other), None, "{other}");
    }
}

#[test]
fn what_is_left_goes_on_and_nothing_left_is_settled() {
    let noise = "{\"type\":\"event\"}\n{\"message\":\"Execution timed out\",\"event_id\":\"9680658abdf7413ef2a746458761c60d\"}\n";
    let whole = decide(&head(), ENVELOPE.as_bytes()).unwrap();
    let Decision::Forward { kept, losses } = whole else { panic!("not forwarded") };
    assert_eq!((kept.first().cloned(), kept.len()), (Some(0..ENVELOPE.len()), 1));
    assert!(losses.is_empty());

    let Decision::Settled { event_id, losses } =
        decide(&head(), format!("{{}}\n{noise}").as_bytes()).unwrap()
    else {
        panic!("not settled")
    };
    assert_eq!(settled_body(event_id.as_ref()), r#"{"id":"9680658abdf7413ef2a746458761c60d"}"#);
    assert!(!losses.is_empty());

    let body = format!("{{}}\n{noise}{{\"type\":\"session\"}}\n{{}}\n");
    let Decision::Forward { kept, losses } = decide(&head(), body.as_bytes()).unwrap() else {
        panic!("not forwarded")
    };
    let forwarded: String = kept.into_iter().map(|range| &body[range]).collect();
    assert_eq!(forwarded, "{}\n{\"type\":\"session\"}\n{}\n");
    assert!(!losses.is_empty());

    let Decision::Settled { event_id, losses } = decide(&head(), b"{}").unwrap() else {
        panic!("not settled")
    };
    assert_eq!((settled_body(event_id.as_ref()).as_str(), losses.is_empty()), ("{}", true));
}

#[test]
fn encodings_are_read_in_any_case_and_never_guessed() {
    let config = config();
    let encoding = |text: &str| {
        let head = Head { content_encoding: Some(text.to_owned()), ..head() };
        Intake::admit(&head, &config).map(|intake| intake.encoding()).ok()
    };
    assert_eq!(encoding("GZIP"), Some(Encoding::Gzip));
    assert_eq!(encoding(" br "), Some(Encoding::Brotli));
    assert_eq!(encoding("deflate"), Some(Encoding::Deflate));
    assert_eq!(encoding("identity"), Some(Encoding::Identity));
    assert_eq!(encoding(""), Some(Encoding::Identity));
    for other in ["zstd", "x-gzip", "gzip,gzip", "compress"] {
        assert_eq!(encoding(other), None, "{other}");
    }
}

#[test]
fn an_answer_quotes_nothing_of_the_input() {
    let bodies = [
        "sekrit",
        "{\"dsn\":\"http://sekrit@h/1\"}",
        "{}\nsekrit",
        "{}\n{\"type\":\"sekrit\",\"length\":9}\nx",
    ];
    for body in bodies {
        let refusal = decide(&head(), body.as_bytes()).unwrap_err();
        let answer = error_body(&refusal.detail());
        assert!(
            answer.starts_with("{\"causes\":[],\"detail\":\"") && !answer.contains("sekrit"),
            "{answer}"
        );
    }
}
