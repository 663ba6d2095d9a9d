import { readElements, TemplateError } from '../../src/profile/read.ts'
import { loadTemplate } from '../../src/profile/template.ts'
import { type Piece, written } from '../../src/profile/tree.ts'
import { decoded } from './decode.ts'
import { FACTS, TEMPLATES } from './profiles.ts'

/** A whole number from 0 up to, and without, `limit`. */
type Draw = (limit: number) => number

const trees: readonly (readonly Piece[])[] = TEMPLATES.map((octets) =>
  readElements(octets).map(({ piece }) => piece),
)

/** A template with something changed: octets of it, or objects taken out, doubled, moved, retagged, cut or filled. */
export function mutant(draw: Draw): Uint8Array {
  const i = draw(TEMPLATES.length)
  const [whole, tree] = [TEMPLATES[i], trees[i]]
  if (whole === undefined || tree === undefined) return new Uint8Array(0)
  if (draw(3) === 0) return octetsChanged(Uint8Array.from(whole), draw)
  let changed = tree
  for (let count = 1 + draw(2); count > 0; count--) changed = partsChanged(changed, draw, draw(6))
  return written(changed)
}

function octetsChanged(octets: Uint8Array, draw: Draw): Uint8Array {
  if (draw(8) === 0) return octets.subarray(0, draw(octets.length))
  for (let count = 1 + draw(4); count > 0; count--) {
    // The first thousand octets hold the header, the MF and the codes: more of what is looked at.
    const at = draw(draw(2) === 0 ? 1_200 : octets.length)
    octets[at] = draw(2) === 0 ? draw(256) : (octets[at] ?? 0) ^ (1 << draw(8))
  }
  return octets
}

function partsChanged(parts: readonly Piece[], draw: Draw, depth: number): readonly Piece[] {
  const i = draw(parts.length)
  const part = parts[i]
  if (part === undefined) return parts
  if (depth > 0 && part.parts !== undefined && part.parts.length > 0)
    return parts.with(i, { ...part, raw: undefined, parts: partsChanged(part.parts, draw, depth - 1) })
  switch (draw(6)) {
    case 0:
      return parts.toSpliced(i, 1)
    case 1:
      return parts.toSpliced(draw(parts.length + 1), 0, part)
    case 2:
      return parts.toSpliced(i, 1).toSpliced(draw(parts.length), 0, part)
    case 3:
      return parts.with(i, { ...part, raw: undefined, tag: tags[draw(tags.length)] ?? 0x80 })
    case 4:
      return parts.with(i, {
        ...part,
        raw: undefined,
        parts: undefined,
        value: part.value.subarray(0, draw(3)),
      })
    default:
      return parts.with(i, {
        ...part,
        raw: undefined,
        parts: undefined,
        value: new Uint8Array(draw(400)).fill(draw(256)),
      })
  }
}

const tags: readonly number[] = [
  0x30, 0x04, 0x80, 0x81, 0x82, 0x83, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xaa, 0xb3, 0xb5, 0xbf1f, 0xbf7f,
]

/** What became of one: refused with a position, or taken and then a profile made of it that says what it was given. */
export function tried(octets: Uint8Array): 'refused' | 'taken' {
  try {
    const template = loadTemplate(octets)
    const profile = template.personalise(FACTS)
    const found = decoded(profile)
    if (found.imsi !== FACTS.imsi || found.iccids.some((iccid) => iccid !== '8999901000000000013'))
      throw new Error('a profile does not say who it is for')
    if (found.keys.length === 0) throw new Error('a profile has no keys')
    loadTemplate(profile)
    return 'taken'
  } catch (error) {
    const isSaid =
      error instanceof TemplateError &&
      error.offset >= 0 &&
      error.offset <= octets.length &&
      error.path !== ''
    if (!isSaid) throw error
    return 'refused'
  }
}
