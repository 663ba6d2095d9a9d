import { hash } from 'node:crypto'
import {
  isRecord,
  jsonIn,
  msFromTimestamp,
  readSignature,
  type SigningKey,
  signatureHolds,
  signatureText,
  trustedName,
  validationFailed,
} from '@steeple/contracts'
import type { PolicyContent } from '../bundle/bundle-schema.ts'

/** Nothing else that such a key signs begins so. */
const PURPOSE = 'steeple licence 1'
/** What the signature calls it. */
const NAME = 'licence.json'
const MEMBERS = ['node', 'country', 'issued_at', 'reference', 'holder', 'expires_at', 'allow_list']

/** A licence on its way: its text, and the text of its signature. */
export interface SignedLicense {
  /** JSON. The signature is over these very characters. */
  readonly license: string
  readonly signature: string
}

/** What a box may transmit, as somebody whom its operator trusts has written it down. */
interface License {
  /** Node id of the box that it is for. */
  readonly node: string
  readonly country: string
  readonly issuedAtMs: number
  readonly issued_at: string
  readonly reference: string
  readonly holder: string
  readonly expires_at: string | null
  /** Of what is in it nothing is known. */
  readonly allow_list: PolicyContent['spectrum']['allow_list']
  /** SHA-256 of its text, hexadecimal. */
  readonly sha256: string
}

/** The licence in a text. Throws `validation_failed`. */
function licenseIn(text: string): License {
  const value = jsonIn(text)
  const {
    node,
    country,
    issued_at,
    reference,
    holder,
    expires_at = null,
    allow_list,
  } = isRecord(value) ? value : {}
  const odd = isRecord(value) ? Object.keys(value).find((key) => !MEMBERS.includes(key)) : undefined
  if (odd !== undefined) throw wrong(`names ${odd}, which no licence has; it has ${MEMBERS.join(', ')}`)
  const issuedAtMs = typeof issued_at === 'string' ? msFromTimestamp(issued_at) : undefined
  const isWhole =
    typeof node === 'string' &&
    typeof country === 'string' &&
    typeof issued_at === 'string' &&
    typeof reference === 'string' &&
    typeof holder === 'string' &&
    (expires_at === null || typeof expires_at === 'string') &&
    Array.isArray(allow_list)
  if (!isWhole || issuedAtMs === undefined)
    throw wrong(`has another form: it has ${MEMBERS.join(', ')}; issued_at is such as 2030-01-31T00:00:00Z`)
  const sha256 = hash('sha256', text)
  return { node, country, issued_at, issuedAtMs, reference, holder, expires_at, allow_list, sha256 }
}

/** Signs the text of a licence. Throws `validation_failed` for a text that is none. */
export function signLicense(text: string, key: SigningKey): SignedLicense {
  const { sha256 } = licenseIn(text)
  return { license: text, signature: signatureText(PURPOSE, new Map([[NAME, sha256]]), key) }
}

/** The licence, and who has signed it, by `keys` of this box. Throws `validation_failed` for what nobody of them has signed. */
export function signedLicense(
  { license: text, signature }: SignedLicense,
  keys: readonly string[],
): License & { readonly signedBy: string } {
  const license = licenseIn(text)
  const signed = readSignature(signature)
  if (signed === undefined || signed.files.size !== 1 || signed.files.get(NAME) !== license.sha256)
    throw wrong('is not what was signed')
  if (!signatureHolds(PURPOSE, signed)) throw wrong('was not signed with the key that it names')
  const signedBy = trustedName(signed.key, keys)
  if (signedBy !== undefined) return { ...license, signedBy }
  throw wrong(
    `is signed with ${signed.key}, which is not in policy.license_keys of this box; if you trust who has that key, put it there`,
  )
}

function wrong(what: string): Error {
  return validationFailed(`the licence ${what}`)
}
