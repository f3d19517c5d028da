/* SPDX-License-Identifier: Apache-2.0 */
/* steered_agents.c - which agents are ours, what they were told, and what to tell them. */
#include "steered_agents.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attachment.h"
#include "recording_folder.h"
#include "shared_mapping.h"

enum {
    PATH_BYTES = 4096,
    /* looks at a file that is no recording, some seconds; a new recording is complete after milliseconds */
    MISSES_MAX = 100
};

/* May we steer this process? The environment that it was started with must have our mark; or no mark at all, when we
 * steer all users of the spool. */
static bool is_ours_to_steer(const struct sbx_steered_agents *agents, uint32_t pid)
{
    char path[32], *text = NULL;
    size_t room = 0;
    ssize_t length;
    bool has_ours = false, has_any = false;
    snprintf(path, sizeof path, "/proc/%u/environ", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    while (!has_any && (length = getdelim(&text, &room, '\0', file)) > 0) {
        has_any = strncmp(text, SBX_ENV_COMPANION "=", sizeof SBX_ENV_COMPANION) == 0;
        has_ours = has_any && agents->mark != NULL && strcmp(text, agents->mark) == 0;
    }
    free(text);
    fclose(file);
    return agents->mark != NULL ? has_ours : !has_any;
}

/* The same for processes that overwrite their environment, such as workers that set a title. */
static bool has_our_key(const struct sbx_steered_agents *agents, const struct sbx_attachment *attachment)
{
    return agents->key != 0 && attachment->control->handover.key == agents->key;
}

static struct sbx_steered_agent *find_agent(struct sbx_steered_agents *agents, const char *name)
{
    struct sbx_steered_agent *free_place = NULL;
    for (int i = 0; i < SBX_STEERED_MAX; i++) {
        struct sbx_steered_agent *agent = &agents->places[i];
        if (strcmp(agent->name, name) == 0) {
            return agent;
        }
        if (agent->name[0] == '\0' && free_place == NULL) {
            free_place = agent;
        }
    }
    if (free_place != NULL && strlen(name) < sizeof free_place->name) {
        memset(free_place, 0, sizeof *free_place);
        snprintf(free_place->name, sizeof free_place->name, "%s", name);
        return free_place;
    }
    return NULL;
}

/* State of a function that is left by a jump when the process truncates its recording. */
struct steering {
    struct sbx_steered_agents *agents;
    struct sbx_steered_agent *agent;
    const struct sbx_attachment *attachment;
    const struct sbx_capture_settings *wanted;
    uint64_t order;
    uint32_t pid;
    bool is_again;
};

static void give_order(void *context)
{
    struct steering *steering = context;
    const struct sbx_attachment *attachment = steering->attachment;
    struct sbx_steered_agent *agent = steering->agent;
    uint32_t generation;
    int result;
    if (strncmp(attachment->header->spool_path, steering->agents->spool_path, sizeof attachment->header->spool_path) !=
            0 ||
        !(has_our_key(steering->agents, attachment) || is_ours_to_steer(steering->agents, steering->pid))) {
        agent->order = steering->order;
        return;
    }
    if (attachment->header->consent == SBX_CONSENT_GRANTED) {
        steering->agents->has_consent = true;
        /* one byte longer, so it ends with a zero */
        memcpy(agent->app_name, attachment->header->app_name, SBX_APP_NAME_MAX);
        memcpy(agent->app_version, attachment->header->app_version, sizeof agent->app_version);
    }
    struct sbx_capture_settings settings = *steering->wanted, before = attachment->control->wanted;
    /* Do not switch on an agent that a user has switched off since our last order. */
    bool is_by_hand =
        agent->order != 0 && memcmp(&before, &agent->told, sizeof agent->told) != 0 && before.enabled == 0;
    settings.enabled = is_by_hand ? 0 : settings.enabled;
    if (memcmp(&before, &settings, sizeof settings) == 0) {
        result = 0;
    } else {
        result = sbx_attachment_order(attachment, &settings, 0, &generation);
    }
    if (result == 0) {
        agent->order = steering->order;
        agent->told = settings;
    }
    steering->is_again = result == -EAGAIN;
}

/* Bring one agent to the effect in force. Returns whether to look at it again soon. */
static bool steer(struct sbx_steered_agents *agents, const char *path, const char *name,
                  const struct sbx_capture_settings *wanted, uint64_t order)
{
    struct sbx_attachment attachment;
    uint32_t pid = (uint32_t)strtoul(name, NULL, 10);
    struct sbx_steered_agent *agent = find_agent(agents, name);
    if (agent == NULL) {
        return false;
    }
    agent->is_seen = true;
    if (agent->order == order) {
        return false;
    }
    int result = sbx_attachment_open(&attachment, path, pid);
    if (result == -EPROTO && ++agent->misses >= MISSES_MAX) {
        agent->order = order; /* it is never ours */
        agent->misses = 0;
    }
    if (result != 0) {
        bool may_start = result == -ESRCH || (result == -EPROTO && agent->order != order); /* or it is being made now */
        return may_start && kill((pid_t)pid, 0) == 0;
    }
    struct steering steering = {agents, agent, &attachment, wanted, order, pid, false};
    if (!sbx_mapping_survive(give_order, &steering)) {
        agent->order = order; /* do not steer a process that truncates its file */
    }
    sbx_attachment_close(&attachment);
    return steering.is_again;
}

static bool steer_folder(struct sbx_steered_agents *agents, const char *recordings,
                         const struct sbx_capture_settings *wanted, uint64_t order)
{
    char path[PATH_BYTES];
    bool is_again = false;
    DIR *folder = opendir(recordings);
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL; entry = readdir(folder)) {
        size_t length = strlen(entry->d_name), suffix = sizeof SBX_RECORDING_SUFFIX - 1;
        if (length > suffix && strcmp(entry->d_name + length - suffix, SBX_RECORDING_SUFFIX) == 0) {
            snprintf(path, sizeof path, "%s/%s", recordings, entry->d_name);
            is_again |= steer(agents, path, entry->d_name, wanted, order);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return is_again;
}

bool sbx_steered_agents_bring(struct sbx_steered_agents *agents, const struct sbx_capture_settings *wanted,
                              uint64_t order)
{
    struct sbx_recording_folders folders = {.count = 0};
    bool is_again = false;
    if (agents->recordings != NULL || agents->searches_recordings) {
        sbx_recordings_find(agents->recordings, &folders);
    }
    for (int i = 0; i < SBX_STEERED_MAX; i++) {
        agents->places[i].is_seen = false;
    }
    for (unsigned i = 0; i < folders.count; i++) {
        is_again |= steer_folder(agents, folders.paths[i], wanted, order);
    }
    for (int i = 0; i < SBX_STEERED_MAX; i++) {
        if (!agents->places[i].is_seen) {
            agents->places[i].name[0] = '\0';
        }
    }
    return is_again;
}
