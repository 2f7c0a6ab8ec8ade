//! Operators and functions that are ours, because the engine's wrap around or know no limit: arithmetic that fails where a result
//! does not fit, and text that is joined or replaced within a limit.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::AsArray;
use arrow::array::Datum;
use arrow::array::Scalar;
use arrow::compute::cast;
use arrow::compute::kernels::numeric;
use arrow::datatypes::DataType;
use arrow::datatypes::Decimal128Type;
use arrow::datatypes::Decimal256Type;
use arrow::datatypes::DurationSecondType;
use arrow::datatypes::Field;
use arrow::datatypes::FieldRef;
use arrow::datatypes::Int64Type;
use arrow::error::ArrowError;
use datafusion_common::Result;
use datafusion_common::ScalarValue;
use datafusion_common::exec_err;
use datafusion_common::plan_err;
use datafusion_common::tree_node::Transformed;
use datafusion_common::tree_node::TreeNode;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_expr::BinaryExpr;
use datafusion_expr::ColumnarValue;
use datafusion_expr::Expr;
use datafusion_expr::Operator;
use datafusion_expr::ReturnFieldArgs;
use datafusion_expr::ScalarFunctionArgs;
use datafusion_expr::ScalarUDF;
use datafusion_expr::ScalarUDFImpl;
use datafusion_expr::Signature;
use datafusion_expr::Volatility;
use datafusion_expr::binary::BinaryTypeCoercer;

use super::RESULT_BYTES_MAX;
use super::growth::Nulls;
use super::growth::Texts;
use super::growth::join;
use super::growth::replace;
use crate::spelling::spelt;

/// The longest text that is made of literals alone: it may stand in each row.
const CONSTANT_BYTES_MAX: usize = 64 << 10;

const SECONDS_A_DAY: i64 = 86_400;

/// What is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Op {
    /// `+ - * / %`.
    Binary(Operator),
    /// `-x`.
    Negate,
    /// `||`: NULL where a side is.
    Join,
    /// `concat`: NULL is no text.
    Concat,
    /// `replace(text, from, to)`; an empty `from` replaces nothing.
    Replace,
}

/// The operator as a function.
pub(super) fn function(op: Op) -> Arc<ScalarUDF> {
    let signature = match op {
        Op::Binary(_) | Op::Join => Signature::any(2, Volatility::Immutable),
        Op::Negate => Signature::any(1, Volatility::Immutable),
        Op::Concat => Signature::variadic_any(Volatility::Immutable),
        Op::Replace => Signature::any(3, Volatility::Immutable),
    };
    Arc::new(ScalarUDF::from(Ours { op, signature, bytes_max: RESULT_BYTES_MAX }))
}

/// Puts ours in the place of the engine's operators. Types must agree already.
pub(super) fn replace_operators(expr: Expr) -> Result<Expr> {
    let ours = |expr| {
        let (op, args) = match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) => {
                (Op::Join, vec![*left, *right])
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if matches!(
                    op,
                    Operator::Plus
                        | Operator::Minus
                        | Operator::Multiply
                        | Operator::Divide
                        | Operator::Modulo
                ) =>
            {
                (Op::Binary(op), vec![*left, *right])
            }
            Expr::Negative(inner) => (Op::Negate, vec![*inner]),
            other => return Ok(Transformed::no(other)),
        };
        Ok(Transformed::yes(function(op).call(args)))
    };
    Ok(expr.transform_up(ours)?.data)
}

/// Divides [`RESULT_BYTES_MAX`] among all that makes text grow: their results may be in memory at the same time.
pub(super) fn share_limit(expr: Expr) -> Result<Expr> {
    let mut sharing = 0_usize;
    expr.apply(|part| {
        sharing += usize::from(growing(part).is_some());
        Ok(TreeNodeRecursion::Continue)
    })?;
    let bytes_max = RESULT_BYTES_MAX / sharing.max(1);
    let limited = |expr: Expr| {
        let Some(Ours { op, signature, bytes_max: _ }) = growing(&expr) else {
            return Ok(Transformed::no(expr));
        };
        let limited = Ours { op: *op, signature: signature.clone(), bytes_max };
        let Expr::ScalarFunction(call) = expr else { return Ok(Transformed::no(expr)) };
        Ok(Transformed::yes(ScalarUDF::from(limited).call(call.args)))
    };
    Ok(expr.transform_up(limited)?.data)
}

fn growing(expr: &Expr) -> Option<&Ours> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let ours = call.func.inner().downcast_ref::<Ours>()?;
    match ours.op {
        Op::Join | Op::Concat | Op::Replace => Some(ours),
        Op::Binary(_) | Op::Negate => None,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Ours {
    op: Op,
    signature: Signature,
    /// The most bytes of text that it makes of a batch.
    bytes_max: usize,
}

impl ScalarUDFImpl for Ours {
    fn name(&self) -> &str {
        match self.op {
            Op::Binary(Operator::Plus) => "+",
            Op::Binary(Operator::Minus) | Op::Negate => "-",
            Op::Binary(Operator::Multiply) => "*",
            Op::Binary(Operator::Divide) => "/",
            Op::Binary(_) => "%",
            Op::Join => "||",
            Op::Concat => "concat",
            Op::Replace => "replace",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match (self.op, types) {
            (Op::Binary(op), [left, right]) => {
                BinaryTypeCoercer::new(left, &op, right).get_result_type()
            }
            (Op::Negate, [of]) if of.is_unsigned_integer() || of.is_string() => {
                plan_err!("`-` is not offered for {}", spelt(of))
            }
            (Op::Negate, [of]) => Ok(of.clone()),
            (Op::Join | Op::Concat, types) => {
                match types.iter().find(|of| of.is_nested() || of.is_binary()) {
                    Some(of) => plan_err!("{} cannot be joined to a text", spelt(of)),
                    None => Ok(DataType::Utf8),
                }
            }
            (_, types) => match types.iter().find(|of| !(of.is_string() || of.is_null())) {
                Some(of) => plan_err!("`{}` takes text, not {}", self.name(), spelt(of)),
                None => Ok(DataType::Utf8),
            },
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<_> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let nullable = match self.op {
            Op::Concat => false,
            Op::Binary(_) | Op::Negate | Op::Join | Op::Replace => {
                args.arg_fields.iter().any(|field| field.is_nullable())
            }
        };
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ScalarFunctionArgs { args, number_rows, return_field, .. } = args;
        let constant = args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let (rows, bytes_max) =
            if constant { (1, CONSTANT_BYTES_MAX) } else { (number_rows, self.bytes_max) };
        let array: ArrayRef = match (self.op, &args[..]) {
            (Op::Binary(op), [left, right]) => binary(op, left, right, return_field.data_type())?,
            (Op::Negate, [of]) => numeric::neg(of.to_array(rows)?.as_ref())?,
            (Op::Join, args) => Arc::new(join(args, rows, bytes_max, Nulls::Spread)?),
            (Op::Concat, args) => Arc::new(join(args, rows, bytes_max, Nulls::Skip)?),
            (Op::Replace, [text, from, to]) => Arc::new(replace(
                &Texts::new(text, rows)?,
                &Texts::new(from, rows)?,
                &Texts::new(to, rows)?,
                rows,
                bytes_max,
            )?),
            (_, args) => return exec_err!("`{}` does not take {} values", self.name(), args.len()),
        };
        if constant {
            return ScalarValue::try_from_array(&array, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(array))
    }
}

fn binary(
    op: Operator,
    left: &ColumnarValue,
    right: &ColumnarValue,
    to: &DataType,
) -> Result<ArrayRef> {
    let (left, right) = (datum(left)?, datum(right)?);
    let (left, right) = (left.as_ref(), right.as_ref());
    let result = match op {
        Operator::Plus => numeric::add(left, right),
        Operator::Minus => numeric::sub(left, right),
        Operator::Multiply => numeric::mul(left, right),
        Operator::Divide => numeric::div(left, right),
        _ => numeric::rem(left, right),
    }?;
    // The kernel looks at 128 bits, not at the digits that the type has.
    if let Some(decimals) = result.as_primitive_opt::<Decimal128Type>() {
        decimals.validate_decimal_precision(decimals.precision()).map_err(overflow)?;
    }
    if let Some(decimals) = result.as_primitive_opt::<Decimal256Type>() {
        decimals.validate_decimal_precision(decimals.precision()).map_err(overflow)?;
    }
    if let (DataType::Int64, Some(seconds)) = (to, result.as_primitive_opt::<DurationSecondType>())
    {
        let days = seconds.unary::<_, Int64Type>(|seconds| seconds / SECONDS_A_DAY);
        return Ok(Arc::new(days));
    }
    if result.data_type() == to { Ok(result) } else { Ok(cast(&result, to)?) }
}

fn overflow(error: ArrowError) -> ArrowError {
    ArrowError::ArithmeticOverflow(match error {
        ArrowError::InvalidArgumentError(what) => what,
        other => other.to_string(),
    })
}

fn datum(value: &ColumnarValue) -> Result<Box<dyn Datum>> {
    Ok(match value {
        ColumnarValue::Array(array) => Box::new(Arc::clone(array)),
        ColumnarValue::Scalar(scalar) => Box::new(Scalar::new(scalar.to_array()?)),
    })
}
