//! Text to syntax tree, bounded before anything recurses.

use datafusion_sql::sqlparser::ast::Expr;
use datafusion_sql::sqlparser::dialect::GenericDialect;
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

/// How deep forms with a grammar of their own may nest. Where one does not parse, the parser tries it again as a function: each level
/// doubles its time.
const SPECIAL_DEPTH_MAX: usize = 8;

/// One expression and nothing after it.
pub(super) fn parse(sql: &str) -> Result<Expr, Mistake> {
    if sql.len() > TEXT_BYTES_MAX {
        let what = format!("the expression is {} bytes long", sql.len());
        return Err(Mistake::new(what, format!("at most {TEXT_BYTES_MAX} are taken")));
    }
    let dialect = GenericDialect {};
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
    if special_depth(&tokens) > SPECIAL_DEPTH_MAX {
        let what =
            format!("CAST, NOT (…) and the like nest more than {SPECIAL_DEPTH_MAX} levels deep");
        return Err(Mistake::new(what, "split the expression, or leave out what is not needed"));
    }
    let mut parser =
        Parser::new(&dialect).with_recursion_limit(DEPTH_MAX).with_tokens_with_locations(tokens);
    if parser.peek_token().token == Token::EOF {
        return Err(Mistake::new("the expression is empty", ""));
    }
    let parsed = parser.parse_expr().map_err(|error| match error {
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

/// The most forms with a grammar of their own that are open at once.
fn special_depth(tokens: &[TokenWithSpan]) -> usize {
    let mut open = Vec::new();
    let mut after_word = false;
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut intervals, mut types) = (0_usize, 0_usize);
    for token in tokens.iter().map(|token| &token.token) {
        match token {
            Token::LParen => {
                depth += usize::from(after_word);
                deepest = deepest.max(depth);
                open.push(after_word);
            }
            Token::RParen => {
                let special = open.pop().unwrap_or(false);
                depth = depth.saturating_sub(usize::from(special));
            }
            Token::Whitespace(_) => continue,
            _ => {}
        }
        // The parser does not count these: INTERVAL after INTERVAL, and types of types.
        let interval = matches!(token, Token::Word(word) if word.keyword == Keyword::INTERVAL);
        intervals = if interval { intervals + 1 } else { 0 };
        types += usize::from(after_word && *token == Token::Lt);
        deepest = deepest.max(intervals).max(types);
        after_word = matches!(token, Token::Word(word) if is_special(word.keyword));
    }
    deepest
}

fn is_special(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::ARRAY
            | Keyword::CASE
            | Keyword::CAST
            | Keyword::CEIL
            | Keyword::CONVERT
            | Keyword::EXISTS
            | Keyword::EXTRACT
            | Keyword::FLOOR
            | Keyword::INTERVAL
            | Keyword::LAMBDA
            | Keyword::LOWCARDINALITY
            | Keyword::MAP
            | Keyword::MATCH
            | Keyword::NESTED
            | Keyword::NOT
            | Keyword::NULLABLE
            | Keyword::OVERLAY
            | Keyword::POSITION
            | Keyword::SAFE_CAST
            | Keyword::STRUCT
            | Keyword::SUBSTR
            | Keyword::SUBSTRING
            | Keyword::TABLE
            | Keyword::TRIM
            | Keyword::TRY_CAST
            | Keyword::TRY_CONVERT
            | Keyword::TUPLE
            | Keyword::UNION
    )
}

/// The expression nests beyond [`DEPTH_MAX`].
pub(super) fn too_deep() -> Mistake {
    Mistake::new(
        format!("the expression nests more than {DEPTH_MAX} levels deep"),
        "write `x IN (a, b, …)` for many values",
    )
}
