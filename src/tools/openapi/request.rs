//! The request of a call.

use super::plan::{Body, Form, In, Member, Parameter, Plan, Style};
use crate::run::value;
use crate::tools::exchange::Request;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use url::Url;

/// A call's arguments, as they were written.
type Arguments<'a> = BTreeMap<String, &'a RawValue>;

/// Makes the request of a call to the service at `base`. `arguments` is the tagged JSON of an object
/// that fits the tool's schema.
///
/// # Errors
///
/// What cannot be put into a request, as a sentence that names its place in the arguments.
pub fn request(plan: &Plan, base: &Url, arguments: &str) -> Result<Request, String> {
    let arguments: Arguments<'_> = serde_json::from_str(arguments)
        .map_err(|_| "the arguments must be one object".to_owned())?;
    let mut path = plan.path.clone();
    let mut query = String::new();
    let mut headers = Vec::new();
    let mut cookies = Vec::new();
    for parameter in &plan.parameters {
        let Some(raw) = arguments.get(&parameter.argument) else { continue };
        let at = |why: String| format!("{} {why}", parameter.argument);
        let given = plain(raw).map_err(at)?;
        if given.is_null() && parameter.place != In::Path {
            continue;
        }
        match parameter.place {
            In::Path => {
                let text = in_path(parameter, &given).map_err(at)?;
                path = path.replace(&format!("{{{}}}", parameter.name), &text);
            }
            In::Query => in_query(parameter, &given, &mut query),
            In::Header => {
                let text = simple(parameter, &given, &str::to_owned);
                if text.chars().any(|c| c.is_control() && c != '\t') {
                    return Err(at("must have no line breaks: it goes into a header".into()));
                }
                headers.push((parameter.name.to_ascii_lowercase(), text));
            }
            In::Cookie => {
                let text = simple(parameter, &given, &|text| encoded(text, false));
                cookies.push(format!("{}={text}", parameter.name));
            }
        }
    }
    if let Some((_, rest)) = path.split_once('{')
        && let Some((name, _)) = rest.split_once('}')
    {
        return Err(format!("{name} is required: it is a part of the path"));
    }
    if !cookies.is_empty() {
        headers.push(("cookie".into(), cookies.join("; ")));
    }
    let accepts = if plan.accepts.is_empty() { "*/*".into() } else { plan.accepts.join(", ") };
    headers.push(("accept".into(), accepts));
    let mut body = None;
    if let Some(own) = &plan.body
        && let Some(raw) = arguments.get(&own.argument)
    {
        let (media, bytes) = body_of(own, raw).map_err(|why| format!("{} {why}", own.argument))?;
        headers.push(("content-type".into(), media));
        body = Some(bytes);
    }
    let url = joined(base, &path, &query)?;
    Ok(Request { method: plan.method.clone(), url, headers, body })
}

/// The URL below the base, and nowhere else.
fn joined(base: &Url, path: &str, query: &str) -> Result<String, String> {
    let mut url = base.clone();
    url.set_query(None);
    url.set_fragment(None);
    let below = url.as_str().trim_end_matches('/');
    let mut text = below.to_owned();
    if !path.starts_with('/') {
        text.push('/');
    }
    text.push_str(path);
    let mut joined =
        Url::parse(&text).map_err(|error| format!("the path makes no URL ({error})"))?;
    if joined.origin() != base.origin() || path.split('/').any(is_step) {
        return Err("the path leads out of the service".into());
    }
    let all = [base.query(), joined.query(), Some(query)];
    let all: Vec<&str> = all.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let all = all.join("&");
    joined.set_query((!all.is_empty()).then_some(all.as_str()));
    joined.set_fragment(None);
    Ok(joined.into())
}

/// Whether a part of a path is none, but a step to where it stands or up.
fn is_step(part: &str) -> bool {
    let part = part.split(['?', '#']).next().unwrap_or_default();
    matches!(part.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
}

/// The plain form of an argument.
fn plain(raw: &RawValue) -> Result<Value, String> {
    let (text, _) = value::plain(raw.get()).map_err(|why| format!("is no value: {why}"))?;
    serde_json::from_str(&text).map_err(|why| format!("is no value: {why}"))
}

/// A value as text, where it is one.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        // What has no form of its own there is JSON.
        _ => value.to_string(),
    }
}

fn in_path(parameter: &Parameter, given: &Value) -> Result<String, String> {
    let name = &parameter.name;
    let encode = |text: &str| encoded(text, false);
    let text = if parameter.json {
        encode(&given.to_string())
    } else {
        match (parameter.style, given) {
            (Style::Label, Value::Array(items)) => {
                let items = all(items, &encode);
                format!(".{}", items.join(if parameter.explode { "." } else { "," }))
            }
            (Style::Label, Value::Object(members)) => {
                let (between, is) = if parameter.explode { (".", "=") } else { (",", ",") };
                format!(".{}", pairs(members, is, &encode).join(between))
            }
            (Style::Label, one) => format!(".{}", encode(&scalar(one))),
            (Style::Matrix, Value::Array(items)) if parameter.explode => {
                all(items, &encode).into_iter().fold(String::new(), |mut out, item| {
                    let _ = write!(out, ";{name}={item}");
                    out
                })
            }
            (Style::Matrix, Value::Object(members)) if parameter.explode => {
                format!(";{}", pairs(members, "=", &encode).join(";"))
            }
            (Style::Matrix, one) => format!(";{name}={}", simple(parameter, one, &encode)),
            (_, one) => simple(parameter, one, &encode),
        }
    };
    if text.is_empty() {
        return Err("must not be empty: it is a part of the path".into());
    }
    if is_step(&text) {
        return Err("must not be . or ..: it is a part of the path".into());
    }
    Ok(text)
}

/// `a,b` and `k,v` or, exploded, `k=v`.
fn simple(parameter: &Parameter, given: &Value, encode: &dyn Fn(&str) -> String) -> String {
    if parameter.json {
        return encode(&given.to_string());
    }
    match given {
        Value::Array(items) => all(items, encode).join(","),
        Value::Object(members) => {
            let is = if parameter.explode { "=" } else { "," };
            pairs(members, is, encode).join(",")
        }
        one => encode(&scalar(one)),
    }
}

fn all(items: &[Value], encode: &dyn Fn(&str) -> String) -> Vec<String> {
    items.iter().map(|item| encode(&scalar(item))).collect()
}

fn pairs(members: &Map<String, Value>, is: &str, encode: &dyn Fn(&str) -> String) -> Vec<String> {
    let given = members.iter().filter(|(_, value)| !value.is_null());
    given.map(|(name, value)| format!("{}{is}{}", encode(name), encode(&scalar(value)))).collect()
}

fn in_query(parameter: &Parameter, given: &Value, query: &mut String) {
    let encode = |text: &str| encoded(text, parameter.reserved);
    let name = encoded(&parameter.name, false);
    if parameter.json {
        return add(query, &name, &encoded(&given.to_string(), false));
    }
    fields(query, &name, parameter.style, parameter.explode, given, &encode);
}

fn add(query: &mut String, name: &str, value: &str) {
    if !query.is_empty() {
        query.push('&');
    }
    let _ = write!(query, "{name}={value}");
}

/// A value as fields of a form, by its style.
fn fields(
    query: &mut String,
    name: &str,
    style: Style,
    explode: bool,
    given: &Value,
    encode: &dyn Fn(&str) -> String,
) {
    let between = match style {
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        _ => ",",
    };
    match given {
        _ if style == Style::DeepObject => deep(query, name, given, encode),
        Value::Array(items) if explode => {
            for item in all(items, encode) {
                add(query, name, &item);
            }
        }
        Value::Array(items) => add(query, name, &all(items, encode).join(between)),
        Value::Object(members) if explode => {
            for pair in pairs(members, "=", encode) {
                if !query.is_empty() {
                    query.push('&');
                }
                query.push_str(&pair);
            }
        }
        Value::Object(members) => {
            add(query, name, &pairs(members, between, encode).join(between));
        }
        one => add(query, name, &encode(&scalar(one))),
    }
}

/// `name[member][0]=value`; lists have no numbers where they hold no lists and no objects.
fn deep(query: &mut String, name: &str, given: &Value, encode: &dyn Fn(&str) -> String) {
    match given {
        Value::Object(members) => {
            for (member, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                let member = format!("{name}%5B{}%5D", encoded(member, false));
                deep(query, &member, value, encode);
            }
        }
        Value::Array(items) => {
            let nested = items.iter().any(|item| item.is_object() || item.is_array());
            for (i, item) in items.iter().enumerate() {
                let number = if nested { i.to_string() } else { String::new() };
                deep(query, &format!("{name}%5B{number}%5D"), item, encode);
            }
        }
        one => add(query, name, &encode(&scalar(one))),
    }
}

/// Percent signs for all but what never needs them; what is reserved is left where it may be.
fn encoded(text: &str, reserved: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        // An ampersand, a plus and a hash would say something else in a query.
        if plain || (reserved && b":/?[]@!$'()*,;=".contains(&byte)) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

// ---- Bodies ------------------------------------------------------------------------------------

/// The media type and the bytes of a body.
fn body_of(body: &Body, raw: &RawValue) -> Result<(String, Vec<u8>), String> {
    match body.form {
        Form::Json => {
            let (text, _) = value::plain(raw.get()).map_err(|why| format!("is no value: {why}"))?;
            Ok((body.media.clone(), text.into_bytes()))
        }
        Form::Text | Form::Binary => Ok((body.media.clone(), content(raw)?.0)),
        Form::Urlencoded => {
            let mut form = String::new();
            for (name, raw) in &members(raw)? {
                urlencoded(body, name, raw, &mut form).map_err(|why| format!(".{name} {why}"))?;
            }
            Ok((body.media.clone(), form.into_bytes()))
        }
        Form::Multipart => multipart(body, raw),
    }
}

fn members(raw: &RawValue) -> Result<Arguments<'_>, String> {
    serde_json::from_str(raw.get()).map_err(|_| "must be an object: its members are fields".into())
}

fn own<'b>(body: &'b Body, name: &str) -> Option<&'b Member> {
    body.members.iter().find(|member| member.name == name)
}

fn urlencoded(body: &Body, name: &str, raw: &RawValue, form: &mut String) -> Result<(), String> {
    let given = plain(raw)?;
    if given.is_null() {
        return Ok(());
    }
    let encode = |text: &str| encoded(text, false);
    let field = encode(name);
    let member = own(body, name);
    let explode = member.is_none_or(|member| member.explode);
    match member.and_then(|member| member.style) {
        Some(style) => fields(form, &field, style, explode, &given, &encode),
        // Without a style an object is JSON.
        None if given.is_object() => add(form, &field, &encode(&given.to_string())),
        None => fields(form, &field, Style::Form, explode, &given, &encode),
    }
    Ok(())
}

/// What a value is as a body, or as a part of one, and the media type that it has by nature.
fn content(raw: &RawValue) -> Result<(Vec<u8>, &'static str), String> {
    let tagged: Value = serde_json::from_str(raw.get()).map_err(|why| why.to_string())?;
    if let Some(bytes) = value::as_bytes(&tagged) {
        return Ok((bytes, "application/octet-stream"));
    }
    if let Value::String(text) = plain(raw)? {
        return Ok((text.into_bytes(), "text/plain"));
    }
    // Digits stay as they were written.
    let (text, _) = value::plain(raw.get()).map_err(|why| why.to_string())?;
    Ok((text.into_bytes(), "application/json"))
}

fn multipart(body: &Body, raw: &RawValue) -> Result<(String, Vec<u8>), String> {
    let mut parts: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, raw) in &members(raw)? {
        let items: Result<Vec<&RawValue>, _> = serde_json::from_str(raw.get());
        let items = items.unwrap_or_else(|_| vec![raw]);
        for item in items {
            let (bytes, natural) = content(item).map_err(|why| format!(".{name} {why}"))?;
            if bytes == b"null" && natural == "application/json" {
                continue;
            }
            let media = own(body, name).and_then(|member| member.media.as_deref());
            let media = media.filter(|media| is_media(media)).unwrap_or(natural);
            let is_file = natural == "application/octet-stream";
            let shown = quoted(name);
            let mut head = format!("content-disposition: form-data; name=\"{shown}\"");
            if is_file {
                let _ = write!(head, "; filename=\"{shown}\"");
            }
            if is_file || media != "text/plain" {
                let _ = write!(head, "\r\ncontent-type: {media}");
            }
            parts.push((head, bytes));
        }
    }
    let boundary = boundary(&parts);
    let mut out = Vec::new();
    for (head, bytes) in &parts {
        out.extend_from_slice(format!("--{boundary}\r\n{head}\r\n\r\n").as_bytes());
        out.extend_from_slice(bytes);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let media = body.media.split(';').next().unwrap_or_default().trim();
    Ok((format!("{media}; boundary={boundary}"), out))
}

/// A media type, or one with a star, which says nothing of this very part.
fn is_media(media: &str) -> bool {
    media.contains('/') && !media.contains('*') && !media.chars().any(char::is_control)
}

/// A name between quotes, as browsers write it.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// A line that stands in none of the parts: it is their own hash.
fn boundary(parts: &[(String, Vec<u8>)]) -> String {
    let mut hash = Sha256::new();
    for (head, bytes) in parts {
        hash.update(head.as_bytes());
        hash.update(bytes);
    }
    let hex = crate::hex::encode(&hash.finalize());
    format!("holdfast-{}", hex.get(..32).unwrap_or_default())
}
