import { isRecord } from './json-schema.ts'
import type { Principal, Role } from './roles.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'
import type { AuthenticatedPrincipal } from './services.ts'
import type { Tx } from './store.ts'

// ---- provided by the kernel ----

/** What a certificate below this node's own CA says. Nothing of it comes from a requester unchecked. */
export interface CertificateWish {
  /** SubjectPublicKeyInfo, DER. ECDSA P-256 alone. */
  readonly publicKey: Uint8Array
  readonly commonName: string
  /** `svc://node/<node_id>` or `svc://cli/<name>`. */
  readonly uri: string
  readonly dnsNames?: readonly string[]
  readonly addresses?: readonly string[]
  readonly notAfterMs: number
}
/** A certificate that was issued. `serial` is hexadecimal, lower case, without leading zeros. */
export interface IssuedCertificate {
  readonly pem: string
  readonly serial: string
  readonly notAfterMs: number
}
/** The serial of a certificate in that form. */
export function serialOf({ serialNumber }: { readonly serialNumber: string }): string {
  return serialNumber.toLowerCase().replace(/^0+(?=.)/, '')
}
/** The URI by which a certificate names its node. */
export function nodeUri(nodeId: string): string {
  return `svc://node/${nodeId}`
}
/** The node that a certificate names; undefined where it names none. `subjectAltName`: as node gives it. */
export function nodeIdIn(subjectAltName = ''): string | undefined {
  return /(?:^|, )URI:svc:\/\/node\/([0-9a-f-]{36})(?:,|$)/.exec(subjectAltName)?.[1]
}
/** A certificate that is no longer to be believed. RFC 5280 §5.3. */
export interface Revocation {
  readonly serial: string
  readonly revokedAtMs: number
}
/** This node's own CA: made at `node init`; whoever joins this node's mesh is below it. */
export interface NodeCa {
  readonly caPem: string
  /** SHA-256 of the DER, 64 hexadecimal digits. */
  readonly caSha256: string
  /**
   * The key (SubjectPublicKeyInfo, DER) of a certificate request whose signature holds: PKCS#10, PEM, RFC 2986. Its subject is
   * passed over, and so are the extensions that it asks for, but for those that nobody honest asks for: to be a CA
   * (basicConstraints, keyCertSign, cRLSign), or a name (subjectAltName) that is not among `own`, the URIs, host names and
   * addresses of the one that asks. Throws `validation_failed` for these, more than 4 KiB, another form, a key that is not P-256.
   */
  readRequest(pem: string, own: readonly string[]): Promise<Uint8Array>
  /** Never outlives the CA. Throws `validation_failed` for a key that is not P-256. */
  issue(wish: CertificateWish): Promise<IssuedCertificate>
  /** An X.509 CRL of the CA, PEM. RFC 5280 §5. `url`: where the CA's node answers, as its issuerAltName (§5.2.2). */
  signRevocations(
    list: readonly Revocation[],
    validity: {
      readonly number: number
      readonly thisUpdateMs: number
      readonly nextUpdateMs: number
      readonly url?: string
    },
  ): Promise<string>
}
export const nodeCaRef: ServiceRef<NodeCa> = serviceRef<NodeCa>('kernel.node_ca')

/** The membership of this node in the mesh of another one. No private key. */
export interface Membership {
  readonly meshName: string
  /** Where the root answers: `https://host:port`. */
  readonly rootUrl: string
  readonly rootNodeId: string
  readonly caPem: string
  readonly certificatePem: string
  readonly overlayAddress: string
  readonly joinedAtMs: number
}
/** As whom this node speaks to other boxes: by its own CA until it has joined a mesh, then by that mesh's. */
export interface NodeCredentials {
  /** Undefined while the node is the root of its own mesh. */
  membership(): Membership | undefined
  /** What TLS needs towards other boxes and on the listener. `trusted`: CAs of client certificates, own and mesh. */
  tls(): { readonly key: string; readonly cert: string; readonly trusted: readonly string[] }
  /** Calls the listener after each change of what `tls` gives, until the returned function is called. */
  onChange(listener: () => void): () => void
  /** A certificate request by the node's key: PKCS#10, P-256, PEM. */
  request(): Promise<string>
  /** Signs with the node's key: ECDSA over SHA-256, DER. */
  sign(octets: Uint8Array): Uint8Array
  /**
   * What an X.509 CRL of the CA of the mesh that this node is in says. Throws `validation_failed` for another form, another
   * issuer or a signature that does not hold. Whether it is fresh is the caller's to judge. `url`: where the root says that it
   * answers, `https://host:port`.
   */
  readRevocations(pem: string): Promise<{
    readonly number: number
    readonly list: readonly Revocation[]
    readonly url?: string
  }>
  /** Durable: killed at any point the node is a member or it is not. Checks the chain and the key. */
  adopt(membership: Membership): Promise<void>
  /** The node is the root of its own mesh again. */
  forget(): Promise<void>
}
/**
 * What boxes ask for by name in the handshake when they speak to each other (RFC 6066 §3): the listener then presents the
 * certificate of the mesh, also where it has another one for people (`tls.cert_file`).
 */
export const BOX_SERVER_NAME = 'box.mesh.internal'
export const nodeCredentialsRef: ServiceRef<NodeCredentials> =
  serviceRef<NodeCredentials>('kernel.node_credentials')

// ---- asked by the edge ----

/** A client certificate whose chain and times the edge has checked. */
export interface ClientCertificate {
  /** As `IssuedCertificate.serial`. */
  readonly serial: string
  /** What follows `svc://node/` or `svc://cli/`. */
  readonly name: string
  /** SHA-256 of the DER of the CA that it is from, 64 hexadecimal digits. */
  readonly caSha256: string
  readonly notAfterMs: number
}
/**
 * Says who a client certificate stands for. Asked at each request, so that a revocation holds on open connections: it
 * answers from memory or from an indexed row.
 */
export interface CertificateHolders {
  /** Undefined for one that was never issued here. Throws `certificate_revoked`. */
  holderOf(certificate: ClientCertificate): Promise<AuthenticatedPrincipal | undefined>
}
/** `svc://cli/<name>`: a user of this box. Provided by access. */
export const operatorCertificatesRef: ServiceRef<CertificateHolders> = serviceRef<CertificateHolders>(
  'access.operator_certificates',
  { holderOf: 'function' },
)
/** `svc://node/<node_id>`: a member of the mesh. Provided by mesh. */
export const nodeCertificatesRef: ServiceRef<CertificateHolders> = serviceRef<CertificateHolders>(
  'peering.node_certificates',
  { holderOf: 'function' },
)

// ---- provided by access ----

/** Bootstrap tokens: minted by POST /v1/tokens and for invitations, burnt by the enroll route. */
export interface BootstrapTokens {
  /**
   * Whether the token is unexpired and fits the node, and is unused or was used by that very node (`isUsed`): one that has
   * lost the answer asks again. Changes nothing. Throws `bootstrap_token_invalid`.
   */
  check(
    token: string,
    nodeId: string,
  ): Promise<{ readonly id: string; readonly roles: readonly Role[]; readonly isUsed: boolean }>
  /** Marks it used inside the caller's transaction. Throws `bootstrap_token_invalid` when another was faster. */
  burn(tx: Tx, token: string, nodeId: string): Promise<void>
  /**
   * A new one inside the caller's transaction, good for `livesMs` and at most `auth.bootstrap_token_ttl`. The text is shown
   * here and never again.
   */
  mint(
    tx: Tx,
    principal: Principal,
    wanted: { readonly name: string; readonly nodeId?: string; readonly livesMs?: number },
  ): Promise<{ readonly id: string; readonly token: string; readonly expiresAtMs: number }>
}
export const bootstrapTokensRef: ServiceRef<BootstrapTokens> = serviceRef<BootstrapTokens>(
  'access.bootstrap_tokens',
  { check: 'function', burn: 'function', mint: 'function' },
)

// ---- provided by nodes ----

/** The records of nodes, for whoever lets them in and out. Each call is within the caller's mutation. */
export interface NodeRegistry {
  /**
   * The node has a certificate: made now, or a newer one. From `provision` it goes to `register`; what it was before it left, it
   * is not again.
   */
  enrolled(
    tx: Tx,
    node: { readonly nodeId: string; readonly name: string; readonly certificateExpiresAtMs: number },
  ): Promise<void>
  /** The node is out: state `provision`. Of one that there is no record of it says nothing. */
  left(tx: Tx, nodeId: string): Promise<void>
}
export const nodeRegistryRef: ServiceRef<NodeRegistry> = serviceRef<NodeRegistry>('nodes.registry', {
  enrolled: 'function',
  left: 'function',
})

/** What the lifecycle and the status ask the mesh. While nobody provides it the node has joined none. */
export interface Peering {
  /** Whether an address of a phone lies behind that member: in a network that it offers and that was approved, the default route apart. */
  carries?(nodeId: string, address: string): Promise<boolean>
  /** From memory, as last observed. The provider says `changed` when something of it is another. */
  state(): Promise<{
    /** Whether there is another member in the mesh of this node. */
    readonly isJoined: boolean
    /** Whether this node was let into the mesh of another one; absent is false. */
    readonly isMember?: boolean
    /** Whether routes of an active peer are serving and phones are let out, here or there. */
    readonly hasRoutes: boolean
    readonly breakout: {
      /** Where traffic of phones leaves: at this box, at a peer's, or by nothing that was seen to work. */
      readonly mode: 'local' | 'peer' | 'off'
      /** Peers in state `active`. */
      readonly peerCount: number
    }
  }>
}
/** Provided by mesh. */
export const peeringRef: ServiceRef<Peering> = serviceRef<Peering>('peering.state', {
  carries: 'function?',
  state: 'function',
})

/** Another box of the mesh that this node is in. */
export interface OtherBox {
  readonly nodeId: string
  readonly name: string
}
/** Speaks to other members, without the root between: each side by its certificate. */
export interface BoxCalls {
  /**
   * The other members, as this node has heard last; none without a mesh, undefined before it has heard of any in the one that it has
   * joined. The provider says `changed` when they are others.
   */
  others(): Promise<readonly OtherBox[] | undefined>
  /**
   * Asks a member; what it answers is unchecked. Throws `southbound_unavailable` when no answer comes from that very node, and
   * `node_not_found` for one that is no member.
   */
  call(
    nodeId: string,
    question: { readonly method: 'GET' | 'POST' | 'PUT'; readonly path: string; readonly body?: object },
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly body: unknown }>
}
/** What another box answered, for an error: `403 forbidden`, or its status alone. */
export function answerText({ status, body }: Awaited<ReturnType<BoxCalls['call']>>): string {
  const { error } = isRecord(body) ? body : {}
  return isRecord(error) && typeof error.code === 'string'
    ? `${status} ${error.code.slice(0, 64)}`
    : String(status)
}
/** Provided by mesh. */
export const boxCallsRef: ServiceRef<BoxCalls> = serviceRef<BoxCalls>('peering.calls', {
  others: 'function',
  call: 'function',
})

/** What a hub wants of boxes, as far as heartbeats carry it. */
export interface DesiredNews {
  /** At the hub: the version of what that box is to have; undefined when it is to have nothing in particular. */
  versionFor(nodeId: string): Promise<number | undefined>
  /** At a box: the hub has answered a heartbeat with that version. */
  heard(version: number): Promise<void>
}
/** Provided by groups. */
export const desiredNewsRef: ServiceRef<DesiredNews> = serviceRef<DesiredNews>('groups.news', {
  versionFor: 'function',
  heard: 'function',
})
