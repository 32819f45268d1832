/* ipc.c: the reference for messages between two processes, there and back or one way.
 * usage: ipc WHAT MEDIUM SIZE CPU_A CPU_B      (cpu -1: not pinned)
 *   WHAT: latency (one way = half of there and back) throughput
 *   MEDIUM: pipe socketpair unix tcp futex busy (both: memory in common)
 * Reads a number of operations (messages one way) from each line of its input, makes so many with another process that
 * lives so long, and prints nanoseconds each, or bytes a second of throughput. A tenth more is made before the clock starts.
 * Latency: each round is timed; one reading of the clock is taken off where it is more than 1 %. Throughput: by the reader's clock.
 * In common memory a message goes through one place in each direction, and waits until the one before is taken.
 * cc -O2 -o ipc ipc.c */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() __asm__ volatile("yield")
#endif

static struct place {
  _Atomic uint32_t number;
  char pad[60];
  char data[1 << 20];
} *places; /* to the other process, and back */
static struct report { uint64_t took; } *report;
static int sleeps, in_memory;

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

static void fail(const char *what) { perror(what); exit(1); }

static void pin(int cpu) {
  cpu_set_t set;
  if (cpu < 0) return;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set)) fail("affinity");
}

static void write_all(int fd, const char *bytes, size_t n) {
  while (n) {
    long k = call(SYS_write, fd, (long)bytes, n, 0);
    if (k <= 0) fail("write");
    bytes += k, n -= k;
  }
}

static void read_all(int fd, char *bytes, size_t n) {
  while (n) {
    long k = call(SYS_read, fd, (long)bytes, n, 0);
    if (k <= 0) fail("read");
    bytes += k, n -= k;
  }
}

static void leave(int at, const char *bytes, size_t n, uint32_t number) {
  memcpy(places[at].data, bytes, n);
  atomic_store_explicit(&places[at].number, number, memory_order_release);
  if (sleeps) call(SYS_futex, (long)&places[at].number, FUTEX_WAKE, 1, 0);
}

static void fetch(int at, char *bytes, size_t n, uint32_t number) {
  uint32_t seen;
  while ((seen = atomic_load_explicit(&places[at].number, memory_order_acquire)) != number)
    if (sleeps) call(SYS_futex, (long)&places[at].number, FUTEX_WAIT, seen, 0); else PAUSE();
  memcpy(bytes, places[at].data, n);
}

/* ends[0] is here, ends[1] there */
struct end { int in, out; };

static void make_ends(const char *medium, struct end ends[2]) {
  int a[2], b[2], one = 1;
  if (!strcmp(medium, "pipe")) {
    if (pipe(a) || pipe(b)) fail("pipe");
    ends[0] = (struct end){b[0], a[1]}, ends[1] = (struct end){a[0], b[1]};
    return;
  }
  if (!strcmp(medium, "socketpair")) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, a)) fail("socketpair");
  } else {
    int tcp = !strcmp(medium, "tcp"), listener = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un un = {AF_UNIX};
    struct sockaddr_in in = {AF_INET};
    struct sockaddr *name = tcp ? (void *)&in : (void *)&un;
    socklen_t length = tcp ? sizeof in : sizeof un;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    snprintf(un.sun_path + 1, 50, "ipc-reference-%d", getpid());
    if (bind(listener, name, length) || listen(listener, 1) || getsockname(listener, name, &length)) fail("listen");
    a[0] = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
    if (connect(a[0], name, length)) fail("connect");
    if ((a[1] = accept(listener, 0, 0)) < 0) fail("accept");
    close(listener);
    for (int i = 0; tcp && i < 2; i++) setsockopt(a[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  for (int i = 0; i < 2; i++) ends[i] = (struct end){a[i], dup(a[i])};
}

static void there(struct end end, int latency, char *bytes, size_t n, long warm, long count) {
  uint64_t began = 0;
  for (long i = 0; i < warm + count; i++) {
    if (i == warm) began = now();
    uint64_t number;
    if (in_memory) fetch(0, bytes, n, i + 1); else read_all(end.in, bytes, n);
    memcpy(&number, bytes, 8);
    if (number != (uint64_t)i) { fputs("wrong message\n", stderr); _exit(1); }
    number = ~number;
    memcpy(bytes, &number, 8);
    if (in_memory) leave(1, bytes, latency ? n : 0, i + 1);
    else if (latency) write_all(end.out, bytes, n);
  }
  report->took = now() - began;
}

static double here(struct end end, int latency, char *bytes, size_t n, long warm, long count) {
  uint32_t *times = malloc(count * 4);
  memset(times, 1, count * 4);
  uint64_t began = 0, last = 0;
  for (long i = 0; i < warm + count; i++) {
    uint64_t number = i;
    if (i == warm) began = last = now();
    memcpy(bytes, &number, 8);
    if (in_memory) {
      leave(0, bytes, n, i + 1);
      fetch(1, bytes, latency ? n : 0, i + 1);
    } else {
      write_all(end.out, bytes, n);
      if (latency) read_all(end.in, bytes, n);
    }
    if (!latency) continue;
    memcpy(&number, bytes, 8);
    if (number != ~(uint64_t)i) { fputs("wrong answer\n", stderr); exit(1); }
    if (i >= warm) {
      uint64_t t = now();
      times[i - warm] = t - last;
      last = t;
    }
  }
  free(times);
  double mean = (double)(last - began) / count / 2;
  began = now();
  for (int i = 0; i < 1000; i++) now();
  double clock = (now() - began) / 1000.0 / 2;
  return clock > mean / 100 ? mean - clock : mean;
}

int main(int c, char **a) {
  if (c != 6) { fputs("ipc WHAT MEDIUM SIZE CPU_A CPU_B\n", stderr); return 2; }
  int latency = a[1][0] == 'l', cpu_a = atoi(a[4]), cpu_b = atoi(a[5]), status;
  const char *medium = a[2];
  size_t n = atol(a[3]);
  sleeps = !strcmp(medium, "futex");
  in_memory = sleeps || !strcmp(medium, "busy");
  if (n < 8 || (in_memory && n > sizeof places->data)) { fputs("no such size\n", stderr); return 2; }
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  report = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  places = mmap(0, 2 * sizeof *places, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  long operations;
  while (scanf("%ld", &operations) == 1) {
    long count = latency ? (operations + 1) / 2 : operations, warm = count / 10 + 1;
    struct end ends[2] = {{-1, -1}, {-1, -1}};
    char *bytes = malloc(n);
    memset(bytes, 1, n);
    places[0].number = places[1].number = 0;
    if (!in_memory) make_ends(medium, ends);
    pid_t pid = fork();
    if (!pid) {
      prctl(PR_SET_PDEATHSIG, 9);
      close(ends[0].in), close(ends[0].out);
      memset(bytes, 2, n);
      pin(cpu_b);
      there(ends[1], latency, bytes, n, warm, count);
      _exit(0);
    }
    close(ends[1].in), close(ends[1].out);
    pin(cpu_a);
    double mean = here(ends[0], latency, bytes, n, warm, count);
    close(ends[0].in), close(ends[0].out);
    if (waitpid(pid, &status, 0) != pid || status) return 1;
    sched_setaffinity(0, sizeof all, &all);
    free(bytes);
    printf("%.2f\n", latency ? mean : count * (double)n / report->took * 1e9);
    fflush(stdout);
  }
}
