//! Syntax tree to something that runs: names bound, literals and types made to agree, constants folded.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use arrow::datatypes::SchemaRef;
use datafusion_common::DFSchema;
use datafusion_common::DataFusionError;
use datafusion_common::ScalarValue;
use datafusion_common::tree_node::TreeNode;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_expr::Expr;
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::simplify::SimplifyContext;
use datafusion_optimizer::simplify_expressions::ExprSimplifier;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::create_physical_expr;
use datafusion_sql::planner::ParserOptions;
use datafusion_sql::planner::PlannerContext;
use datafusion_sql::planner::SqlToRel;
use datafusion_sql::sqlparser::ast;

use super::Expression;
use super::Mistake;
use super::Scope;
use super::arithmetic;
use super::failure::is_arithmetic;
use super::functions::Offer;
use super::guard;
use super::literal;
use crate::spelling::spelt;

/// Makes a checked syntax tree ready for batches.
pub(super) fn plan(parsed: ast::Expr, scope: &Scope) -> Result<Expression, Mistake> {
    let schema = Arc::new(scope.schema()?);
    let expr = logical(parsed, &schema).map_err(|error| Mistake::from_engine(&error))?;
    let columns = columns(&expr, &schema);
    let (physical, projected) =
        physical(&expr, &schema, &columns).map_err(|error| Mistake::from_engine(&error))?;
    tried(physical.as_ref(), projected.inner())?;
    let typed = physical.return_field(projected.as_arrow());
    let typed = typed.map_err(|error| Mistake::from_engine(&error))?;
    Ok(Expression {
        physical,
        data_type: plain(typed.data_type())?,
        nullable: typed.is_nullable(),
        literal_bytes: literal_bytes(&expr),
        columns,
        schema: Arc::clone(projected.inner()),
    })
}

/// The positions of the columns that it reads, ascending.
pub(super) fn columns(expr: &Expr, schema: &DFSchema) -> Vec<usize> {
    let read = expr.column_refs();
    let is_read = |(_, field): &(usize, &Arc<arrow::datatypes::Field>)| {
        read.iter().any(|column| column.name == *field.name())
    };
    schema.fields().iter().enumerate().filter(is_read).map(|(position, _)| position).collect()
}

/// Names bound, literals and types made to agree, constants folded.
pub(super) fn logical(parsed: ast::Expr, schema: &Arc<DFSchema>) -> Result<Expr, DataFusionError> {
    let offer = Offer::default();
    let options = ParserOptions::new()
        .with_parse_float_as_decimal(true)
        .with_enable_ident_normalization(false)
        .with_map_string_types_to_utf8view(false);
    let planner = SqlToRel::new_with_options(&offer, options);
    let expr = planner.sql_to_expr(parsed, schema, &mut PlannerContext::new())?;
    let expr = literal::read_all(expr, schema)?;
    let context = SimplifyContext::builder().with_schema(Arc::clone(schema)).build();
    let simplifier = ExprSimplifier::new(context);
    let expr = simplifier.coerce(expr, schema)?;
    // Before constants are folded, since that would wrap as well.
    let expr = arithmetic::replace_operators(expr)?;
    arithmetic::share_limit(simplifier.simplify(expr)?)
}

/// Ready for batches of these columns alone.
pub(super) fn physical(
    expr: &Expr,
    schema: &DFSchema,
    columns: &[usize],
) -> Result<(Arc<dyn PhysicalExpr>, DFSchema), DataFusionError> {
    let fields = columns.iter().map(|position| (None, Arc::clone(schema.field(*position))));
    let projected = DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())?;
    let props = ExecutionProps::new();
    let physical =
        create_physical_expr(expr, &projected, &props, &PhysicalPlanningContext::default())?;
    Ok((guard::guard(physical)?, projected))
}

/// Asks for the values of no rows: several of the engine's functions look at types and constants only when they run.
fn tried(physical: &dyn PhysicalExpr, columns: &SchemaRef) -> Result<(), Mistake> {
    match physical.evaluate(&RecordBatch::new_empty(Arc::clone(columns))) {
        Ok(_) => Ok(()),
        // No row may come to it: `CASE WHEN … THEN 1 / 0 END`.
        Err(error) if is_arithmetic(&error) => Ok(()),
        Err(error) => Err(Mistake::from_engine(&error)),
    }
}

/// The texts that stand in the expression together: what it may make for a row that has none.
fn literal_bytes(expr: &Expr) -> usize {
    let mut bytes = 0_usize;
    // The visit itself never fails.
    let _ = expr.apply(|part| {
        if let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = part {
            bytes = bytes.saturating_add(text.len());
        }
        Ok(TreeNodeRecursion::Continue)
    });
    bytes
}

/// The type in its one spelling, if it is one of a single value.
fn plain(data_type: &DataType) -> Result<DataType, Mistake> {
    Ok(match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => plain(values)?,
        DataType::Boolean
        | DataType::Date32
        | DataType::Date64
        | DataType::Timestamp(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..)
        | DataType::FixedSizeBinary(_) => data_type.clone(),
        number if number.is_integer() || number.is_floating() => number.clone(),
        DataType::Null => {
            return Err(Mistake::new(
                "the expression is NULL for each row",
                "give it a type: CAST(NULL AS TEXT)",
            ));
        }
        other => {
            let what = format!("the expression gives {}, which no column holds", spelt(other));
            return Err(Mistake::new(what, "cast it: CAST(x AS …)"));
        }
    })
}
