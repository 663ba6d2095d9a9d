/** A phone as the network reaches it. Each answer takes as long as the air takes. */
export interface PhonePort {
  readonly imeisv: string
  /** The APN that it asks for; undefined for whatever its subscription has first. */
  readonly apn?: string | undefined
  /** NAS Authentication Request. */
  authenticate(rand: Uint8Array, autn: Uint8Array): AuthAnswer
  /** Whether it hears its paging and comes back. */
  paged(): boolean
  /** NAS Detach Request of the network, re-attach required: whether it answers. */
  detachRequested(): boolean
}

/** What a USIM makes of an authentication request. TS 24.301 §5.4.2. */
export type AuthAnswer =
  | { readonly kind: 'res'; readonly res: Uint8Array }
  /** EMM cause 20: another key or a forged request. */
  | { readonly kind: 'mac_failure' }
  /** EMM cause 21, with the token that says which SQN the card holds. */
  | { readonly kind: 'synch_failure'; readonly auts: Uint8Array }
  /** EMM cause 26: the separation bit is not set. */
  | { readonly kind: 'not_eps' }

/** How an attach request ended. One that the network leaves unanswered never does. */
export type AttachAnswer =
  | { readonly kind: 'accepted' }
  /** Attach Reject. */
  | { readonly kind: 'rejected'; readonly emmCause: number }
  /** Authentication Reject. */
  | { readonly kind: 'authentication_reject' }
