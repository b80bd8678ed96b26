//! Times the `a-tree` crate: `a-tree-peer INPUT ANSWERS REPETITIONS`.
//!
//! The input has one record a line. `D kind name` defines an attribute (kind: integer, string, strings), `S ordinal
//! expression` a subscription, `E` an event, its fields separated by tabs, each `name=value`, several values by commas.
//! The answers get one line an event, the ordinals that match. Three numbers go to standard output: seconds of the
//! build, and nanoseconds of all events' fastest searches, by processor and by clock.

use a_tree::{ATree, AttributeDefinition, Event};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::time::Instant;
use std::{env, fs};

type Failure = Box<dyn std::error::Error>;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

/// Nanoseconds that the calling thread has spent on a processor; the C library is always there on Linux.
fn on_processor() -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the pointer is to a live value of the layout that the call fills in on 64-bit Linux.
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

fn definition(kind: &str, name: &str) -> AttributeDefinition {
    match kind {
        "integer" => AttributeDefinition::integer(name),
        "strings" => AttributeDefinition::string_list(name),
        _ => AttributeDefinition::string(name),
    }
}

fn event(tree: &ATree<u32>, kinds: &HashMap<String, String>, line: &str) -> Result<Event, Failure> {
    let mut builder = tree.make_event();
    for field in line.split('\t').filter(|field| !field.is_empty()) {
        let (name, value) = field.split_once('=').ok_or("a field without a value")?;
        match kinds.get(name).map(String::as_str) {
            Some("integer") => builder.with_integer(name, value.parse()?).map_err(|e| e.to_string())?,
            Some("strings") => {
                let values: Vec<&str> = value.split(',').collect();
                builder.with_string_list(name, &values).map_err(|e| e.to_string())?
            }
            Some(_) => builder.with_string(name, value).map_err(|e| e.to_string())?,
            None => {}
        }
    }
    builder.build().map_err(|e| e.to_string().into())
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().collect();
    let repetitions: usize = arguments[3].parse()?;
    let mut kinds = HashMap::new();
    let (mut expressions, mut lines) = (Vec::new(), Vec::new());
    for line in BufReader::new(fs::File::open(&arguments[1])?).lines() {
        let line = line?;
        let (tag, rest) = line.split_at(2);
        match tag {
            "D " => {
                let (kind, name) = rest.split_once(' ').ok_or("a definition without a name")?;
                kinds.insert(name.to_string(), kind.to_string());
            }
            "S " => {
                let (ordinal, expression) = rest.split_once(' ').ok_or("a subscription without an ordinal")?;
                expressions.push((ordinal.parse::<u32>()?, expression.to_string()));
            }
            _ => lines.push(rest.to_string()),
        }
    }
    let definitions: Vec<_> = kinds.iter().map(|(name, kind)| definition(kind, name)).collect();
    let began = Instant::now();
    let mut tree = ATree::<u32>::new(&definitions).map_err(|e| e.to_string())?;
    for (ordinal, expression) in &expressions {
        tree.insert(ordinal, expression).map_err(|e| format!("{expression}: {e}"))?;
    }
    let build = began.elapsed().as_secs_f64();
    let mut answers = BufWriter::new(fs::File::create(&arguments[2])?);
    let (mut processor, mut clock) = (0u64, 0u64);
    for line in &lines {
        let event = event(&tree, &kinds, line)?;
        let (mut least_processor, mut least_clock) = (u64::MAX, u64::MAX);
        for repetition in 0..repetitions {
            let (started, spent) = (Instant::now(), on_processor());
            let report = tree.search(&event).map_err(|e| e.to_string())?;
            least_processor = least_processor.min(on_processor() - spent);
            least_clock = least_clock.min(started.elapsed().as_nanos() as u64);
            if repetition == 0 {
                let found: Vec<String> = report.matches().iter().map(|id| id.to_string()).collect();
                writeln!(answers, "{}", found.join(" "))?;
            }
        }
        processor += least_processor;
        clock += least_clock;
    }
    println!("{build} {processor} {clock}");
    Ok(())
}
