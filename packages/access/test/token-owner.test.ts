import {
  bootstrapTokensRef,
  expandRoles,
  isServiceError,
  type Principal,
  tokenMintRef,
} from '@steeple/contracts'
import { assert, suite, type Testbed } from '@steeple/testkit'
import { accessBed } from './access-bed.ts'
import { NODE_ID } from './helpers.ts'
import type { Front, Person } from './people-front.ts'

const owner = suite('access/token-owner')
let bed: Testbed
let front: Front

owner.before(async () => {
  ;({ bed, front } = await accessBed())
})
owner.after(() => bed.stop())

interface Made {
  readonly id: string
  readonly token: string
}
interface Listed {
  readonly id: string
  readonly user_id: string | null
  readonly created_by: { readonly kind: string; readonly id: string }
}

async function mint(by: string | undefined, body: object): Promise<Made> {
  const made = await bed.request('POST', '/v1/tokens', { body, ...(by === undefined ? {} : { token: by }) })
  assert.is(made.status, 201, JSON.stringify(made.body))
  return made.body as Made
}

async function statusOf(token: string, path: string): Promise<number> {
  return (await bed.request('GET', path, { token })).status
}

async function listed(): Promise<readonly Listed[]> {
  const { body } = await bed.request('GET', '/v1/tokens')
  return (body as { readonly tokens: readonly Listed[] }).tokens
}

async function setRoles({ id }: Person, roles: readonly string[]): Promise<void> {
  const path = `/v1/users/${id}/roles?force=true`
  assert.is((await bed.request('POST', path, { body: { roles } })).status, 200)
}

async function bootstrapIsGood(token: string): Promise<boolean> {
  return await (bed.service(bootstrapTokensRef)?.check(token, NODE_ID) ?? Promise.reject()).then(
    () => true,
    (error: unknown) => {
      assert.ok(isServiceError(error) && error.code === 'bootstrap_token_invalid')
      return false
    },
  )
}

owner(
  'lets a token of a person do what the person may at each request, and nothing once the person is gone',
  async () => {
    const ada = await front.add('ada', ['admin'])
    const session = (await front.enter(ada)).token
    const wish = { name: 'ci', roles: ['admin'] }
    const first = await mint(session, wish)
    const second = await mint(first.token, wish)
    const third = await mint(second.token, wish)
    const invitation = await mint(second.token, { name: 'box', kind: 'bootstrap' })
    const foreign = await mint(undefined, wish)
    const hers = [first, second, third]
    const [mine] = (await listed()).filter(({ id }) => id === third.id)
    assert.equal([mine?.user_id, mine?.created_by.kind, mine?.created_by.id], [ada.id, 'token', second.id])
    assert.is((await listed()).find(({ id }) => id === foreign.id)?.user_id, null)
    for (const { token } of hers) assert.is(await statusOf(token, '/v1/users'), 200)
    assert.ok(await bootstrapIsGood(invitation.token))
    await setRoles(ada, ['operator'])
    for (const { token } of hers) {
      assert.is(await statusOf(token, '/v1/users'), 403)
      assert.is(await statusOf(token, '/v1/audit'), 200)
    }
    assert.not(await bootstrapIsGood(invitation.token))
    await setRoles(ada, ['admin'])
    for (const { token } of hers) assert.is(await statusOf(token, '/v1/users'), 200)
    const removed = await bed.request('DELETE', `/v1/users/${ada.id}?force=true`, {})
    assert.is(removed.status, 204)
    for (const { token } of hers) assert.is(await statusOf(token, '/v1/audit'), 401)
    assert.not(await bootstrapIsGood(invitation.token))
    assert.is(await statusOf(foreign.token, '/v1/users'), 200)
    assert.equal(
      (await listed()).map(({ id }) => id),
      [foreign.id],
    )
    const entry = (await bed.audit()).find(({ action }) => action === 'user.remove')
    assert.equal(entry?.detail, { name: 'ada', tokens: 4 })
  },
)

owner('lets a token that has gone while its request came in make none that nobody is bound to', async () => {
  const cora = await front.add('cora', ['admin'])
  const { id } = await mint((await front.enter(cora)).token, { name: 'ci', roles: ['admin'] })
  assert.is((await bed.request('DELETE', `/v1/users/${cora.id}?force=true`, {})).status, 204)
  const gone: Principal = { kind: 'token', id, name: 'ci', roles: expandRoles(['admin']) }
  const asked = bed.service(tokenMintRef)?.mint(gone, 'next', ['admin'])
  const refused = await asked?.catch((error: unknown) => error)
  assert.ok(isServiceError(refused) && refused.code === 'unauthenticated')
  assert.not((await listed()).some(({ created_by }) => created_by.id === id))
})

owner('gives a token no role that it was not given, whatever its maker gets', async () => {
  const bob = await front.add('bob', ['admin'])
  const { token } = await mint((await front.enter(bob)).token, { name: 'dash', roles: ['viewer'] })
  assert.is(await statusOf(token, '/v1/version'), 200)
  assert.is(await statusOf(token, '/v1/audit'), 403)
  await setRoles(bob, ['sim:issuer'])
  assert.is(await statusOf(token, '/v1/version'), 200)
  assert.is(await statusOf(token, '/v1/audit'), 403)
})

owner.run()
