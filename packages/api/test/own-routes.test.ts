import {
  expandRoles,
  isServiceError,
  type OwnQuestion,
  type OwnRoutes,
  objectSchema,
  ok,
  ownRoutesRef,
  type Plugin,
  type Principal,
  type Role,
  route,
} from '@steeple/contracts'
import { assert, loadTestbed, suite, type Testbed } from '@steeple/testkit'

const own = suite('api/own-routes', { limitMs: 30_000 })

const notes: Plugin = {
  setup: async () => ({
    routes: [
      route<{ readonly id: string }, { readonly dry_run?: boolean }, { readonly text: string }>({
        method: 'PUT',
        path: '/v1/notes/:id',
        role: 'operator',
        summary: 'Set a note',
        schema: {
          params: objectSchema({ id: { type: 'string', pattern: '^[a-z]+$' } }, ['id']),
          query: objectSchema({ dry_run: { type: 'boolean' } }),
          body: objectSchema({ text: { type: 'string', maxLength: 8 } }, ['text']),
        },
        audit: 'note.set',
        handle: ({ params, query, body, mutate }) =>
          query.dry_run === true
            ? Promise.resolve(ok({ ...params, ...body, ...query }))
            : mutate(params.id, async () => ok({ ...params, ...body })),
      }),
    ],
  }),
}

/** A service that the kernel provides. */
function routesOf(bed: Testbed): OwnRoutes {
  const routes = bed.service(ownRoutesRef)
  if (routes === undefined) throw new Error('the kernel does not provide it')
  return routes
}

async function world() {
  const { startTestbed } = await loadTestbed()
  return await startTestbed({
    plugins: [
      {
        ...{ name: '@example/notes', version: '1.0.0', plugin: notes },
        manifest: {
          ...{ id: 'notes', kind: 'feature' as const, contracts: '*', config_path: 'notes' },
          handover: 'overlap',
        },
      },
    ],
  })
}

function somebody(role: Role): Principal {
  return { kind: 'node', id: 'far', name: 'far', roles: expandRoles([role]) }
}

const QUESTION: OwnQuestion = { method: 'PUT', path: '/v1/notes/a', body: { text: 'hello' } }

async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  return await work.then(
    () => undefined,
    (error: unknown) => (isServiceError(error) ? error.code : String(error)),
  )
}

own(
  'a route that is asked from within is checked, changed and audited as for a request of that principal',
  async () => {
    await using bed = await world()
    const routes = routesOf(bed)
    const { signal } = new AbortController()
    const ask = (role: Role, question: Partial<OwnQuestion>) =>
      routes.ask(somebody(role), { ...QUESTION, ...question }, signal)
    assert.equal(await ask('operator', {}), { id: 'a', text: 'hello' })
    assert.equal(await ask('operator', { query: { dry_run: 'true' } }), {
      id: 'a',
      text: 'hello',
      dry_run: true,
    })
    const refusals: Readonly<Record<string, Promise<unknown>>> = {
      forbidden: ask('viewer', {}),
      validation_failed: ask('admin', { body: { text: 'far too long' } }),
      feature_not_installed: ask('admin', { path: '/v1/nothing/a' }),
    }
    for (const [code, refused] of Object.entries(refusals)) assert.is(await codeOf(refused), code)
    for (const bad of [{ path: '/v1/notes/A' }, { query: { more: '1' } }, { body: { text: 'a', more: 1 } }])
      assert.is(await codeOf(ask('admin', bad)), 'validation_failed', JSON.stringify(bad))
    const entries = (await bed.audit()).filter(({ action }) => action === 'note.set')
    assert.equal(
      entries.map(({ principal, outcome }) => [principal.id, outcome]),
      [['far', 'ok']],
    )
  },
)

own('a check asks nothing', async () => {
  await using bed = await world()
  const routes = routesOf(bed)
  await routes.check(QUESTION)
  assert.is(await codeOf(routes.check({ ...QUESTION, body: {} })), 'validation_failed')
  assert.equal(
    (await bed.audit()).filter(({ action }) => action === 'note.set'),
    [],
  )
})

own.run()
