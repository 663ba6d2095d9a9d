import { usageError } from '../command-error.ts'

/** Where an invitation is accepted, by a browser and by a command. */
export const INVITATION_PATH = '/v1/auth/invitation'

/** The link of an invitation. The token is behind #, which is sent to nobody and gets into no log. RFC 3986 §3.5. */
export function invitationLink(base: URL, token: string): string {
  return `${new URL(INVITATION_PATH, base).href}#${token}`
}

/** What a link says, or a token alone. Throws `usage` for a link without a token; nothing of it is repeated. */
export function invitationFrom(text: string): {
  readonly token: string
  readonly origin: string | undefined
} {
  if (!text.includes(':')) return { token: text, origin: undefined }
  const url = URL.parse(text)
  const token = url?.hash.slice(1) ?? ''
  if (url === null || !/^https?:$/.test(url.protocol) || !token.startsWith('svci_'))
    throw usageError(
      'the link of an invitation begins with https:// and has the token behind #; give the whole link',
    )
  return { token, origin: url.origin }
}
