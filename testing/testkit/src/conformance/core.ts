import type { CoreDesired, CoreDriver, Imsi } from '@steeple/contracts'
import type { BodyOptions } from '../suite.ts'
import { runDriverChecks, type WorldFixture } from './common.ts'
import { CORE_CHECKS } from './core-checks.ts'
import { CORE_MUTANTS } from './core-mutants.ts'

/** Phones of a core, past its driver. */
export interface CorePhones {
  /** How many can be attached at once to try a list with; 3 when absent. */
  readonly many?: number
  /** APNs of the sessions of an attached phone; empty where the core does not tell of them. */
  readonly apns: readonly string[]
  /** Attaches a phone with a session of each of these APNs, another one at each call. */
  attach(): Promise<Imsi>
  /** From now on the core says that it lets this phone go, and keeps it; absent for a core that cannot be made to. */
  stay?(imsi: Imsi): Promise<void>
  /** Whether the core holds it as attached, or a session of it. */
  isAttached(imsi: Imsi): Promise<boolean>
  /** From now on the core answers nothing. */
  fallSilent(): Promise<void>
}

/** A core driver around a simulated or real core on which neither of the two settings was applied yet. */
export interface CoreFixture extends WorldFixture {
  readonly driver: CoreDriver
  /** Two settings that the core supports and that render differently. */
  readonly desired: CoreDesired
  readonly otherDesired: CoreDesired
  /**
   * An APN that is in neither of them, for a core whose driver needs something of each (a pool of addresses); `added.example`
   * when absent.
   */
  readonly anotherApn?: string
  /**
   * How long phones and lists may take to show what has happened, ms; 20,000 when absent. A wrong driver that counts wrongly
   * is waited for so long: name what your core needs.
   */
  readonly patienceMs?: number
  /** A subscriber that is not attached. */
  readonly stranger: Imsi
  /** Phones to attach; where none can be, why: nothing is known then of kicks and counts. */
  readonly phones: CorePhones | { readonly none: string }
  /**
   * The files that the core reads, past the driver: path relative to its directory → content, as `render` gives them. Where a
   * file holds more than is the service's, that part of it alone.
   */
  configFiles(): Promise<ReadonlyMap<string, string>>
  /** Makes the next `apply` fail after it has begun. */
  failNextApply(): Promise<void>
}

/**
 * Registers the tests that every core driver passes. `make` gives a fresh fixture for each test. `options` are for cores
 * whose daemons really restart.
 */
export function coreDriverConformance(
  name: string,
  make: () => Promise<CoreFixture>,
  options: BodyOptions = {},
): void {
  runDriverChecks(`${name}: core driver conformance`, CORE_CHECKS, CORE_MUTANTS, make, options)
}
