import { signal } from '@preact/signals'
import type { Problem, RequestOf } from '@steeple/client'
import { api } from './client.ts'
import { enter, enterWithLink, linkInAddress, resume } from './session.ts'

/** Signs in by name, password and code. Gives why not. */
export async function byPassword(body: {
  readonly username: string
  readonly password: string
  readonly code: string
}): Promise<Problem | undefined> {
  const answer = await api.post('/v1/auth/login', { body })
  return answer.ok ? enter(answer.data) : answer.error
}

/** Whether this browser can use passkeys on this page: they need TLS, or this very machine. */
export function hasPasskeys(): boolean {
  return typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential
}

/** Signs in with a passkey. Gives why not; `cancelled` when the person or the device did not. */
export async function byPasskey(): Promise<Problem | 'cancelled' | undefined> {
  const asked = await api.post('/v1/auth/passkey/options', { body: {} })
  if (!asked.ok) return asked.error
  // The service gives them as the browser takes them.
  const options = asked.data.options as unknown as PublicKeyCredentialRequestOptionsJSON
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const signed = await navigator.credentials.get({ publicKey }).catch(() => null)
  if (!(signed instanceof PublicKeyCredential)) return 'cancelled'
  // What a browser signs with is what the service takes: it checks it.
  const response = signed.toJSON() as RequestOf<'POST', '/v1/auth/passkey/verify'>['body']['response']
  const answer = await api.post('/v1/auth/passkey/verify', { body: { response } })
  return answer.ok ? enter(answer.data) : answer.error
}

/** Why the link that was opened did not open the console; undefined when it did, or there was none. */
export const linkProblem = signal<Problem | undefined>(undefined)

/** Begins: by a link in the address, otherwise with what this browser has. */
export async function begin(): Promise<void> {
  // A link that is opened where the console is open already changes what is behind # and loads nothing.
  addEventListener('hashchange', () => void openLink())
  if (!(await openLink())) await resume()
}

/** Whether there was a link, and it opened the console. */
async function openLink(): Promise<boolean> {
  const token = linkInAddress()
  if (token === undefined) return false
  const answer = await api.post('/v1/auth/links/open', { body: { token } })
  linkProblem.value = answer.ok ? await enterWithLink(answer.data) : answer.error
  return linkProblem.value === undefined
}
