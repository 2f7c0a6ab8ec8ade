//! What of SQL is offered: the syntax tree is walked once, against a list of what is allowed. Names of columns become their labels,
//! names of functions lower case, and chains of AND and OR balanced trees.

use std::mem;

use datafusion_sql::sqlparser::ast::BinaryOperator as Operator;
use datafusion_sql::sqlparser::ast::CeilFloorKind;
use datafusion_sql::sqlparser::ast::DateTimeField;
use datafusion_sql::sqlparser::ast::Expr;
use datafusion_sql::sqlparser::ast::Function;
use datafusion_sql::sqlparser::ast::FunctionArg;
use datafusion_sql::sqlparser::ast::FunctionArgExpr;
use datafusion_sql::sqlparser::ast::FunctionArguments;
use datafusion_sql::sqlparser::ast::Ident;
use datafusion_sql::sqlparser::ast::ObjectName;
use datafusion_sql::sqlparser::ast::UnaryOperator;
use datafusion_sql::sqlparser::ast::Value;
use datafusion_sql::sqlparser::ast::ValueWithSpan;

use crate::problem::known_names;

use super::DEPTH_MAX;
use super::Mistake;
use super::Scope;
use super::functions;
use super::offered::known_type;
use super::offered::literal;
use super::offered::operator;
use super::shape::kind;
use super::text::too_deep;
use super::words::shown;

/// Refuses what is not offered, and resolves all names.
pub(super) fn check(expr: &mut Expr, scope: &Scope) -> Result<(), Mistake> {
    Walk { scope, labels: scope.labels() }.expr(expr, Level { depth: 0, copies: 1 })
}

/// How often planning may copy a part: BETWEEN, `coalesce` and CASE are spelt out, and each level multiplies what is below.
const COPIES_MAX: usize = 128;

/// The longest pattern of LIKE.
const PATTERN_BYTES_MAX: usize = 1 << 10;

/// Where a part stands.
#[derive(Debug, Clone, Copy)]
struct Level {
    depth: usize,
    copies: usize,
}

impl Level {
    fn below(self, levels: usize) -> Self {
        Self { depth: self.depth + levels, ..self }
    }

    fn copied(self, times: usize) -> Self {
        Self { copies: self.copies.saturating_mul(times), ..self }
    }
}

struct Walk<'a> {
    scope: &'a Scope,
    labels: Vec<String>,
}

impl Walk<'_> {
    fn expr(&self, expr: &mut Expr, level: Level) -> Result<(), Mistake> {
        if level.depth > DEPTH_MAX {
            return Err(too_deep());
        }
        if level.copies > COPIES_MAX {
            let what = "BETWEEN, CASE or coalesce stand too deep within each other";
            return Err(Mistake::new(what, "several values stand side by side: coalesce(a, b, c)"));
        }
        let below = level.below(1);
        match expr {
            Expr::Identifier(name) => {
                *expr = self.column(std::slice::from_ref(name))?;
                Ok(())
            }
            Expr::CompoundIdentifier(parts) => {
                *expr = self.column(parts)?;
                Ok(())
            }
            Expr::Value(value) => literal(&value.value),
            Expr::TypedString(typed) => {
                known_type(&typed.data_type)?;
                literal(&typed.value.value)
            }
            Expr::Interval(interval) => match *interval.value {
                Expr::Value(ref value) => literal(&value.value),
                _ => Err(Mistake::new(
                    "an interval that is computed is not offered",
                    "write INTERVAL '2 days'",
                )),
            },
            Expr::Nested(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner)
            | Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsNull(inner)
            | Expr::IsNotNull(inner)
            | Expr::IsUnknown(inner)
            | Expr::IsNotUnknown(inner)
            | Expr::UnaryOp {
                op: UnaryOperator::Not | UnaryOperator::Minus | UnaryOperator::Plus,
                expr: inner,
            }
            | Expr::Extract { expr: inner, .. }
            | Expr::Ceil {
                expr: inner,
                field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime),
            }
            | Expr::Floor {
                expr: inner,
                field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime),
            } => self.expr(inner, below),
            Expr::BinaryOp { op: Operator::And | Operator::Or, .. } => self.chain(expr, level),
            Expr::BinaryOp { left, op, right } => {
                operator(op)?;
                self.expr(left, below)?;
                self.expr(right, below)
            }
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.expr(left, below)?;
                self.expr(right, below)
            }
            Expr::Position { expr: needle, r#in: text } => {
                self.expr(needle, below)?;
                self.expr(text, below)
            }
            Expr::Like { any: false, expr, pattern, .. }
            | Expr::ILike { any: false, expr, pattern, .. } => {
                self.expr(expr, below)?;
                like_pattern(pattern)
            }
            Expr::InList { expr, list, .. } => {
                self.expr(expr, below)?;
                list.iter_mut().try_for_each(|item| self.expr(item, below))
            }
            Expr::Between { expr, low, high, .. } => {
                self.expr(expr, below.copied(2))?;
                self.expr(low, below)?;
                self.expr(high, below)
            }
            Expr::Cast { expr, data_type, array: false, format: None, .. } => {
                known_type(data_type)?;
                self.expr(expr, below)
            }
            Expr::Substring { substring_from: None, substring_for: None, .. } => Err(Mistake::new(
                "`substr` takes a text, where to begin and how long",
                "write substr(text, from) or substr(text, from, length)",
            )),
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                self.expr(expr, below)?;
                let rest = substring_from.iter_mut().chain(substring_for);
                rest.into_iter().try_for_each(|part| self.expr(part, below))
            }
            Expr::Trim { expr, trim_what, trim_characters: None, .. } => {
                self.expr(expr, below)?;
                trim_what.iter_mut().try_for_each(|part| self.expr(part, below))
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                operand.iter_mut().try_for_each(|part| self.expr(part, below.copied(3)))?;
                for when in conditions {
                    self.expr(&mut when.condition, below.copied(3))?;
                    self.expr(&mut when.result, below)?;
                }
                else_result.iter_mut().try_for_each(|part| self.expr(part, below))
            }
            Expr::Function(function) => self.function(function, below),
            other => Err(Mistake::new(
                format!("{} is not offered in an expression", kind(other)),
                "columns, values, operators and scalar functions are",
            )),
        }
    }

    fn column(&self, parts: &[Ident]) -> Result<Expr, Mistake> {
        let parts: Vec<_> = parts.iter().map(|part| part.value.clone()).collect();
        let position = self.scope.resolve(&parts)?;
        Ok(Expr::Identifier(Ident::with_quote('"', &self.labels[position])))
    }

    /// A chain of one operator, as deep as its logarithm.
    fn chain(&self, expr: &mut Expr, level: Level) -> Result<(), Mistake> {
        let Expr::BinaryOp { op, .. } = expr else { return Ok(()) };
        let chained = op.clone();
        let null = || Expr::Value(Value::Null.into());
        let mut rest = mem::replace(expr, null());
        let mut operands = Vec::new();
        loop {
            match rest {
                Expr::BinaryOp { left, op, right } if op == chained => {
                    operands.push(*right);
                    rest = *left;
                }
                first => {
                    operands.push(first);
                    break;
                }
            }
        }
        operands.reverse();
        let levels = usize::BITS - operands.len().leading_zeros();
        let below = level.below(levels as usize);
        operands.iter_mut().try_for_each(|operand| self.expr(operand, below))?;
        while operands.len() > 1 {
            let mut pairs = operands.into_iter();
            let mut joined = Vec::new();
            while let Some(left) = pairs.next() {
                joined.push(match pairs.next() {
                    Some(right) => Expr::BinaryOp {
                        left: Box::new(left),
                        op: chained.clone(),
                        right: Box::new(right),
                    },
                    None => left,
                });
            }
            operands = joined;
        }
        *expr = operands.pop().unwrap_or_else(null);
        Ok(())
    }

    fn function(&self, function: &mut Function, below: Level) -> Result<(), Mistake> {
        let spelt = function.name.to_string();
        let name = match function.name.0.as_slice() {
            [part] => part.as_ident().map(|ident| ident.value.to_lowercase()),
            _ => None,
        };
        let name = name.unwrap_or_else(|| spelt.clone());
        if functions::find(&name).is_none() {
            let own = self.scope.resolve(std::slice::from_ref(&spelt)).is_ok();
            let hint = if own && function.args == FunctionArguments::None {
                format!("the column is written in double quotes: \"{spelt}\"")
            } else {
                known_names(&name, functions::NAMES.iter().copied())
            };
            let what = format!("function `{}` is not offered in an expression", shown(&spelt));
            return Err(Mistake::new(what, hint));
        }
        let Function {
            name: _,
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args: FunctionArguments::List(list),
            filter: None,
            null_treatment: None,
            over: None,
            within_group,
        } = function
        else {
            return Err(clauses(&name));
        };
        if list.duplicate_treatment.is_some()
            || !list.clauses.is_empty()
            || !within_group.is_empty()
        {
            return Err(clauses(&name));
        }
        let last = list.args.len().saturating_sub(1);
        let copied = matches!(name.as_str(), "coalesce" | "nvl");
        for (index, arg) in list.args.iter_mut().enumerate() {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg else {
                return Err(clauses(&name));
            };
            let times = if copied && index < last { 2 } else { 1 };
            self.expr(arg, below.copied(times))?;
        }
        function.name = ObjectName::from(vec![Ident::with_quote('"', name)]);
        Ok(())
    }
}

/// One pattern for all rows, and no long one: each is compiled into a machine many times its size, which data must not choose.
fn like_pattern(pattern: &Expr) -> Result<(), Mistake> {
    let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) = pattern else {
        return Err(Mistake::new(
            "the pattern of LIKE is no text in quotes",
            "starts_with, ends_with and contains compare with a column",
        ));
    };
    if text.len() <= PATTERN_BYTES_MAX {
        return Ok(());
    }
    let what = format!("the pattern of LIKE is {} bytes long", text.len());
    Err(Mistake::new(what, format!("at most {PATTERN_BYTES_MAX} are taken")))
}

fn clauses(name: &str) -> Mistake {
    Mistake::new(
        format!("function `{name}` takes values in parentheses and no further clauses"),
        "no DISTINCT, FILTER, OVER, ORDER BY, named arguments or `*`",
    )
}
