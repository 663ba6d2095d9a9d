import type { Imsi, Subscriber } from '@steeple/contracts'

/** A subscriber with keys of its own. Fresh buffers at each call. */
export function subscriber(index: number, more: Partial<Subscriber> = {}): Subscriber {
  return {
    imsi: `99999${String(index).padStart(10, '0')}` as Imsi, // digits by construction
    ki: Buffer.alloc(16, index + 1),
    opc: Buffer.alloc(16, index + 101),
    sqn: 4096n + 32n * BigInt(index),
    apns: ['internet', 'ims'],
    ambrBps: { up: 50_000_000, down: 100_000_000 },
    isBlocked: false,
    ...more,
  }
}
