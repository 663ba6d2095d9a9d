import type { RadioProfile, RanDriver } from '@steeple/contracts'
import type { BodyOptions } from '../suite.ts'
import { runChecks, type WorldFixture } from './common.ts'
import { RAN_CHECKS } from './ran-checks.ts'

/** A RAN driver around a simulated or real radio that is off, with the TX gate closed. */
export interface RanFixture extends WorldFixture {
  readonly driver: RanDriver
  /** A profile that needs an armed gate. */
  readonly profile: RadioProfile
  /** Opens or closes the TX gate that the driver asks. */
  setArmed(isArmed: boolean): Promise<void>
  /** How long a start or a crash may take to show, ms. */
  readonly patienceMs?: number
  /** How many radio processes run, seen past the driver. */
  radios(): Promise<number>
  /** Ends the radio process past the driver, as a crash does. */
  crash(): Promise<void>
}

/** Registers the tests that every RAN driver passes. `make` gives a fresh fixture for each test. */
export function ranDriverConformance(
  name: string,
  make: () => Promise<RanFixture>,
  options: BodyOptions = {},
): void {
  runChecks(`${name}: RAN driver conformance`, RAN_CHECKS, make, options)
}
