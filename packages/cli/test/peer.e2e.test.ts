import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { type Answer, fakeService, type Seen } from './fake-service.ts'
import { type Run, svc } from './svc.ts'

const peer = suite('cli/peer')
const KEY = 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg='
const NORTH = {
  id: 'p-0011223344556677',
  name: 'north',
  state: 'stale',
  source: 'static',
  endpoint: 'wg://192.0.2.1:51820',
  last_endpoint: null,
  handshake_age_s: 200,
  routes: [],
  advertised: ['10.20.0.0/16', '10.30.0.0/16'],
  reason: 'the last handshake was 200 s ago',
}

async function against(
  answer: (request: Seen) => Answer,
  args: readonly string[],
): Promise<Run & { readonly seen: readonly Seen[] }> {
  await using service = await fakeService(answer)
  const run = await svc(['peer', ...args], { env: { SVC_URL: service.url, SVC_TOKEN: 'svc_test' } })
  return { ...run, seen: service.seen }
}

/** The list, and for everything else the peer. */
function peers({ method, path }: Seen): Answer {
  if (method === 'DELETE') return { status: 204 }
  return path === '/v1/peers' && method === 'GET'
    ? { body: { peers: [NORTH], next_cursor: null } }
    : { body: NORTH }
}

peer('lists peers with why they are not active', async () => {
  const { out, code } = await against(peers, ['list'])
  assert.is(code, 0)
  assert.match(out, /north +stale +static +wg:\/\/192\.0\.2\.1:51820 +200 s ago/)
  assert.match(out, /the last handshake was 200 s ago/)
})

peer('adds a peer with a preshared key out of a file', async () => {
  const { path, remove } = await tempDir()
  const file = join(path, 'psk')
  await writeFile(file, `${KEY}\n`)
  const args = ['--route', '10.20.0.0/16', '--preshared-key-file', file, '--keepalive', '5']
  const { seen, code } = await against(
    () => ({ status: 201, body: NORTH }),
    ['add', 'north', NORTH.endpoint, KEY, ...args],
  )
  await remove()
  assert.is(code, 0)
  assert.equal(seen[0]?.body, {
    name: 'north',
    endpoint: NORTH.endpoint,
    public_key: KEY,
    routes: ['10.20.0.0/16'],
    preshared_key: KEY,
    keepalive_s: 5,
  })
})

peer('finds a peer by its name to remove it and to approve its routes', async () => {
  const removed = await against(peers, ['remove', 'north'])
  assert.is(removed.code, 0, removed.err)
  assert.is(removed.seen.at(-1)?.path, `/v1/peers/${NORTH.id}`)
  const approved = await against(peers, ['approve', 'north', '--all'])
  assert.equal(approved.seen.at(-1)?.body, { routes: NORTH.advertised })
  assert.is((await against(peers, ['approve', 'north'])).code, 2)
  assert.is((await against(peers, ['show', 'south'])).code, 1)
})

peer("rotates this node's key, and prepares for that of a peer", async () => {
  const own = await against(() => ({ body: { public_key: KEY, next_public_key: KEY } }), ['rotate'])
  assert.equal(own.seen[0]?.body, {})
  assert.match(own.err, /svc peer rotate --force/)
  const other = await against(peers, ['rotate', 'north', KEY])
  assert.is(other.seen.at(-1)?.path, `/v1/peers/${NORTH.id}/rotate`)
  assert.equal(other.seen.at(-1)?.body, { public_key: KEY })
  assert.is((await against(peers, ['rotate', 'north'])).code, 2)
})

peer.run()
