/* SPDX-License-Identifier: Apache-2.0 */
/* Exit status 0 if this kernel tells which pages were written (Linux 6.7) and lets us ask it. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FEATURES (UFFD_FEATURE_PAGEFAULT_FLAG_WP | 1 << 13 | 1 << 15) /* unpopulated, async */

int main(void)
{
	struct uffdio_api api = {.api = UFFD_API, .features = FEATURES};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	return fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0;
}
