// SPDX-License-Identifier: Apache-2.0
// The C interface of kernelwright, for C11 and C++; includes the standard library only. Permanent
// from 1.0. Bad input gets its error before anything is launched; nothing throws, prints or ends
// the process.
#pragma once

// clang-format off
/* Errors     Every function that returns int returns KW_OK or another kw_code; then kw_last_error()
 *            has the message of this thread, and outputs are null or untouched.
 * Ownership  Text that a function hands out is UTF-8, ends in NUL, and is the caller's, to be given
 *            to kw_free. Memory of tensors, scalars and workspace is borrowed for the call; what a
 *            kernel reads or writes must live until its stream has passed the call.
 * Threads    Any function may be called from any thread, one handle from several at once; only a
 *            handle's destruction must be its last use.
 * Units      Sizes and strides count elements; everything named bytes counts bytes. */
// clang-format on

// NOLINTBEGIN(readability-identifier-naming): C's names
#include <stdint.h>

#ifdef __cplusplus
#define KW_NOEXCEPT noexcept
extern "C" {
#else
#define KW_NOEXCEPT
#endif

/* Equal to kw::Code; KW_NOT_PREPARED comes from launches only. */
enum kw_code {
  KW_OK = 0,
  KW_INVALID_ARGUMENT = 1, /* a value of the caller's is wrong */
  KW_NOT_FOUND = 2,        /* a name that does not exist; the message has the nearest */
  KW_UNSUPPORTED = 3,      /* legal, but no implementation serves it here */
  KW_CONFLICT = 4,         /* not initialised, initialised otherwise, registration closed */
  KW_ENVIRONMENT = 5,      /* device, compiler, memory, file, rights */
  KW_INTERNAL = 6,         /* a defect of the library */
  KW_NOT_PREPARED = 7      /* the stream is capturing, or prepare_on_miss is off */
};

/* Equal to kw::DType. */
enum kw_dtype {
  KW_F64 = 0,
  KW_F32 = 1,
  KW_F16 = 2,
  KW_BF16 = 3,
  KW_F8_E4M3 = 4,
  KW_F8_E5M2 = 5,
  KW_I64 = 6,
  KW_I32 = 7,
  KW_U8 = 8,
  KW_BOOL = 9
};

enum { KW_MAX_RANK = 8, KW_WORKSPACE_ALIGNMENT = 64 };

/* Special ranks. */
enum { KW_ABSENT = -1, KW_LIST = -2 };

/* A tensor argument; that of a parameter of kind "tensor_list" is a list of tensors. */
typedef struct kw_tensor {
  void* data;             /* first element; may be null when a size is 0 */
  int32_t dtype;          /* enum kw_dtype */
  int32_t rank;           /* 0 to KW_MAX_RANK, KW_ABSENT, or KW_LIST */
  const int64_t* sizes;   /* `rank` of them */
  const int64_t* strides; /* `rank` of them; null: row-major */
  /* With KW_LIST, which leaves the fields above unread: its tensors, of which none is a list. */
  const struct kw_tensor* list;
  int64_t list_size;
} kw_tensor;

enum kw_scalar_kind {
  KW_SCALAR_DEFAULT = 0, /* the contract's default; no field is read */
  KW_SCALAR_FLOAT = 1,   /* `number`, for a float */
  KW_SCALAR_INT = 2,     /* `integer`, for an int or a float; at most 2^53 in magnitude */
  KW_SCALAR_BOOL = 3,    /* `integer`, 0 or 1 */
  KW_SCALAR_TEXT = 4     /* `text`, the name of an enum's value */
};

typedef struct kw_scalar {
  int32_t kind; /* enum kw_scalar_kind */
  double number;
  int64_t integer;
  const char* text;
} kw_scalar;

/* The arguments of one call, both in the order of the contract (kw_control "contract"): every
 * tensor parameter with inputs, mutated ones and outputs, and every scalar parameter. */
typedef struct kw_arguments {
  const kw_tensor* tensors;
  const kw_scalar* scalars;
  int32_t num_tensors;
  int32_t num_scalars;
} kw_arguments;

/* "0.1.0"; static. */
const char* kw_version(void) KW_NOEXCEPT;
/* The message of this thread's last failed call, valid until its next one; never null. */
const char* kw_last_error(void) KW_NOEXCEPT;
/* Frees text from this library; null is fine. */
void kw_free(char* text) KW_NOEXCEPT;

/* ---- Control --------------------------------------------------------------------------------- */

/* One JSON object, {"command": ..., fields}, and its answer as JSON. Unknown commands and fields
 * are errors with the nearest name; a missing field takes the C++ default. kw_request_schema has
 * every command with its fields: initialize  chooses device and implementations, once per process;
 * the same again is fine list        what this build has            contract   one operation's
 * parameters explain     which implementation serves    prepare    compiles and reserves for
 * problems doctor      devices, compiler, caches      settings   choices in effect and their origin
 *   counters    plans built, misses */
int kw_control(const char* request_json, char** reply_json) KW_NOEXCEPT;
/* {"commands": [{"name", "help", "fields": [{"name", "type", "help"}]}]}, with those of
 * kw_precompile ("precompile") and kw_plan_create ("plan"). */
int kw_request_schema(char** json) KW_NOEXCEPT;
/* Compiles what problems need into the cache, for architectures whether or not they are here. The
 * answer has "exit_code", 0 when all passed; a problem's failure is no failure of this function.
 * Closes registration, as initialize does. */
int kw_precompile(const char* request_json, char** reply_json) KW_NOEXCEPT;

/* The Args struct of an operation: {"size", "alignment", "fields": [{"name", "offset", "size",
 * "kind", "optional"}]}. kw_args_size gives the size in bytes. */
int kw_args_schema(const char* operation, char** json) KW_NOEXCEPT;
int kw_args_size(const char* operation, int64_t* bytes) KW_NOEXCEPT;

/* ---- Calls ----------------------------------------------------------------------------------- */

/* An operation and variant on a device: the implementation follows each call's problem. */
typedef struct kw_binding kw_binding;

/* `variant` null or "": the contract's first. `device`: "cpu", "cuda", "cuda:1", "auto"; null or
 * "": that of initialize. Needs initialize. KW_UNSUPPORTED, with the reason, when nothing serves it
 * or the choice is the model's own code. */
int kw_bind(const char* operation, const char* variant, const char* device,
            kw_binding** out) KW_NOEXCEPT;
/* Null is fine. What was launched runs on. */
void kw_unbind(kw_binding* binding) KW_NOEXCEPT;

/* Enqueues one call. `stream` is the vendor's handle, null the default stream; the CPU has no
 * other. `workspace`: null with 0 bytes and the library's own serves, which grows when a call needs
 * more; else aligned to KW_WORKSPACE_ALIGNMENT, its first zeroed bytes (kw_workspace) zero in the
 * order of the stream, and left so. A first call of its kind prepares, and may compile, unless the
 * stream is capturing. */
int kw_call(kw_binding* binding, const kw_tensor* tensors, int32_t num_tensors,
            const kw_scalar* scalars, int32_t num_scalars, void* workspace, int64_t workspace_bytes,
            void* stream) KW_NOEXCEPT;
/* What such a call needs. Addresses are looked at for their alignment only, outputs may be absent.
 */
int kw_workspace(kw_binding* binding, const kw_tensor* tensors, int32_t num_tensors,
                 const kw_scalar* scalars, int32_t num_scalars, int64_t* bytes,
                 int64_t* zeroed_bytes) KW_NOEXCEPT;

/* ---- Plans ----------------------------------------------------------------------------------- */

/* One problem, whose dynamic dimensions may be free, with its implementation and Cfg fixed: a
 * launch never compiles and never chooses again. */
typedef struct kw_plan kw_plan;

/* {"problem": text, "device": as in kw_bind, "cfg": {field: value}}. Needs initialize. */
int kw_plan_create(const char* request_json, kw_plan** out) KW_NOEXCEPT;
/* As kw_call. A call that the plan was not made for is KW_INVALID_ARGUMENT. */
int kw_plan_launch(kw_plan* plan, const kw_tensor* tensors, int32_t num_tensors,
                   const kw_scalar* scalars, int32_t num_scalars, void* workspace,
                   int64_t workspace_bytes, void* stream) KW_NOEXCEPT;
/* Several calls in order on one stream, which share the workspace. All are checked before the first
 * is launched. */
int kw_plan_launch_multi(kw_plan* plan, const kw_arguments* calls, int32_t num_calls,
                         void* workspace, int64_t workspace_bytes, void* stream) KW_NOEXCEPT;
int kw_plan_workspace(kw_plan* plan, const kw_tensor* tensors, int32_t num_tensors,
                      const kw_scalar* scalars, int32_t num_scalars, int64_t* bytes,
                      int64_t* zeroed_bytes) KW_NOEXCEPT;
/* Every decision: {"problem", "device", "implementation", "specialization", "geometry", "facts"};
 * facts of a compiled plan have entry name, digests and origin ("user": found in the user's cache).
 */
int kw_plan_info(kw_plan* plan, char** json) KW_NOEXCEPT;
/* Null is fine. The binary stays with the process. */
void kw_plan_destroy(kw_plan* plan) KW_NOEXCEPT;
/* {"plans": [as kw_plan_info, without facts]} of every plan that lives, in order of creation. */
int kw_registered_plans(char** json) KW_NOEXCEPT;

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming)
