import type { HssDriver, Imsi, Subscriber } from '@steeple/contracts'
import type { BodyOptions } from '../suite.ts'
import { runDriverChecks, type WorldFixture } from './common.ts'
import { HSS_CHECKS } from './hss-checks.ts'
import { HSS_MUTANTS } from './hss-mutants.ts'

/** What the HSS itself holds of a subscriber, read past the driver. 16 octets each. */
export interface StoredKeys {
  readonly ki: Uint8Array
  readonly opc: Uint8Array
  readonly sqn: bigint
  /** The rates that it gives, in bit/s, where the fixture can read them: a driver that errs in the unit shows it by nothing else. */
  readonly ambrBps?: { readonly up: number; readonly down: number }
}

/** An HSS driver around a simulated or real subscriber store that holds none of `subscribers`. */
export interface HssFixture extends WorldFixture {
  readonly driver: HssDriver
  /**
   * At least two, unblocked, without MSISDN, with different IMSIs, keys (Ki and OPc too), APNs in common and a SQN
   * above 0. Fresh buffers.
   */
  readonly subscribers: readonly Subscriber[]
  /** What the HSS holds, read past the driver; undefined when it has no such subscriber. */
  stored(imsi: Imsi): Promise<StoredKeys | undefined>
  /**
   * What the backend has no way to do, to be said in the driver's documents: take an APN away again (the push of that
   * subscriber fails then), write an MSISDN (it is observed as none), write other keys for somebody whom it holds.
   */
  readonly cannot?: readonly ('fewer APNs' | 'MSISDN' | 'keys')[]
  /** How many subscribers a batch is tried with; 60 when absent. Fewer where each costs the start of a program. */
  readonly many?: number
  /** From now on the HSS answers nothing; absent where that cannot be done: then nothing is known of it. */
  fallSilent?(): Promise<void>
  /** Empties the HSS past the driver, as a restored backup or a new disk does. */
  empty(): Promise<void>
}

/**
 * Registers the tests that every HSS driver passes. `make` gives a fresh fixture for each test. `options` are for drivers
 * that start a program for each step.
 */
export function hssDriverConformance(
  name: string,
  make: () => Promise<HssFixture>,
  options: BodyOptions = {},
): void {
  runDriverChecks(`${name}: HSS driver conformance`, HSS_CHECKS, HSS_MUTANTS, make, options)
}
