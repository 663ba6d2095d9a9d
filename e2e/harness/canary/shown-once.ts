import { createPrivateKey } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { bytesNeedle, type Needle, textNeedle } from './needles.ts'

const RECOVERY_CODE = /\b([a-z2-7]{4}(?:-[a-z2-7]{4}){3})\b/g

/** The commands whose standard output shows a credential, once, and what it looks like there, as text and as JSON. */
const SHOWN: Readonly<Record<string, readonly RegExp[]>> = {
  'token create': [/(svcb?_[A-Za-z0-9_-]{43,})/g],
  console: [/(svcl_[A-Za-z0-9_-]{43})/g],
  'mesh invite': [/(svcb_[0-9a-f]{32}_[A-Za-z0-9_-]{43,})/g],
  'recovery new': [RECOVERY_CODE],
  'user add': personal(),
  'user reset': personal(),
  'user invite': [/(svci_[A-Za-z0-9_-]{43})/g],
  'user cert': [/passphrase"?:?\s+"?([A-Za-z0-9_-]{20})/g],
}

/** Password, secret of the authenticator, recovery codes. */
function personal(): readonly RegExp[] {
  return [/Password"?:?\s+"?([a-z0-9-]{12,})/gi, /secret=([A-Z2-7]{16,})/g, RECOVERY_CODE]
}

/**
 * What a command has shown of credentials; undefined when it is none of those that may show any. Throws when it shows
 * less than it should: then the search would be for nothing.
 */
export function shownOnce(name: string, stdout: string): readonly Needle[] | undefined {
  const patterns = SHOWN[name]
  return patterns?.flatMap((pattern) => {
    const texts = [...stdout.matchAll(pattern)].map(([, text = '']) => text)
    if (texts.length === 0) throw new Error(`svc ${name} shows nothing like ${pattern}`)
    return texts.map((text) => textNeedle(`what svc ${name} has shown`, text))
  })
}

/** The private key in a file that a command has made; none when it has made none. */
export function keyInFile(file: string): readonly Needle[] {
  if (!existsSync(file)) return []
  const { d } = createPrivateKey(readFileSync(file)).export({ format: 'jwk' })
  return [bytesNeedle('the key of a client certificate', Buffer.from(String(d), 'base64url'))]
}
