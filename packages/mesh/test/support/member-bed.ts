import { join } from 'node:path'
import {
  type Context,
  healthBoardRef,
  type NodeCredentials,
  serviceInfoRef,
  southboundUnavailable,
  untilAborted,
} from '@steeple/contracts'
import { initNode, openNodeCa, openNodeCredentials } from '@steeple/secrets'
import {
  bodyOf,
  type FakeContext,
  fakeContext,
  type MemoryDb,
  memoryDb,
  type TempDir,
  tempDir,
} from '@steeple/testkit'
import { type MeshAgent, meshAgent } from '../../src/agent/agent.ts'
import type { MeshCall, MeshClient } from '../../src/agent/mesh-client.ts'
import type { PeeringConfig } from '../../src/config.ts'
import { openMemberList } from '../../src/enroll/member-list.ts'
import { openMembershipState } from '../../src/enroll/membership-state.ts'
import type { EnrollParts } from '../../src/enroll/parts.ts'
import { revocationList } from '../../src/enroll/revocation-list.ts'
import { MIGRATIONS } from '../../src/enroll/store.ts'
import type { Enrolled, RootBed } from './root-bed.ts'

/** A box that has joined a root bed; its questions reach the root without a network, as long as it is not cut off. */
export interface MemberBed {
  readonly id: string
  readonly parts: EnrollParts
  readonly agent: MeshAgent
  readonly identity: NodeCredentials
  readonly fake: FakeContext<PeeringConfig>
  readonly db: MemoryDb
  /** Asked so far, `METHOD path`. */
  readonly asked: readonly string[]
  isCut: boolean
  /** Asked in place of the root, at that address. */
  readonly neighbours: Map<string, (call: MeshCall) => { readonly status: number; readonly body: unknown }>
  close(): Promise<void>
}

const CONFIG: Partial<PeeringConfig> = {
  enabled: true,
  mdns: false,
  heartbeat: '15s',
  url: '',
  interface: 'svcmesh0',
  subnet: '100.64.0.0/16',
}

/** Makes a box, lets it join, and starts nothing. */
export async function memberBed(root: RootBed, name = 'member'): Promise<MemberBed> {
  const dir: TempDir = await tempDir()
  const { clock } = root
  const { secrets } = await initNode({ dataDir: join(dir.path, 'box'), clock, name })
  const identity = openNodeCredentials(secrets)
  const authority = openNodeCa(secrets, clock)
  const db = memoryDb(MIGRATIONS)
  const node = secrets.identity
  const fake = fakeContext<PeeringConfig>({
    id: 'mesh',
    // The parts of the plugin that other keys are for are not here.
    config: CONFIG as PeeringConfig,
    db,
    clock,
    services: new Map<string, object>([
      [
        healthBoardRef.id,
        { components: () => [{ name: 'store', kind: 'store', status: 'ok', detail: '', required: true }] },
      ],
      [serviceInfoRef.id, { version: '1.0.0' }],
    ]),
  })
  const memberList = await openMemberList({ db, clock, subnet: '100.64.0.0/16', own: node })
  const parts: EnrollParts = {
    context: fake.context as Context<PeeringConfig>,
    authority,
    identity,
    node,
    tokens: { check: refused, burn: refused, mint: refused },
    nodes: { enrolled: async () => {}, left: async () => {} },
    memberList,
    revocations: revocationList({ db, clock, authority, changes: memberList.changes, url: () => undefined }),
    membershipState: await openMembershipState(db, identity),
  }
  const box = { id: node.nodeId, keyPem: '', csr: await identity.request() }
  const got = bodyOf<Enrolled>(await root.enroll(box, root.token(), { body: { name } }))
  await identity.adopt({
    meshName: 'valley',
    rootUrl: 'https://root',
    rootNodeId: root.bed.identity.nodeId,
    caPem: got.ca_pem,
    certificatePem: got.certificate_pem,
    overlayAddress: got.overlay_address,
    joinedAtMs: clock.nowMs(),
  })
  const asked: string[] = []
  const bed = {
    id: node.nodeId,
    parts,
    identity,
    fake,
    db,
    asked,
    isCut: false,
    neighbours: new Map<string, (call: MeshCall) => { readonly status: number; readonly body: unknown }>(),
  }
  const client: MeshClient = {
    call: async (call) => {
      asked.push(`${call.method} ${call.path}`)
      const neighbour = bed.neighbours.get(call.url)
      if (neighbour !== undefined) return neighbour(call)
      if (bed.isCut || call.url !== 'https://root') throw southboundUnavailable(`${call.url} does not answer`)
      const isOut = root.isOut(node.nodeId) && call.isAnonymous !== true
      if (isOut) return { status: 401, body: { error: { code: 'certificate_revoked', message: 'revoked' } } }
      const asking =
        call.isAnonymous === true
          ? root.bed.request(call.method, call.path, { token: false, body: call.body })
          : root.as(box, call.method, call.path, call.body)
      const answer = await untilAborted(asking, call.signal)
      return { status: answer.status, body: answer.body }
    },
    close: () => {},
  }
  const agent = meshAgent(parts, client)
  return Object.assign(bed, {
    agent,
    close: async () => {
      await fake.dispose()
      await dir.remove()
    },
  })
}

async function refused(): Promise<never> {
  throw new Error('a member lets nobody in')
}
