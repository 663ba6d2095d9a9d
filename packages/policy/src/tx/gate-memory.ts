import { type Context, type Transmitter, txGateRef } from '@steeple/contracts'
import type { Arm, NamedProfiles } from '../store.ts'

/** The reconciler of the gate and its one key. */
export const TX_RESOURCE = 'tx_gate'
export const TX_KEY = 'gate'

/** A transmitter that may be on air. */
export interface HeldTransmitter {
  /** Permits that it was given, so that a confirmation counts for those before it alone. */
  permits: number
  /** Whether it was told to stop since its last permit. */
  isToldToStop: boolean
}

/** A disarm that was asked for and that the store does not have yet. */
export interface UnstoredDisarm {
  /** The interval that was known to be open; it ends any other that began before it as well. Null: whatever is open. */
  readonly intervalId: string | null
  readonly atMs: number
  readonly by: string
}

/**
 * What the gate knows beside the store, from the start of the process on: a new copy of this plugin takes it over, since a
 * radio goes on while its gate is exchanged.
 */
export interface GateMemory {
  /** By their own objects, which can be asked even when their plugins have left. */
  readonly held: Map<Transmitter, HeldTransmitter>
  /** Whether everything was once told to stop, and did, since the process began. */
  isSilenceKnown: boolean
  /** Counts stops and disarms: a permit that was on its way meanwhile is none. */
  stops: number
  /** Disarms whose records are on their way to the store: nothing is permitted meanwhile. */
  disarms: number
  unstored: UnstoredDisarm | undefined
  /** The armed transmitter as the store gave it last; for the time in which it does not answer. */
  lastArm: Arm | undefined
  /** The stored profiles as they were read last; for the same time. Undefined: none, as before there were any. */
  storedProfiles: NamedProfiles | undefined
  /** The service ends: nothing is permitted any more. */
  isClosed: boolean
}

/** A service of this plugin that gives its memory to the copy after it. */
export interface Remembering {
  readonly memory: GateMemory
}

/** The memory of the copy that serves now; an empty one at the start of the process. Call it in `setup`. */
export function gateMemory(context: Pick<Context, 'provider'>): GateMemory {
  // The provider of the gate is another copy of this plugin; a version before this one has no memory.
  const before = context.provider(txGateRef) as Partial<Remembering> | undefined
  return before?.memory ?? emptyMemory()
}

function emptyMemory(): GateMemory {
  return {
    held: new Map(),
    isSilenceKnown: false,
    stops: 0,
    disarms: 0,
    unstored: undefined,
    lastArm: undefined,
    storedProfiles: undefined,
    isClosed: false,
  }
}
