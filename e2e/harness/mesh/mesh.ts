import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '@steeple/testkit'
import type { Answer } from '../service.ts'
import { type Box, type BoxOptions, makeBox } from './box.ts'
import { boxPlace, makeLan } from './places.ts'

/** Waits are for conditions: this ends what hangs. */
export const WAIT_MS = 180_000
/** What a test of several boxes may take. */
export const MESH_LIMIT = { limitMs: 900_000 } as const

/** A member as `GET /v1/mesh/members` tells it. */
export interface ToldMember {
  readonly node_id: string
  readonly name: string
  readonly is_root: boolean
  readonly overlay_address: string
  /** Null until the root has heard of it. */
  readonly wireguard: object | null
}

/** A peer as `GET /v1/peers` tells it. */
export interface ToldPeer {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly source: string
  readonly reason: string | null
  readonly node_id: string | null
  readonly public_key: string
  /** Of a suggested one. */
  readonly fingerprint: string | null
  readonly handshake_age_s: number | null
  readonly advertised: readonly string[]
  readonly approved: readonly string[]
  readonly serving: readonly string[]
}

/** Boxes on one local network, each the root of a mesh of its own still. */
export interface Village {
  readonly boxes: readonly Box[]
  /** The one whose mesh the others join. */
  readonly root: Box
  /** The box of that name. */
  box(name: string): Box
  end(): Promise<void>
}

/** Puts `count` boxes onto a network and starts them, two at a time. */
export async function village(
  count: number,
  env: (number: number) => Readonly<Record<string, string>> = () => ({}),
  more: Pick<BoxOptions, 'build' | 'config'> = {},
): Promise<Village> {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-mesh-'))
  makeLan()
  const boxes: Box[] = []
  for (let number = 1; number <= count; number += 1) {
    const place = await boxPlace(number)
    const name = `box${number}`
    boxes.push(await makeBox({ name, place, folder: join(folder, name), env: env(number), ...more }))
  }
  const waiting = [...boxes]
  const next = async (): Promise<void> => {
    for (let box = waiting.shift(); box !== undefined; box = waiting.shift()) await box.start()
  }
  await Promise.all([next(), next()])
  const box = (name: string): Box => {
    const found = boxes.find((one) => one.name === name)
    if (found === undefined) throw new Error(`there is no ${name}`)
    return found
  }
  return {
    boxes,
    root: box('box1'),
    box,
    end: async () => {
      await Promise.all(boxes.map((box) => box.kill()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The body of a box's answer that is no refusal. */
export async function ask(
  box: Pick<Box, 'ask' | 'name'>,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer['body']> {
  const answer = await box.ask(method, path, body)
  if (answer.status >= 300)
    throw new Error(`${box.name}: ${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** An invitation into the mesh of `root`. */
export async function invite(root: Box): Promise<{ readonly token: string; readonly url: string }> {
  const { token, url } = await ask(root, 'POST', '/v1/mesh/invite', {})
  return { token, url }
}

/** Lets a box join by a new invitation; its address in the overlay. */
export async function joinMesh(box: Box, root: Box): Promise<string> {
  return (await ask(box, 'POST', '/v1/mesh/join', await invite(root))).overlay_address
}

/** The members as a box knows them, by name. */
export async function membersAt(box: Box): Promise<readonly ToldMember[]> {
  const { members }: { readonly members: readonly ToldMember[] } = await ask(box, 'GET', '/v1/mesh/members')
  return members.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

/** Where the members are in the overlay as a box knows them, by name. */
export async function addressesAt(box: Box): Promise<ReadonlyMap<string, string>> {
  const members = await membersAt(box)
  return new Map(members.map(({ name, overlay_address: address }) => [name, address]))
}

/** The peers as a box knows them. */
export async function peersAt(box: Box): Promise<readonly ToldPeer[]> {
  return (await ask(box, 'GET', '/v1/peers')).peers
}

/** Whether a packet comes back from another box over the overlay. */
export function reaches(box: Box, overlayAddress: string): boolean {
  try {
    box.place.run('ping', '-c', '1', '-W', '2', overlayAddress)
    return true
  } catch {
    return false
  }
}

/** Waits until a packet comes back. */
export async function untilReaches(box: Box, overlayAddress: string): Promise<void> {
  await eventually(async () => reaches(box, overlayAddress), WAIT_MS)
}

/** What keeps these boxes from being one mesh in which each reaches each; undefined when nothing does. */
async function whyApart(boxes: readonly Box[]): Promise<string | undefined> {
  const names = boxes.map(({ name }) => name).toSorted()
  for (const box of boxes) {
    const members = await membersAt(box)
    const seen = members.map(({ name }) => name).join(' ')
    if (seen !== names.join(' ')) return `${box.name} sees ${seen}`
    const peers = await peersAt(box)
    for (const member of members) {
      if (member.node_id === box.nodeId) continue
      const peer = peers.find(({ node_id: id }) => id === member.node_id)
      if (peer?.state !== 'active') {
        return `${box.name} has ${member.name} ${peer?.state ?? 'not as a peer'}: ${peer?.reason}`
      }
      if (!reaches(box, member.overlay_address)) return `${box.name} does not reach ${member.name}`
    }
  }
  return undefined
}

/** Waits until these boxes are one mesh; how long that took, ms. */
export async function together(boxes: readonly Box[]): Promise<number> {
  const begun = performance.now()
  let why: string | undefined = 'not looked at'
  try {
    await eventually(async () => {
      why = await whyApart(boxes).catch((error: Error) => error.message)
      return why === undefined
    }, WAIT_MS)
  } catch (cause) {
    throw new Error(`the boxes are no mesh after ${WAIT_MS} ms: ${why}`, { cause })
  }
  return performance.now() - begun
}
