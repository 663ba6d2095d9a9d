import type { Subscriber } from '@steeple/contracts'
import type { PlacedWrite } from '../batch.ts'
import { asideIdOf, COLLECTIONS, ueIdOf } from './names.ts'
import { docsIn, type Held } from './read.ts'

/**
 * Puts what sessions need aside, or back: the key changes, the documents stay as they are.
 *
 * When there are both, those that the core sees are the ones to keep.
 */
export function blockWrites(
  { imsi }: Pick<Subscriber, 'imsi'>,
  held: Held,
  toBlocked: boolean,
): readonly PlacedWrite[] {
  const [liveId, asideId] = [ueIdOf(imsi), asideIdOf(imsi)]
  const move = (collection: string): readonly PlacedWrite[] => {
    const { live, aside } = docsIn(held, collection)
    const [isLive, isAside] = [live.length > 0, aside.length > 0]
    const drop = { collection, op: { deleteMany: { filter: { ueId: asideId } } } } as const
    const dropped = isLive && isAside ? [drop] : []
    const isMoved = toBlocked ? isLive : isAside && !isLive
    if (!isMoved) return dropped
    const [from, to] = toBlocked ? [liveId, asideId] : [asideId, liveId]
    const update = { $set: { ueId: to } }
    return [...dropped, { collection, op: { updateMany: { filter: { ueId: from }, update } } }]
  }
  return [...move(COLLECTIONS.policySm), ...move(COLLECTIONS.sm)]
}

/** Takes every document of a subscriber away, its keys first. */
export function removeWrites({ imsi }: Pick<Subscriber, 'imsi'>): readonly PlacedWrite[] {
  const filter = { ueId: { $in: [ueIdOf(imsi), asideIdOf(imsi)] } }
  return Object.values(COLLECTIONS).map((collection) => ({ collection, op: { deleteMany: { filter } } }))
}
