import { eventually } from '@steeple/testkit'
import { ask } from '../node-client.ts'
import { type Hub, Refused, type SimulatedBox } from './simulated-box.ts'

/** What a box knows of the mesh. */
interface Known {
  readonly members: Map<string, object | null>
  /** How many of them have told of their WireGuard. */
  readonly told: number
}

/** Boxes that follow the list of members as an agent does. */
export interface Following extends AsyncDisposable {
  /** Rejects when one of them is refused. */
  untilAllKnow(what: (known: Known) => boolean, boxes?: readonly SimulatedBox[]): Promise<void>
  /** Puts a member out. */
  expel(id: string): Promise<void>
}

const LIMIT_MS = 600_000
const WAIT_S = 50

interface Told {
  readonly node_id: string
  readonly wireguard: object | null
}

interface Answered {
  readonly since?: number | null
  readonly gone?: readonly string[]
  readonly members: readonly Told[]
}

function take(
  members: Map<string, object | null>,
  { since = null, gone = [], members: list }: Answered,
): void {
  if (since === null) members.clear()
  for (const id of gone) members.delete(id)
  for (const { node_id, wireguard } of list) members.set(node_id, wireguard)
}

/** Each box asks for what is new, waits for it, and asks again: for whole lists, or for what changed. */
export function followAll(hub: Hub, boxes: readonly SimulatedBox[], isByChanges: boolean): Following {
  const over = new AbortController()
  const known = new Map(boxes.map(({ id }) => [id, new Map<string, object | null>()]))
  const failures: unknown[] = []
  const follow = async ({ id, ask: askHub }: SimulatedBox): Promise<void> => {
    const members = known.get(id) ?? new Map<string, object | null>()
    let query = ''
    while (!over.signal.aborted) {
      const answer = await askHub('GET', `/v1/mesh/members${query}`, undefined, over.signal)
      take(members, answer)
      const { revision, list, crl_number } = answer
      query = `?after=${revision}&wait_s=${WAIT_S}`
      if (isByChanges) query += `&list=${list}&after_crl=${crl_number}`
    }
  }
  const following = boxes.map(async (box) => {
    try {
      await follow(box)
    } catch (error) {
      // The one that was put out is refused, as it should be.
      const isOut = error instanceof Refused && (error.status === 401 || error.status === 403)
      if (!over.signal.aborted && !isOut) failures.push(error)
    }
  })
  return {
    untilAllKnow: async (what, of = boxes) => {
      await eventually(async () => {
        if (failures.length > 0) return true
        return of.every(({ id }) => {
          const members = known.get(id) ?? new Map()
          return what({ members, told: [...members.values()].filter((one) => one !== null).length })
        })
      }, LIMIT_MS)
      if (failures.length > 0) throw failures[0]
    },
    expel: async (id) => {
      const { status, body } = await ask(hub, 'POST', `/v1/nodes/${id}/leave`, undefined, {
        token: hub.token,
      })
      if (status >= 300) throw new Error(`leave answered ${status} ${JSON.stringify(body)}`)
    },
    [Symbol.asyncDispose]: async () => {
      over.abort()
      await Promise.all(following)
    },
  }
}
