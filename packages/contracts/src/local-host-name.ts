/** RFC 1035 §2.3.4. */
const MOST_CHARS = 63

/**
 * The name by which a node of that name is found on its own network, `mast-on-the-hill.local` (RFC 6762 §3): letters and digits
 * of ASCII, all else a hyphen. Undefined for a name that has neither. Two names may have the same one.
 */
export function localHostName(name: string): string | undefined {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const words = plain.split(/[^a-z0-9]+/).filter((word) => word !== '')
  const label = words.join('-').slice(0, MOST_CHARS).replace(/-$/, '')
  return label === '' || label === 'localhost' ? undefined : `${label}.local`
}
