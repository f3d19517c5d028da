/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - counts the instructions that a function of a script takes: for bench/bench_timers. A module for
 * process.dlopen(), which does not touch the recorder. */
#include <string.h>

#include "step_count.h"

typedef struct napi_env_ *napi_env;
typedef struct napi_value_ *napi_value;
typedef struct napi_info_ *napi_info;
typedef napi_value (*napi_function)(napi_env env, napi_info info);
int napi_create_function(napi_env env, const char *name, size_t bytes, napi_function function, void *data,
                         napi_value *out);
int napi_set_named_property(napi_env env, napi_value object, const char *name, napi_value value);
int napi_create_double(napi_env env, double number, napi_value *out);
int napi_get_undefined(napi_env env, napi_value *out);
int napi_call_function(napi_env env, napi_value self, napi_value function, size_t count, const napi_value *arguments,
                       napi_value *out);
int napi_get_cb_info(napi_env env, napi_info info, size_t *count, napi_value *arguments, napi_value *self, void **data);
__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports);

struct call {
    napi_env env;
    napi_value self, function;
};

static void call_it(void *to)
{
    const struct call *call = to;
    napi_value result;
    napi_call_function(call->env, call->self, call->function, 0, NULL, &result);
}

/* steps(function): the instructions of a call without arguments. */
static napi_value steps(napi_env env, napi_info info)
{
    struct call call = {.env = env};
    size_t count = 1;
    napi_value result;
    napi_get_cb_info(env, info, &count, &call.function, NULL, NULL);
    napi_get_undefined(env, &call.self);
    napi_create_double(env, (double)bench_count_steps(call_it, &call), &result);
    return result;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
    napi_value value;
    napi_create_function(env, "steps", strlen("steps"), steps, NULL, &value);
    napi_set_named_property(env, exports, "steps", value);
    return exports;
}
