/* SPDX-License-Identifier: Apache-2.0 */
/* policy_verdict.c - names and reports. */
#include "policy_verdict.h"

#include <stdarg.h>
#include <stdio.h>

const char *sbx_policy_verdict_name(uint32_t verdict)
{
    static const char *const names[SBX_POLICY_VERDICTS] = {
        [SBX_POLICY_ACCEPTED] = "OK",
        [SBX_POLICY_SAME] = "SAME",
        [SBX_POLICY_FORMAT] = "E_FORMAT",
        [SBX_POLICY_SIGNATURE] = "E_SIGNATURE",
        [SBX_POLICY_LATER] = "E_LATER",
        [SBX_POLICY_PARSE] = "E_PARSE",
        [SBX_POLICY_UNSUPPORTED] = "E_UNSUPPORTED",
        [SBX_POLICY_APP] = "E_APP",
        [SBX_POLICY_AGENT] = "E_AGENT",
        [SBX_POLICY_EPOCH] = "E_EPOCH",
        [SBX_POLICY_ROLLBACK] = "E_ROLLBACK",
        [SBX_POLICY_EQUIVOCATION] = "E_EQUIVOCATION",
        [SBX_POLICY_EXPIRED] = "E_EXPIRED",
        [SBX_POLICY_FUTURE] = "E_FUTURE",
        [SBX_POLICY_LIFETIME] = "E_LIFETIME",
        [SBX_POLICY_RANGE] = "E_RANGE",
        [SBX_POLICY_CHAIN] = "E_CHAIN",
        [SBX_POLICY_KEYS_EXPIRED] = "E_KEYS_EXPIRED",
        [SBX_POLICY_STORE] = "E_STORE",
    };
    return verdict < SBX_POLICY_VERDICTS ? names[verdict] : "E_UNKNOWN";
}

enum sbx_policy_verdict sbx_policy_judge(struct sbx_policy_report *report, enum sbx_policy_verdict verdict,
                                         const char *format, ...)
{
    va_list arguments;
    report->verdict = verdict;
    va_start(arguments, format);
    vsnprintf(report->why, sizeof report->why, format, arguments);
    va_end(arguments);
    return verdict;
}
