import { type Instance, type Plugin, ROLES, type Route } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import { eventually } from '../eventually.ts'
import type { FakeContext } from '../fake-context.ts'
import { fixtureSuite } from './common.ts'

/** A plugin and a way to make contexts for it, each with what `setup` and `start` need. */
export interface FeatureFixture<Config> {
  readonly plugin: Plugin<Config>
  /** A context over the same store and services each time, as two copies of a plugin have during an upgrade. */
  context(): FakeContext<Config>
  /** Ends what the contexts share. */
  close(): Promise<void>
}

const ACCESS: readonly string[] = [...ROLES, 'public', 'bootstrap']

function routeIsComplete(route: Route): void {
  const where = `${route.method} ${route.path}`
  assert.match(route.path, /^\/[a-zA-Z0-9/_:.*-]*$/, `${where}: the path`)
  assert.ok(ACCESS.includes(route.role), `${where} must name a role`)
  assert.ok(
    route.summary.length > 0 && !route.summary.includes('\n'),
    `${where} must have a one-line summary`,
  )
  const schema = route.schema
  // Nothing, and a way to somewhere else.
  const isBodyless = schema?.status === 204 || schema?.status === 302
  assert.ok(schema?.response !== undefined || isBodyless || route.produces !== undefined, where)
  for (const [parameter] of route.path.matchAll(/(?<=:)[a-zA-Z_]+/g)) {
    assert.ok(
      JSON.stringify(schema?.params ?? {}).includes(`"${parameter}"`),
      `${where}: the schema of ${parameter}`,
    )
  }
  if (route.method === 'GET') return
  assert.ok(route.audit !== undefined, `${where} must name its audit action or say why it has none`)
  if (typeof route.audit === 'string')
    assert.match(route.audit, /^[a-z_]+(\.[a-z_]+)+$/, `${where}: the action`)
  else assert.ok(route.audit.none.length > 0, `${where} must say why it has no audit entry`)
  if (route.method !== 'DELETE') assert.ok(schema?.body ?? route.consumes, `${where} must have a body schema`)
}

/** Registers the tests that every feature plugin passes. `make` gives a fresh fixture for each test. */
export function featureConformance<Config>(name: string, make: () => Promise<FeatureFixture<Config>>): void {
  const feature = fixtureSuite(`${name}: feature conformance`, make)

  feature('describes each of its routes completely and once', async ({ plugin, context }) => {
    const fake = context()
    const { routes = [] } = await plugin.setup(fake.context)
    for (const route of routes) routeIsComplete(route)
    const names = routes.map((route) => `${route.method} ${route.path}`)
    assert.is(new Set(names).size, names.length, 'no route may be there twice')
    await fake.dispose()
  })

  feature('changes nothing before it is started', async ({ plugin, context }) => {
    const fake = context()
    await plugin.setup(fake.context)
    assert.equal([fake.mutations, fake.enqueued], [[], []])
    await fake.dispose()
  })

  feature('names its reconcilers once and with sane periods', async ({ plugin, context }) => {
    const fake = context()
    const { reconcilers = [] } = await plugin.setup(fake.context)
    for (const { resource, resyncMs } of reconcilers) {
      assert.match(resource, /^[a-z][a-z0-9_]*$/)
      assert.ok(resyncMs >= 1_000, `${resource}: a full look more than once a second is a busy loop`)
    }
    assert.is(new Set(reconcilers.map(({ resource }) => resource)).size, reconcilers.length)
    await fake.dispose()
  })

  feature('runs beside a second copy of itself, in and out in either order', async ({ plugin, context }) => {
    const [older, newer] = [context(), context()]
    const first = await plugin.setup(older.context)
    await first.start?.()
    const second = await plugin.setup(newer.context)
    await second.start?.()
    await leave(first, older, 'upgrade')
    assert.ok(Array.isArray((await second.health?.()) ?? []), 'the newer copy must live on')
    await leave(second, newer, 'shutdown')
  })

  feature('can be taken down after setup alone, as a failed upgrade does', async ({ plugin, context }) => {
    const fake = context()
    await plugin.setup(fake.context)
    await fake.dispose()
  })

  feature('answers its health check with unique names and changes nothing', async ({ plugin, context }) => {
    const fake = context()
    const instance = await plugin.setup(fake.context)
    await instance.start?.()
    const changes = fake.mutations.length
    const names = ((await instance.health?.()) ?? []).map((component) => component.name)
    assert.is(new Set(names).size, names.length)
    assert.is(fake.mutations.length, changes)
    await leave(instance, fake, 'unload')
  })

  feature('leaves no handle, timer or listener behind', leavesNothing)

  feature.run()
}

async function leavesNothing<Config>({ plugin, context }: FeatureFixture<Config>): Promise<void> {
  const handlesBefore = handles()
  const fake = context()
  const timersBefore = fake.clock.pending
  const instance = await plugin.setup(fake.context)
  await instance.start?.()
  await leave(instance, fake, 'unload')
  assert.is(fake.clock.pending, timersBefore, 'a periodic task lives on')
  await eventually(() => assert.equal(handles(), handlesBefore))
}

async function leave<Config>(
  instance: Instance,
  fake: FakeContext<Config>,
  why: 'unload' | 'upgrade' | 'shutdown',
): Promise<void> {
  fake.retire()
  await instance.stop?.(why)
  await fake.dispose()
}

/** Open handles by kind; timers of the test runner itself are not counted. */
function handles(): readonly string[] {
  return process
    .getActiveResourcesInfo()
    .filter((kind) => kind !== 'Timeout' && kind !== 'Immediate' && !kind.startsWith('FSReq'))
    .toSorted()
}
