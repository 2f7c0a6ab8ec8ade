//! The parts that an expression is made of, and which of SQL's are offered: literals, types, operators.

use datafusion_sql::sqlparser::ast::BinaryOperator as Operator;
use datafusion_sql::sqlparser::ast::DataType as SqlType;
use datafusion_sql::sqlparser::ast::Value;

use super::Mistake;
use super::functions::arrow_type;
use super::words::quoted;
use super::words::shown;

/// A value that is written out.
pub(super) fn literal(value: &Value) -> Result<(), Mistake> {
    match value {
        // It would be a decimal whose scale is negative, which no file holds and the engine's arithmetic panics on.
        Value::Number(number, false) if number.contains(['e', 'E']) => Err(Mistake::new(
            format!("`{}` has an exponent", shown(number)),
            "write the number out, or CAST('1e9' AS DOUBLE)",
        )),
        Value::Number(_, false)
        | Value::SingleQuotedString(_)
        | Value::Boolean(_)
        | Value::Null => Ok(()),
        Value::Placeholder(name) => Err(Mistake::new(
            format!("`{}` stands for a value that nobody gives", shown(name)),
            "write the value; a flow's variables are `{{ vars.name }}`",
        )),
        other => Err(Mistake::new(
            format!("`{}` is not offered as a value", shown(&other.to_string())),
            "text stands in single quotes, each quote in it doubled",
        )),
    }
}

/// The type of a cast or of a typed literal.
pub(super) fn known_type(data_type: &SqlType) -> Result<(), Mistake> {
    if arrow_type(data_type).is_some() {
        return Ok(());
    }
    Err(Mistake::new(
        format!("type `{}` is not offered in an expression", shown(&data_type.to_string())),
        "offered: BOOLEAN, TINYINT to BIGINT (also UNSIGNED), REAL, DOUBLE, DECIMAL(p, s), TEXT, DATE, TIMESTAMP (without zone), \
         TIMESTAMP WITH TIME ZONE",
    ))
}

/// What stands between two values.
pub(super) fn operator(op: &Operator) -> Result<(), Mistake> {
    match op {
        Operator::Plus
        | Operator::Minus
        | Operator::Multiply
        | Operator::Divide
        | Operator::Modulo
        | Operator::StringConcat
        | Operator::Gt
        | Operator::Lt
        | Operator::GtEq
        | Operator::LtEq
        | Operator::Eq
        | Operator::NotEq
        | Operator::And
        | Operator::Or => Ok(()),
        other => Err(Mistake::new(
            format!("operator `{}` is not offered in an expression", quoted_operator(other)),
            "offered: + - * / % || = <> < <= > >= AND OR NOT",
        )),
    }
}

fn quoted_operator(op: &Operator) -> String {
    let text = op.to_string();
    if text.chars().all(char::is_alphabetic) { quoted(&text) } else { text }
}
