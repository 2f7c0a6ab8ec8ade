//! Arrays as the server sends them: their elements, of one dimension only.

/// The elements of an array, in order.
#[derive(Debug)]
pub(super) struct Elements<'a> {
    rest: &'a [u8],
    left: i32,
}

impl<'a> Elements<'a> {
    /// Begins to read an array. Where its numbering begins is not looked at: lists have none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(mut raw: &'a [u8]) -> Result<Self, String> {
        let dimensions = word(&mut raw)?;
        let (_has_nulls, _element_type) = (word(&mut raw)?, word(&mut raw)?);
        match dimensions {
            0 => Ok(Self { rest: &[], left: 0 }),
            1 => {
                let (length, _first) = (word(&mut raw)?, word(&mut raw)?);
                Ok(Self { rest: raw, left: length })
            }
            many => Err(format!("it is an array of {many} dimensions; lists have one")),
        }
    }

    /// The next element, NULL as `None`.
    pub(super) fn next_element(&mut self) -> Option<Result<Option<&'a [u8]>, String>> {
        if self.left <= 0 {
            return None;
        }
        self.left -= 1;
        Some(self.element())
    }

    fn element(&mut self) -> Result<Option<&'a [u8]>, String> {
        let length = word(&mut self.rest)?;
        let Ok(length) = usize::try_from(length) else { return Ok(None) };
        let (element, rest) = self.rest.split_at_checked(length).ok_or_else(cut)?;
        self.rest = rest;
        Ok(Some(element))
    }
}

fn word(raw: &mut &[u8]) -> Result<i32, String> {
    let (word, rest) = raw.split_first_chunk().ok_or_else(cut)?;
    *raw = rest;
    Ok(i32::from_be_bytes(*word))
}

fn cut() -> String {
    "the array that was sent ends too early".to_owned()
}
