import { nodeStateConflict, type ReachKeeper, validationFailed } from '@steeple/contracts'
import { ALL, indProblem, PLAN_RESOURCE, type RoamingParts } from '../parts.ts'
import { REACHES } from '../store.ts'

/** Chooses where SIMs work. */
export function reachKeeper(parts: RoamingParts): ReachKeeper {
  return {
    check: ({ reach, boxes = [] }) => {
      const problem = reach === 'home' ? undefined : indProblem(parts)
      if (problem !== undefined) throw nodeStateConflict(problem)
      if ((reach === 'boxes') !== boxes.length > 0)
        throw validationFailed('/boxes names boxes with reach boxes, and is left out otherwise', {
          details: [{ pointer: '/boxes', message: 'goes with reach boxes' }],
        })
    },
    chooseIn: async (transaction, imsis, { reach, boxes = [] }) => {
      const tx = parts.context.db.join(transaction)
      for (const hash of imsis) await REACHES.put(tx, { hash, reach, boxes: JSON.stringify(boxes) })
      const [first] = imsis
      if (first !== undefined) transaction.dirty(PLAN_RESOURCE, imsis.length === 1 ? first : ALL, true)
    },
    copyIn: async (transaction, from, to) => {
      const tx = parts.context.db.join(transaction)
      const chosen = await REACHES.find(tx, { hash: from })
      if (chosen === undefined) return
      await REACHES.put(tx, { ...chosen, hash: to })
      transaction.dirty(PLAN_RESOURCE, to, true)
    },
  }
}
