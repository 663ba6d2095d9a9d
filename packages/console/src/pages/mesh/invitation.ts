/** What an invitation holds: where to join, and with what. */
export interface Invited {
  readonly url: string
  readonly token: string
}

/** Shorter is no token, but a word of the command around it. */
const LEAST_TOKEN = 20

/** What was pasted: the whole command of an invitation, or address and token in any order. Undefined when one of them is missing. */
export function invitedFrom(text: string): Invited | undefined {
  const words = text.split(/[\s|]+/)
  const url = words.find((word) => word.startsWith('https://'))
  const token = words.find((word) => word !== url && word.length >= LEAST_TOKEN)
  return url === undefined || token === undefined ? undefined : { url, token }
}
