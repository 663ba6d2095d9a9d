import type { Certificate } from '@steeple/sgp22'
import type { Chain } from './certificate.ts'
import type { OneTimeKey } from './ecc.ts'
import { fromHex, toHex } from './octets.ts'

/** A session with an SM-DP+: what is known after its authentication, and then after the download was prepared. */
export interface Session {
  readonly transactionId: Uint8Array
  readonly serverAddress: string
  /** The chain that this session signs with. */
  readonly chain: Chain
  /** CERT.DPauth. */
  readonly auth: Certificate
  /** The octets of the registered id of CERT.DPauth. */
  readonly owner: Uint8Array
  readonly euiccSignature1: Uint8Array
  download?: { readonly pb: Certificate; readonly key: OneTimeKey }
}

/** What the commands of one eUICC share. */
export interface EuiccParts {
  readonly eid: string
  readonly eidOctets: Uint8Array
  readonly chains: readonly Chain[]
  readonly memory: EuiccMemory
  readonly random: (octets: number) => Uint8Array
  /** How many profiles fit. */
  readonly profilesMax: number
  /** UICCCapability, its value with the count of unused bits. */
  readonly capability: Uint8Array
  /** Version of profile packages that it takes. */
  readonly profileVersion: readonly [number, number, number]
  /** The challenge that waits for an answer. */
  challenge?: Uint8Array | undefined
  session?: Session | undefined
  /** A one-time key whose package has not come, and for whom it was made: kept for another try. SGP.22 §3.1.3.2. */
  unused?: { readonly owner: Uint8Array; readonly key: OneTimeKey } | undefined
}

/** A profile as it is kept: its package and metadata as they came. */
export interface KeptProfile {
  readonly isdpAid: Uint8Array
  readonly metadata: Uint8Array
  readonly package: Uint8Array
  /** The SM-DP+ that it came from. */
  readonly smdpAddress: string
  isEnabled: boolean
  nickname: string | undefined
}

/** A notification that waits until the LPA has delivered and removed it. */
export interface KeptNotification {
  readonly sequence: number
  /** NotificationMetadata (BF2F). */
  readonly metadata: Uint8Array
  /** Octet of its operation: 0x80 install, 0x40 enable, 0x20 disable, 0x10 delete. */
  readonly operation: number
  readonly address: string
  /** PendingNotification: BF37, or 30 with certificates. */
  readonly pending: Uint8Array
}

/** All that an eUICC keeps without power. Holds keys of profiles: keep it as one keeps keys. */
interface EuiccMemory {
  readonly profiles: KeptProfile[]
  readonly notifications: KeptNotification[]
  nextSequence: number
  nextIsdp: number
  defaultSmdp: string | undefined
}

/** An empty memory. */
export function emptyMemory(defaultSmdp?: string): EuiccMemory {
  return { profiles: [], notifications: [], nextSequence: 1, nextIsdp: 0x11, defaultSmdp }
}

/** A memory as JSON can have it; octets are hexadecimal. */
export interface SavedMemory {
  readonly profiles: readonly {
    readonly isdp_aid: string
    readonly metadata: string
    readonly package: string
    readonly smdp_address: string
    readonly enabled: boolean
    readonly nickname: string | null
  }[]
  readonly notifications: readonly {
    readonly sequence: number
    readonly metadata: string
    readonly operation: number
    readonly address: string
    readonly pending: string
  }[]
  readonly next_sequence: number
  readonly next_isdp: number
  readonly default_smdp: string | null
}

/** The memory to be written to a file. */
export function savedMemory(memory: EuiccMemory): SavedMemory {
  return {
    profiles: memory.profiles.map((profile) => ({
      isdp_aid: toHex(profile.isdpAid),
      metadata: toHex(profile.metadata),
      package: toHex(profile.package),
      smdp_address: profile.smdpAddress,
      enabled: profile.isEnabled,
      nickname: profile.nickname ?? null,
    })),
    notifications: memory.notifications.map((one) => ({
      sequence: one.sequence,
      metadata: toHex(one.metadata),
      operation: one.operation,
      address: one.address,
      pending: toHex(one.pending),
    })),
    next_sequence: memory.nextSequence,
    next_isdp: memory.nextIsdp,
    default_smdp: memory.defaultSmdp ?? null,
  }
}

/** The memory out of what `savedMemory` gave. */
export function memoryFrom(saved: SavedMemory): EuiccMemory {
  return {
    profiles: saved.profiles.map((profile) => ({
      isdpAid: fromHex(profile.isdp_aid),
      metadata: fromHex(profile.metadata),
      package: fromHex(profile.package),
      smdpAddress: profile.smdp_address,
      isEnabled: profile.enabled,
      nickname: profile.nickname ?? undefined,
    })),
    notifications: saved.notifications.map((one) => ({
      sequence: one.sequence,
      metadata: fromHex(one.metadata),
      operation: one.operation,
      address: one.address,
      pending: fromHex(one.pending),
    })),
    nextSequence: saved.next_sequence,
    nextIsdp: saved.next_isdp,
    defaultSmdp: saved.default_smdp ?? undefined,
  }
}
