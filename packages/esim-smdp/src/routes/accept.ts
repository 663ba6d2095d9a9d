/**
 * Which of some media types an `Accept` header asks for most; the first of them for none, and of those alike. Undefined when
 * it takes none of them. RFC 9110 §12.5.1.
 */
export function mediaTypeFor<Type extends string>(
  accept: string | undefined,
  types: readonly Type[],
): Type | undefined {
  if (accept === undefined || accept.trim() === '') return types[0]
  const ranges = accept.split(',').map(rangeOf)
  let best: { readonly type: Type; readonly weight: number } | undefined
  for (const type of types) {
    const weight = weightOf(type, ranges)
    if (weight > (best?.weight ?? 0)) best = { type, weight }
  }
  return best?.type
}

interface Range {
  readonly name: string
  readonly weight: number
}

function rangeOf(text: string): Range {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  const weight = quality === undefined ? 1 : Number(quality)
  return { name, weight: weight >= 0 && weight <= 1 ? weight : 0 }
}

/** The most exact range that fits says it. */
function weightOf(type: string, ranges: readonly Range[]): number {
  const [kind = ''] = type.split('/')
  for (const name of [type, `${kind}/*`, '*/*']) {
    const found = ranges.find((range) => range.name === name)
    if (found !== undefined) return found.weight
  }
  return 0
}
