//! Text literals beside values of other types are read as those types, whole or not at all.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::StringArray;
use arrow::compute::CastOptions;
use arrow::compute::cast_with_options;
use arrow::datatypes::DataType;
use datafusion_common::DFSchema;
use datafusion_common::DataFusionError;
use datafusion_common::Result;
use datafusion_common::ScalarValue;
use datafusion_common::tree_node::Transformed;
use datafusion_common::tree_node::TreeNode;
use datafusion_expr::Expr;
use datafusion_expr::ExprSchemable;
use datafusion_expr::Operator;

use super::Mistake;
use super::words::shown;
use crate::spelling::dropped;
use crate::spelling::spelt;

/// The expression with its text literals as typed ones, where another value says which type they have.
pub(super) fn read_all(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let typed = |mut expr: Expr| {
        match &mut expr {
            Expr::BinaryExpr(binary) => {
                let sides = [binary.left.as_mut(), binary.right.as_mut()];
                if is_comparison(binary.op) {
                    unify(sides.into(), schema)?;
                } else if is_arithmetic(binary.op) {
                    let what = format!("`{}`", binary.op);
                    calculate(sides, &what, schema)?;
                }
            }
            Expr::Between(between) => {
                let parts = [&mut between.expr, &mut between.low, &mut between.high];
                unify(parts.map(AsMut::as_mut).into(), schema)?;
            }
            Expr::InList(list) => {
                unify(std::iter::once(list.expr.as_mut()).chain(&mut list.list).collect(), schema)?;
            }
            Expr::Case(case) => {
                if let Some(operand) = &mut case.expr {
                    let conditions = case.when_then_expr.iter_mut().map(|(when, _)| when.as_mut());
                    unify(std::iter::once(operand.as_mut()).chain(conditions).collect(), schema)?;
                }
            }
            Expr::ScalarFunction(call)
                if matches!(
                    call.func.name(),
                    "coalesce" | "nullif" | "nvl" | "greatest" | "least"
                ) =>
            {
                unify(call.args.iter_mut().collect(), schema)?;
            }
            Expr::Cast(cast) => {
                if let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = cast.expr.as_ref()
                    && let Some(value) = read(text, cast.field.data_type())?
                {
                    expr = Expr::Literal(value, None);
                }
            }
            _ => {}
        }
        Ok(Transformed::yes(expr))
    };
    Ok(expr.transform_up(typed)?.data)
}

fn is_comparison(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}

fn is_arithmetic(op: Operator) -> bool {
    matches!(
        op,
        Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo
    )
}

/// Types whose values may stand beside each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Text,
    Boolean,
    Number,
    Time,
    /// The engine decides.
    Other,
}

fn family(data_type: &DataType) -> Family {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Family::Text,
        DataType::Boolean => Family::Boolean,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Family::Time,
        DataType::Dictionary(_, values) => family(values),
        other if other.is_numeric() => Family::Number,
        _ => Family::Other,
    }
}

fn is_text_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Utf8(Some(_)), _))
}

/// Values that are compared with each other.
fn unify(mut values: Vec<&mut Expr>, schema: &DFSchema) -> Result<()> {
    let mut known: Option<DataType> = None;
    for value in values.iter().filter(|value| !is_text_literal(value)) {
        let data_type = value.get_type(schema)?;
        if data_type.is_null() {
            continue;
        }
        match &known {
            Some(known) if family(known) != family(&data_type) => {
                let both = [family(known), family(&data_type)];
                if both.contains(&Family::Other) {
                    continue;
                }
                let what =
                    format!("{} cannot be compared with {}", spelt(known), spelt(&data_type));
                return Err(mistake(what, "cast one of them: CAST(x AS …)"));
            }
            Some(_) => {}
            None => known = Some(data_type),
        }
    }
    let Some(known) = known else { return Ok(()) };
    values.iter_mut().try_for_each(|value| read_literal(value, &known))
}

/// Both sides of `+ - * / %`.
fn calculate(sides: [&mut Expr; 2], what: &str, schema: &DFSchema) -> Result<()> {
    let types = [sides[0].get_type(schema)?, sides[1].get_type(schema)?];
    for (side, other) in [(0, 1), (1, 0)] {
        if is_text_literal(sides[side]) && family(&types[other]) != Family::Text {
            read_literal(sides[side], &types[other])?;
        } else if family(&types[side]) == Family::Text {
            let hint = "cast it, as in CAST(x AS BIGINT); texts are joined by `||`";
            return Err(mistake(format!("{what} does not take text"), hint));
        }
    }
    Ok(())
}

fn read_literal(expr: &mut Expr, to: &DataType) -> Result<()> {
    if let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = &*expr
        && let Some(value) = read(text, to)?
    {
        *expr = Expr::Literal(value, None);
    }
    Ok(())
}

/// The text as that type; `None` where it may stay text.
fn read(text: &str, to: &DataType) -> Result<Option<ScalarValue>> {
    let to = match to {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    if matches!(family(to), Family::Text | Family::Other) {
        return Ok(None);
    }
    let refuse = |why: &str| {
        let gap = if why.is_empty() { "" } else { ": " };
        let what = format!("'{}' is not {}{gap}{why}", shown(text), spelt(to));
        mistake(what, "")
    };
    if let Some(why) = misread(text, to) {
        return Err(refuse(why));
    }
    let values: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let read = cast_with_options(&values, to, &strict).map_err(|_| refuse(""))?;
    ScalarValue::try_from_array(&read, 0).map(Some)
}

/// What a cast would take or drop without a word.
fn misread(text: &str, to: &DataType) -> Option<&'static str> {
    if text.trim() != text || text.is_empty() {
        return Some("");
    }
    match to {
        DataType::Boolean => {
            let known = text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false");
            (!known).then_some("true or false")
        }
        _ => dropped(text, to),
    }
}

fn mistake(what: String, hint: &str) -> DataFusionError {
    DataFusionError::External(Box::new(Mistake::new(what, hint)))
}
