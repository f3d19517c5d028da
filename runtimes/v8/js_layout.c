/* SPDX-License-Identifier: Apache-2.0 */
/* js_layout.c - reads the exported numbers, and checks them against those for which the walk was written. */
#include "js_layout.h"

#include <stdio.h>
#include <string.h>

/* Values that the walk depends on. They must be those of the versions on which it was compared with V8's own stacks. */
static const struct {
    const char *name;
    int32_t value;
} expected[] = {
    {"v8dbg_HeapObjectTag", 1},
    {"v8dbg_HeapObjectTagMask", 3},
    {"v8dbg_SmiValueShift", 1},
    {"v8dbg_SmiShiftSize", 31},
    {"v8dbg_TaggedSize", 8},
    {"v8dbg_FirstNonstringType", 128},
    {"v8dbg_ConsStringTag", 1},
    {"v8dbg_ExternalStringTag", 2},
    {"v8dbg_SlicedStringTag", 3},
    {"v8dbg_ThinStringTag", 5},
    {"v8dbg_OneByteStringTag", 8},
    {"v8dbg_off_fp_context_or_frame_type", JS_FRAME_CONTEXT},
    {"v8dbg_off_fp_function", JS_FRAME_FUNCTION},
    {"v8dbg_off_fp_bytecode_array", JS_FRAME_BYTECODES},
    {"v8dbg_off_fp_bytecode_offset", JS_FRAME_BYTECODE},
    {"v8dbg_class_HeapObject__map__Map", 0},
    {"v8dbg_class_Map__instance_type__uint16_t", 12},
    {"v8dbg_class_JSFunction__shared__SharedFunctionInfo", JS_FUNCTION_SHARED},
    {"v8dbg_class_SharedFunctionInfo__function_data__Object", JS_SHARED_DATA},
    {"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", JS_SHARED_NAME},
    {"v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject", JS_SHARED_SCRIPT},
    {"v8dbg_class_SharedFunctionInfo__length__uint16_t", JS_SHARED_NUMBERS},
    {"v8dbg_class_SharedFunctionInfo__raw_function_token_offset__int16_t", JS_SHARED_TOKEN},
    {"v8dbg_class_SharedFunctionInfo__flags__int", 48},
    {"v8dbg_class_Script__source__Object", JS_SCRIPT_SOURCE},
    {"v8dbg_class_Script__name__Object", JS_SCRIPT_NAME},
    {"v8dbg_class_Script__line_ends__Object", JS_SCRIPT_LINE_ENDS},
    {"v8dbg_class_String__length__int32_t", JS_STRING_LENGTH},
    {"v8dbg_class_SeqOneByteString__chars__char", JS_STRING_FIRST},
    {"v8dbg_class_SeqTwoByteString__chars__char", JS_STRING_FIRST},
    {"v8dbg_class_ConsString__first__String", JS_STRING_FIRST},
    {"v8dbg_class_ConsString__second__String", JS_STRING_SECOND},
    {"v8dbg_class_SlicedString__offset__SMI", JS_STRING_SECOND},
    {"v8dbg_class_ThinString__actual__String", JS_STRING_FIRST},
    {"v8dbg_class_ExternalString__resource__Object", JS_STRING_FIRST},
    {"v8dbg_class_FixedArrayBase__length__SMI", JS_ARRAY_LENGTH},
    {"v8dbg_class_FixedArray__data__uintptr_t", JS_ARRAY_ITEMS},
    {"v8dbg_class_JSFunction__context__Context", 32},
    {"v8dbg_context_idx_prev", 1},
    {"v8dbg_context_min_slots", 2},
    {"v8dbg_scopeinfo_idx_ncontextlocals", 2},
    {"v8dbg_scopeinfo_idx_first_vars", 3},
};

static bool read_number(js_find_number find, const char *name, uint32_t *number_out)
{
    const int32_t *number = find(name);
    *number_out = number != NULL ? (uint32_t)*number : 0;
    return number != NULL;
}

/* Example: "10.2.154.26-node.37". */
static bool is_known(const char *version, uint32_t *minor_out)
{
    bool is_18 = strncmp(version, "10.2.", 5) == 0, is_20 = strncmp(version, "11.3.", 5) == 0;
    *minor_out = is_18 ? 2 : 3;
    return (is_18 || is_20) && strstr(version, "-node.") != NULL;
}

bool js_layout_read(struct js_layout *layout, const char *version, js_find_number find, char *why, size_t why_bytes)
{
    if (!is_known(version, &layout->minor)) {
        snprintf(why, why_bytes, "V8 %s is not known", version);
        return false;
    }
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        uint32_t number;
        if (!read_number(find, expected[i].name, &number) || (int32_t)number != expected[i].value) {
            snprintf(why, why_bytes, "V8 %s: %s is not as expected", version, expected[i].name + strlen("v8dbg_"));
            return false;
        }
    }
    const struct {
        const char *name;
        uint32_t *to;
    } wanted[] = {
        {"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", &layout->type_shared},
        {"v8dbg_type_Script__SCRIPT_TYPE", &layout->type_script},
        {"v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", &layout->type_scope},
        {"v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE", &layout->type_bytecodes},
        {"v8dbg_type_DebugInfo__DEBUG_INFO_TYPE", &layout->type_debug},
        {"v8dbg_type_FixedArray__FIXED_ARRAY_TYPE", &layout->type_array},
        {"v8dbg_type_ByteArray__BYTE_ARRAY_TYPE", &layout->type_bytes},
        {"v8dbg_type_Code__CODE_TYPE", &layout->type_code},
        {"v8dbg_type_InterpreterData__INTERPRETER_DATA_TYPE", &layout->type_interpreter},
        {"v8dbg_type_JSFunction__JS_FUNCTION_TYPE", &layout->type_function},
        {"v8dbg_FirstContextType", &layout->type_context_first},
        {"v8dbg_LastContextType", &layout->type_context_last},
        {"v8dbg_type_JSPromise__JS_PROMISE_TYPE", &layout->type_promise},
        {"v8dbg_type_PromiseReaction__PROMISE_REACTION_TYPE", &layout->type_reaction},
        {"v8dbg_type_PromiseCapability__PROMISE_CAPABILITY_TYPE", &layout->type_capability},
        {"v8dbg_type_JSAsyncFunctionObject__JS_ASYNC_FUNCTION_OBJECT_TYPE", &layout->type_async_function},
        {"v8dbg_type_JSAsyncGeneratorObject__JS_ASYNC_GENERATOR_OBJECT_TYPE", &layout->type_async_generator},
        {"v8dbg_type_AsyncGeneratorRequest__ASYNC_GENERATOR_REQUEST_TYPE", &layout->type_request},
        {"v8dbg_type_PromiseFulfillReactionJobTask__PROMISE_FULFILL_REACTION_JOB_TASK_TYPE", &layout->type_fulfill_job},
        {"v8dbg_type_PromiseRejectReactionJobTask__PROMISE_REJECT_REACTION_JOB_TASK_TYPE", &layout->type_reject_job},
        {"v8dbg_frametype_EntryFrame", &layout->frame_entry},
        {"v8dbg_frametype_ConstructEntryFrame", &layout->frame_construct_entry},
        {"v8dbg_frametype_ExitFrame", &layout->frame_exit},
        {"v8dbg_frametype_BuiltinExitFrame", &layout->frame_builtin_exit},
        {"v8dbg_class_BytecodeArray__data__uintptr_t", &layout->bytecodes_first},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (!read_number(find, wanted[i].name, wanted[i].to)) {
            snprintf(why, why_bytes, "V8 %s does not tell %s", version, wanted[i].name + strlen("v8dbg_"));
            return false;
        }
    }
    if (layout->minor == 3 &&
        !read_number(find, "v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE", &layout->type_stream)) {
        snprintf(why, why_bytes, "V8 %s does not tell how it keeps instructions", version);
        return false;
    }
    uint32_t native_context = 0, embedder = 0;
    bool has_embedder = read_number(find, "v8dbg_class_Map__native_context__NativeContext", &native_context) &&
                        native_context == JS_MAP_NATIVE_CONTEXT &&
                        read_number(find, "v8dbg_native_context_embedder_data_offset", &embedder) &&
                        embedder == JS_CONTEXT_EMBEDDER &&
                        read_number(find, "v8dbg_type_EmbedderDataArray__EMBEDDER_DATA_ARRAY_TYPE", &embedder);
    layout->type_embedder = has_embedder ? embedder : 0;
    layout->fast_call = layout->minor == 2 ? 256 : 232; /* v8-internal.h: kIsolateFastCCallCallerFpOffset */
    snprintf(why, why_bytes, "V8 %s", version);
    return true;
}
