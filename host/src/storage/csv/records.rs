//! CSV text to records: fields, whether each was quoted, and the line where each record starts.
//!
//! The `csv` crate and Arrow's reader do not tell `""` from nothing, and NULL from empty text hangs on that; so this is ours.

use std::io;
use std::io::Read;

use crate::flow::CsvRead;

/// Reads records off a stream. Memory is one buffer and one record.
#[derive(Debug)]
pub(super) struct Records<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    line: u64,
    delimiter: u8,
    quote: u8,
    escape: Option<u8>,
}

/// One record. Reused, so that reading allocates nothing a row.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// Line of its first character, from 1.
    pub(super) line: u64,
    bytes: Vec<u8>,
    ends: Vec<(usize, bool)>,
}

/// Why the text is no CSV.
#[derive(Debug)]
pub(super) enum RecordError {
    Io(io::Error),
    Text { line: u64, what: &'static str, hint: Option<&'static str> },
}

impl Record {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The field's text and whether it was quoted; `None` beyond the last one.
    pub(super) fn get(&self, index: usize) -> Option<(&str, bool)> {
        let (end, quoted) = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before].0);
        // `check` has seen that each field is UTF-8 of its own.
        std::str::from_utf8(&self.bytes[start..end]).ok().map(|text| (text, quoted))
    }

    fn check(&self) -> Result<(), RecordError> {
        let text = std::str::from_utf8(&self.bytes).ok();
        if text.is_some_and(|text| self.ends.iter().all(|(end, _)| text.is_char_boundary(*end))) {
            return Ok(());
        }
        let (what, hint) = (
            "the text is not UTF-8",
            "say what it is, as in `options: { encoding: windows-1252 }`",
        );
        Err(RecordError::Text { line: self.line, what, hint: Some(hint) })
    }
}

impl<R: Read> Records<R> {
    pub(super) fn new(input: R, options: &CsvRead) -> Self {
        let CsvRead { delimiter, quote, escape, .. } = *options;
        Self {
            input,
            buffer: vec![0; 256 * 1024],
            start: 0,
            end: 0,
            line: 0,
            delimiter,
            quote,
            escape,
        }
    }

    /// Reads the next record; false at the end. Blank lines are no records.
    pub(super) fn next(&mut self, record: &mut Record) -> Result<bool, RecordError> {
        if self.line == 0 {
            self.line = 1;
            self.skip_mark().map_err(RecordError::Io)?;
        }
        record.bytes.clear();
        record.ends.clear();
        loop {
            match self.peek().map_err(RecordError::Io)? {
                None => return Ok(false),
                Some(b'\n') => self.line += 1,
                Some(b'\r') => {}
                Some(_) => break,
            }
            self.start += 1;
        }
        record.line = self.line;
        while self.field(record)? {}
        record.check()?;
        Ok(true)
    }

    /// Reads one field and what ends it; false where that was the end of the record.
    fn field(&mut self, record: &mut Record) -> Result<bool, RecordError> {
        let quoted = self.peek().map_err(RecordError::Io)? == Some(self.quote);
        if quoted {
            self.start += 1;
            self.quoted(record)?;
        } else {
            self.bare(record).map_err(RecordError::Io)?;
        }
        record.ends.push((record.bytes.len(), quoted));
        match self.peek().map_err(RecordError::Io)? {
            None => return Ok(false),
            Some(byte) if byte == self.delimiter => {
                self.start += 1;
                return Ok(true);
            }
            Some(b'\n') => self.line += 1,
            Some(b'\r') => {
                self.start += 1;
                if self.peek().map_err(RecordError::Io)? != Some(b'\n') {
                    return Ok(false);
                }
                self.line += 1;
            }
            Some(_) => {
                let what = "text follows a closing quote";
                let hint = Some("a quote within a quoted field is written twice, or set `escape`");
                return Err(RecordError::Text { line: self.line, what, hint });
            }
        }
        self.start += 1;
        Ok(false)
    }

    fn bare(&mut self, record: &mut Record) -> io::Result<()> {
        while self.peek()?.is_some() {
            let filled = &self.buffer[self.start..self.end];
            let stop = memchr::memchr3(self.delimiter, b'\n', b'\r', filled);
            record.bytes.extend_from_slice(&filled[..stop.unwrap_or(filled.len())]);
            self.start += stop.unwrap_or(filled.len());
            if stop.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn quoted(&mut self, record: &mut Record) -> Result<(), RecordError> {
        loop {
            if self.peek().map_err(RecordError::Io)?.is_none() {
                let what = "a quoted field that starts in this record never ends";
                return Err(RecordError::Text { line: record.line, what, hint: None });
            }
            let filled = &self.buffer[self.start..self.end];
            let stop = memchr::memchr2(self.quote, self.escape.unwrap_or(self.quote), filled);
            let text = &filled[..stop.unwrap_or(filled.len())];
            self.line += memchr::memchr_iter(b'\n', text).count() as u64;
            record.bytes.extend_from_slice(text);
            self.start += text.len();
            if stop.is_none() {
                continue;
            }
            let byte = self.buffer[self.start];
            self.start += 1;
            let next = self.peek().map_err(RecordError::Io)?;
            match next {
                // An escape that is the quote itself is the doubled quote again.
                Some(next) if byte == self.quote && next == self.quote => record.bytes.push(next),
                Some(next) if byte != self.quote => {
                    self.line += u64::from(next == b'\n');
                    record.bytes.push(next);
                }
                _ if byte == self.quote => return Ok(()),
                _ => continue,
            }
            self.start += 1;
        }
    }

    /// The next byte, not taken; `None` at the end.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        if self.start == self.end {
            self.start = 0;
            self.end = loop {
                match self.input.read(&mut self.buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    other => break other?,
                }
            };
            if self.end == 0 {
                return Ok(None);
            }
        }
        Ok(Some(self.buffer[self.start]))
    }

    /// The byte order mark of UTF-8 is no text.
    fn skip_mark(&mut self) -> io::Result<()> {
        if self.peek()? == Some(0xEF) && self.buffer[..self.end].starts_with(&[0xEF, 0xBB, 0xBF]) {
            self.start = 3;
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Hands out one byte a call, so that everything that can straddle a buffer does.
    struct Drops<'a>(&'a [u8]);
    impl Read for Drops<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0.read(&mut into[..1])
        }
    }

    fn shown(text: &[u8], escape: Option<u8>) -> String {
        let options = CsvRead {
            encoding: encoding_rs::UTF_8,
            header: true,
            names: None,
            delimiter: b',',
            quote: b'"',
            escape,
            null_values: vec![],
            infer_schema_rows: None,
        };
        let read = |input: &mut dyn Read| {
            let (mut records, mut record, mut out) =
                (Records::new(input, &options), Record::default(), String::new());
            loop {
                match records.next(&mut record) {
                    Ok(false) => return out,
                    Ok(true) => {
                        let field = |i| {
                            record
                                .get(i)
                                .map(|(t, q)| if q { format!("<{t}>") } else { t.to_owned() })
                        };
                        let fields: Vec<_> = (0..record.len()).map(|i| field(i).unwrap()).collect();
                        out += &format!("{}:{};", record.line, fields.join("|"));
                    }
                    Err(RecordError::Text { line, what, .. }) => {
                        return out + &format!("{line}! {what}");
                    }
                    Err(RecordError::Io(error)) => panic!("{error}"),
                }
            }
        };
        let whole = read(&mut &text[..]);
        assert_eq!(whole, read(&mut Drops(text)), "{text:?} by drops");
        whole
    }

    #[test]
    fn records_keep_quotes_lines_and_empty_fields() {
        for (text, right) in [
            (&b""[..], ""),
            (b"\n\n", ""),
            (b"a,b", "1:a|b;"),
            (b"a,b\r\n1,\r\n", "1:a|b;2:1|;"),
            (b",\n", "1:|;"),
            (b"\"\",\n", "1:<>|;"),
            (b"\"a\"\"b\nc\",x\ny,z\n", "1:<a\"b\nc>|x;3:y|z;"),
            (b"a\"b,c\n", "1:a\"b|c;"),
            (b"a\rb", "1:a;1:b;"),
            (b"\"a", "1! a quoted field that starts in this record never ends"),
            (b"x\n\"a\"b\n", "1:x;2! text follows a closing quote"),
            (b"\xe9\n", "1! the text is not UTF-8"),
            (b"\xc3,\xa9\n", "1! the text is not UTF-8"),
        ] {
            assert_eq!(shown(text, None), right, "{text:?}");
        }
        assert_eq!(shown(b"\"a\\\"b\\\\\",c\n", Some(b'\\')), "1:<a\"b\\>|c;");
        assert_eq!(shown(b"\"a\"\"b\"\n", Some(b'"')), "1:<a\"b>;");
    }

    #[test]
    fn byte_order_mark_is_no_text() {
        let options = CsvRead {
            encoding: encoding_rs::UTF_8,
            header: true,
            names: None,
            delimiter: b',',
            quote: b'"',
            escape: None,
            null_values: vec![],
            infer_schema_rows: None,
        };
        let (mut records, mut record) =
            (Records::new(&b"\xef\xbb\xbfa\n"[..], &options), Record::default());
        assert!(records.next(&mut record).unwrap());
        assert_eq!(record.get(0).unwrap(), ("a", false));
    }
}
