/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - what a subcommand of `stallbox` is, and the list of those that have no folder of their own (run/,
 * symbols/ have one).
 *
 * main.c knows only this struct of a command; commands do not know each other. Data goes to standard output, messages
 * for people go to standard error, and the exit status is one of the three in options.h. */
#ifndef SBX_COMMAND_H
#define SBX_COMMAND_H

#include <stdio.h>

struct sbx_command {
    const char *name;                   /* "report" */
    const char *summary;                /* one line for `stallbox --help` */
    int (*main)(int argc, char **argv); /* argv[0] is the command's name; returns the exit status */
    void (*usage)(FILE *out);           /* the whole text of `stallbox help NAME` */
};

int sbx_command_report(int argc, char **argv);
void sbx_usage_report(FILE *out);
int sbx_command_show(int argc, char **argv);
void sbx_usage_show(FILE *out);
int sbx_command_policy(int argc, char **argv);
void sbx_usage_policy(FILE *out);
int sbx_command_audit(int argc, char **argv);
void sbx_usage_audit(FILE *out);
int sbx_command_consent(int argc, char **argv);
void sbx_usage_consent(FILE *out);
int sbx_command_seal(int argc, char **argv);
void sbx_usage_seal(FILE *out);
int sbx_command_deliver(int argc, char **argv);
void sbx_usage_deliver(FILE *out);
int sbx_command_ctl(int argc, char **argv);
void sbx_usage_ctl(FILE *out);
int sbx_command_look(int argc, char **argv);
void sbx_usage_look(FILE *out);
int sbx_command_unit(int argc, char **argv);
void sbx_usage_unit(FILE *out);
int sbx_command_serve(int argc, char **argv);
void sbx_usage_serve(FILE *out);
int sbx_command_token(int argc, char **argv);
void sbx_usage_token(FILE *out);

#endif
