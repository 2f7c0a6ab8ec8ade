//! Integer arithmetic that fails where a result does not fit. The engine's own wraps around without a word.

use std::sync::Arc;

use arrow::array::{ArrayRef, Datum};
use arrow::compute::kernels::numeric::{add, mul, sub};
use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;

/// Puts checked arithmetic into every expression of a plan whose types agree already.
#[derive(Debug)]
pub(crate) struct CheckedArithmetic;

impl AnalyzerRule for CheckedArithmetic {
    fn name(&self) -> &'static str {
        "checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let done = plan.transform_up_with_subqueries(|node| {
            let schema = merge_schema(&node.inputs());
            let names = NamePreserver::new(&node);
            node.map_expressions(|expr| {
                let name = names.save(&expr);
                let done = rewritten(expr, &schema)?;
                Ok(done.update_data(|expr| name.restore(expr)))
            })
        });
        done.data()
    }
}

/// The same for one expression whose types agree already.
pub(crate) fn checked(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(rewritten(expr, schema)?.data)
}

fn rewritten(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| {
        let is_integer = |expr: &Expr| expr.get_type(schema).is_ok_and(|of| of.is_integer());
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply)
                    && is_integer(&left)
                    && left.get_type(schema)? == right.get_type(schema)? =>
            {
                Ok(Transformed::yes(function(op).call(vec![*left, *right])))
            }
            Expr::Negative(inner) if is_integer(&inner) => {
                let zero = ScalarValue::new_zero(&inner.get_type(schema)?)?;
                let zero = Expr::Literal(zero, None);
                Ok(Transformed::yes(function(Operator::Minus).call(vec![zero, *inner])))
            }
            other => Ok(Transformed::no(other)),
        }
    })
}

fn function(op: Operator) -> ScalarUDF {
    ScalarUDF::from(Checked { op, signature: Signature::any(2, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    op: Operator,
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.op {
            Operator::Plus => "checked_add",
            Operator::Minus => "checked_subtract",
            _ => "checked_multiply",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [left, right] if left == right => Ok(left.clone()),
            _ => plan_err!("`{}` of {arg_types:?}", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = args.args.as_slice() else {
            return exec_err!("`{}` of {} values", self.name(), args.args.len());
        };
        let work = |left: &dyn Datum, right: &dyn Datum| match self.op {
            Operator::Plus => add(left, right),
            Operator::Minus => sub(left, right),
            _ => mul(left, right),
        };
        let done: ArrayRef = match (left, right) {
            (ColumnarValue::Array(left), ColumnarValue::Array(right)) => work(left, right)?,
            (ColumnarValue::Array(left), ColumnarValue::Scalar(right)) => {
                work(left, &right.to_scalar()?)?
            }
            (ColumnarValue::Scalar(left), ColumnarValue::Array(right)) => {
                work(&left.to_scalar()?, right)?
            }
            (ColumnarValue::Scalar(left), ColumnarValue::Scalar(right)) => {
                let done = work(&left.to_scalar()?, &right.to_scalar()?)?;
                return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&done, 0)?));
            }
        };
        Ok(ColumnarValue::Array(Arc::clone(&done)))
    }
}
