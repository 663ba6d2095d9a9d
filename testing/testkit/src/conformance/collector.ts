import type { Clock, Collector, Imsi, ImsiHash } from '@steeple/contracts'
import type { BodyOptions } from '../suite.ts'
import { COLLECTOR_CHECKS } from './collector-checks.ts'
import { runChecks, type WorldFixture } from './common.ts'

/** A session as the fixture brought it about; what is undefined the source does not know. */
export interface BegunSession {
  readonly imsi: ImsiHash
  readonly apn: string
  readonly address: string | undefined
  readonly prefix: string | undefined
  /** Its name, where another source gives it and volumes are keyed with that. */
  readonly reference?: string
}

/** Sessions of the source, past the collector. */
export interface CollectedSessions {
  /** Another subscriber begins a session at each call; the next poll can see it. */
  begin(): Promise<BegunSession>
  /** It ends as sessions do; the next poll can see that. */
  end(session: BegunSession): Promise<void>
}

/** Traffic of the source, past the collector. */
export interface CollectedTraffic {
  /** Two subscribers, each with a session through which octets can move. */
  readonly phones: readonly [BegunSession, BegunSession]
  /** Moves that many octets of inner IP packets, all visible to the next poll. */
  move(phone: BegunSession, upBytes: number, downBytes: number): Promise<void>
  /** Makes the source miss packets of one of them, where it can. The next poll can know of it. */
  lose?(phone: BegunSession): Promise<void>
}

/** A collector over a simulated or real source that has seen no traffic yet. It knows sessions, traffic, or both. */
export interface CollectorFixture extends WorldFixture {
  readonly collector: Collector
  /** The time that the collector goes by. */
  readonly clock: Pick<Clock, 'nowMs'>
  /** Every IMSI that the source knows, now and later: none of them may be in what a collector gives. */
  readonly imsis: readonly Imsi[]
  readonly sessions?: CollectedSessions
  readonly traffic?: CollectedTraffic
  /**
   * Restarts the core that the collector reads from: counters begin at 0, and no session lives on. The phones of `traffic`
   * come back with the same addresses, nobody else does.
   */
  restartCore(): Promise<void>
  /** Restarts what counts for the collector (a helper, a charging function) where that is not the core itself. */
  restartSource?(): Promise<void>
  /** Ends the collector as the unloading of its plugin does, and gives a new one over the same source. */
  reopen(): Promise<Collector>
  /** From now on the source cannot be read. */
  fallSilent(): Promise<void>
}

/** Registers the tests that every collector passes. `make` gives a fresh fixture for each test. */
export function collectorConformance(
  name: string,
  make: () => Promise<CollectorFixture>,
  options: BodyOptions = {},
): void {
  runChecks(`${name}: collector conformance`, COLLECTOR_CHECKS, make, options)
}
