/* Maps a static program into this process, which never runs any of it, and lets a forked child go on at its entry.

   A part of cases.c. What is mapped is the sealed contents, which no case can change; it is hostile, as all that a
   compiler makes of hostile text: it may lie at low addresses only, and what does not fit is executed instead. */

static int map_segment(const Elf64_Phdr *part) {
    u64 low = part->p_vaddr & ~4095ul, shift = part->p_vaddr - low, end = part->p_vaddr + part->p_memsz;
    u64 whole = (end + 4095) & ~4095ul, held = (part->p_vaddr + part->p_filesz + 4095) & ~4095ul;
    int mode = (part->p_flags & PF_R ? PROT_READ : 0) | (part->p_flags & PF_W ? PROT_WRITE : 0) |
               (part->p_flags & PF_X ? PROT_EXEC : 0);
    if (part->p_filesz > part->p_memsz || low < 65536 || part->p_memsz > HIGHEST || end > HIGHEST) return 0;
    if (part->p_offset < shift || (part->p_offset - shift) & 4095 || part->p_offset > head->program_size ||
        part->p_filesz > head->program_size - part->p_offset)
        return 0;
    if (part->p_filesz == 0) held = low;
    if (held > low) {
        long at = sys(SYS_mmap, low, held - low, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE | MAP_POPULATE, CONTENTS,
                      head->program_start + part->p_offset - shift);
        if (at != (long)low || CALL(SYS_mprotect, low, held - low, PROT_READ | PROT_WRITE, 0) < 0) return 0;
        volatile char *last = (char *)(part->p_vaddr + part->p_filesz - 1);
        *last = *last; /* a page of our own: from now on a fork copies where all of them lie */
        if (part->p_memsz > part->p_filesz)
            memset((char *)last + 1, 0, (whole < held ? whole : held) - (u64)last - 1);
    }
    if (whole > held) {
        long at = sys(SYS_mmap, held, whole - held, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (at != (long)held) return 0;
    }
    return CALL(SYS_mprotect, low, whole - low, mode, 0) == 0;
}

/* Map the program, from contents that nobody can change, if it is static and keeps to low addresses. */
static int map_program(void) {
    Elf64_Ehdr elf;
    Elf64_Phdr parts[MOST_SEGMENTS];
    u64 start = head->program_start, found = 0, inside = 0;
    if (start & 4095 || CALL(SYS_pread64, CONTENTS, &elf, sizeof elf, start) != sizeof elf) return 0;
    long most = elf.e_phnum * sizeof *parts;
    if (*(unsigned *)elf.e_ident != 0x464c457f || elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_machine != EM_X86_64 ||
        elf.e_type != ET_EXEC || !elf.e_phnum || elf.e_phnum > MOST_SEGMENTS || elf.e_phentsize != sizeof *parts ||
        elf.e_phoff > head->program_size || CALL(SYS_pread64, CONTENTS, parts, most, start + elf.e_phoff) != most)
        return 0;
    for (int i = 0; i < elf.e_phnum; i++) {
        const Elf64_Phdr *part = parts + i;
        int kind = part->p_type;
        if (kind == PT_INTERP || kind == PT_DYNAMIC || (kind == PT_GNU_STACK && part->p_flags & PF_X)) return 0;
        if (kind != PT_LOAD || !part->p_memsz) continue;
        if (!map_segment(part)) return 0;
        if (elf.e_phoff >= part->p_offset && elf.e_phoff + most <= part->p_offset + part->p_filesz)
            found = part->p_vaddr + elf.e_phoff - part->p_offset;
        inside |= elf.e_entry - part->p_vaddr < part->p_memsz;
    }
    if (!found || !inside) return 0;
    entry = elf.e_entry, program_headers = found, header_count = elf.e_phnum;
    return 1;
}

static u64 *auxiliary, *bottom; /* of this process, as the kernel gave them */

/* In the child: lay out a stack as exec does, and go on at the program's entry. With paths it shall be an engine. */
static __attribute__((noreturn)) void enter(char **arguments, char **variables, char **own_paths) {
    u64 vectors = 0, strings = 32, count = 0, held = 0;
    while (arguments[count]) strings += length(arguments[count++]) + 1;
    while (variables[held]) strings += length(variables[held++]) + 1;
    for (int i = 0; own_paths && i < 3; i++) strings += length(own_paths[i]) + 1;
    while (auxiliary[2 * vectors]) vectors++;
    u64 size = (1 + count + 1 + held + 1 + 2 * (vectors + 2)) * 8;
    u64 *stack = (u64 *)(((u64)__builtin_alloca(size + strings + 64) + 15) & ~15ul), *at = stack;
    char *text = (char *)stack + size + 16, *random = text;
    CALL(SYS_getrandom, random, 16, 0, 0);
    text += 16;
    *at++ = count;
    for (u64 i = 0; i < count; i++) *at++ = (u64)text, text = say(text, arguments[i]), *text++ = 0;
    *at++ = 0;
    for (u64 i = 0; i < held; i++) *at++ = (u64)text, text = say(text, variables[i]), *text++ = 0;
    *at++ = 0;
    *at++ = own_paths ? AT_ENGINE : AT_IGNORE, *at++ = own_paths ? (u64)text : 0;
    for (int i = 0; own_paths && i < 3; i++) text = say(text, own_paths[i]), *text++ = 0;
    for (u64 i = 0; i <= vectors; i++) {
        u64 kind = auxiliary[2 * i], value = auxiliary[2 * i + 1];
        value = kind == AT_PHDR ? program_headers : kind == AT_PHNUM ? header_count : kind == AT_ENTRY ? entry : value;
        value = kind == AT_RANDOM ? (u64)random : kind == AT_EXECFN ? stack[1] : value;
        *at++ = kind, *at++ = value;
    }
    /* Wipe what this process has done on the stack since it began. */
    __asm__ volatile("mov %%rbx, %%rsp\n rep stosb\n xor %%ebp, %%ebp\n xor %%edx, %%edx\n jmp *%%rsi" ::"b"(stack),
                     "D"(text), "c"((char *)bottom - text), "a"(0), "S"(entry)
                     : "memory");
    __builtin_unreachable();
}
