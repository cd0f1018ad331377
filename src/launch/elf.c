/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small ELF reader. The file is mapped. `part` is the only way to its bytes, and gives nothing
 * outside the file, so no wrong header can lead astray.
 */
#include "launch/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__powerpc64__)
#define MACHINE EM_PPC64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#else
#error "this processor is not supported"
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_HERE ELFDATA2LSB
#else
#define BYTE_ORDER_HERE ELFDATA2MSB
#endif

static const void *part(const struct launch_elf *elf, uint64_t offset, uint64_t size)
{
	if (offset > elf->size || size > elf->size - offset)
		return NULL;
	return elf->bytes + offset;
}

/* Copies out, because nothing says that a file's tables are aligned. */
static bool copy(const struct launch_elf *elf, uint64_t offset, void *out, size_t size)
{
	const void *p = part(elf, offset, size);

	if (p)
		memcpy(out, p, size);
	return p != NULL;
}

static void read_interp(struct launch_elf *elf, const Elf64_Phdr *ph)
{
	const char *name = part(elf, ph->p_offset, ph->p_filesz);

	if (name && ph->p_filesz && !elf->interp)
		elf->interp = strndup(name, ph->p_filesz);
}

static void read_notes(struct launch_elf *elf, const Elf64_Phdr *ph)
{
	uint64_t at = 0;
	Elf64_Nhdr note;

	if (!part(elf, ph->p_offset, ph->p_filesz))
		return;
	while (ph->p_filesz - at >= sizeof(note) &&
	       copy(elf, ph->p_offset + at, &note, sizeof(note))) {
		uint64_t name = at + sizeof(note);
		uint64_t desc = name + (((uint64_t)note.n_namesz + 3) & ~3ull);
		uint64_t next = desc + (((uint64_t)note.n_descsz + 3) & ~3ull);

		if (next > ph->p_filesz)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz &&
		    !memcmp(elf->bytes + ph->p_offset + name, "GNU", 4)) {
			elf->build_id = elf->bytes + ph->p_offset + desc;
			elf->build_id_size = note.n_descsz;
			return;
		}
		at = next;
	}
}

static void read_segments(struct launch_elf *elf, const Elf64_Ehdr *eh)
{
	Elf64_Phdr ph;

	if (eh->e_phentsize != sizeof(ph))
		return;
	for (uint64_t i = 0; i < eh->e_phnum; i++) {
		uint64_t offset;

		if (__builtin_add_overflow(eh->e_phoff, i * sizeof(ph), &offset) ||
		    !copy(elf, offset, &ph, sizeof(ph)))
			return;
		if (ph.p_type == PT_INTERP)
			read_interp(elf, &ph);
		else if (ph.p_type == PT_DYNAMIC)
			elf->dynamic = true;
		else if (ph.p_type == PT_NOTE && !elf->build_id)
			read_notes(elf, &ph);
	}
}

static bool read_header(const struct launch_elf *elf, Elf64_Ehdr *eh)
{
	return copy(elf, 0, eh, sizeof(*eh)) && eh->e_ident[EI_CLASS] == ELFCLASS64 &&
	       eh->e_ident[EI_DATA] == BYTE_ORDER_HERE && eh->e_machine == MACHINE;
}

int launch_elf_open(struct launch_elf *elf, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	Elf64_Ehdr eh;
	int rc = 0;
	void *map;

	*elf = (struct launch_elf){0};
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0)
		rc = -errno;
	else if (!S_ISREG(st.st_mode))
		rc = -EINVAL;
	if (!rc && st.st_size > 0) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED) {
			rc = -errno;
		} else {
			elf->bytes = map;
			elf->size = (size_t)st.st_size;
		}
	}
	close(fd);
	if (rc || elf->size < SELFMAG || memcmp(elf->bytes, ELFMAG, SELFMAG))
		return rc;
	elf->elf = true;
	elf->native = read_header(elf, &eh);
	if (elf->native)
		read_segments(elf, &eh);
	return 0;
}

void launch_elf_close(struct launch_elf *elf)
{
	free(elf->interp);
	if (elf->bytes)
		munmap((void *)elf->bytes, elf->size);
	*elf = (struct launch_elf){0};
}

static bool symbol_is(const struct launch_elf *elf, const Elf64_Shdr *strings, uint32_t at,
		      const char *const *names)
{
	const char *table = part(elf, strings->sh_offset, strings->sh_size);

	if (!table || at >= strings->sh_size)
		return false;
	for (; *names; names++) {
		size_t n = strlen(*names) + 1;

		if (n <= strings->sh_size - at && !memcmp(table + at, *names, n))
			return true;
	}
	return false;
}

static bool table_has(const struct launch_elf *elf, const Elf64_Shdr *symbols,
		      const Elf64_Shdr *strings, const char *const *names)
{
	Elf64_Sym sym;

	if (!part(elf, symbols->sh_offset, symbols->sh_size))
		return false;
	for (uint64_t i = 0; i < symbols->sh_size / sizeof(sym); i++) {
		if (copy(elf, symbols->sh_offset + i * sizeof(sym), &sym, sizeof(sym)) &&
		    sym.st_shndx != SHN_UNDEF && symbol_is(elf, strings, sym.st_name, names))
			return true;
	}
	return false;
}

static bool section(const struct launch_elf *elf, const Elf64_Ehdr *eh, uint64_t i, Elf64_Shdr *sh)
{
	uint64_t offset;

	return i < eh->e_shnum && eh->e_shentsize == sizeof(*sh) &&
	       !__builtin_add_overflow(eh->e_shoff, i * sizeof(*sh), &offset) &&
	       copy(elf, offset, sh, sizeof(*sh));
}

bool launch_elf_has_symbol(const struct launch_elf *elf, const char *const *names)
{
	Elf64_Shdr symbols, strings;
	Elf64_Ehdr eh;

	if (!read_header(elf, &eh))
		return false;
	for (uint64_t i = 0; section(elf, &eh, i, &symbols); i++) {
		if (symbols.sh_type == SHT_SYMTAB && section(elf, &eh, symbols.sh_link, &strings) &&
		    table_has(elf, &symbols, &strings, names))
			return true;
	}
	return false;
}
