import { randomFillSync } from 'node:crypto'

const ZERO = 0x30
/** The largest multiple of 10 that an octet can hold: above it a draw would favour some digits. */
const FAIR = 250
/** Octets that are fetched at once: each way to the system's generator costs more than a card's worth of them. */
const POOL = 4_096

const pool = new Uint8Array(POOL)
let at = POOL

/** What is given out is zeroed here, so nobody gets it twice. */
function nextOctet(): number {
  if (at === POOL) {
    randomFillSync(pool)
    at = 0
  }
  const octet = pool[at] ?? 0
  pool[at] = 0
  at += 1
  return octet
}

/** Random octets. The caller wipes those that are secret. */
export function drawOctets(count: number): Uint8Array {
  const octets = new Uint8Array(count)
  for (let i = 0; i < count; i++) octets[i] = nextOctet()
  return octets
}

/** Random decimal digits as ASCII, each equally likely. */
export function drawDigits(count: number): Uint8Array {
  const digits = new Uint8Array(count)
  let filled = 0
  while (filled < count) {
    const octet = nextOctet()
    if (octet < FAIR) digits[filled++] = ZERO + (octet % 10)
  }
  return digits
}
