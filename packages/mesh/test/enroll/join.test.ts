import { createServer } from 'node:https'
import { join } from 'node:path'
import { type Context, clockJudgeRef, isServiceError } from '@steeple/contracts'
import { initNode, openNodeCredentials } from '@steeple/secrets'
import { assert, fakeClock, fakeContext, listen, suite, tempDir } from '@steeple/testkit'
import { meshClient } from '../../src/agent/mesh-client.ts'
import type { PeeringConfig } from '../../src/config.ts'
import { askToJoin } from '../../src/enroll/join.ts'

const joining = suite('mesh/join')
const YEAR_MS = 366 * 86_400_000
const LIMIT = { limitMs: 120_000 }

/** A root that has the wrong year, and a box that asks it to be let in: TLS goes by the clock of this machine. */
async function refusedBy(
  rootMs: number,
): Promise<{ readonly message: string; readonly paths: readonly string[] }> {
  const dir = await tempDir()
  const root = (await initNode({ dataDir: join(dir.path, 'root'), clock: fakeClock(rootMs), name: 'root' }))
    .secrets
  const box = (await initNode({ dataDir: join(dir.path, 'box'), clock: fakeClock(Date.now()), name: 'box' }))
    .secrets
  const paths: string[] = []
  const { key, cert, ca } = root.tls()
  const server = createServer({ key, cert }, ({ url = '' }, outgoing) => {
    paths.push(url)
    outgoing.setHeader('date', new Date(rootMs).toUTCString())
    outgoing.end(JSON.stringify({ ca_pem: ca }))
  })
  const listening = await listen(server)
  const view = { machineMs: Date.now(), serviceMs: Date.now(), doubt: 'it is 800 days ahead' }
  const fake = fakeContext<PeeringConfig>({
    id: 'mesh',
    config: { subnet: '100.64.0.0/16' } as PeeringConfig,
    services: new Map<string, object>([[clockJudgeRef.id, { view: () => view }]]),
  })
  const identity = openNodeCredentials(box)
  const client = meshClient(identity)
  const { signal } = new AbortController()
  try {
    const token = `svcb_${root.identity.caSha256.slice(0, 32)}_${'a'.repeat(43)}`
    const url = `${listening.url}#${root.identity.nodeId}`
    const parts = { identity, node: box.identity, context: fake.context as Context<PeeringConfig> }
    await askToJoin(parts, client, { token, url, address: undefined, name: 'box' }, signal)
    return { message: 'let in', paths }
  } catch (error) {
    assert.ok(isServiceError(error) && error.code === 'node_state_conflict', String(error))
    return { message: isServiceError(error) ? error.message : '', paths }
  } finally {
    client.close()
    await listening.close()
    await fake.dispose()
    await dir.remove()
  }
}

joining(
  'says that two clocks do not agree where only the times of a certificate are wrong',
  async () => {
    for (const rootMs of [Date.now() - 1.3 * YEAR_MS, Date.now() + 2 * YEAR_MS]) {
      const { message, paths } = await refusedBy(Math.floor(rootMs))
      assert.match(message, /the clocks of the two boxes do not agree/)
      assert.ok(message.includes(new Date(rootMs).toISOString().slice(0, 16)), message)
      assert.match(message, /does not believe its own: it is 800 days ahead/)
      assert.equal(paths, ['/v1/mesh/ca'], 'the token went nowhere')
    }
  },
  LIMIT,
)

joining.run()
