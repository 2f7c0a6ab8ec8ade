//! Text to syntax tree, bounded before anything recurses.

use std::cell::Cell;

use datafusion_sql::sqlparser::ast::Expr;
use datafusion_sql::sqlparser::dialect::Dialect;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::parser::ParserError;
use datafusion_sql::sqlparser::tokenizer::Token;
use datafusion_sql::sqlparser::tokenizer::TokenWithSpan;
use datafusion_sql::sqlparser::tokenizer::Tokenizer;
use datafusion_sql::sqlparser::tokenizer::Whitespace;

use super::DEPTH_MAX;
use super::Mistake;
use super::TEXT_BYTES_MAX;
use super::words::shown;

/// Words and operators; literals and the commas of a list are bounded by the text alone. A tree is never deeper than this, so it can
/// be dropped on any thread's stack.
const WORDS_MAX: usize = 1024;

/// Values and operators that are tried: more than any text has, twice.
const STEPS_MAX: usize = 2 * TEXT_BYTES_MAX;

/// One expression and nothing after it.
pub(super) fn parse(sql: &str) -> Result<Expr, Mistake> {
    if sql.len() > TEXT_BYTES_MAX {
        let what = format!("the expression is {} bytes long", sql.len());
        return Err(Mistake::new(what, format!("at most {TEXT_BYTES_MAX} are taken")));
    }
    let dialect = Small::default();
    let tokens = Tokenizer::new(&dialect, sql)
        .tokenize_with_location()
        .map_err(|error| Mistake::new(format!("this is no SQL: {error}"), ""))?;
    let mut words = 0_usize;
    for token in &tokens {
        match &token.token {
            Token::Whitespace(
                Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_),
            ) => {
                return Err(Mistake::new(
                    "comments are not taken in an expression",
                    "leave it out",
                ));
            }
            Token::SemiColon => {
                return Err(Mistake::new("`;` is not taken", "one expression, no statements"));
            }
            Token::Whitespace(_) | Token::Comma | Token::Number(..) => {}
            Token::SingleQuotedString(_) => {}
            _ => words += 1,
        }
    }
    if words > WORDS_MAX {
        let what = format!("the expression has {words} words and operators");
        return Err(Mistake::new(
            what,
            format!("at most {WORDS_MAX} are taken; lists count less: `x IN (…)`"),
        ));
    }
    if recurses(&tokens) {
        return Err(Mistake::new(
            "this is no SQL expression: types of types, or INTERVAL after INTERVAL",
            "write INTERVAL '2 days'",
        ));
    }
    let mut parser =
        Parser::new(&dialect).with_recursion_limit(DEPTH_MAX).with_tokens_with_locations(tokens);
    if parser.peek_token().token == Token::EOF {
        return Err(Mistake::new("the expression is empty", ""));
    }
    let parsed = parser.parse_expr().map_err(|error| match error {
        ParserError::RecursionLimitExceeded if dialect.steps.get() > STEPS_MAX => Mistake::new(
            "this is no SQL expression, as far as it was read",
            "a name that is a word of SQL stands in double quotes: \"order\"",
        ),
        ParserError::RecursionLimitExceeded => too_deep(),
        ParserError::ParserError(what) | ParserError::TokenizerError(what) => Mistake::new(
            format!("this is no SQL expression: {what}"),
            "a name that is a word of SQL stands in double quotes: \"order\"",
        ),
    })?;
    let next = parser.peek_token();
    if next.token != Token::EOF {
        let what =
            format!("`{}` is not expected after the expression", shown(&next.token.to_string()));
        return Err(Mistake::new(what, "one expression, no statements and no aliases"));
    }
    Ok(parsed)
}

/// Whether something nests that the parser's limit of recursion does not count.
fn recurses(tokens: &[TokenWithSpan]) -> bool {
    let keyword = |token: &Token| match token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let tokens: Vec<_> = tokens
        .iter()
        .map(|token| &token.token)
        .filter(|token| !matches!(token, Token::Whitespace(_)))
        .collect();
    tokens.windows(2).any(|pair| match (keyword(pair[0]), keyword(pair[1])) {
        (Keyword::INTERVAL, Keyword::INTERVAL) => true,
        (Keyword::ARRAY, _) => *pair[1] == Token::Lt,
        _ => false,
    })
}

/// A plain SQL whose parser gives up in time. It tries a word that does not read as a keyword again as a name, and with it all that
/// follows: without a limit, text that does not parse takes twice as long for each level.
#[derive(Debug, Default)]
struct Small {
    steps: Cell<usize>,
}

impl Dialect for Small {
    fn is_identifier_start(&self, c: char) -> bool {
        c.is_alphabetic() || matches!(c, '_' | '#' | '@')
    }

    fn is_identifier_part(&self, c: char) -> bool {
        self.is_identifier_start(c) || c.is_ascii_digit() || c == '$'
    }

    fn parse_prefix(&self, _: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        // The one error after which it does not try something else.
        (steps > STEPS_MAX).then_some(Err(ParserError::RecursionLimitExceeded))
    }
}

/// The expression nests beyond [`DEPTH_MAX`].
pub(super) fn too_deep() -> Mistake {
    Mistake::new(
        format!("the expression nests more than {DEPTH_MAX} levels deep"),
        "write `x IN (a, b, …)` for many values",
    )
}
