/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_INFO_JSON_H
#define CMD_INFO_JSON_H

#include <jansson.h>

#include "trace/run.h"

/* What `reprise info --format=json` prints; its keys are documented in reprise-info(1). */
json_t *cmd_info_json(const struct trace_run *run);

#endif
