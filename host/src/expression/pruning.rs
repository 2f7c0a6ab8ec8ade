//! Whether a condition may be true for any of many rows of which only bounds are known. It never says no where such a row could be;
//! where it is in doubt it says yes.
//!
//! Rows that it rules out are not evaluated, so a value of theirs that could not be computed is no error.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::AsArray;
use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::datatypes::DataType;
use arrow::datatypes::SchemaRef;
use datafusion_common::DFSchema;
use datafusion_common::ScalarValue;
use datafusion_expr::Expr;
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_sql::sqlparser::ast;

use super::Asking;
use super::Condition;
use super::Scope;
use super::check;
use super::on_own_stack;
use super::plan;
use super::text;

/// What is known of a column's values in some rows.
#[derive(Debug, Clone)]
pub enum Known {
    /// Nothing.
    Nothing,
    /// All rows have this value, which may be NULL: an array of one row.
    Same(ArrayRef),
    /// The values that are not NULL lie between these two, in an array of two rows. Not of floats, whose NaN has no bounds.
    Within(ArrayRef),
    /// The same, and no row is NULL.
    WithinWhole(ArrayRef),
}

/// The parts of a condition that all have to be true of a row.
#[derive(Debug, Clone)]
pub struct Pruning {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
struct Part {
    physical: Arc<dyn PhysicalExpr>,
    /// Where the columns that it reads are in the scope, ascending, and what they are.
    columns: Vec<usize>,
    schema: SchemaRef,
    test: Test,
    /// What others can be asked, where that is all of it.
    asking: Option<Asking>,
}

/// What of a part can be judged by bounds.
#[derive(Debug, Clone)]
pub(super) enum Test {
    All(Vec<Self>),
    Any(Vec<Self>),
    Compare(usize, Operator, ScalarValue),
    OneOf(usize, Vec<ScalarValue>),
    IsNull(usize),
    IsNotNull(usize),
    /// True of no row.
    Never,
    /// Perhaps.
    Unknown,
}

impl Pruning {
    /// Looks at a condition. Parts that name other columns than those of `scope`, or cannot be understood, are passed over: whoever
    /// compiles the whole condition tells of mistakes.
    #[must_use]
    pub fn new(sql: &str, scope: &Scope) -> Self {
        let parts = on_own_stack(|| {
            let mut parts = Vec::new();
            split(text::parse(sql)?, &mut parts);
            Ok(parts.into_iter().filter_map(|part| Part::new(part, scope)).collect())
        });
        Self { parts: parts.unwrap_or_default() }
    }

    /// Whether it has nothing to judge by.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The parts that somebody else can decide, given the columns' values.
    pub fn asking(&self) -> impl Iterator<Item = &Asking> {
        self.parts.iter().filter_map(|part| part.asking.as_ref())
    }

    /// Whether the condition may be true of one of the rows of which `known` tells, by a column's position in the scope.
    pub fn may_select(&self, known: impl Fn(usize) -> Known) -> bool {
        self.parts.iter().all(|part| {
            let columns: Vec<Known> = part.columns.iter().map(|at| known(*at)).collect();
            part.is_true_of_one(&columns) && part.test.may_hold(&known)
        })
    }
}

/// The operands of the outermost AND.
fn split(expr: ast::Expr, parts: &mut Vec<ast::Expr>) {
    match expr {
        ast::Expr::Nested(inner) => split(*inner, parts),
        ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } => {
            split(*left, parts);
            split(*right, parts);
        }
        other => parts.push(other),
    }
}

impl Part {
    fn new(mut parsed: ast::Expr, scope: &Scope) -> Option<Self> {
        let sql = match &parsed {
            either @ ast::Expr::BinaryOp { op: ast::BinaryOperator::Or, .. } => {
                format!("({either})")
            }
            other => other.to_string(),
        };
        check::check(&mut parsed, scope).ok()?;
        let schema = Arc::new(scope.schema().ok()?);
        let expr = plan::logical(parsed, &schema).ok()?;
        let columns = plan::columns(&expr, &schema);
        let (physical, projected) = plan::physical(&expr, &schema, &columns).ok()?;
        let schema_of_part = Arc::clone(projected.inner());
        let test = test(&expr, &schema);
        let type_of = |at: usize| schema.field(at).data_type().clone();
        let condition = Condition::of(&test, &type_of);
        let asking = condition.map(|condition| Asking { sql, condition });
        Some(Self { physical, columns, schema: schema_of_part, test, asking })
    }

    /// Where all columns that it reads are the same in all rows, it can be evaluated for one of them.
    fn is_true_of_one(&self, columns: &[Known]) -> bool {
        let same = columns.iter().zip(self.schema.fields()).map(|(known, field)| match known {
            Known::Same(one) if one.len() == 1 && one.data_type() == field.data_type() => {
                Some(Arc::clone(one))
            }
            _ => None,
        });
        let Some(same) = same.collect::<Option<Vec<_>>>() else { return true };
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let row = RecordBatch::try_new_with_options(Arc::clone(&self.schema), same, &options);
        let value = row.map_err(Into::into).and_then(|row| {
            self.physical.evaluate(&row).and_then(|value| value.into_array(row.num_rows()))
        });
        // What cannot be computed is for whoever reads the rows to tell.
        let Ok(value) = value else { return true };
        match value.as_boolean_opt() {
            Some(value) => value.is_valid(0) && value.value(0),
            None => true,
        }
    }
}

fn test(expr: &Expr, schema: &DFSchema) -> Test {
    match expr {
        Expr::BinaryExpr(binary) => {
            let (left, right) = (binary.left.as_ref(), binary.right.as_ref());
            match binary.op {
                Operator::And => Test::All(vec![test(left, schema), test(right, schema)]),
                Operator::Or => Test::Any(vec![test(left, schema), test(right, schema)]),
                op => match (place(left, schema), value(right)) {
                    (Some(column), Some(value)) => Test::Compare(column, op, value),
                    _ => match (place(right, schema), value(left), op.swap()) {
                        (Some(column), Some(value), Some(op)) => Test::Compare(column, op, value),
                        _ => Test::Unknown,
                    },
                },
            }
        }
        Expr::InList(list) if !list.negated => {
            let values = list.list.iter().map(value).collect::<Option<Vec<_>>>();
            match (place(&list.expr, schema), values) {
                (Some(column), Some(values)) => Test::OneOf(column, values),
                _ => Test::Unknown,
            }
        }
        Expr::IsNull(inner) => place(inner, schema).map_or(Test::Unknown, Test::IsNull),
        Expr::IsNotNull(inner) => place(inner, schema).map_or(Test::Unknown, Test::IsNotNull),
        Expr::Literal(ScalarValue::Boolean(None | Some(false)), _) => Test::Never,
        Expr::Not(inner) => is(inner, false, schema),
        column => is(column, true, schema),
    }
}

/// A column of conditions that has this value.
fn is(expr: &Expr, value: bool, schema: &DFSchema) -> Test {
    match place(expr, schema) {
        Some(column) if schema.field(column).data_type() == &DataType::Boolean => {
            Test::Compare(column, Operator::Eq, ScalarValue::from(value))
        }
        _ => Test::Unknown,
    }
}

fn place(expr: &Expr, schema: &DFSchema) -> Option<usize> {
    match expr {
        Expr::Column(column) => schema.maybe_index_of_column(column),
        _ => None,
    }
}

/// A value that orders as bounds do. Floats do not: their zeros are two, and NaN is above all others.
fn value(expr: &Expr) -> Option<ScalarValue> {
    match expr {
        Expr::Literal(value, _) if !value.data_type().is_floating() => Some(value.clone()),
        _ => None,
    }
}

impl Test {
    fn may_hold(&self, known: &impl Fn(usize) -> Known) -> bool {
        match self {
            Self::All(all) => all.iter().all(|test| test.may_hold(known)),
            Self::Any(any) => any.iter().any(|test| test.may_hold(known)),
            Self::Compare(column, op, value) => may_compare(&known(*column), *op, value),
            Self::OneOf(column, values) => {
                let known = known(*column);
                values.iter().any(|value| may_compare(&known, Operator::Eq, value))
            }
            Self::IsNull(column) => match known(*column) {
                Known::Nothing | Known::Within(_) => true,
                Known::Same(one) => one.null_count() > 0,
                Known::WithinWhole(_) => false,
            },
            Self::IsNotNull(column) => match known(*column) {
                Known::Nothing | Known::Within(_) | Known::WithinWhole(_) => true,
                Known::Same(one) => one.null_count() == 0,
            },
            Self::Never => false,
            Self::Unknown => true,
        }
    }
}

fn may_compare(known: &Known, op: Operator, value: &ScalarValue) -> bool {
    // What takes NULL for a value is no comparison.
    let is_comparison = matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
    );
    if !is_comparison {
        return true;
    }
    if value.is_null() {
        return false;
    }
    let (bounds, last) = match known {
        Known::Nothing => return true,
        Known::Same(one) if one.null_count() > 0 => return false,
        Known::Same(one) => (one, 0),
        Known::Within(bounds) | Known::WithinWhole(bounds) => (bounds, 1),
    };
    if bounds.len() != last + 1 || bounds.null_count() > 0 || bounds.data_type().is_floating() {
        return true;
    }
    let bound = |at| ScalarValue::try_from_array(bounds, at).ok();
    let against = |at| bound(at).and_then(|bound| bound.partial_cmp(value));
    let (Some(least), Some(greatest)) = (against(0), against(last)) else { return true };
    match op {
        Operator::Eq => least != Ordering::Greater && greatest != Ordering::Less,
        Operator::NotEq => least != Ordering::Equal || greatest != Ordering::Equal,
        Operator::Lt => least == Ordering::Less,
        Operator::LtEq => least != Ordering::Greater,
        Operator::Gt => greatest == Ordering::Greater,
        Operator::GtEq => greatest != Ordering::Less,
        _ => true,
    }
}
