/** The dotted form of the value octets of an object identifier; undefined when they are none. X.690 §8.19. */
export function oidText(octets: Uint8Array): string | undefined {
  const parts: bigint[] = []
  let part = 0n
  let isOpen = false
  for (const octet of octets) {
    // X.690 §8.19.2: a part begins with no 0x80; and no identifier of this field has parts beyond 2^128 (UUIDs have).
    if ((!isOpen && octet === 0x80) || part >= 1n << 128n) return undefined
    part = part * 128n + BigInt(octet & 0x7f)
    isOpen = octet >= 0x80
    if (isOpen) continue
    if (parts.length > 0) parts.push(part)
    else parts.push(...firstArcs(part))
    part = 0n
  }
  return isOpen || parts.length === 0 ? undefined : parts.join('.')
}

/** The value octets of a dotted object identifier; undefined when the text is none. X.690 §8.19. */
export function oidOctets(text: string): Uint8Array | undefined {
  if (!/^[0-2](\.(0|[1-9][0-9]{0,38})){1,31}$/.test(text)) return undefined
  const [first = 0n, second = 0n, ...rest] = text.split('.').map(BigInt)
  if (first < 2n && second > 39n) return undefined
  return Uint8Array.from([first * 40n + second, ...rest].flatMap(base128))
}

/** X.690 §8.19.4: the first two arcs are one number, 40 × first + second, where only a first of 2 lets it pass 79. */
function firstArcs(part: bigint): readonly bigint[] {
  const first = part < 80n ? part / 40n : 2n
  return [first, part - first * 40n]
}

function base128(part: bigint): readonly number[] {
  const octets = [Number(part & 0x7fn)]
  for (let rest = part >> 7n; rest > 0n; rest >>= 7n) octets.unshift(Number(rest & 0x7fn) | 0x80)
  return octets
}
