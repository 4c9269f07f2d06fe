//! Where the time of a run went, to scale: a picture, and the same as a table.

use super::text::words;
use super::time::span;
use maud::{Markup, html};

/// An attempt.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// When it began.
    pub began_at: u64,
    /// When its program could start.
    pub loaded_at: Option<u64>,
    /// When the recorded part was behind it.
    pub replayed_at: Option<u64>,
    /// When it ended.
    pub ended_at: Option<u64>,
}

/// A dispatch.
#[derive(Debug, Clone)]
pub struct Dispatch {
    /// Its number.
    pub n: u32,
    /// The tool.
    pub tool: String,
    /// How it ended.
    pub state: String,
    /// When it was called.
    pub called_at: u64,
    /// When it came back.
    pub returned_at: Option<u64>,
}

/// A question to people.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Where it stands.
    pub state: String,
    /// When it was asked.
    pub asked_at: u64,
    /// When it was decided.
    pub decided_at: Option<u64>,
}

/// What happened, and when. Times are Unix ms.
#[derive(Debug)]
pub struct Timeline {
    /// When the request arrived.
    pub from: u64,
    /// When the run ended, or now.
    pub to: u64,
    /// The budget.
    pub budget_ms: u64,
    /// The most that an attempt may take.
    pub ceiling_ms: Option<u64>,
    /// Its attempts, in order.
    pub attempts: Vec<Attempt>,
    /// Its dispatches, in order.
    pub dispatches: Vec<Dispatch>,
    /// Its questions, in order.
    pub questions: Vec<Question>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Load,
    Replay,
    Compute,
    Tool,
    Failed,
    People,
    Park,
}

impl Kind {
    const fn class(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Replay => "replay",
            Self::Compute => "compute",
            Self::Tool => "tool",
            Self::Failed => "failed",
            Self::People => "people",
            Self::Park => "park",
        }
    }
}

/// The kinds, as the legend names them.
const KEYS: &[(Kind, &str)] = &[
    (Kind::Load, "waiting in line, making the sandbox"),
    (Kind::Compute, "the program on its own"),
    (Kind::Tool, "a tool call"),
    (Kind::Failed, "one that failed"),
    (Kind::People, "people"),
    (Kind::Park, "parked: nothing is held"),
    (Kind::Replay, "run again from the record"),
];

#[derive(Debug)]
struct Piece {
    kind: Kind,
    lane: usize,
    from: u64,
    to: u64,
    what: String,
    link: Option<String>,
}

/// Dispatches at once that have a lane of their own; more share the last.
const MAX_LANES: usize = 20;

/// Heights, in pixels.
const LANE: usize = 16;
const RUN: usize = 26;
const TOP: usize = 22;

/// Millionths of the width that a piece has at least, so that it can be seen and hit.
const LEAST: u64 = 2_500;

impl Timeline {
    fn total_ms(&self) -> u64 {
        self.to.saturating_sub(self.from).max(1)
    }

    /// How long people were waited for, in all.
    #[must_use]
    pub fn people_ms(&self) -> u64 {
        let asked = self.questions.iter().map(|q| (q.asked_at, q.decided_at.unwrap_or(self.to)));
        joined(asked.collect()).iter().map(|(from, to)| to.saturating_sub(*from)).sum()
    }

    /// A moment in millionths of the width.
    fn x(&self, at: u64) -> u64 {
        let since = at.clamp(self.from, self.to).saturating_sub(self.from);
        since.saturating_mul(1_000_000).div_euclid(self.total_ms())
    }

    fn pieces(&self) -> (Vec<Piece>, usize) {
        let mut pieces = Vec::new();
        let mut run = |kind, from: u64, to: u64, what: String| {
            if to > from {
                pieces.push(Piece { kind, lane: 0, from, to, what, link: None });
            }
        };
        let busy = joined(
            self.dispatches
                .iter()
                .map(|call| (call.called_at, call.returned_at.unwrap_or(self.to)))
                .chain(self.questions.iter().map(|q| (q.asked_at, q.decided_at.unwrap_or(self.to))))
                .collect(),
        );
        let mut left_at = self.from;
        for (attempt, number) in self.attempts.iter().zip(1_u64..) {
            let end = attempt.ended_at.unwrap_or(self.to);
            let waited = if number == 1 { Kind::Load } else { Kind::Park };
            let what = if number == 1 { "in line for a permit" } else { "parked" };
            run(waited, left_at, attempt.began_at, what.to_owned());
            left_at = end;
            let Some(loaded_at) = attempt.loaded_at else {
                run(
                    Kind::Load,
                    attempt.began_at,
                    end,
                    format!("attempt {number}: making the sandbox"),
                );
                continue;
            };
            run(
                Kind::Load,
                attempt.began_at,
                loaded_at,
                format!("attempt {number}: making the sandbox"),
            );
            let started_at = attempt.replayed_at.unwrap_or(loaded_at);
            run(
                Kind::Replay,
                loaded_at,
                started_at,
                format!("attempt {number}: run again from the record"),
            );
            for (from, to) in without(started_at, end, &busy) {
                run(Kind::Compute, from, to, "the program on its own".to_owned());
            }
        }
        if !self.attempts.is_empty() {
            run(Kind::Park, left_at, self.to, "parked".to_owned());
        }
        let mut lanes: Vec<u64> = Vec::new();
        let mut lane_of = |from: u64, to: u64, first: usize| {
            let free = lanes.iter().skip(first).position(|until| *until <= from);
            let place = free.map_or(lanes.len(), |free| free.saturating_add(first));
            let place = place.min(first.saturating_add(MAX_LANES).saturating_sub(1));
            match lanes.get_mut(place) {
                Some(until) => *until = to,
                None => lanes.push(to),
            }
            place.saturating_add(1)
        };
        for call in &self.dispatches {
            let to = call.returned_at.unwrap_or(self.to);
            let failed = call.state != "returned" && call.state != "called";
            pieces.push(Piece {
                kind: if failed { Kind::Failed } else { Kind::Tool },
                lane: lane_of(call.called_at, to, 0),
                from: call.called_at,
                to,
                what: format!("call {} of {}, {}", call.n, words(&call.tool), call.state),
                link: Some(format!("#call-{}", call.n)),
            });
        }
        let first = pieces.iter().map(|piece| piece.lane).max().unwrap_or_default();
        for question in &self.questions {
            let to = question.decided_at.unwrap_or(self.to);
            pieces.push(Piece {
                kind: Kind::People,
                lane: lane_of(question.asked_at, to, first),
                from: question.asked_at,
                to,
                what: format!("people about {}, {}", words(&question.tool), question.state),
                link: Some(format!("/approvals/{}", question.id)),
            });
        }
        let lanes = pieces.iter().map(|piece| piece.lane).max().unwrap_or_default();
        (pieces, lanes)
    }
}

/// Intervals that touch, as one each, in order.
fn joined(mut intervals: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    intervals.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (from, to) in intervals {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// What is left of a stretch without these intervals.
fn without(from: u64, to: u64, taken: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut left = Vec::new();
    let mut at = from;
    for (start, end) in taken {
        if *start > at && *start <= to {
            left.push((at, *start));
        }
        at = at.max(*end);
    }
    if at < to {
        left.push((at, to));
    }
    left.retain(|(start, end)| end > start && *start < to);
    left
}

/// Millionths as a percentage.
fn percent(millionths: u64) -> String {
    format!("{}.{:04}%", millionths.div_euclid(10_000), millionths.rem_euclid(10_000))
}

/// Moments of the axis, in ms from its start: at most seven, at round numbers.
fn ticks(total_ms: u64) -> Vec<u64> {
    const UNITS: &[u64] = &[
        1,
        2,
        5,
        10,
        20,
        50,
        100,
        200,
        500,
        1_000,
        2_000,
        5_000,
        10_000,
        20_000,
        30_000,
        60_000,
        120_000,
        300_000,
        600_000,
        1_200_000,
        1_800_000,
        3_600_000,
        7_200_000,
        14_400_000,
        21_600_000,
        43_200_000,
        86_400_000,
        172_800_000,
        432_000_000,
        864_000_000,
        1_728_000_000,
    ];
    let step = UNITS.iter().find(|unit| total_ms.div_euclid(**unit) < 7).copied();
    let step = step.unwrap_or(total_ms.max(1));
    (0..8).map(|n: u64| n.saturating_mul(step)).filter(|at| *at <= total_ms).collect()
}

/// The picture and the table.
#[must_use]
pub fn markup(timeline: &Timeline) -> Markup {
    let (pieces, lanes) = timeline.pieces();
    let total = timeline.total_ms();
    let height =
        TOP.saturating_add(RUN).saturating_add(lanes.saturating_mul(LANE)).saturating_add(6);
    let offset = |at: u64| span(at.saturating_sub(timeline.from));
    html! {
        div.timeline {
            p { a.unseen-until href="#after-timeline" { "Skip the timeline" } }
            svg height=(height) role="group" aria-label="Timeline of the run, to scale" {
                @for at in ticks(total) {
                    @let x = percent(timeline.x(timeline.from.saturating_add(at)));
                    line.grid x1=(x) x2=(x) y1="16" y2=(height) {}
                    text x=(x) y="11" text-anchor=(if at == 0 { "start" } else if at.saturating_mul(20) > total.saturating_mul(19) { "end" } else { "middle" }) { (span(at)) }
                }
                @for piece in &pieces { (drawn(timeline, piece)) }
                @for call in &timeline.dispatches {
                    @if let Some(at) = call.returned_at {
                        @let x = percent(timeline.x(at));
                        line.granted x1=(x) x2=(x) y1=(TOP.saturating_add(RUN).saturating_sub(6)) y2=(TOP.saturating_add(RUN).saturating_sub(2)) {}
                    }
                }
                @if let Some(at) = ceiling(timeline) {
                    @let x = percent(timeline.x(at));
                    line.ceiling x1=(x) x2=(x) y1="16" y2=(height) { title { "the ceiling of the last attempt, people's time left out" } }
                }
            }
            p.hint #piece-said aria-hidden="true" { "Point at a piece, or move to it by keyboard, to read what it is." }
            ul.keys {
                @for (kind, says) in KEYS {
                    @if pieces.iter().any(|piece| piece.kind == *kind) {
                        li { span class={ "key " (kind.class()) } {} (says) }
                    }
                }
                @if timeline.dispatches.iter().any(|call| call.returned_at.is_some()) {
                    li { span class="key granted" {} "a budget of " (span(timeline.budget_ms)) " granted afresh" }
                }
                @if let Some(ceiling_ms) = timeline.ceiling_ms {
                    li { "An attempt may take " (span(ceiling_ms)) " in all, people's time left out" }
                }
            }
            details #timeline-table {
                summary { "The timeline as a table" }
                div.scroll tabindex="0" {
                    table {
                        thead { tr { th scope="col" { "What" } th.number scope="col" { "From" } th.number scope="col" { "Took" } } }
                        tbody {
                            @for piece in &pieces {
                                tr {
                                    td { (piece.what) }
                                    td.number { (offset(piece.from)) }
                                    td.number { (span(piece.to.saturating_sub(piece.from))) }
                                }
                            }
                        }
                    }
                }
            }
            span #after-timeline {}
        }
    }
}

/// When the last attempt reaches its ceiling, if that is within what is shown.
fn ceiling(timeline: &Timeline) -> Option<u64> {
    let at = timeline.attempts.last()?.began_at.saturating_add(timeline.ceiling_ms?);
    (at <= timeline.to).then_some(at)
}

fn drawn(timeline: &Timeline, piece: &Piece) -> Markup {
    let from = timeline.x(piece.from);
    let width = timeline.x(piece.to).saturating_sub(from).max(LEAST);
    // What begins at the very end is still seen.
    let x = from.min(1_000_000_u64.saturating_sub(width));
    let (y, height) = match piece.lane {
        0 => (TOP, RUN.saturating_sub(10)),
        lane => (
            TOP.saturating_add(RUN).saturating_add(lane.saturating_sub(1).saturating_mul(LANE)),
            LANE.saturating_sub(4),
        ),
    };
    let says = format!(
        "{}: {} from {}",
        piece.what,
        span(piece.to.saturating_sub(piece.from)),
        span(piece.from.saturating_sub(timeline.from))
    );
    let rect = html! {
        rect class={ "piece " (piece.kind.class()) } x=(percent(x)) y=(y) width=(percent(width))
            height=(height) rx="2" { title { (says) } }
    };
    html! {
        @match &piece.link {
            Some(link) => { a href=(link) aria-label=(says) data-says=(says) { (rect) } },
            None => { g tabindex="0" role="img" aria-label=(says) data-says=(says) { (rect) } },
        }
    }
}

#[cfg(test)]
mod tests {
    //! Every stretch of a run is in its timeline once, where it was.

    use super::*;

    fn dispatch(n: u32, called_at: u64, returned_at: u64) -> Dispatch {
        Dispatch {
            n,
            tool: "mail.send".to_owned(),
            state: "returned".to_owned(),
            called_at,
            returned_at: Some(returned_at),
        }
    }

    fn parked() -> Timeline {
        Timeline {
            from: 1_000,
            to: 11_000,
            budget_ms: 90_000,
            ceiling_ms: Some(600_000),
            attempts: vec![
                Attempt {
                    began_at: 1_000,
                    loaded_at: Some(1_100),
                    replayed_at: None,
                    ended_at: Some(3_000),
                },
                Attempt {
                    began_at: 9_000,
                    loaded_at: Some(9_100),
                    replayed_at: Some(9_200),
                    ended_at: Some(11_000),
                },
            ],
            dispatches: vec![
                dispatch(0, 1_200, 1_500),
                dispatch(1, 1_400, 1_600),
                dispatch(2, 9_300, 9_900),
            ],
            questions: vec![Question {
                id: "apr_1".to_owned(),
                tool: "mail.send".to_owned(),
                state: "allowed".to_owned(),
                asked_at: 2_000,
                decided_at: Some(9_000),
            }],
        }
    }

    #[test]
    fn the_run_is_told_from_end_to_end() {
        let (pieces, lanes) = parked().pieces();
        let run: Vec<_> = pieces
            .iter()
            .filter(|piece| piece.lane == 0)
            .map(|piece| (piece.kind.class(), piece.from, piece.to))
            .collect();
        assert_eq!(
            run,
            [
                ("load", 1_000, 1_100),
                ("compute", 1_100, 1_200),
                ("compute", 1_600, 2_000),
                ("park", 3_000, 9_000),
                ("load", 9_000, 9_100),
                ("replay", 9_100, 9_200),
                ("compute", 9_200, 9_300),
                ("compute", 9_900, 11_000),
            ]
        );
        // Two calls at once have a lane each; the question has one of its own.
        assert_eq!(lanes, 3);
        assert_eq!(parked().people_ms(), 7_000);
    }

    #[test]
    fn the_picture_is_to_scale() {
        let shown = markup(&parked()).0;
        // The park: from 2 s of 10 s on, 6 s long.
        assert!(shown.contains("class=\"piece park\" x=\"20.0000%\""), "{shown}");
        assert!(shown.contains("width=\"60.0000%\""));
        assert!(!shown.contains("style="), "the policy forbids it");
    }

    #[test]
    fn a_run_of_no_time_and_one_of_many_calls_are_drawn() {
        let none = Timeline {
            to: 1_000,
            attempts: vec![],
            dispatches: vec![],
            questions: vec![],
            ..parked()
        };
        assert!(markup(&none).0.contains("<svg"));
        let calls = (0..256).map(|n| dispatch(n, 1_200, 9_000)).collect();
        let many = Timeline { dispatches: calls, ..parked() };
        let (pieces, lanes) = many.pieces();
        assert_eq!(pieces.iter().filter(|piece| piece.kind == Kind::Tool).count(), 256);
        assert_eq!(lanes, MAX_LANES + 1, "lanes are bound, and people have their own");
    }

    #[test]
    fn the_axis_has_round_numbers() {
        assert_eq!(ticks(10_000), [0, 2_000, 4_000, 6_000, 8_000, 10_000]);
        assert_eq!(ticks(1), [0, 1]);
        for total in [1, 7, 999, 90_000, 600_000, 86_400_000, 40_000_000_000] {
            assert!(ticks(total).len() <= 8, "{total}");
        }
    }
}
