/* The cost of a task that does nothing: launched, and launched and joined. What `torment probe launch` is held against.
 *
 * usage: launch METHOD HEAP_MIB HUGE CPU [PAGES MAPPINGS]
 *   METHOD    fork, vfork, clone3, clone3vm, thread
 *   HEAP_MIB  so much is touched first, in huge pages if HUGE is 1
 *   CPU       where it runs
 *   PAGES     as many private pages are touched in all, and as many MAPPINGS made, if there are fewer:
 *             a fork copies them too
 * For each line on standard input, a number of tasks, it prints the medians of both in nanoseconds. */
#define _GNU_SOURCE
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul

static void die(const char *what) {
  perror(what);
  exit(1);
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void *nothing(void *p) { return p; }

/* In one piece, for a child that shares the memory is on our stack and must not return from anywhere. */
static pid_t clone3_exit(uint64_t flags) {
  struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
#if defined(__x86_64__)
  long r = SYS_clone3;
  __asm__ volatile("syscall; test %%eax,%%eax; jnz 1f; xor %%edi,%%edi; mov %3,%%eax; syscall; 1:"
                   : "+a"(r)
                   : "D"(&args), "S"(sizeof args), "i"(SYS_exit_group)
                   : "rcx", "r11", "memory");
  return r;
#elif defined(__aarch64__)
  register long x0 __asm__("x0") = (long)&args;
  register long x1 __asm__("x1") = sizeof args;
  register long x8 __asm__("x8") = SYS_clone3;
  __asm__ volatile("svc 0; cbnz x0, 1f; mov x8, %3; svc 0; 1:"
                   : "+r"(x0)
                   : "r"(x1), "r"(x8), "i"(SYS_exit_group)
                   : "memory");
  return x0;
#else
#error "written for x86-64 and aarch64"
#endif
}

static char *map(size_t size) {
  char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) die("mmap");
  return p;
}

static void touch(char *p, size_t size) {
  for (size_t i = 0; i < size; i += PAGE) p[i] = 1;
}

static long mappings(void) {
  FILE *f = fopen("/proc/self/maps", "r");
  if (!f) die("/proc/self/maps");
  long lines = 0;
  char line[4096];
  while (fgets(line, sizeof line, f)) lines += !strstr(line, "[vsyscall]");
  fclose(f);
  return lines;
}

static long pages(void) {
  FILE *f = fopen("/proc/self/smaps_rollup", "r");
  if (!f) die("/proc/self/smaps_rollup");
  long kib = 0;
  char line[4096];
  while (fgets(line, sizeof line, f)) sscanf(line, "Anonymous: %ld", &kib);
  fclose(f);
  return kib * 1024 / PAGE;
}

/* Makes this process as large as the one that it stands beside. */
static void grow(long wanted_pages, long wanted_mappings) {
  /* Neighbours of different rights stay mappings of their own; most of a program's are never written to. */
  for (long have = mappings(), i = 0; have < wanted_mappings; have++, i++)
    if (mmap(0, PAGE, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) die("mmap");
  long have = pages();
  if (have < wanted_pages) {
    /* In the mapping that is there already. */
    char *p = sbrk((wanted_pages - have) * PAGE);
    if (p == (char *)-1) die("sbrk");
    touch(p, (wanted_pages - have) * PAGE);
  }
}

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static double median(uint64_t *v, long n) {
  qsort(v, n, sizeof *v, compare);
  return (v[(n - 1) / 2] + v[n / 2]) / 2.0;
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  enum { FORK, VFORK, CLONE3, CLONE3VM, THREAD, METHODS } method;
  const char *names[METHODS] = {"fork", "vfork", "clone3", "clone3vm", "thread"};
  for (method = 0; method < METHODS && strcmp(argv[1], names[method]); method++);
  if (method == METHODS) return 2;
  size_t heap = strtoul(argv[2], 0, 10) << 20, huge = 2ul << 20;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(atoi(argv[4]), &cpus);
  if (sched_setaffinity(0, sizeof cpus, &cpus)) die("sched_setaffinity");
  if (heap) {
    char *p = map(heap + huge);
    p = (char *)(((uintptr_t)p + huge - 1) & ~(huge - 1));
    madvise(p, heap, atoi(argv[3]) ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    touch(p, heap);
  }
  if (argc > 6) grow(atol(argv[5]), atol(argv[6]));
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    long n = atol(line);
    if (n < 1) return 2;
    uint64_t *launch = malloc(n * sizeof *launch), *both = malloc(n * sizeof *both);
    if (!launch || !both) die("malloc");
    for (long i = 0; i < n; i++) {
      pid_t pid = 0;
      pthread_t thread;
      uint64_t began = now();
      switch (method) {
      case FORK:
        if (!(pid = fork())) _exit(0);
        break;
      case VFORK:
        if (!(pid = vfork())) _exit(0);
        break;
      case CLONE3:
        pid = clone3_exit(0);
        break;
      case CLONE3VM:
        pid = clone3_exit(CLONE_VM | CLONE_VFORK);
        break;
      default:
        if (pthread_create(&thread, 0, nothing, 0)) die("pthread_create");
      }
      uint64_t launched = now();
      if (method == THREAD) {
        if (pthread_join(thread, 0)) die("pthread_join");
      } else if (pid < 0 || waitpid(pid, 0, 0) != pid) {
        die(argv[1]);
      }
      both[i] = now() - began;
      launch[i] = launched - began;
    }
    printf("%.1f %.1f\n", median(launch, n), median(both, n));
    fflush(stdout);
    free(launch);
    free(both);
  }
}
