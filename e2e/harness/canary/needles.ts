import { createPrivateKey } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Octets that are compared at once. */
const GRAM = 4
/** Of the filter in front of the index: nearly all grams of a text are in no form. */
const FILTER_BITS = 18

/** Where a gram stands in a form. */
interface Spot {
  readonly form: Buffer
  readonly offset: number
}

const NOWHERE: readonly Spot[] = []

/**
 * A search for any number of forms in one pass, as Wu and Manber have it: of a text only every so manyeth gram is looked up, so
 * far apart that the shortest form holds one wherever it stands, and the index has each gram that can be met so in each form.
 * Forms have at least a gram. Gives those that are in the haystack.
 */
export function searchFor(forms: readonly Buffer[]): (haystack: Buffer) => ReadonlySet<Buffer> {
  if (forms.length === 0) return () => new Set()
  const step = Math.min(...forms.map(({ length }) => length)) - GRAM + 1
  if (step < 1) throw new Error(`what is searched for has at least ${GRAM} octets`)
  const spotsOf = indexOf(forms, step)
  return (haystack) => {
    const seen = new Set<Buffer>()
    for (let at = 0; at + GRAM <= haystack.length; at += step)
      for (const { form, offset } of spotsOf(haystack.readInt32LE(at)))
        if (!seen.has(form) && standsAt(form, haystack, at - offset)) seen.add(form)
    return seen
  }
}

/** Where a gram stands among the first `step` of each form. */
function indexOf(forms: readonly Buffer[], step: number): (gram: number) => readonly Spot[] {
  const filter = new Uint8Array(2 ** FILTER_BITS)
  const spots = new Map<number, Spot[]>()
  for (const form of forms)
    for (let offset = 0; offset < step; offset += 1) {
      const gram = form.readInt32LE(offset)
      filter[placeOf(gram)] = 1
      const others = spots.get(gram)
      if (others === undefined) spots.set(gram, [{ form, offset }])
      else others.push({ form, offset })
    }
  return (gram) => (filter[placeOf(gram)] === 0 ? NOWHERE : (spots.get(gram) ?? NOWHERE))
}

function placeOf(gram: number): number {
  return Math.imul(gram, 0x9e3779b1) >>> (32 - FILTER_BITS)
}

function standsAt(form: Buffer, haystack: Buffer, start: number): boolean {
  const end = start + form.length
  // The ends differ where the beginnings are as those of many others.
  return (
    start >= 0 &&
    end <= haystack.length &&
    haystack[end - 1] === form[form.length - 1] &&
    form.compare(haystack, start, end) === 0
  )
}

/** Something that must not be found, in every form in which it could be written. */
export interface Needle {
  readonly name: string
  readonly forms: readonly Buffer[]
}

/** A needle for a text: as it is, in hex, in base64 at any offset, as UTF-16, and its halves when it is long. */
export function textNeedle(name: string, text: string): Needle {
  const bytes = Buffer.from(text)
  const half = Math.ceil(text.length / 2)
  const halves = text.length >= 40 ? [text.slice(0, half), text.slice(half)] : []
  return {
    name,
    forms: [
      bytes,
      Buffer.from(text, 'utf16le'),
      ...halves.map((part) => Buffer.from(part)),
      ...encodings(bytes),
    ],
  }
}

/** A needle for bytes: as they are, in hex and in base64 at any offset. */
export function bytesNeedle(name: string, bytes: Buffer): Needle {
  return { name, forms: [bytes, ...encodings(bytes)] }
}

/** A needle for each private or symmetric key in the keys directory of a node, which may put another name to one meanwhile. */
export function keyNeedles(keysDir: string): readonly Needle[] {
  return readdirSync(keysDir)
    .filter((name) => /key|^wireguard/.test(name))
    .flatMap((name) => {
      const bytes = bytesOf(join(keysDir, name))
      if (bytes === undefined) return keyNeedles(keysDir)
      if (name.startsWith('wireguard')) return base64Key(name, bytes.toString().trim())
      if (!bytes.includes('PRIVATE KEY')) return [bytesNeedle(name, bytes)]
      const { d } = createPrivateKey(bytes).export({ format: 'jwk' })
      const body = bytes.toString().replaceAll(/-----[^-]+-----|\s/g, '')
      return [
        bytesNeedle(`${name}, the number`, Buffer.from(String(d), 'base64url')),
        // The end: the beginning of the text is the same for every key on this curve. That of X25519 is short.
        {
          name: `${name}, the text`,
          forms: [body.slice(-60), body.slice(80, 120)]
            .filter((text) => text !== '')
            .map((text) => Buffer.from(text)),
        },
      ]
    })
}

function bytesOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if (Reflect.get(Object(error), 'code') === 'ENOENT') return undefined
    throw error
  }
}

/** A key of WireGuard: 32 octets, written as base64. */
export function base64Key(name: string, text: string): readonly Needle[] {
  return [textNeedle(name, text), bytesNeedle(`${name}, the bytes`, Buffer.from(text, 'base64'))]
}

/** The names of the needles that are in the haystack. */
export function found(needles: readonly Needle[], haystack: Buffer): readonly string[] {
  const seen = searchFor(needles.flatMap(({ forms }) => forms))(haystack)
  return needles.filter(({ forms }) => forms.some((form) => seen.has(form))).map(({ name }) => name)
}

function encodings(bytes: Buffer): readonly Buffer[] {
  const hex = bytes.toString('hex')
  return [hex, hex.toUpperCase(), ...base64Forms(bytes, 'base64'), ...base64Forms(bytes, 'base64url')].map(
    (text) => Buffer.from(text),
  )
}

/** What of the base64 of the bytes is the same wherever they stand in a longer text. */
function base64Forms(bytes: Buffer, encoding: 'base64' | 'base64url'): readonly string[] {
  return [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString(encoding)
      .replaceAll('=', '')
    const skipped = offset === 0 ? 0 : offset + 1
    const isWhole = (offset + bytes.length) % 3 === 0
    return text.slice(skipped, isWhole ? undefined : -1)
  })
}
