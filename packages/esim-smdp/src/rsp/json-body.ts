import { type RefusalName, Refused } from './refusal.ts'

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
/** Longer than anything that an LPA sends: requests have some 2 kB. Facts section 7. */
const MOST_OCTETS = 65_536

/** The members of a request, each refused by the code that goes with it. */
export interface JsonBody {
  /** A text. Throws `Refused`. */
  text(name: string, otherwise: RefusalName): string
  /** The octets of a base64 text. Throws `Refused`. */
  octets(name: string, otherwise: RefusalName): Uint8Array
}

/** Reads the body of a request. Throws `Refused` for what is no JSON object. */
export function readBody(body: Uint8Array, otherwise: RefusalName): JsonBody {
  const parsed = parsedOf(body, otherwise)
  const text = (name: string, refusal: RefusalName): string => {
    const value: unknown = Object.hasOwn(parsed, name) ? Reflect.get(parsed, name) : undefined
    if (typeof value !== 'string') throw new Refused(refusal)
    return value
  }
  return {
    text,
    octets: (name, refusal) => {
      // Some LPAs break the lines of what they send.
      const encoded = text(name, refusal).replaceAll(/\s/g, '')
      if (encoded.length % 4 !== 0 || !BASE64.test(encoded)) throw new Refused(refusal)
      return Buffer.from(encoded, 'base64')
    },
  }
}

function parsedOf(body: Uint8Array, otherwise: RefusalName): object {
  if (body.length > MOST_OCTETS) throw new Refused(otherwise)
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch (cause) {
    throw new Refused(otherwise, { cause })
  }
  if (typeof parsed !== 'object' || parsed === null) throw new Refused(otherwise)
  return parsed
}
