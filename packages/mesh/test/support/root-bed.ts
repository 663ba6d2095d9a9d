import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import {
  type BootstrapTokens,
  bootstrapTokenInvalid,
  bootstrapTokensRef,
  type Context,
  type Plugin,
} from '@steeple/contracts'
import {
  bodyOf,
  type FakeClock,
  fakeClock,
  type InlinePlugin,
  loadTestbed,
  pluginFrom,
  type Testbed,
  type TestResponse,
} from '@steeple/testkit'
import type { PeeringConfig } from '../../src/config.ts'
import { enrollment } from '../../src/enroll/enrollment.ts'
import { CERTIFICATES, MEMBERS, MIGRATIONS, NOTES } from '../../src/enroll/store.ts'
import { csrOf } from './requests.ts'

/** Enrollment alone: nothing of it touches this machine. */
export const enrollmentPlugin: Plugin<PeeringConfig> = {
  migrations: MIGRATIONS,
  tables: [MEMBERS, CERTIFICATES, NOTES],
  setup: async (context) => (await enrollment(context)).part,
}

/** The answer of an enrollment. */
export interface Enrolled {
  readonly node_id: string
  readonly certificate_pem: string
  readonly ca_pem: string
  readonly expires_at: string
  readonly overlay_address: string
}

/** A box that asks to be let in. */
export interface Box {
  readonly id: string
  readonly keyPem: string
  readonly csr: string
}

/** A root, without TLS: principals of nodes are given by the test. */
export interface RootBed {
  readonly bed: Testbed
  readonly clock: FakeClock
  token(): string
  box(): Promise<Box>
  enroll(
    box: Box,
    token: string,
    more?: { readonly body?: object; readonly headers?: Record<string, string> },
  ): Promise<TestResponse>
  /** As the node itself. */
  as(box: Box, method: string, path: string, body?: object): Promise<TestResponse>
  /** Whether the edge would refuse the certificates of that node. */
  isOut(nodeId: string): boolean
  /** Puts a node out. */
  remove(nodeId: string): Promise<void>
  /** So much later, at once: timers of that time do not fire. */
  later(ms: number): Promise<void>
  close(): Promise<void>
}

/** Starts one; `peering`: configuration. */
export async function rootBed(peering: object = {}): Promise<RootBed> {
  const { startTestbed } = await loadTestbed()
  const clock = fakeClock(Date.UTC(2026, 5, 15, 12))
  const drawn: string[] = []
  const out = new Set<string>()
  const mesh = await pluginFrom(new URL('../x.ts', import.meta.url).href, enrollmentPlugin)
  const { provides: _, ...manifest } = mesh.manifest
  const bed = await startTestbed({
    plugins: [
      { dir: fileURLToPath(new URL('../../../nodes', import.meta.url)) },
      tokensPlugin(),
      { ...mesh, manifest: { ...manifest, provides: ['peering.node_certificates', 'peering.calls'] } },
    ],
    clock,
    config: { peering: { mdns: false, ...peering } },
  })
  const credentials = new Map<string, string>()
  const credentialOf = (id: string): string => {
    const known = credentials.get(id) ?? bed.credential({ kind: 'node', id, roles: ['node'] })
    credentials.set(id, known)
    return known
  }
  return {
    bed,
    clock,
    token: () => {
      const token = `svcb_${bed.identity.caSha256.slice(0, 32)}_${randomBytes(32).toString('base64url')}`
      drawn.push(token)
      GOOD.add(token)
      return token
    },
    box: newBox,
    enroll: (box, token, { body = {}, headers = {} } = {}) =>
      bed.request('POST', `/v1/nodes/${box.id}/enroll`, {
        token,
        body: { csr_pem: box.csr, name: 'box', ...body },
        headers,
      }),
    as: (box, method, path, body) => bed.request(method, path, { token: credentialOf(box.id), body }),
    isOut: (nodeId) => out.has(nodeId),
    remove: async (nodeId) => {
      bodyOf(await bed.request('POST', `/v1/nodes/${nodeId}/leave`, { body: {} }))
      out.add(nodeId)
    },
    later: async (ms) => {
      clock.jump(clock.nowMs() + ms)
      bodyOf(await bed.request('POST', '/v1/clock/confirm', { body: {} }))
    },
    close: async () => {
      for (const token of drawn) GOOD.delete(token)
      await bed.stop()
    },
  }
}

/** A box with a key of its own. */
export async function newBox(): Promise<Box> {
  const keyPem = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ format: 'pem', type: 'pkcs8' })
    .toString()
  return { id: randomUUID(), keyPem, csr: csrOf(keyPem) }
}

/** Tokens that were drawn and not taken back. */
const GOOD = new Set<string>()

/** Bootstrap tokens with a table of their own, so that they are burnt in the transaction or not at all. */
function tokensPlugin(): InlinePlugin {
  const plugin: Plugin = {
    migrations: [
      {
        id: '0001_burnt',
        up: ['create table testbed_tokens_burnt (token text primary key, node_id text not null)'],
      },
    ],
    setup: async (context) => ({ services: new Map([[bootstrapTokensRef.id, tokens(context)]]) }),
  }
  return {
    name: '@steeple/testbed-tokens',
    version: '0.0.1',
    manifest: {
      id: 'testbed-tokens',
      kind: 'feature',
      contracts: '*',
      config_path: 'testbed_tokens',
      handover: 'overlap',
      provides: [bootstrapTokensRef.id],
    },
    plugin,
  }
}

function tokens({ db }: Context): BootstrapTokens {
  const find = 'select node_id from testbed_tokens_burnt where token = :token'
  return {
    check: async (token, nodeId) => {
      const row = await db.get<{ readonly node_id: string }>(find, { token })
      if (!GOOD.has(token) || (row !== undefined && row.node_id !== nodeId)) throw bootstrapTokenInvalid()
      return { id: token.slice(-8), roles: [], isUsed: row !== undefined }
    },
    burn: async (tx, token, nodeId) => {
      const own = db.join(tx)
      if ((await own.get(find, { token })) !== undefined) throw bootstrapTokenInvalid()
      await own.run('insert into testbed_tokens_burnt (token, node_id) values (:token, :node_id)', {
        token,
        node_id: nodeId,
      })
    },
    mint: async () => {
      const token = `svcb_${'0'.repeat(32)}_${randomBytes(32).toString('base64url')}`
      return { id: 'minted', token, expiresAtMs: 0 }
    },
  }
}
