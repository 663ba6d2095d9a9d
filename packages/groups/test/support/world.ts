import { fileURLToPath } from 'node:url'
import {
  type BoxCalls,
  boxCallsRef,
  type Context,
  type Db,
  desiredNewsRef,
  type Manifest,
  type NodeCredentials,
  nodeCaRef,
  nodeCredentialsRef,
  type Plugin,
  type ServiceRef,
  type Settings,
  southboundUnavailable,
} from '@steeple/contracts'
import {
  bodyOf,
  type InlinePlugin,
  loadTestbed,
  type Overrides,
  pluginFrom,
  type Testbed,
  type TestbedPlugin,
} from '@steeple/testkit'
import type { GroupsConfig } from '../../src/context.ts'
import { plugin } from '../../src/plugin.ts'

const DAY_MS = 86_400_000

/** A box: kernel, policy, groups, and a mesh in memory. */
export interface Box {
  readonly name: string
  readonly bed: Testbed
  readonly id: string
  readonly identity: NodeCredentials
  /** The store of the plugin. */
  readonly db: Db
  /** Whether others reach it, and it them. */
  isReachable: boolean
  /** What it gets from its hub instead of the hub's own document. */
  given: object | undefined
  ask<Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    status?: number,
  ): Promise<Body>
  /** It hears in the answer to a heartbeat what the hub has for it. */
  beat(): Promise<void>
}
/** A hub, and boxes of its mesh. */
export interface World extends AsyncDisposable {
  readonly hub: Box
  readonly boxes: readonly Box[]
}

/** A hub and so many boxes, each a member of its mesh. */
export async function world(
  count: number,
  more: readonly TestbedPlugin[] = [],
  settings: Overrides<Settings> = {},
): Promise<World> {
  const all: Box[] = []
  for (const name of ['hub', ...Array.from({ length: count }, (_, at) => `box${at + 1}`)])
    all.push(await startBox(name, all, more, settings))
  const [hub, ...boxes] = all
  if (hub === undefined) throw new Error('there is no hub')
  for (const box of boxes) await joins(box, hub)
  return {
    hub,
    boxes,
    [Symbol.asyncDispose]: async () => {
      for (const { bed } of all) await bed.stop()
    },
  }
}

async function startBox(
  name: string,
  all: readonly Box[],
  more: readonly TestbedPlugin[],
  settings: Overrides<Settings>,
): Promise<Box> {
  const { startTestbed } = await loadTestbed()
  let own: Context | undefined
  const watched: Plugin<GroupsConfig> = {
    ...plugin,
    setup: (context) => {
      own = context
      return plugin.setup(context)
    },
  }
  const bed = await startTestbed({
    settings,
    plugins: [
      { dir: fileURLToPath(new URL('../../../policy', import.meta.url)) },
      meshPlugin(
        () => box,
        all,
        more.some((one) => 'dir' in one && one.dir.endsWith('access')),
      ),
      ...more,
      await pluginFrom(new URL('../world.ts', import.meta.url).href, watched),
    ],
  })
  if (own === undefined) throw new Error('the plugin was not set up')
  const { db } = own
  const box: Box = {
    db,
    ...{
      name,
      bed,
      id: bed.identity.nodeId,
      identity: serviceOf(bed, nodeCredentialsRef),
      isReachable: true,
      given: undefined,
    },
    ask: async (method, path, body, status = 200) =>
      bodyOf(await bed.request(method, path, body === undefined ? {} : { body }), status),
    beat: async () => {
      const [hub] = all
      const version = await serviceOf((hub ?? box).bed, desiredNewsRef).versionFor(box.id)
      if (version !== undefined) await serviceOf(bed, desiredNewsRef).heard(version)
    },
  }
  return box
}

/** A service of a box that is there. */
export function serviceOf<T extends object>(bed: Testbed, ref: ServiceRef<T>): T {
  const service = bed.service(ref)
  if (service === undefined) throw new Error(`nobody provides ${ref.id}`)
  return service
}

/** Makes a box a member of the mesh of a hub, as an enrollment does. */
export async function joins(box: Box, hub: Box): Promise<void> {
  const authority = serviceOf(hub.bed, nodeCaRef)
  const uri = `svc://node/${box.id}`
  const publicKey = await authority.readRequest(await box.identity.request(), [uri])
  const notAfterMs = Date.now() + DAY_MS
  const { pem } = await authority.issue({ publicKey, commonName: box.name, uri, notAfterMs })
  await box.identity.adopt({
    ...{
      meshName: 'village',
      rootUrl: 'https://hub.invalid',
      rootNodeId: hub.id,
      overlayAddress: '10.0.0.2',
    },
    ...{ caPem: authority.caPem, certificatePem: pem, joinedAtMs: Date.now() },
  })
}

/** The members of a mesh speak to one another over HTTP, each as the node that it is. */
function meshPlugin(self: () => Box, all: readonly Box[], isPeopled: boolean): InlinePlugin {
  const others = (): readonly Box[] => all.filter((box) => box !== self())
  const calls: BoxCalls = {
    others: async () => others().map(({ id: nodeId, name }) => ({ nodeId, name })),
    call: async (nodeId, { method, path, body }) => {
      const other = others().find(({ id }) => id === nodeId)
      if (other === undefined || !other.isReachable || !self().isReachable)
        throw southboundUnavailable('the box does not answer')
      const { given } = self()
      if (method === 'GET' && given !== undefined) return { status: 200, body: given }
      // Where people are, credentials are theirs: the hub is asked as by its admin, and told nothing.
      if (isPeopled)
        return method === 'GET' ? await other.bed.request(method, path) : { status: 200, body: {} }
      const token = other.bed.credential({ kind: 'node', id: self().id, roles: ['node'] })
      return await other.bed.request(method, path, { token, body })
    },
  }
  const fake: Plugin = { setup: async () => ({ services: new Map([[boxCallsRef.id, calls]]) }) }
  const manifest: Manifest = {
    ...{ id: 'fake-mesh', kind: 'feature' as const, contracts: '*', config_path: 'fake_mesh' },
    ...{ provides: [boxCallsRef.id], handover: 'overlap' as const },
  }
  return { name: '@example/mesh', version: '1.0.0', plugin: fake, manifest }
}

/** How a box stands, as the hub has heard it. */
export async function standingAt(hub: Box, box: Box): Promise<Standing> {
  const { boxes } = await hub.ask<{ boxes: readonly Standing[] }>('GET', '/v1/desired-state')
  const found = boxes.find(({ node_id }) => node_id === box.id)
  if (found === undefined) throw new Error(`the hub does not know ${box.name}`)
  return found
}
export interface Standing {
  readonly node_id: string
  readonly standing: string
  readonly version: number | null
  readonly has_version: number | null
  readonly permitted: readonly string[]
  readonly parts: readonly {
    readonly part: string
    readonly status: string
    readonly problems: readonly {
      readonly pointer: string
      readonly code: string
      readonly message: string
    }[]
    readonly drift: readonly { readonly pointer: string; readonly desired: string; readonly actual: string }[]
  }[]
}
