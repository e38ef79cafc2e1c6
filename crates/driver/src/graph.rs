//! Writes the state graph: Graphviz, or one JSON object per line.

use crate::options::{GraphFile, GraphFormat};
use ergodic_ir::{Instances, Layout, Program, show};
use ergodic_search::{Control, Sink};
use ergodic_system::{Label, Reason};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// A graph file that is being written.
pub(crate) struct GraphWriter {
    path: PathBuf,
    format: GraphFormat,
    out: BufWriter<File>,
    program: Program,
    layout: Layout,
    instances: Instances,
    nodes: u64,
    error: Option<std::io::Error>,
}

/// States above which a drawing is of no use to anybody.
const MANY_NODES: u64 = 2_000;

impl GraphWriter {
    pub(crate) fn create(file: &GraphFile, program: &Program) -> Result<GraphWriter, String> {
        let handle = File::create(&file.path).map_err(|error| {
            format!("cannot write the graph to {}: {error}", file.path.display())
        })?;
        let mut writer = GraphWriter {
            path: file.path.clone(),
            format: file.format,
            out: BufWriter::new(handle),
            program: program.clone(),
            layout: Layout::new(program),
            instances: Instances::new(program),
            nodes: 0,
            error: None,
        };
        if writer.format == GraphFormat::Dot {
            let head = "digraph states {\n  node [shape=box, fontname=\"monospace\"];\n";
            writer.write(head.to_string());
        }
        Ok(writer)
    }

    /// Closes the file. Returns a remark on what is in it.
    pub(crate) fn finish(mut self, whole: bool) -> Result<Option<String>, String> {
        if self.format == GraphFormat::Dot {
            self.write("}\n".to_string());
        }
        let flushed = self.out.flush();
        if let Some(error) = self.error.take().or(flushed.err()) {
            return Err(format!("cannot write the graph to {}: {error}", self.path.display()));
        }
        let path = self.path.display();
        Ok(match (whole, self.format) {
            (false, _) => {
                Some(format!("the graph in {path} has only the states visited before the end"))
            }
            (true, GraphFormat::Dot) if self.nodes > MANY_NODES => Some(format!(
                "the graph in {path} has {} nodes; Graphviz draws a few hundred well",
                self.nodes
            )),
            _ => None,
        })
    }

    fn write(&mut self, text: String) -> Control {
        match self.out.write_all(text.as_bytes()) {
            Ok(()) => Control::Continue,
            Err(error) => {
                let reason = Reason::Exhausted(format!("writing the graph failed: {error}"));
                self.error.get_or_insert(error);
                Control::Stop(reason)
            }
        }
    }
}

impl Sink for GraphWriter {
    fn node(&mut self, number: u64, state: &[u64], initial: bool) -> Control {
        self.nodes += 1;
        let leaves = show::leaves(&self.program, &self.layout, state);
        let text = match self.format {
            GraphFormat::Dot => {
                let lines: Vec<String> = leaves
                    .iter()
                    .filter_map(|leaf| Some(format!("{}: {}", leaf.name, leaf.value.as_ref()?)))
                    .map(|line| escape(&line) + "\\l")
                    .collect();
                let style = if initial { ", peripheries=2" } else { "" };
                format!("  s{number} [label=\"{}\"{style}];\n", lines.concat())
            }
            GraphFormat::JsonLines => {
                let values: Vec<String> = leaves
                    .iter()
                    .map(|leaf| {
                        let value = leaf.value.as_ref().map_or("null".to_string(), |v| quoted(v));
                        format!("{}:{value}", quoted(&leaf.name))
                    })
                    .collect();
                format!(
                    "{{\"kind\":\"node\",\"id\":{number},\"initial\":{initial},\"state\":{{{}}}}}\n",
                    values.join(",")
                )
            }
        };
        self.write(text)
    }

    fn edge(&mut self, from: u64, to: u64, label: Label) -> Control {
        let name = show::label(&self.program, &self.instances, label);
        let text = match self.format {
            GraphFormat::Dot => format!("  s{from} -> s{to} [label=\"{}\"];\n", escape(&name)),
            GraphFormat::JsonLines => format!(
                "{{\"kind\":\"edge\",\"from\":{from},\"to\":{to},\"rule\":{}}}\n",
                quoted(&name)
            ),
        };
        self.write(text)
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
