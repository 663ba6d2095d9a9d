/** The /64 of an IPv6 address, in the form of RFC 5952. */
export function prefix64Of(address: string): string {
  const groups = expanded(address.includes('.') ? canonical(address) : address)
  return `${canonical(`${groups.slice(0, 4).join(':')}::`)}/64`
}

/** The URL parser writes an address in lower case, with the longest run of zeros as `::` and no dots (URL Standard §4.4). */
function canonical(address: string): string {
  return new URL(`http://[${address}]/`).hostname.slice(1, -1)
}

function expanded(text: string): readonly string[] {
  const [head = '', tail] = text.split('::')
  const left = head === '' ? [] : head.split(':')
  if (tail === undefined) return left
  const right = tail === '' ? [] : tail.split(':')
  return [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right]
}
