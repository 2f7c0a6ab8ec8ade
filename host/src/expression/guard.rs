//! AND and OR whose right side is only computed for rows that the left side leaves open: in `n <> 0 AND m / n > 1` no row divides
//! by zero, whatever other rows the batch has. The engine does so only for batches where few rows are left.

use std::fmt;
use std::hash::Hash;
use std::hash::Hasher;
use std::sync::Arc;

use arrow::array::Array;
use arrow::array::AsArray;
use arrow::array::BooleanArray;
use arrow::array::RecordBatch;
use arrow::compute::and_kleene;
use arrow::compute::is_null;
use arrow::compute::not;
use arrow::compute::or;
use arrow::compute::or_kleene;
use arrow::compute::prep_null_mask_filter;
use arrow::datatypes::DataType;
use arrow::datatypes::FieldRef;
use arrow::datatypes::Schema;
use datafusion_common::Result;
use datafusion_common::exec_err;
use datafusion_common::tree_node::Transformed;
use datafusion_common::tree_node::TreeNode;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_expr::ColumnarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::ScalarFunctionExpr;
use datafusion_physical_expr::expressions::BinaryExpr;
use datafusion_physical_expr::expressions::CastExpr;

/// The expression with its guards.
pub(super) fn guard(expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
    let guarded = |expr: Arc<dyn PhysicalExpr>| {
        let Some(binary) = expr.downcast_ref::<BinaryExpr>() else {
            return Ok(Transformed::no(expr));
        };
        let decided_by = match binary.op() {
            Operator::And => DecidedBy::False,
            Operator::Or => DecidedBy::True,
            _ => return Ok(Transformed::no(expr)),
        };
        if !may_fail(binary.right())? {
            return Ok(Transformed::no(expr));
        }
        let guard = Guard {
            left: Arc::clone(binary.left()),
            right: Arc::clone(binary.right()),
            decided_by,
            whole: Arc::clone(&expr),
        };
        Ok(Transformed::yes(Arc::new(guard) as Arc<dyn PhysicalExpr>))
    };
    Ok(expr.transform_up(guarded)?.data)
}

fn may_fail(expr: &Arc<dyn PhysicalExpr>) -> Result<bool> {
    let mut found = false;
    expr.apply(|part| {
        found |= part.is::<ScalarFunctionExpr>() || part.is::<CastExpr>();
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// The value of the left side that decides alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum DecidedBy {
    False,
    True,
}

#[derive(Debug)]
struct Guard {
    left: Arc<dyn PhysicalExpr>,
    right: Arc<dyn PhysicalExpr>,
    decided_by: DecidedBy,
    /// The engine's own AND or OR, for its type and its spelling.
    whole: Arc<dyn PhysicalExpr>,
}

impl PartialEq for Guard {
    fn eq(&self, other: &Self) -> bool {
        self.left.eq(&other.left)
            && self.right.eq(&other.right)
            && self.decided_by == other.decided_by
    }
}

impl Eq for Guard {}

impl Hash for Guard {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.left.hash(state);
        self.right.hash(state);
        self.decided_by.hash(state);
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.whole.fmt(f)
    }
}

impl PhysicalExpr for Guard {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.whole.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let left = booleans(self.left.evaluate(batch)?, rows)?;
        let open = match self.decided_by {
            DecidedBy::False => left.clone(),
            DecidedBy::True => not(&left)?,
        };
        let open = if left.null_count() == 0 {
            open
        } else {
            or(&prep_null_mask_filter(&open), &is_null(&left)?)?
        };
        // NULL where it was not computed, which the other side outweighs.
        let right = booleans(self.right.evaluate_selection(batch, &open)?, rows)?;
        let joined = match self.decided_by {
            DecidedBy::False => and_kleene(&left, &right)?,
            DecidedBy::True => or_kleene(&left, &right)?,
        };
        Ok(ColumnarValue::Array(Arc::new(joined)))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.left, &self.right]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let [left, right] = &children[..] else {
            return exec_err!("AND and OR have two sides");
        };
        Ok(Arc::new(Self {
            left: Arc::clone(left),
            right: Arc::clone(right),
            decided_by: self.decided_by,
            whole: Arc::clone(&self.whole).with_new_children(children.clone())?,
        }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.whole.fmt_sql(f)
    }
}

fn booleans(value: ColumnarValue, rows: usize) -> Result<BooleanArray> {
    let array = value.into_array(rows)?;
    match array.as_boolean_opt() {
        Some(array) => Ok(array.clone()),
        None => exec_err!("AND and OR take conditions, not {}", array.data_type()),
    }
}
