;; Stands in for WASI inside the component, so that the component imports nothing but our log.
;;
;; Rust's standard library for wasm32-wasip1 imports these. Here the clock goes on by a fixed step a call, random bytes are
;; always the same (they seed hash tables; `random()` is drawn from the run's seed), and there are no files.
(module
  (import "env" "memory" (memory 0))
  (global $clock (mut i64) (i64.const 0))
  (global $random (mut i64) (i64.const 88172645463325252))

  ;; Errno of preview 1: success, badf, nosys.
  (global $success i32 (i32.const 0))
  (global $badf i32 (i32.const 8))
  (global $nosys i32 (i32.const 52))

  ;; Xorshift (Marsaglia 2003), a byte a step.
  (func (export "random_get") (param $at i32) (param $bytes i32) (result i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $at) (local.get $bytes)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (global.set $random (i64.xor (global.get $random) (i64.shl (global.get $random) (i64.const 13))))
        (global.set $random (i64.xor (global.get $random) (i64.shr_u (global.get $random) (i64.const 7))))
        (global.set $random (i64.xor (global.get $random) (i64.shl (global.get $random) (i64.const 17))))
        (i64.store8 (local.get $at) (global.get $random))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (global.get $success))

  ;; A microsecond a call.
  (func (export "clock_time_get") (param $id i32) (param $precision i64) (param $to i32) (result i32)
    (global.set $clock (i64.add (global.get $clock) (i64.const 1000)))
    (i64.store (local.get $to) (global.get $clock))
    (global.get $success))

  (func (export "environ_get") (param i32 i32) (result i32) (global.get $success))
  (func (export "environ_sizes_get") (param $count i32) (param $bytes i32) (result i32)
    (i32.store (local.get $count) (i32.const 0))
    (i32.store (local.get $bytes) (i32.const 0))
    (global.get $success))
  (func (export "sched_yield") (result i32) (global.get $success))
  (func (export "proc_exit") (param i32) unreachable)
  (func (export "poll_oneoff") (param i32 i32 i32 i32) (result i32) (global.get $nosys))

  (func (export "fd_close") (param i32) (result i32) (global.get $badf))
  (func (export "fd_fdstat_get") (param i32 i32) (result i32) (global.get $badf))
  (func (export "fd_filestat_get") (param i32 i32) (result i32) (global.get $badf))
  (func (export "fd_prestat_get") (param i32 i32) (result i32) (global.get $badf))
  (func (export "fd_prestat_dir_name") (param i32 i32 i32) (result i32) (global.get $badf))
  (func (export "fd_read") (param i32 i32 i32 i32) (result i32) (global.get $badf))
  (func (export "fd_readdir") (param i32 i32 i32 i64 i32) (result i32) (global.get $badf))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (global.get $badf))
  (func (export "fd_write") (param i32 i32 i32 i32) (result i32) (global.get $badf))
  (func (export "path_create_directory") (param i32 i32 i32) (result i32) (global.get $badf))
  (func (export "path_filestat_get") (param i32 i32 i32 i32 i32) (result i32) (global.get $badf))
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) (global.get $badf))
  (func (export "path_remove_directory") (param i32 i32 i32) (result i32) (global.get $badf))
  (func (export "path_unlink_file") (param i32 i32 i32) (result i32) (global.get $badf)))
