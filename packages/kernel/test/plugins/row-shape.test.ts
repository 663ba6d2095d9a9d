import { join } from 'node:path'
import { openDatabase } from '@steeple/store'
import { assert, suite, tempDir } from '@steeple/testkit'
import { installPlugin } from '../../src/plugin-packages/install.ts'
import { loadedHost, type TestHost } from './test-host.ts'
import { ANYBODY, writePlugin } from './test-plugin.ts'

const rowShape = suite('kernel/plugins/row shape')

const CREATE =
  'create table sample_note (id bigint not null primary key, text text not null, row_sum bigint not null)'

/** A plugin with notes: `POST` adds one, `GET` lists them. */
function notes(columns: readonly string[], more: { migrations?: string; fresh?: string } = {}): string {
  return `
import { defineTable, rowStep } from '@steeple/contracts'
const NOTES = defineTable('sample_note', ${JSON.stringify(columns)}, ['id'])
export const plugin = {
  migrations: [{ id: '0001_note', up: [${JSON.stringify(CREATE)}] }, ${more.migrations ?? ''}],
  tables: [NOTES],
  setup: async ({ db }) => ({
    routes: [
      { method: 'GET', path: '/v1/notes', role: 'viewer', summary: 'list',
        handle: async () => ({ body: await NOTES.select(db, 'order by id') }) },
      { method: 'POST', path: '/v1/notes', role: 'operator', summary: 'add', audit: 'note.add',
        handle: async () => ({ body: await db.write(async (tx) => {
          const id = (await NOTES.select(tx, '')).length + 1
          await NOTES.insert(tx, { id, text: 'note ' + id, ${more.fresh ?? ''} })
          return id
        }) }) },
    ],
  }),
}
`
}

const OLD = notes(['id', 'text'])
const NEW = notes(['id', 'text', 'colour'], {
  migrations: `{
    id: '0002_colour',
    up: ['alter table sample_note add column colour text'],
    rows: rowStep(NOTES, 'colour is null', async (tx, rows) => {
      for (const row of rows) await NOTES.put(tx, { ...row, colour: 'grey' })
    }),
  }`,
  fresh: "colour: 'red'",
})

rowShape('serves the rows of every version after an upgrade, a roll-back and restarts', async () => {
  await using root = await tempDir()
  const url = `sqlite:${join(root.path, 'svc.db')}`
  const pluginsDir = join(root.path, 'plugins')
  const install = async (version: string, code: string): Promise<void> => {
    await installPlugin(await writePlugin(root.path, { version, code }), pluginsDir, ANYBODY)
  }
  await install('1.0.0', OLD)
  const open = async (): Promise<TestHost> => {
    const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
    const quiet = (): void => undefined
    const db = await openDatabase({
      url,
      clock,
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    })
    const host = await loadedHost({ packages: [], pluginsDir }, { db })
    const close = async (): Promise<void> => {
      await host.close()
      await db.close()
    }
    return { ...host, close, [Symbol.asyncDispose]: close }
  }
  const add = async ({ edge }: TestHost): Promise<void> => {
    assert.is((await fetch(`${edge.url}/v1/notes`, { method: 'POST' })).status, 200)
  }
  const listed = async (host: TestHost): Promise<unknown> => {
    const { status, body } = await host.get('/v1/notes')
    return status === 200 ? body : { status, body }
  }
  const note = (id: number, colour?: string): object => ({
    id,
    text: `note ${id}`,
    ...(colour === undefined ? {} : { colour }),
  })

  await using first = await open()
  await add(first)
  await install('1.1.0', NEW)
  assert.is((await first.registry.load('sample', { version: '1.1.0' })).state, 'running')
  assert.equal(await listed(first), [note(1, 'grey')])
  await add(first)
  assert.is((await first.registry.load('sample', { rollback: true })).version, '1.0.0')
  assert.equal(await listed(first), [note(1), note(2)])
  await add(first)
  await first.close()

  await using second = await open()
  assert.equal(await listed(second), [note(1), note(2), note(3)], 'a restart stays with 1.0.0')
  assert.is((await second.registry.load('sample', { version: '1.1.0' })).state, 'running')
  const all = [note(1, 'grey'), note(2, 'red'), note(3, 'grey')]
  assert.equal(await listed(second), all)
  await second.close()

  await using third = await open()
  assert.equal(await listed(third), all)
  await third.close()
})

rowShape.run()
