import { X509Certificate } from 'node:crypto'
import { assert, bodyOf, codeOf, rounds, seededDraw, suite, testSeed } from '@steeple/testkit'
import { newsFrom } from '../../src/agent/answers.ts'
import type { MeshAnswer } from '../../src/agent/mesh-client.ts'
import { type Box, type Enrolled, type RootBed, rootBed } from '../support/root-bed.ts'

interface View {
  readonly revision: number
  readonly crl_number: number
  readonly crl_pem: string
  readonly members: readonly {
    readonly node_id: string
    readonly is_root: boolean
    readonly wireguard: { readonly endpoint: string | null; readonly public_key: string } | null
  }[]
}

const WIREGUARD = {
  public_key: Buffer.alloc(32, 5).toString('base64'),
  listen_port: 51820,
  advertised: ['10.45.0.0/16'],
}
const members = suite('mesh/members')
let root: RootBed
members.before(async () => {
  root = await rootBed()
})
members.after(() => root.close())

async function joined(): Promise<Box & { readonly got: Enrolled }> {
  const box = await root.box()
  return { ...box, got: bodyOf<Enrolled>(await root.enroll(box, root.token())) }
}
async function view(as: Box, query = ''): Promise<View> {
  return bodyOf<View>(await root.as(as, 'GET', `/v1/mesh/members${query}`))
}

members('shows the members to members and operators, and to nobody else', async () => {
  const box = await joined()
  const seen = await view(box)
  assert.equal(
    seen.members.filter(({ is_root }) => is_root).map(({ node_id }) => node_id),
    [root.bed.identity.nodeId],
  )
  assert.ok(seen.members.some(({ node_id }) => node_id === box.id))
  assert.is((await root.bed.request('GET', '/v1/mesh/members', { token: false })).status, 401)
  const viewer = root.bed.credential({ kind: 'token', id: 'v', roles: ['viewer'] })
  assert.is((await root.bed.request('GET', '/v1/mesh/members', { token: viewer })).status, 403)
})

members('answers a question that waits as soon as there is something new', async () => {
  const box = await joined()
  const before = await view(box)
  const waiting = view(box, `?after=${before.revision}&wait_s=55`)
  const other = await joined()
  const after = await waiting
  assert.ok(after.members.some(({ node_id }) => node_id === other.id))
  assert.ok(after.revision > before.revision)
  // Behind the times: it does not wait.
  assert.is((await view(box, `?after=${before.revision}&wait_s=55`)).revision, after.revision)
})

interface Changes extends View {
  readonly list: string
  readonly since: number | null
  readonly gone: readonly string[]
}

members('tells who follows the list only what has changed since', async () => {
  const [box, leaver] = [await joined(), await joined()]
  const ask = async (query = ''): Promise<Changes> =>
    bodyOf<Changes>(await root.as(box, 'GET', `/v1/mesh/members${query}`))
  const all = await ask()
  assert.is(all.since, null)
  const after = (of: Changes): string => `?after=${of.revision}&list=${of.list}&after_crl=${of.crl_number}`
  const none = await ask(after(all))
  assert.equal(
    [none.since, none.members.map(({ is_root }) => is_root), none.gone, none.crl_pem],
    [all.revision, [true], [], null],
    'nothing but the root itself',
  )
  const comer = await joined()
  bodyOf(
    await root.as(leaver, 'PUT', `/v1/mesh/members/${leaver.id}/wireguard`, {
      ...WIREGUARD,
      public_key: Buffer.alloc(32, 77).toString('base64'),
    }),
  )
  const two = await ask(after(all))
  assert.equal(
    two.members
      .map(({ node_id }) => node_id)
      .slice(1)
      .sort(),
    [comer.id, leaver.id].sort(),
  )
  bodyOf(await root.bed.request('POST', `/v1/nodes/${leaver.id}/leave`))
  const last = await ask(after(two))
  assert.equal(last.gone, [leaver.id])
  assert.ok(last.crl_pem.includes('X509 CRL'), 'a newer list of what is revoked')
  for (const query of [`?after=${all.revision}`, `?after=${all.revision}&list=another`])
    assert.is((await ask(query)).since, null, 'of another list it tells all')
})

members(
  'makes the same list of changes as it is when asked for whole, whatever happens in between',
  async () => {
    const draw = seededDraw(testSeed())
    const box = await joined()
    const ask = async (query = ''): Promise<MeshAnswer> => {
      const { status, body } = await root.as(box, 'GET', `/v1/mesh/members${query}`)
      return { status, body }
    }
    let { view: known, listId } = newsFrom(await ask())
    const others: Box[] = []
    for (let round = 0; round < rounds(30); round += 1) {
      for (let count = draw(3); count > 0; count -= 1) {
        const some = others[draw(others.length || 1)]
        const act = draw(3)
        if (act === 0 || some === undefined) others.push(await joined())
        else if (act === 1)
          await root.as(some, 'PUT', `/v1/mesh/members/${some.id}/wireguard`, {
            ...WIREGUARD,
            public_key: Buffer.from(Array.from({ length: 32 }, () => draw(256))).toString('base64'),
          })
        else await root.bed.request('POST', `/v1/nodes/${some.id}/leave`)
      }
      const news = newsFrom(await ask(`?after=${known.revision}&list=${listId}`), known)
      ;({ view: known, listId } = news)
      const whole = newsFrom(await ask()).view
      const sorted = (view: typeof whole) =>
        view.members.toSorted((one, other) => (one.node_id < other.node_id ? -1 : 1))
      assert.equal(sorted(known), sorted(whole))
    }
  },
)

members('lets a member tell of itself alone, and fills in where it was seen', async () => {
  const [box, other] = [await joined(), await joined()]
  await view(box)
  const path = `/v1/mesh/members/${box.id}/wireguard`
  assert.is((await root.as(other, 'PUT', path, WIREGUARD)).status, 403)
  assert.is(
    (await root.bed.request('PUT', path, { body: WIREGUARD })).status,
    403,
    'not even an administrator',
  )
  bodyOf(await root.as(box, 'PUT', path, WIREGUARD))
  const own = (await view(other)).members.find(({ node_id }) => node_id === box.id)
  assert.equal(own?.wireguard?.endpoint, '127.0.0.1:51820')
  bodyOf(await root.as(box, 'PUT', path, { ...WIREGUARD, endpoint: 'box.example:7' }))
  const named = (await view(other)).members.find(({ node_id }) => node_id === box.id)
  assert.is(named?.wireguard?.endpoint, 'box.example:7')
  for (const wrong of [
    { public_key: 'short' },
    { endpoint: '$(id):1' },
    { endpoint: 'evil;id:1' },
    { advertised: ['10.45.0.0/16', '$(id)'] },
    { advertised: ['10.45.0.1/16'] },
    { takes: [`${other.id} 10.45.0.0/99`] },
  ])
    assert.is(
      (await root.as(box, 'PUT', path, { ...WIREGUARD, ...wrong })).status,
      400,
      JSON.stringify(wrong),
    )
})

members('lets nobody tell a key that another member has, or goes over to', async () => {
  const [box, other] = [await joined(), await joined()]
  const key = (octet: number): string => Buffer.alloc(32, octet).toString('base64')
  const tell = (as: Box, body: object) =>
    root.as(as, 'PUT', `/v1/mesh/members/${as.id}/wireguard`, { listen_port: 51820, advertised: [], ...body })
  bodyOf(await tell(box, { public_key: key(11), next_public_key: key(12) }))
  for (const body of [
    { public_key: key(11) },
    { public_key: key(12) },
    { public_key: key(13), next_public_key: key(12) },
    { public_key: key(13), next_public_key: key(11) },
  ])
    assert.is(codeOf(await tell(other, body)), 'node_state_conflict', JSON.stringify(body))
  bodyOf(await tell(other, { public_key: key(13) }))
  // It goes over, and may tell the same again.
  for (let count = 0; count < 2; count += 1) bodyOf(await tell(box, { public_key: key(12) }))
})

members('lets one member make the others fetch so often and no more', async () => {
  const [box, other] = [await joined(), await joined()]
  const tell = (as: Box, octet: number) =>
    root.as(as, 'PUT', `/v1/mesh/members/${as.id}/wireguard`, {
      ...WIREGUARD,
      public_key: Buffer.alloc(32, octet).toString('base64'),
    })
  const before = (await view(other)).revision
  const statuses: number[] = []
  for (let count = 0; count < 80; count += 1) statuses.push((await tell(box, 100 + count)).status)
  const taken = statuses.filter((status) => status === 200).length
  assert.ok(taken >= 40 && taken <= 60, `${taken} changes`)
  assert.is((await view(other)).revision, before + taken)
  const refused = await tell(box, 200)
  assert.equal([refused.status, codeOf(refused)], [429, 'rate_limited'])
  // The same again changes nothing and costs nothing, and another one is not held to it.
  bodyOf(await tell(box, 100 + taken - 1))
  bodyOf(await tell(other, 201))
  await root.clock.advance(10_000)
  bodyOf(await tell(box, 200))
})

members('puts what is revoked on a signed list whose number grows, and tells those who wait', async () => {
  const [box, gone] = [await joined(), await joined()]
  const before = await view(box)
  const waiting = view(box, `?after=${before.revision}&wait_s=55`)
  bodyOf(await root.bed.request('POST', `/v1/nodes/${gone.id}/leave`, { body: {} }))
  const after = await waiting
  assert.ok(after.crl_number > before.crl_number)
  // A root that was restored from an old backup has counted fewer: numbers are seconds of its clock at least.
  assert.ok(before.crl_number > Date.UTC(2025, 0, 1) / 1_000, `${before.crl_number}`)
  assert.not.ok(after.members.some(({ node_id }) => node_id === gone.id))
  const open = bodyOf<{ readonly number: number; readonly crl_pem: string }>(
    await root.bed.request('GET', '/v1/mesh/crl', { token: false }),
  )
  assert.equal([open.number, open.crl_pem], [after.crl_number, after.crl_pem])
  const serial = new X509Certificate(gone.got.certificate_pem).serialNumber.toLowerCase()
  assert.ok(
    Buffer.from(open.crl_pem.replace(/-----[^-]+-----/g, ''), 'base64')
      .toString('hex')
      .includes(serial),
  )
  assert.is(
    (await root.as(gone, 'POST', `/v1/nodes/${gone.id}/leave`, {})).status,
    200,
    'leaving again changes nothing',
  )
  assert.is((await view(box)).crl_number, open.number)
})

members('refuses a member to put out another one, and invitations where there is no TLS', async () => {
  const [box, other] = [await joined(), await joined()]
  assert.is((await root.as(box, 'POST', `/v1/nodes/${other.id}/leave`, {})).status, 403)
  const nobody = await root.box()
  assert.is(
    codeOf(await root.bed.request('POST', `/v1/nodes/${nobody.id}/leave`, { body: {} })),
    'node_not_found',
  )
  assert.is(codeOf(await root.bed.request('POST', '/v1/mesh/invite', { body: {} })), 'node_state_conflict')
  const own = root.bed.identity.nodeId
  assert.is(
    codeOf(await root.bed.request('POST', `/v1/nodes/${own}/leave`, { body: {} })),
    'node_state_conflict',
  )
})

members.run()
