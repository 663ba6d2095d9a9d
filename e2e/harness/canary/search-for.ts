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
