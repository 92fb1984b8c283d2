/* System calls without a C library, and what a supervisor and an engine say to each other. */

typedef unsigned long u64;
typedef unsigned char u8;

static inline long sys(long number, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) {
    long result;
    register u64 r10 __asm__("r10") = d;
    register u64 r8 __asm__("r8") = e;
    register u64 r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#define CALL(number, a, b, c, d) sys(number, (u64)(a), (u64)(b), (u64)(c), (u64)(d), 0, 0)

enum { ENGINE_ORDERS = 3, ENGINE_REPORTS = 4 };
enum { AT_ENGINE = 0x766b }; /* in the auxiliary vector of a mapped program that shall be an engine: the streams' paths */

/* What an engine reports of each case, and once when it is ready. */
struct report {
    u64 status, left, microseconds;
};
