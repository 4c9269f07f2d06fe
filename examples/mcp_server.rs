//! The MCP endpoint on loopback with a stand-in for the tools, to try clients against the
//! protocol alone: no worker, no sandbox, no database.
//!
//! ```sh
//! HOLDFAST_ADMIN_TOKEN=secret cargo run --example mcp_server -- 8787
//! ```
//!
//! `execute` knows a few programs, written as real ones would be: `return <JSON>`,
//! `return "x".repeat(<n>)`, `throw new Error(<JSON>)`, each after `await sleep(<ms>);` as well.
//! Any other completes with null. Whoever serves the core for real does what
//! [`serve`] does: open, admit, read, run, and stream what takes longer than a second.

use holdfast::{
    error::{Code, Fault},
    mcp::{
        Access, Answer, Call, Endpoint, Guide, Head, Headers, Host, Origins, Read as Asked,
        STREAM_AFTER_MS, Tool, ToolAnswer, ToolOutcome, well_known,
    },
};
use serde_json::{Value, json, value::to_raw_value};
use std::{
    env,
    future::Future,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

/// Bytes of one request's head, and of its body.
const HEAD_BYTES: u64 = 65_536;
const BODY_BYTES: usize = 4_194_304;

/// Bytes of a body that are read at all: one more than is taken.
const MOST_READ: u64 = 4_194_305;

struct Server {
    endpoint: Endpoint,
    guide: Guide,
    token: String,
}

fn main() -> io::Result<()> {
    let port = env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0);
    let token = env::var("HOLDFAST_ADMIN_TOKEN").unwrap_or_default();
    let origins = Origins { allowed: Vec::new(), loopback: true };
    let server = Arc::new(Server {
        endpoint: Endpoint { origins, body_bytes: BODY_BYTES, budget_ms: 90_000 },
        guide: Guide { budget_ms: 90_000, ..Guide::default() },
        token,
    });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    println!("http://{}/mcp", listener.local_addr()?);
    for connection in listener.incoming() {
        let (server, connection) = (Arc::clone(&server), connection?);
        thread::spawn(move || {
            if let Err(fault) = serve(&server, connection) {
                eprintln!("mcp_server: {fault}");
            }
        });
    }
    Ok(())
}

/// Answers one request and closes the connection.
fn serve(server: &Server, connection: TcpStream) -> io::Result<()> {
    connection.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut connection = connection;
    let mut lines = Vec::new();
    for line in (&mut reader).take(HEAD_BYTES).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).trim_end_matches('\r').to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let Some(start) = lines.first() else { return Ok(()) };
    let mut parts = start.split(' ');
    let method = parts.next().unwrap_or_default();
    let path = parts.next().unwrap_or_default().split('?').next().unwrap_or_default();
    let headers: Headers = lines.iter().skip(1).filter_map(|line| line.split_once(':')).collect();
    let access = server.access(&headers);
    // Read before any refusal: closing a socket with unread bytes resets it under the answer.
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = Vec::new();
    reader.take(length.min(MOST_READ)).read_to_end(&mut body)?;

    if let Some(answer) = well_known(path) {
        return send(&mut connection, &answer);
    }
    let admitted = server
        .endpoint
        .open(Head { method, path, headers })
        .and_then(|opened| opened.admit(&access));
    let admitted = match admitted {
        Ok(admitted) => admitted,
        Err(refusal) => return send(&mut connection, &refusal),
    };
    match admitted.read(&body) {
        Asked::Answer(answer) => send(&mut connection, &answer),
        Asked::List(list) => send(&mut connection, &list.answer(&server.guide)),
        Asked::Call(call) => run(&mut connection, &call),
    }
}

/// Runs a call, streaming the answer once it has been open for a second.
fn run(connection: &mut TcpStream, call: &Call) -> io::Result<()> {
    let wait_ms = Fake::wait_ms(call);
    if wait_ms <= STREAM_AFTER_MS {
        thread::sleep(Duration::from_millis(wait_ms));
        return send(connection, &call.reply.answer(&Fake.outcome(call)));
    }
    thread::sleep(Duration::from_millis(STREAM_AFTER_MS));
    let mut stream = call.reply.clone().stream();
    write_head(connection, &stream.head(), None)?;
    let mut elapsed_ms = STREAM_AFTER_MS;
    loop {
        // A write that fails is the client's hang-up: it ends the call.
        connection.write_all(&stream.beat(elapsed_ms, None))?;
        let left_ms = wait_ms.saturating_sub(elapsed_ms);
        if left_ms == 0 {
            break;
        }
        thread::sleep(Duration::from_millis(left_ms.min(1_000)));
        elapsed_ms = elapsed_ms.saturating_add(left_ms.min(1_000));
    }
    connection.write_all(&stream.end(&Fake.outcome(call)))
}

impl Server {
    fn access(&self, headers: &Headers) -> Access {
        if self.token.is_empty() {
            return Access::Authenticated;
        }
        let bearer = headers.get("authorization").and_then(|value| value.split_once(' '));
        match bearer {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                if token.trim() == self.token { Access::Authenticated } else { Access::Bad }
            }
            _ => Access::Missing,
        }
    }
}

/// The stand-in for the tools.
struct Fake;

impl Host for Fake {
    async fn call(&self, call: &Call) -> ToolAnswer {
        match &call.tool {
            Tool::Execute(execute) => {
                let (run, is_error) = outcome(&execute.code);
                answer(&run, is_error)
            }
            Tool::RunGet(id) => {
                Err(Fault::new(Code::RunNotFound, format!("There is no run {id}.")))
            }
            _ => answer(&json!({ "runs": [], "nextCursor": null }), false),
        }
    }
}

impl Fake {
    /// Polls the call once: nothing in it waits.
    fn outcome(&self, call: &Call) -> ToolAnswer {
        let polled = pin!(self.call(call)).poll(&mut Context::from_waker(Waker::noop()));
        match polled {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => Err(Fault::internal("none", "the stand-in waited")),
        }
    }

    fn wait_ms(call: &Call) -> u64 {
        match &call.tool {
            Tool::Execute(execute) => slept(&execute.code).0,
            _ => 0,
        }
    }
}

/// Milliseconds that a program sleeps first, and the rest of it.
fn slept(code: &str) -> (u64, &str) {
    let slept = code.strip_prefix("await sleep(").and_then(|rest| rest.split_once(");"));
    match slept {
        Some((ms, rest)) => (ms.parse().unwrap_or(0), rest.trim()),
        None => (0, code.trim()),
    }
}

fn answer(structured: &Value, is_error: bool) -> ToolAnswer {
    let structured = to_raw_value(structured)
        .map_err(|fault| Fault::internal("none", format!("no JSON: {fault}")))?;
    Ok(ToolOutcome { structured, is_error, replayed: false })
}

/// What the program comes to, and whether that is a failure.
fn outcome(code: &str) -> (Value, bool) {
    let code = slept(code).1.trim_end_matches(';');
    let timing =
        json!({ "queuedMs": 0, "loadedMs": 0, "computeMs": 0, "toolsMs": 0, "totalMs": 0 });
    let thrown = code
        .strip_prefix("throw new Error(")
        .and_then(|rest| serde_json::from_str::<String>(rest.strip_suffix(')')?).ok());
    if let Some(message) = thrown {
        let fault = Fault::new(Code::RuntimeError, message);
        let run = json!({
            "id": "run_1", "status": "failed", "outcome": "failed", "error": fault.message,
            "errorDetails": fault.to_json(), "logs": [], "warnings": [], "timing": timing,
        });
        return (run, true);
    }
    let result = code.strip_prefix("return ").and_then(|value| {
        match value.strip_prefix("\"x\".repeat(").and_then(|rest| rest.strip_suffix(')')) {
            Some(times) => Some(json!("x".repeat(times.parse().ok()?))),
            None => serde_json::from_str(value).ok(),
        }
    });
    let run = json!({
        "id": "run_1", "status": "completed", "outcome": "completed", "result": result,
        "logs": [], "warnings": [], "timing": timing,
    });
    (run, false)
}

fn send(connection: &mut TcpStream, answer: &Answer) -> io::Result<()> {
    write_head(connection, answer, Some(answer.body.len()))?;
    connection.write_all(&answer.body)
}

fn write_head(
    connection: &mut TcpStream,
    answer: &Answer,
    length: Option<usize>,
) -> io::Result<()> {
    let mut head = Vec::new();
    write!(head, "HTTP/1.1 {} -\r\nconnection: close\r\n", answer.status)?;
    for (name, value) in &answer.headers {
        write!(head, "{name}: {value}\r\n")?;
    }
    if let Some(length) = length {
        write!(head, "content-length: {length}\r\n")?;
    }
    head.extend_from_slice(b"\r\n");
    connection.write_all(&head)
}
