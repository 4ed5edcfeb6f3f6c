/* SPDX-License-Identifier: Apache-2.0
 * The C ABI of kernelwright: for other languages, and for programs that must not depend on a C++
 * library's layout. Nothing here throws, prints, aborts or exits. Every function may be called from
 * any thread. Strings are UTF-8. Permanent from 1.0; until then it may change with the version. */
#ifndef KERNELWRIGHT_KW_H
#define KERNELWRIGHT_KW_H

#ifdef __cplusplus
extern "C" {
#endif

/* What a function returns. */
enum kw_code {
  KW_OK = 0,
  KW_INVALID_ARGUMENT = 1, /* the caller's value is wrong */
  KW_NOT_FOUND = 2,        /* a name that does not exist */
  KW_UNSUPPORTED = 3,      /* legal, but no implementation serves it here */
  KW_CONFLICT = 4,         /* frozen, duplicate, second initialise, not initialised */
  KW_ENVIRONMENT = 5,      /* device, compiler, dependency, rights */
  KW_INTERNAL = 6          /* a defect of this library */
};

/* "0.1.0"; static. */
const char* kw_version(void);

/* The message of this thread's last failure: what was asked, what exists, what to do. "" before the
 * first. Valid until the thread's next call. */
const char* kw_last_error(void);

/* One request, a JSON object with "command" and that command's fields. Unknown commands and fields
 * are KW_NOT_FOUND with the nearest name; a missing field has its C++ default; a wrong type is
 * KW_INVALID_ARGUMENT. On KW_OK *reply is a JSON object that kw_free() releases; else it is null.
 *
 *   initialize  config_file | config_text, overrides {operation: target or [targets]}, device
 *               ("cpu", "cuda", "cuda:1", "auto"), mode ("eager", "graph"), prepare_on_miss
 *               -> device, model, settings, warnings
 *   list        operation                                     -> as `kw list --json`
 *   explain     problem | operation, variant; device          -> as `kw explain --json`
 *   prepare     problems [text, ...], device, cfg {field: value}
 *               -> prepared [{problem, implementation, specialization, geometry, workspace_bytes}]
 *   contract    operation                                     -> the contract's table
 *   counters                                                  -> plans_built, misses, ...
 *
 * explain, prepare and counters speak of the context that initialize made, or with `device` of one
 * beside it with the same settings. */
int kw_control(const char* request_json, char** reply);

/* Releases a reply; null is fine. */
void kw_free(char* reply);

#ifdef __cplusplus
}
#endif

#endif
