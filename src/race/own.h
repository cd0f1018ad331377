/* SPDX-License-Identifier: Apache-2.0 */
/* Code in the file of a checked program that is not the program's: what it is linked with. */
#ifndef RACE_OWN_H
#define RACE_OWN_H

#define RACE_OWN_NAME "reprise_race_code"

struct race_own {
	const void *start, *end;
};

#endif
