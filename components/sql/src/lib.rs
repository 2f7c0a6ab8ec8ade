//! The built-in steps of flows, as a component like any other: written with the guest SDK, run in the sandbox.
//!
//! A run of consecutive steps is one instance. Where each row is judged and computed by itself, the columns that the
//! steps read enter and those that they compute leave; everything else is carried past. Steps that look at more than one
//! row are planned as one query of the engine, Apache DataFusion, which is fed batch by batch.

mod checked;
mod compile;
mod compiled;
mod concat;
mod config;
mod engine;
mod feed;
mod fit;
mod lower;
mod plain;
mod query;
mod random;
mod rowwise;
mod session;
mod shape;
mod to_json;

use arrow::array::{ArrayRef, RecordBatch};
use wasmhost_guest::{About, Context, Failure, Inputs, Layout, Output, Transform};

pub use crate::config::{Config, How, OnError, Step};
use crate::engine::Engine;
use crate::query::Query;
use crate::rowwise::Program;

/// An instance at work.
#[derive(Debug)]
pub struct Sql(Work);

#[derive(Debug)]
enum Work {
    RowWise(Program),
    Query(Box<Query>),
}

impl Transform for Sql {
    type Config = Config;

    const ABOUT: About = wasmhost_guest::about!();

    fn open(config: Config, inputs: &Inputs, context: &Context) -> Result<(Self, Layout), Failure> {
        let engine = Engine::new(context);
        if inputs.all().len() == 1 && config.steps.iter().all(Step::is_row_wise) {
            let compiled =
                Program::compile(&config.steps, inputs.schema(), &engine.state(), context);
            let (program, layout) = compiled.map_err(Failure::BadConfig)?;
            return Ok((Self(Work::RowWise(program)), layout));
        }
        let (query, layout) = Query::plan(&config.steps, inputs, &engine)?;
        Ok((Self(Work::Query(Box::new(query))), layout))
    }

    fn process(&mut self, batch: &RecordBatch) -> Result<Output, Failure> {
        match &mut self.0 {
            Work::RowWise(program) => program.run(batch),
            Work::Query(query) => {
                query.push(0, batch)?;
                query.ready()
            }
        }
    }

    fn reference(&mut self, input: usize, batch: &RecordBatch) -> Result<(), Failure> {
        match &mut self.0 {
            Work::RowWise(_) => Err(Failure::internal("reference", "there is one input")),
            // Nothing is drained yet: rows may leave only by `process` and `finish`.
            Work::Query(query) => query.push(input, batch),
        }
    }

    fn end_input(&mut self, input: usize) -> Result<(), Failure> {
        match &mut self.0 {
            Work::RowWise(_) => fit::log_misfits(),
            Work::Query(query) => query.end(input),
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Option<Vec<ArrayRef>>, Failure> {
        match &mut self.0 {
            Work::RowWise(_) => Ok(None),
            Work::Query(query) => {
                let rows = query.next()?;
                if rows.is_none() {
                    fit::log_misfits();
                }
                Ok(rows)
            }
        }
    }
}

wasmhost_guest::transform!(Sql);
