/* SPDX-License-Identifier: Apache-2.0 */
/* kw.h as C11 sees it, and a conversation with the library. */
#include <stdio.h>
#include <string.h>

#include "kernelwright/kw.h"

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "%s: %s\n", what, kw_last_error());
}

int main(void) {
  char* reply = NULL;
  kw_binding* binding = NULL;
  kw_tensor tensor = {NULL, KW_F32, KW_ABSENT, NULL, NULL, NULL, 0};
  kw_scalar scalar = {KW_SCALAR_DEFAULT, 0.0, 0, NULL};
  const kw_arguments call = {&tensor, &scalar, 1, 1};
  _Static_assert(KW_NOT_PREPARED == 7 && KW_BOOL == 9 && KW_MAX_RANK == 8, "stable values");

  expect(strlen(kw_version()) > 0, "kw_version");
  expect(kw_control("{\"command\": \"list\"}", &reply) == KW_OK && reply != NULL, "list");
  kw_free(reply);
  reply = (char*)&call;
  expect(kw_control("{\"command\": \"lst\"}", &reply) == KW_NOT_FOUND && reply == NULL, "lst");
  expect(strstr(kw_last_error(), "did you mean 'list'?") != NULL, "nearest name");
  expect(kw_bind("none", NULL, NULL, &binding) != KW_OK && binding == NULL, "kw_bind");
  expect(kw_plan_launch_multi(NULL, &call, 1, NULL, 0, NULL) == KW_INVALID_ARGUMENT, "null plan");
  kw_unbind(NULL);
  kw_plan_destroy(NULL);
  kw_free(NULL);
  return failures != 0;
}
