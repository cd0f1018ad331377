/* SPDX-License-Identifier: Apache-2.0 */
/* forge-image FILE kernel|processor: as if the image had been taken with another one. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../../src/ckpt/format.h"

int main(int argc, char **argv)
{
	FILE *f = argc == 3 ? fopen(argv[1], "r+b") : NULL;
	struct ckpt_head head;

	if (!f || fread(&head, sizeof(head), 1, f) != 1 || head.version != CKPT_VERSION)
		return 1;
	if (strcmp(argv[2], "kernel") == 0)
		head.kernel[0] ^= 1;
	else
		head.features ^= 1;
	head.check = XXH3_64bits(&head, offsetof(struct ckpt_head, check));
	rewind(f);
	return fwrite(&head, sizeof(head), 1, f) == 1 && fclose(f) == 0 ? 0 : 1;
}
