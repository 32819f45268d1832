/* What a plain loop does: N processes of a program, at most C alive at once, started by posix_spawn(3) and waited for by
 * wait(2). For each line of its input, a number of such storms, it prints how many processes it started a second.
 * cc -O2 -o storm storm.c;  echo 1 | ./storm 10000 100 true */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

/* The seconds that it took. */
static double storm(int wanted, int most, char **words) {
  int started = 0, ended = 0, status;
  double began = now();
  while (ended < wanted) {
    while (started < wanted && started - ended < most) {
      pid_t pid;
      if (posix_spawnp(&pid, words[0], NULL, NULL, words, environ) != 0) exit(1);
      started++;
    }
    if (wait(&status) < 0 || status != 0) exit(1);
    ended++;
  }
  return now() - began;
}

int main(int count, char **words) {
  if (count < 4) {
    fprintf(stderr, "usage: storm N C PROGRAM [ARGUMENTS...]\n");
    return 2;
  }
  /* Nothing to read for the programs, and what they write is thrown away; none of them has our own streams. */
  int from = dup(0), to = dup(1), nothing = open("/dev/null", O_RDWR);
  if (from < 0 || to < 0 || nothing < 0) return 1;
  fcntl(from, F_SETFD, FD_CLOEXEC), fcntl(to, F_SETFD, FD_CLOEXEC), fcntl(nothing, F_SETFD, FD_CLOEXEC);
  FILE *lines = fdopen(from, "r");
  if (lines == NULL) return 1;
  dup2(nothing, 0), dup2(nothing, 1), dup2(nothing, 2);
  int storms;
  while (fscanf(lines, "%d", &storms) == 1) {
    double seconds = 0;
    for (int i = 0; i < storms; i++) seconds += storm(atoi(words[1]), atoi(words[2]), words + 3);
    dprintf(to, "%.1f\n", storms * (double)atoi(words[1]) / seconds);
  }
  return 0;
}
