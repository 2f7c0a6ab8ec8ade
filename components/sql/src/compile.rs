//! From row-wise steps to a program: each step is lowered over the columns before it, then registers are numbered.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use wasmhost_guest::{Accept, Context, Diagnostic, Layout, Reason};

use crate::compiled::Compiled;
use crate::config::Step;
use crate::lower::{Lowered, Shape, lower};
use crate::plain;
use crate::rowwise::{Op, Program};
use crate::session;

/// A column on its way.
#[derive(Debug, Clone)]
struct Now {
    name: String,
    field: FieldRef,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A column of the input, by position.
    Input(usize),
    /// The n-th computed column.
    Computed(usize),
}

/// An op before registers are numbered.
struct Draft {
    kind: Kind,
    expr: Arc<dyn PhysicalExpr>,
    scope: Vec<Now>,
    /// It is computed where this is true, and NULL elsewhere.
    only_where: Option<Arc<dyn PhysicalExpr>>,
    sql: Option<Arc<str>>,
}

enum Kind {
    Reject(Reason),
    Filter,
    Compute,
}

impl Program {
    /// Compiles the steps for rows of this schema, and says what they want and make.
    ///
    /// # Errors
    /// Everything that does not fit, up to the first step with a problem.
    pub(crate) fn compile(
        steps: &[Step],
        input: &Schema,
        state: &SessionState,
        context: &Context,
    ) -> Result<(Self, Layout), Vec<Diagnostic>> {
        let mut now: Vec<Now> = input
            .fields()
            .iter()
            .enumerate()
            .map(|(at, field)| Now {
                name: field.name().clone(),
                field: Arc::clone(field),
                place: Place::Input(at),
            })
            .collect();
        let mut drafts = Vec::new();
        let mut computed = 0;
        let mut volatile = false;
        for (index, step) in steps.iter().enumerate() {
            let at = |error: DataFusionError| {
                vec![
                    Diagnostic::new("sql", session::message(&error))
                        .at_path(format!("/steps/{index}")),
                ]
            };
            let schema = schema_of(&now).map_err(at)?;
            let Lowered { rejects, only_where, shape } =
                lower(step, index, state, &schema, context)?;
            let physical = |expr: Expr| session::physical(state, expr, &schema).map_err(at);
            let sql = step.sql();
            let draft = |kind, expr: Expr| {
                Ok::<_, Vec<Diagnostic>>(Draft {
                    kind,
                    expr: physical(expr)?,
                    scope: now.clone(),
                    only_where: None,
                    sql: sql.clone(),
                })
            };
            for (reason, expr) in rejects {
                drafts.push(draft(Kind::Reject(reason), expr)?);
            }
            match shape {
                Shape::Filter(expr) => {
                    volatile |= session::is_volatile(&expr);
                    drafts.push(draft(Kind::Filter, expr)?);
                }
                Shape::Project(columns) => {
                    let mut after = Vec::new();
                    for (name, expr) in columns {
                        if let Expr::Column(column) = &expr
                            && let Some(carried) = now.iter().find(|now| now.name == column.name)
                        {
                            after.push(Now { name, ..carried.clone() });
                            continue;
                        }
                        volatile |= session::is_volatile(&expr);
                        let mut computing = draft(Kind::Compute, expr)?;
                        computing.only_where = only_where.clone().map(&physical).transpose()?;
                        let of = computing.expr.data_type(schema.as_arrow()).map_err(at)?;
                        let field = Arc::new(Field::new(&name, of, true));
                        drafts.push(computing);
                        after.push(Now { name, field, place: Place::Computed(computed) });
                        computed += 1;
                    }
                    now = after;
                }
            }
        }
        let (program, layout) = Self::number(drafts, &now, input);
        let layout = if volatile { layout.whole_input() } else { layout };
        Ok((program, layout))
    }

    /// Numbers the registers, and asks for the columns that are read.
    fn number(drafts: Vec<Draft>, now: &[Now], input: &Schema) -> (Self, Layout) {
        let mut entering: Vec<usize> = Vec::new();
        // The columns that a draft reads, by their position in its scope.
        let read = |draft: &Draft| -> Vec<usize> {
            let exprs = std::iter::once(&draft.expr).chain(&draft.only_where);
            let columns: BTreeSet<usize> = exprs
                .flat_map(|expr| collect_columns(expr).into_iter().map(|column| column.index()))
                .collect();
            columns.into_iter().collect()
        };
        for draft in &drafts {
            for place in read(draft).into_iter().map(|at| draft.scope[at].place) {
                if let Place::Input(at) = place
                    && !entering.contains(&at)
                {
                    entering.push(at);
                }
            }
        }
        let first = entering.len();
        let register = |place: Place| match place {
            Place::Input(at) => entering.iter().position(|known| *known == at).unwrap_or(0),
            Place::Computed(at) => first + at,
        };
        let compiled = |draft: &Draft| {
            let Draft { expr, scope, only_where, sql, .. } = draft;
            let columns = read(draft);
            let fields: Vec<FieldRef> = columns
                .iter()
                .map(|at| Arc::new(scope[*at].field.as_ref().clone().with_name(&scope[*at].name)))
                .collect();
            let schema = Arc::new(Schema::new(fields));
            // Every column that it reads is in the schema by its name.
            let placed = |expr: &Arc<dyn PhysicalExpr>| {
                reassign_expr_columns(Arc::clone(expr), &schema)
                    .unwrap_or_else(|_| Arc::clone(expr))
            };
            Compiled {
                expr: placed(expr),
                only_where: only_where.as_ref().map(placed),
                sql: sql.clone(),
                reads: columns.into_iter().map(|at| register(scope[at].place)).collect(),
                schema: Arc::clone(&schema),
            }
        };
        let ops: Vec<Op> = drafts
            .iter()
            .map(|draft| match &draft.kind {
                Kind::Reject(reason) => Op::Reject(reason.clone(), compiled(draft)),
                Kind::Filter => Op::Filter(compiled(draft)),
                Kind::Compute => Op::Compute(compiled(draft)),
            })
            .collect();
        let leaving: Vec<(usize, DataType)> = now
            .iter()
            .filter(|column| matches!(column.place, Place::Computed(_)))
            .map(|column| (register(column.place), plain::plain(column.field.data_type())))
            .collect();
        let mut layout = if drafts.iter().any(|draft| !matches!(draft.kind, Kind::Compute)) {
            Layout::filter()
        } else {
            Layout::one_to_one()
        };
        for draft in &drafts {
            if let Kind::Reject(reason) = &draft.kind {
                layout = layout.reason(reason.clone());
            }
        }
        for at in &entering {
            layout = layout.want(input.field(*at).name(), Accept::Any);
        }
        for column in now {
            layout = match column.place {
                Place::Input(at) => layout.keep_as(input.field(at).name(), &column.name),
                Place::Computed(_) => {
                    layout.compute(plain::field(&column.name, column.field.data_type()))
                }
            };
        }
        let needed = needed(&ops, &leaving);
        let filters = ops.iter().any(|op| !matches!(op, Op::Compute(_)));
        (Self { ops, entering: first, leaving, needed, filters }, layout)
    }
}

/// For each op, the registers that are read after it.
fn needed(ops: &[Op], leaving: &[(usize, DataType)]) -> Vec<Vec<usize>> {
    let mut after: Vec<usize> = leaving.iter().map(|(at, _)| *at).collect();
    let mut all = Vec::with_capacity(ops.len());
    for op in ops.iter().rev() {
        all.push(after.clone());
        let (Op::Reject(_, compiled) | Op::Filter(compiled) | Op::Compute(compiled)) = op;
        after.extend(
            compiled.reads.iter().filter(|at| !after.contains(at)).copied().collect::<Vec<_>>(),
        );
    }
    all.reverse();
    all
}

fn schema_of(now: &[Now]) -> Result<DFSchema> {
    let fields: Vec<FieldRef> = now
        .iter()
        .map(|column| Arc::new(column.field.as_ref().clone().with_name(&column.name)))
        .collect();
    DFSchema::try_from(Schema::new(fields))
}
