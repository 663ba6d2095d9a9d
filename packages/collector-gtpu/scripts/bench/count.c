/* The ceiling of the driver pcap: libpcap with the same filter, buffer and length of capture, and a table of octets by address
 * and way. SIGUSR1 has it print what it has counted: octets, packets that it was handed, packets that were dropped. */
#include <pcap/pcap.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS 4096
#define IN(at, octets) ((size_t)(at) + (octets) <= h->caplen)

struct row {
  uint8_t key[8];
  uint8_t family;
  uint64_t octets[2];
};

static struct row rows[ROWS];
static uint64_t packets;
static uint32_t core;
static pcap_t *handle;
static volatile sig_atomic_t asked;

static void add(const uint8_t *address, size_t length, int is_up, uint32_t octets) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < length; i++) hash = (hash ^ address[i]) * 16777619u;
  for (uint32_t at = hash % ROWS;; at = (at + 1) % ROWS) {
    struct row *row = &rows[at];
    if (row->family == 0) {
      memcpy(row->key, address, length);
      row->family = (uint8_t)length;
    } else if (row->family != length || memcmp(row->key, address, length) != 0) {
      continue;
    }
    row->octets[is_up ? 0 : 1] += octets;
    return;
  }
}

static void take(u_char *user, const struct pcap_pkthdr *h, const u_char *p) {
  (void)user;
  packets++;
  size_t at = 14;
  if (!IN(at, 20) || p[12] != 0x08 || p[13] != 0x00) return;
  int is_up = memcmp(p + at + 16, &core, 4) == 0;
  at += (size_t)(p[at] & 15) * 4 + 8;
  if (!IN(at, 8)) return;
  size_t header = 8;
  if (p[at] & 7) {
    header = 12;
    while ((p[at] & 4) && IN(at, header + 1) && p[at + header - 1] != 0) {
      if (p[at + header] == 0) return;
      header += (size_t)p[at + header] * 4;
    }
  }
  at += header;
  if (!IN(at, 20)) return;
  if (p[at] >> 4 == 4) add(p + at + (is_up ? 12 : 16), 4, is_up, (uint32_t)(p[at + 2] << 8 | p[at + 3]));
  else if (IN(at, 40)) add(p + at + (is_up ? 8 : 24), 8, is_up, 40u + (uint32_t)(p[at + 4] << 8 | p[at + 5]));
}

static void ask(int number) {
  asked = number;
  pcap_breakloop(handle);
}

static void print(void) {
  uint64_t octets = 0;
  struct pcap_stat stat = {0};
  for (int i = 0; i < ROWS; i++) octets += rows[i].octets[0] + rows[i].octets[1];
  pcap_stats(handle, &stat);
  printf("%llu %llu %u\n", (unsigned long long)octets, (unsigned long long)packets, stat.ps_drop);
  fflush(stdout);
}

static int fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

/* count IFACE CORE FILTER SNAPLEN BUFFER TIMEOUT */
int main(int argc, char **argv) {
  char error[PCAP_ERRBUF_SIZE];
  struct bpf_program program;
  unsigned a, b, c, d;
  if (argc != 7 || sscanf(argv[2], "%u.%u.%u.%u", &a, &b, &c, &d) != 4) return fail("arguments");
  const uint8_t octets[4] = {(uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d};
  memcpy(&core, octets, 4);
  handle = pcap_create(argv[1], error);
  if (handle == NULL) return fail(error);
  pcap_set_snaplen(handle, atoi(argv[4]));
  pcap_set_buffer_size(handle, atoi(argv[5]));
  pcap_set_timeout(handle, atoi(argv[6]));
  if (pcap_activate(handle) != 0) return fail(pcap_geterr(handle));
  if (pcap_compile(handle, &program, argv[3], 1, PCAP_NETMASK_UNKNOWN) != 0) return fail(pcap_geterr(handle));
  if (pcap_setfilter(handle, &program) != 0) return fail(pcap_geterr(handle));
  struct sigaction action = {.sa_handler = ask};
  sigaction(SIGUSR1, &action, NULL);
  print();
  for (;;) {
    int found = pcap_loop(handle, -1, take, NULL);
    if (found == PCAP_ERROR) return fail(pcap_geterr(handle));
    if (asked) print();
    asked = 0;
  }
}
