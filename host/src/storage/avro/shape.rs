//! How long a value of an Avro schema is in bytes: enough to tell whether a block holds the records that it claims.
//! <https://avro.apache.org/docs/1.12.0/specification/#binary-encoding>

use std::collections::HashMap;
use std::io;

use serde_json::Value;

use crate::storage::claims::wrong;

/// How deep values may nest.
const DEPTH_MAX: usize = 64;

/// Items of one array, and records of one block.
pub(super) const COUNT_MAX: i64 = i32::MAX as i64;

/// The encoding of a type.
#[derive(Debug, Clone)]
enum Shape {
    Nothing,
    /// A number of variable length.
    Varint,
    Bytes(u64),
    /// Its length, then as many bytes.
    Counted,
    Array(Box<Self>),
    /// Keys are text.
    Map(Box<Self>),
    Union(Vec<Self>),
    Record(Vec<Self>),
    /// A type that has a name.
    Named(String),
}

/// A file's schema.
#[derive(Debug)]
pub(super) struct Shapes {
    root: Shape,
    named: HashMap<String, Shape>,
}

impl Shapes {
    /// Reads a schema.
    pub(super) fn read(schema: &[u8]) -> io::Result<Self> {
        let schema: Value = serde_json::from_slice(schema)?;
        let mut named = HashMap::new();
        let root = shape(&schema, "", &mut named)?;
        Ok(Self { root, named })
    }

    /// Passes over so many records; what is behind them.
    pub(super) fn skip<'a>(&self, count: i64, mut data: &'a [u8]) -> io::Result<&'a [u8]> {
        for _ in 0..count {
            data = self.skip_one(&self.root, data, 0)?;
        }
        Ok(data)
    }

    fn skip_one<'a>(&self, shape: &Shape, data: &'a [u8], depth: usize) -> io::Result<&'a [u8]> {
        if depth > DEPTH_MAX {
            return Err(wrong("values nest too deep"));
        }
        let deeper = depth + 1;
        Ok(match shape {
            Shape::Nothing => data,
            Shape::Varint => varint(data)?.1,
            Shape::Bytes(length) => behind(data, *length)?,
            Shape::Counted => {
                let (length, rest) = varint(data)?;
                behind(rest, u64::try_from(length).map_err(|_| wrong("a length below zero"))?)?
            }
            Shape::Array(item) => self.skip_items(&[item], data, deeper)?,
            Shape::Map(value) => self.skip_items(&[&Shape::Counted, value], data, deeper)?,
            Shape::Union(branches) => {
                let (branch, rest) = varint(data)?;
                let branch = usize::try_from(branch).ok().and_then(|at| branches.get(at));
                let branch = branch.ok_or_else(|| wrong("a union has no such branch"))?;
                self.skip_one(branch, rest, deeper)?
            }
            Shape::Record(fields) => {
                fields.iter().try_fold(data, |data, field| self.skip_one(field, data, deeper))?
            }
            Shape::Named(name) => {
                let named = self.named.get(name);
                let named = named.ok_or_else(|| wrong(&format!("no type is called `{name}`")))?;
                self.skip_one(named, data, deeper)?
            }
        })
    }

    /// Blocks of items, up to an empty one.
    fn skip_items<'a>(
        &self,
        parts: &[&Shape],
        mut data: &'a [u8],
        depth: usize,
    ) -> io::Result<&'a [u8]> {
        loop {
            let (mut count, rest) = varint(data)?;
            data = rest;
            if count < 0 {
                // The block's bytes stand behind a negative count.
                (count, data) = (count.saturating_neg(), varint(data)?.1);
            }
            match count {
                0 => return Ok(data),
                1..=COUNT_MAX => {}
                _ => return Err(wrong("a list has more items than columns hold")),
            }
            for _ in 0..count {
                for part in parts {
                    data = self.skip_one(part, data, depth)?;
                }
            }
        }
    }
}

fn shape(schema: &Value, space: &str, named: &mut HashMap<String, Shape>) -> io::Result<Shape> {
    if let Some(branches) = schema.as_array() {
        let branches = branches.iter().map(|branch| shape(branch, space, named));
        return Ok(Shape::Union(branches.collect::<Result<_, _>>()?));
    }
    let kind = schema.as_str().or_else(|| schema["type"].as_str());
    let Some(kind) = kind else {
        // A type in a type, as for fields that have attributes of their own.
        return match schema.get("type") {
            Some(inner) => shape(inner, space, named),
            None => Err(wrong("its schema has a type that is none")),
        };
    };
    Ok(match kind {
        "null" => Shape::Nothing,
        "int" | "long" => Shape::Varint,
        "boolean" => Shape::Bytes(1),
        "float" => Shape::Bytes(4),
        "double" => Shape::Bytes(8),
        "bytes" | "string" => Shape::Counted,
        "array" => Shape::Array(Box::new(shape(&schema["items"], space, named)?)),
        "map" => Shape::Map(Box::new(shape(&schema["values"], space, named)?)),
        "enum" | "fixed" | "record" | "error" => {
            let name =
                schema["name"].as_str().ok_or_else(|| wrong("a type of its schema has no name"))?;
            let own = schema["namespace"].as_str().unwrap_or(space);
            let name = full(name, own);
            let space = name.rsplit_once('.').map_or("", |(space, _)| space).to_owned();
            let of = match kind {
                "enum" => Shape::Varint,
                "fixed" => Shape::Bytes(
                    schema["size"].as_u64().ok_or_else(|| wrong("a fixed type has no size"))?,
                ),
                _ => {
                    let fields = schema["fields"].as_array();
                    let fields = fields.ok_or_else(|| wrong("a record has no fields"))?;
                    let fields = fields.iter().map(|field| shape(&field["type"], &space, named));
                    Shape::Record(fields.collect::<Result<_, _>>()?)
                }
            };
            named.insert(name.clone(), of);
            Shape::Named(name)
        }
        name => Shape::Named(full(name, space)),
    })
}

fn full(name: &str, space: &str) -> String {
    if name.contains('.') || space.is_empty() { name.to_owned() } else { format!("{space}.{name}") }
}

/// A number of variable length, its sign in the lowest bit, and what is behind it.
fn varint(data: &[u8]) -> io::Result<(i64, &[u8])> {
    let mut rest = data;
    let value = super::blocks::long(&mut rest)?;
    Ok((value, rest))
}

fn behind(data: &[u8], length: u64) -> io::Result<&[u8]> {
    let rest = usize::try_from(length).ok().and_then(|length| data.get(length..));
    rest.ok_or_else(|| wrong("a value ends behind its block"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_long_as_their_types_say() {
        let check = |schema: &str, data: &[u8], right: Option<usize>| {
            let left = Shapes::read(schema.as_bytes()).unwrap().skip(1, data);
            assert_eq!(left.ok().map(<[u8]>::len), right, "{schema} {data:?}");
        };
        check("\"null\"", &[1], Some(1));
        check("\"long\"", &[0x80, 1, 9], Some(1));
        check("\"long\"", &[0x80], None);
        check("\"string\"", &[4, b'a', b'b', 9], Some(1));
        check("\"string\"", &[4, b'a'], None);
        check("\"string\"", &[1], None);
        check("[\"null\", \"double\"]", &[0, 9], Some(1));
        check("[\"null\", \"double\"]", &[2, 1, 2, 3, 4, 5, 6, 7, 8], Some(0));
        check("[\"null\", \"double\"]", &[4], None);
        // Two blocks, the second with its bytes told.
        check("{\"type\": \"array\", \"items\": \"int\"}", &[2, 7, 1, 2, 7, 0, 9], Some(1));
        check("{\"type\": \"map\", \"values\": \"int\"}", &[2, 2, b'k', 7, 0], Some(0));
        check(
            "{\"type\": \"record\", \"name\": \"n.r\", \"fields\": [{\"name\": \"a\", \"type\": {\"type\": \"fixed\", \
             \"name\": \"f\", \"size\": 2}}, {\"name\": \"b\", \"type\": [\"null\", \"r\"]}, {\"name\": \"c\", \"type\": \"n.f\"}]}",
            &[1, 2, 2, 1, 2, 0, 3, 4, 5, 6, 9],
            Some(1),
        );
        // A type within itself, for ever.
        let endless = "{\"type\": \"record\", \"name\": \"r\", \"fields\": [{\"name\": \"a\", \"type\": \"r\"}]}";
        check(endless, &[], None);
    }
}
