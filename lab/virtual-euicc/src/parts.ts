import type { Certificate } from './certificate.ts'
import type { Chain } from './chain.ts'
import type { OneTimeKey } from './ecc.ts'
import type { EuiccMemory } from './state.ts'

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
