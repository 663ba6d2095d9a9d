import { URI } from 'otpauth'

/** The code that an authenticator with that URI shows at a time. */
export function codeAt(uri: string, atMs: number): string {
  const totp = URI.parse(uri)
  if (!('period' in totp)) throw new Error('not a TOTP')
  return totp.generate({ timestamp: atMs })
}
