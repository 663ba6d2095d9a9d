import { createHash } from 'node:crypto'
import { type Principal, systemPrincipal } from '@steeple/contracts'
import type { ListenedClient } from '../listen/exchange.ts'

/** An order system: whoever has a key of the certificates with that subject. */
export interface Es2Caller {
  /** SHA-256 (hex) of the subject: a renewed certificate is the same caller. */
  readonly owner: string
  /** The subject in one line. */
  readonly subject: string
  /** Who the audit trail names. */
  readonly principal: Principal
}

const MOST_SUBJECT = 128

/** The caller that a client certificate names; the certificate itself was checked by TLS. */
export function callerOf({ subject, sha256 }: Pick<ListenedClient, 'subject' | 'sha256'>): Es2Caller {
  // One without a name is known by itself.
  const name = subject === '' ? `SHA256=${sha256}` : subject
  const line = name
    .replaceAll('\n', ', ')
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .slice(0, MOST_SUBJECT)
  return {
    owner: createHash('sha256').update(name).digest('hex'),
    subject: line,
    principal: systemPrincipal(`es2+ ${line}`),
  }
}
