/* switch.c: the reference for handovers. Two tasks hand a token back and forth.
 * usage: switch MEDIUM KIND CPU_A CPU_B      (cpu -1: not pinned)
 *   MEDIUM: pipe eventfd futex condition socketpair yield
 *           self (write and read of one pipe, with nobody on the other side)
 *   KIND: threads processes
 * Reads a number of handovers (of pairs of calls for self) from each line of its input, makes so many with another task
 * that lives so long, and prints nanoseconds each. A tenth more is made before the clock starts.
 * cc -O2 -pthread -o switch switch.c */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct shared {
  _Atomic int word, up;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int turn;
} *S;
static int to_a[2], to_b[2], sock[2], count_a, count_b, medium, flag, cpu_b;
static long rounds, warm;

/* The kernel is called directly, as torment does: the C library's functions around a call take time of their own. */
static inline long call(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = 0;
  register long r9 __asm__("r9") = 0;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = 0;
  register long x5 __asm__("x5") = 0;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
  return syscall(number, a, b, c, d, 0, 0);
#endif
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void pin(int cpu) {
  cpu_set_t set;
  if (cpu < 0) return;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set)) { perror("affinity"); exit(1); }
}

#define INLINE static inline __attribute__((always_inline))

INLINE void put(int fd, const void *bytes, size_t n) {
  if (call(SYS_write, fd, (long)bytes, n, 0) != (long)n) { perror("write"); exit(1); }
}

INLINE void get(int fd, void *bytes, size_t n) {
  if (call(SYS_read, fd, (long)bytes, n, 0) != (long)n) { perror("read"); exit(1); }
}

/* side 0 is the one that measures, and goes first; the medium is a constant wherever this is used, for after a system call
 * a jump that the processor has to guess is dear */
INLINE void give(int medium, int side) {
  char byte = 1;
  uint64_t one = 1;
  switch (medium) {
  case 'p': put(side ? to_a[1] : to_b[1], &byte, 1); break;
  case 'e': put(side ? count_a : count_b, &one, 8); break;
  case 's': put(sock[side], &byte, 1); break;
  case 'f':
    atomic_store(&S->word, !side);
    call(SYS_futex, (long)&S->word, FUTEX_WAKE | flag, 1, 0);
    break;
  case 'c':
    S->turn = !side;
    pthread_cond_signal(&S->changed);
    break;
  default: call(SYS_sched_yield, 0, 0, 0, 0);
  }
}

INLINE void take(int medium, int side) {
  char byte;
  uint64_t any;
  switch (medium) {
  case 'p': get(side ? to_b[0] : to_a[0], &byte, 1); break;
  case 'e': get(side ? count_b : count_a, &any, 8); break;
  case 's': get(sock[side], &byte, 1); break;
  case 'f':
    while (atomic_load(&S->word) != side) call(SYS_futex, (long)&S->word, FUTEX_WAIT | flag, !side, 0);
    break;
  case 'c':
    while (S->turn != side) pthread_cond_wait(&S->changed, &S->mutex);
    break;
  }
}

INLINE void answer(int medium, long count) {
  for (long i = 0; i < count; i++) { take(medium, 1); give(medium, 1); }
}

INLINE void ask(int medium, long count) {
  for (long i = 0; i < count; i++) { give(medium, 0); take(medium, 0); }
}

#define EACH(what, count) \
  switch (medium) { \
  case 'p': what('p', count); break; \
  case 'e': what('e', count); break; \
  case 's': what('s', count); break; \
  case 'f': what('f', count); break; \
  case 'c': what('c', count); break; \
  default: what('y', count); \
  }

static void *other(void *nothing) {
  pin(cpu_b);
  atomic_store(&S->up, 1);
  if (medium == 'c') pthread_mutex_lock(&S->mutex);
  EACH(answer, warm + rounds)
  if (medium == 'c') pthread_mutex_unlock(&S->mutex);
  return nothing;
}

static double self(void) {
  char byte = 1;
  uint64_t began = 0;
  for (long i = 0; i < warm + rounds; i++) {
    if (i == warm) began = now();
    put(to_a[1], &byte, 1);
    get(to_a[0], &byte, 1);
  }
  return (double)(now() - began) / rounds;
}

static double handovers(int processes, int cpu_a) {
  pthread_t thread;
  pid_t pid = 0;
  if (processes) {
    if (!(pid = fork())) {
      prctl(PR_SET_PDEATHSIG, 9);
      other(0);
      _exit(0);
    }
  } else if (pthread_create(&thread, 0, other, 0)) exit(1);
  while (!atomic_load(&S->up)) sched_yield();
  pin(cpu_a);
  if (medium == 'c') pthread_mutex_lock(&S->mutex);
  EACH(ask, warm)
  uint64_t began = now();
  EACH(ask, rounds)
  double took = now() - began;
  if (medium == 'c') pthread_mutex_unlock(&S->mutex);
  if (processes) waitpid(pid, 0, 0); else pthread_join(thread, 0);
  return took / rounds / 2;
}

int main(int c, char **a) {
  if (c != 5) { fputs("switch MEDIUM KIND CPU_A CPU_B\n", stderr); return 2; }
  int processes = a[2][0] == 'p', cpu_a = atoi(a[3]), alone = !strcmp(a[1], "self");
  medium = a[1][0];
  cpu_b = atoi(a[4]);
  flag = processes ? 0 : FUTEX_PRIVATE_FLAG;
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  S = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  long operations;
  while (scanf("%ld", &operations) == 1) {
    pthread_mutexattr_t mutex;
    pthread_condattr_t changed;
    memset(S, 0, sizeof *S);
    pthread_mutexattr_init(&mutex);
    pthread_condattr_init(&changed);
    pthread_mutexattr_setpshared(&mutex, processes);
    pthread_condattr_setpshared(&changed, processes);
    pthread_mutex_init(&S->mutex, &mutex);
    pthread_cond_init(&S->changed, &changed);
    if (pipe(to_a) || pipe(to_b) || socketpair(AF_UNIX, SOCK_STREAM, 0, sock)) return 1;
    count_a = eventfd(0, 0), count_b = eventfd(0, 0);
    rounds = alone ? operations : (operations + 1) / 2;
    warm = rounds / 10 + 1;
    if (alone) pin(cpu_a);
    printf("%.2f\n", alone ? self() : handovers(processes, cpu_a));
    fflush(stdout);
    sched_setaffinity(0, sizeof all, &all);
    int fds[] = {to_a[0], to_a[1], to_b[0], to_b[1], sock[0], sock[1], count_a, count_b};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++) close(fds[i]);
  }
}
