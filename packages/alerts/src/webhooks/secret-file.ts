import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { secretLines } from '@steeple/contracts'
import { codeOf } from '@steeple/http-client'

/** Standard Webhooks, "Symmetric signatures": 24 to 64 octets in base64, behind `whsec_`. */
const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/
const LEAST_KEY = 24
const MOST_KEY = 64
/** What a secret of Standard Webhooks looks like, in words. */
export const SIGNING_SECRET: string = `secret of Standard Webhooks: whsec_ and ${LEAST_KEY} to ${MOST_KEY} octets in base64, as "echo whsec_$(openssl rand -base64 32)" makes one`

/** Whether messages can be signed with it. */
export function isSigningSecret(text: string): boolean {
  const octets = Buffer.from(SECRET.exec(text)?.[1] ?? '', 'base64').length
  return octets >= LEAST_KEY && octets <= MOST_KEY
}

/**
 * The secrets that messages are signed with, one a line: while a receiver changes its secret, the old one and the new one.
 * Throws an Error as `secretLines`, and for a line that is no secret of Standard Webhooks.
 */
export async function signingSecrets(path: string): Promise<readonly string[]> {
  const lines = await secretLines(path)
  const wrong = lines.findIndex((line) => !isSigningSecret(line))
  if (wrong >= 0) throw new Error(`${path}:${wrong + 1} is no ${SIGNING_SECRET}`)
  return lines
}

/** The value of the header Authorization in that file; undefined without one. Throws an Error as `secretLines`, and for what no header holds. */
export async function authorizationOf(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  const [line] = await secretLines(path)
  // What a header may hold; anything else would be shown in the error of whoever refuses it.
  if (line === undefined || !/^[\x20-\x7e]+$/.test(line))
    throw new Error(`${path} holds no value of a header`)
  return line
}

/** The CA certificates in that file, PEM; undefined without one. Throws an Error that says what is wrong with it. */
export async function caOf(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new Error(`${path} cannot be read: ${codeOf(error) || 'unknown'}`)
  })
  try {
    new X509Certificate(text)
    return text
  } catch (cause) {
    throw new Error(`${path} holds no certificate in PEM`, { cause })
  }
}
