//! The objects of a file, one after the other: each on a line of its own, or in an array.

use std::io::BufRead;
use std::io::BufReader;
use std::path::PathBuf;

use super::JsonLayout;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::listing::SourceFile;
use crate::storage::text::input;
use crate::storage::text::input::Input;

/// Reads objects off a file. Memory is one buffer and one object.
pub(super) struct Records {
    pub(super) path: PathBuf,
    input: BufReader<Input>,
    /// The current line's number, from 1, and where the current object begins.
    at_line: u64,
    pub(super) line: u64,
    pub(super) text: String,
    layout: JsonLayout,
    at: At,
}

/// Where a document is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Begin,
    /// Behind the bracket that opens an array.
    Opened,
    /// Behind an element of an array.
    Element,
    /// Behind the document.
    End,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("path", &self.path).field("line", &self.line).finish()
    }
}

impl Records {
    pub(super) fn open(file: &SourceFile, layout: JsonLayout) -> Result<Self, StorageError> {
        let input = BufReader::with_capacity(256 * 1024, input::open(file)?);
        let (path, text) = (file.path.clone(), String::new());
        Ok(Self { path, input, at_line: 0, line: 0, text, layout, at: At::Begin })
    }

    /// Reads the next object's text; false where there is none.
    pub(super) fn next(&mut self) -> Result<bool, StorageError> {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.clear();
        let is_there = match self.layout {
            JsonLayout::Lines => self.next_line(&mut bytes)?,
            JsonLayout::Document => self.next_element(&mut bytes)?,
        };
        let text =
            String::from_utf8(bytes).map_err(|_| self.wrong("the text is not UTF-8".to_owned()))?;
        self.text = text;
        Ok(is_there)
    }

    /// What is wrong with the current object.
    pub(super) fn wrong(&self, what: String) -> StorageError {
        StorageError::data(&self.path, DataPlace::line(self.line), what).hint(match self.layout {
            JsonLayout::Lines => "JSON lines have one whole object a line, and no list around them; a list is `format: json`",
            JsonLayout::Document => "a JSON file is one array of objects, or one object; objects in lines are `format: jsonl`",
        })
    }

    fn next_line(&mut self, bytes: &mut Vec<u8>) -> Result<bool, StorageError> {
        loop {
            bytes.clear();
            let read = self.input.read_until(b'\n', bytes);
            if read.map_err(StorageError::io(&self.path, "read it"))? == 0 {
                return Ok(false);
            }
            self.at_line += 1;
            self.line = self.at_line;
            if self.line == 1 && bytes.starts_with(MARK) {
                bytes.drain(..MARK.len());
            }
            if !bytes.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn next_element(&mut self, bytes: &mut Vec<u8>) -> Result<bool, StorageError> {
        if self.at_line == 0 {
            (self.at_line, self.line) = (1, 1);
            let begin = self.input.fill_buf().map_err(StorageError::io(&self.path, "read it"))?;
            if begin.starts_with(MARK) {
                self.input.consume(MARK.len());
            }
        }
        loop {
            let byte = self.peek()?;
            self.line = self.at_line;
            let next = match (self.at, byte) {
                (At::Begin, Some(b'[')) => At::Opened,
                (At::Begin, Some(b'{')) => {
                    self.object(bytes)?;
                    self.at = At::End;
                    return Ok(true);
                }
                (At::Opened, Some(b'{')) => {
                    self.object(bytes)?;
                    self.at = At::Element;
                    return Ok(true);
                }
                (At::Opened | At::Element, Some(b']')) => At::End,
                (At::Element, Some(b',')) => {
                    self.input.consume(1);
                    if self.peek()? != Some(b'{') {
                        self.line = self.at_line;
                        return Err(self.wrong("an object is due behind the comma".to_owned()));
                    }
                    self.at = At::Opened;
                    continue;
                }
                (At::End, None) => return Ok(false),
                (At::End, Some(_)) => {
                    return Err(self.wrong("there is more behind the document".to_owned()));
                }
                (At::Begin, None) => {
                    return Err(self.wrong("it is empty: not even an empty array".to_owned()));
                }
                (_, None) => return Err(self.wrong("the array does not end".to_owned())),
                (At::Element, Some(_)) => {
                    return Err(self.wrong("a comma is due behind an object".to_owned()));
                }
                (At::Begin | At::Opened, Some(_)) => {
                    return Err(self.wrong("an object is due here".to_owned()));
                }
            };
            self.input.consume(1);
            self.at = next;
        }
    }

    /// The next byte that is no blank; it stays.
    fn peek(&mut self) -> Result<Option<u8>, StorageError> {
        loop {
            let buffer = self.input.fill_buf().map_err(StorageError::io(&self.path, "read it"))?;
            let blank = buffer.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.at_line += lines(&buffer[..blank]);
            let found = buffer.get(blank).copied();
            let is_over = buffer.is_empty();
            self.input.consume(blank);
            if found.is_some() || is_over {
                return Ok(found);
            }
        }
    }

    /// Takes the bytes of an object, to the brace that closes it. Whether it is one is for the parser to say.
    fn object(&mut self, bytes: &mut Vec<u8>) -> Result<(), StorageError> {
        let (mut depth, mut is_text, mut is_escaped) = (0_u64, false, false);
        loop {
            let buffer = self.input.fill_buf().map_err(StorageError::io(&self.path, "read it"))?;
            if buffer.is_empty() {
                return Err(self.wrong("the file ends within this object".to_owned()));
            }
            let mut end = None;
            for (at, byte) in buffer.iter().enumerate() {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' if is_text => is_escaped = true,
                    b'"' => is_text = !is_text,
                    b'{' | b'[' if !is_text => depth += 1,
                    b'}' | b']' if !is_text => {
                        depth -= 1;
                        if depth == 0 {
                            end = Some(at + 1);
                            break;
                        }
                    }
                    _ => {}
                }
            }
            let taken = end.unwrap_or(buffer.len());
            bytes.extend_from_slice(&buffer[..taken]);
            self.at_line += lines(&buffer[..taken]);
            self.input.consume(taken);
            if end.is_some() {
                return Ok(());
            }
        }
    }
}

/// The byte-order mark of UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

fn lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn records(text: &str) -> Result<Vec<(u64, String)>, String> {
        // A buffer of three bytes, so that everything stands on an edge at some time.
        let input = Input::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        let mut records = Records {
            path: "f".into(),
            input: BufReader::with_capacity(3, input),
            at_line: 0,
            line: 0,
            text: String::new(),
            layout: JsonLayout::Document,
            at: At::Begin,
        };
        let mut all = Vec::new();
        while records.next().map_err(|error| error.to_string())? {
            all.push((records.line, records.text.clone()));
        }
        Ok(all)
    }

    #[test]
    fn objects_of_a_document_are_found_with_their_lines() {
        let one = |line, text: &str| (line, text.to_owned());
        for (text, right) in [
            ("[]", vec![]),
            (" [\n] \n", vec![]),
            ("{\"a\":1}", vec![one(1, "{\"a\":1}")]),
            (
                "[{\"a\":\"]}\\\"\"},\n\n {\"b\":\n[{}]}]",
                vec![one(1, "{\"a\":\"]}\\\"\"}"), one(3, "{\"b\":\n[{}]}")],
            ),
        ] {
            assert_eq!(records(text).unwrap(), right, "{text}");
        }
    }

    #[test]
    fn other_documents_are_refused_with_the_line() {
        for (text, right) in [
            ("", "f:1: it is empty: not even an empty array"),
            ("1", "f:1: an object is due here"),
            ("[1]", "f:1: an object is due here"),
            ("[{}\n1]", "f:2: a comma is due behind an object"),
            ("[{}\n,]", "f:2: an object is due behind the comma"),
            ("[{},", "f:1: an object is due behind the comma"),
            ("[{}", "f:1: the array does not end"),
            ("[\n{\"a\":[}", "f:2: the file ends within this object"),
            ("{}\n{}", "f:2: there is more behind the document"),
            ("[] x", "f:1: there is more behind the document"),
        ] {
            assert_eq!(records(text).unwrap_err(), right, "{text}");
        }
    }
}
