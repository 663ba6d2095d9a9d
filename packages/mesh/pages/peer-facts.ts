import type { AnswerOf, ItemOf, Tone } from '@steeple/console/kit'

/** A link to another box. */
export type Peer = ItemOf<'/v1/peers'>
/** Who belongs to the mesh. */
export type MeshMembers = AnswerOf<'GET', '/v1/mesh/members'>

const TONES: Readonly<Record<string, Tone>> = { active: 'ok', pending: 'warn', stale: 'bad' }

/** The light of the state of a link. */
export function peerTone(state: string): Tone {
  return TONES[state] ?? 'none'
}

/** What a peer offers to carry that nobody has approved yet. */
export function unapproved({ advertised = [], approved = [] }: Peer): readonly string[] {
  return advertised.filter((route) => !approved.includes(route))
}

/** A hash in groups, so that two people can compare it aloud. */
export function grouped(hash: string): string {
  return (hash.match(/.{1,4}/g) ?? []).join(' ')
}
