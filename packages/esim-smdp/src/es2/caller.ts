import { createHash } from 'node:crypto'
import { type Principal, systemPrincipal } from '@steeple/contracts'
import type { ListenedClient } from '../listen/exchange.ts'

/** An order system: whoever has a key of the certificates that one authority has given that subject. */
export interface Es2Caller {
  /** SHA-256 (hex) of the subject and the authority: a renewed certificate is the same caller, that of another authority is not. */
  readonly owner: string
  /** What earlier versions called it: SHA-256 (hex) of the subject alone. */
  readonly formerOwner: string
  /** The subject in one line. */
  readonly subject: string
  /** Who the audit trail names. */
  readonly principal: Principal
}

const MOST_SUBJECT = 128

/** The caller that a client certificate names; the certificate itself was checked by TLS. */
export function callerOf({
  subject,
  sha256,
  authority,
}: Pick<ListenedClient, 'subject' | 'sha256' | 'authority'>): Es2Caller {
  // One without a name is known by itself.
  const name = subject === '' ? `SHA256=${sha256}` : subject
  const line = name
    .replaceAll('\n', ', ')
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .slice(0, MOST_SUBJECT)
  return {
    owner: sha256Of(`${name}\n${authority}`),
    formerOwner: sha256Of(name),
    subject: line,
    principal: systemPrincipal(`es2+ ${line}`),
  }
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
