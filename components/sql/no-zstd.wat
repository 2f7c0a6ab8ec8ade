;; Stands in for zstd's C library, which the engine's crates name and nothing calls: batches cross the sandbox uncompressed, and
;; a guest has no disk to spill to. Whoever asks for a context gets none, and says so; the rest cannot be reached without one.
(module
  (func (export "ZSTD_createCCtx") (result i32) (i32.const 0))
  (func (export "ZSTD_createDCtx") (result i32) (i32.const 0))
  (func (export "ZSTD_freeCCtx") (param i32) (result i32) unreachable)
  (func (export "ZSTD_freeDCtx") (param i32) (result i32) unreachable)
  (func (export "ZSTD_isError") (param i32) (result i32) unreachable)
  (func (export "ZSTD_getErrorName") (param i32) (result i32) unreachable)
  (func (export "ZSTD_compressBound") (param i32) (result i32) unreachable)
  (func (export "ZSTD_CCtx_reset") (param i32 i32) (result i32) unreachable)
  (func (export "ZSTD_DCtx_reset") (param i32 i32) (result i32) unreachable)
  (func (export "ZSTD_CCtx_setParameter") (param i32 i32 i32) (result i32) unreachable)
  (func (export "ZSTD_CCtx_loadDictionary") (param i32 i32 i32) (result i32) unreachable)
  (func (export "ZSTD_DCtx_loadDictionary") (param i32 i32 i32) (result i32) unreachable)
  (func (export "ZSTD_compress2") (param i32 i32 i32 i32 i32) (result i32) unreachable)
  (func (export "ZSTD_compressStream2") (param i32 i32 i32 i32) (result i32) unreachable)
  (func (export "ZSTD_decompressDCtx") (param i32 i32 i32 i32 i32) (result i32) unreachable))
