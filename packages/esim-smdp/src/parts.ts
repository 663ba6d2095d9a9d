import type { KeyObject } from 'node:crypto'
import type {
  ClosedItems,
  ComponentHealth,
  Context,
  SimCredentials,
  SimIssuer,
  Subscribers,
  Vault,
} from '@steeple/contracts'
import type { Certificate } from '@steeple/sgp22'
import type { EsimConfig } from './config.ts'

/** One set of certificates and keys under one CI: what a session signs with. */
export interface RspIdentity {
  /** Subject key identifier of the CI, hexadecimal. */
  readonly ciPkid: string
  /** See `authorityOf`. */
  readonly authority: string
  readonly curve: 'P-256' | 'brainpoolP256r1'
  /** The CI's certificate, DER. */
  readonly ci: Uint8Array
  /** CERT.DPauth and CERT.DPpb, DER, with their keys. */
  readonly auth: { readonly der: Uint8Array; readonly key: KeyObject }
  readonly pb: { readonly der: Uint8Array; readonly key: KeyObject }
  /** Names this set: the ids of both certificates. */
  readonly id: string
  /** Registered id of both, dotted, and its OID value octets. */
  readonly owner: string
  readonly ownerOctets: Uint8Array
}

/** What a client asks for and takes. */
export interface TlsWishes {
  readonly host: string | undefined
  /** IANA numbers; empty when it does not say. */
  readonly groups: readonly number[]
  /** Subject key identifiers of authorities that it believes, hexadecimal; empty when it does not say. */
  readonly trustedKeys: readonly string[]
}
/** Certificate chain and key, PEM. The same object as long as it is the same certificate. */
export interface TlsMaterial {
  /** Of its certificate. */
  readonly id?: string
  readonly cert: string
  readonly key: string
  readonly curve?: RspIdentity['curve']
}
export interface CertStore {
  /** The identities that are complete and valid now, the newest first. */
  identities(): readonly RspIdentity[]
  /** The set of that id while its certificates are held, also when a newer one has taken its place. */
  identity(id: string): RspIdentity | undefined
  /** Every set that has not been taken back, also those that newer ones have replaced and those that have ended. */
  identitiesHeld(): readonly RspIdentity[]
  /** TLS material for what a client asks for: chain (PEM) and key; undefined when there is none at all. */
  tls(wishes: TlsWishes): TlsMaterial | undefined
  /** Whether a certificate was taken back, of whomever it is. */
  isRevoked(certificate: Certificate): boolean
  /** Reads them from the store again. */
  reload(): Promise<void>
}

/** What goes into a profile; octets as `SimCredentials` has them. */
export interface ProfileFacts extends Omit<SimCredentials, 'imsi' | 'iccid' | 'wipe'> {
  readonly imsi: string
  readonly iccid: string
  readonly mncLength: 2 | 3
  readonly spn: string
  /** Digits without a plus; absent for a SIM without a number. */
  readonly msisdn?: string | undefined
  /** EF.SUCI_Calc_Info; absent or empty: nothing to conceal the IMSI with. */
  readonly suci?: Uint8Array | undefined
}

/** Of the interoperable format (TCA): major and minor. */
export type ProfileVersion = readonly [number, number]

/** A template that was read and found good. */
export interface ProfileTemplate {
  /** The profile for one SIM, DER: the same facts give the same octets. */
  personalise(facts: ProfileFacts): Uint8Array
  /** Bits of UICCCapability that an eUICC has to have set for its profiles. */
  readonly needs: readonly number[]
  /** Its format's version; absent: any eUICC has to find out. */
  readonly version?: ProfileVersion
  /** The same for eUICCs of an earlier version; absent where there is none. */
  readonly earlier?: ProfileTemplate
}

/** Finds by what must not be stored in the clear. */
export interface Lookup {
  mac(text: string): Promise<Uint8Array>
}

/** What the routes and listeners of this plugin share. */
export interface EsimParts {
  readonly context: Context<EsimConfig>
  readonly vault: Vault
  readonly subscribers: Subscribers
  readonly issuer: SimIssuer
  readonly certs: CertStore
  readonly lookup: Lookup
  /** What restores have closed. */
  readonly closed: Pick<ClosedItems, 'among'>
  /** Whether this is a lab that gets test certificates when they are first needed, and what makes them there. */
  isMadeForLab(): boolean
  makeCertificates(): Promise<void>
  /** The listener for phones; undefined while none is configured: a proxy or a program of this machine comes another way. */
  phones(): ComponentHealth | undefined
  /** The template for SIMs of that profile, the usual one when absent; throws why there is none. */
  template(profile?: string): ProfileTemplate
  /** Throws why one of them is of no use. */
  checkTemplates(): void
}
