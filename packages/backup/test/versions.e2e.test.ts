import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Plugin } from '@steeple/contracts'
import { assert, loadTestbed, pluginFrom, suite, type Testbed } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'

const test = suite('a backup of another version')

const WORDS = { 'x-backup-passphrase': 'twelve letters' }
const FIRST = { id: '0001_toy', up: ['create table toy_item (name text primary key)'] }
const SECOND = { id: '0002_colour', up: ['alter table toy_item add column colour text'] }

/** A service with a plugin of one table, at its first or second migration. */
async function bedWith(migrations: Plugin['migrations'] & object): Promise<Testbed> {
  const { startTestbed } = await loadTestbed()
  const toy: Plugin = {
    migrations,
    setup: async (context) => ({
      start: async () => {
        await context.observe(async (tx) => {
          await tx.run('insert into toy_item (name) values (:name)', { name: 'ball' })
        })
      },
    }),
  }
  const manifest = {
    id: 'toy',
    kind: 'feature',
    contracts: '*',
    config_path: 'toy',
    handover: 'overlap',
  } as const
  const inline = { manifest, name: 'plugin-toy', version: '1.0.0', plugin: toy }
  return await startTestbed({ plugins: [await pluginFrom(import.meta.url, plugin), inline] })
}

async function take(bed: Testbed): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(`${bed.url}/v1/backup`, {
    headers: { authorization: `Bearer ${bed.adminToken}`, ...WORDS },
  })
  assert.is(response.status, 200)
  return new Uint8Array(await response.arrayBuffer())
}

async function give(
  bed: Testbed,
  file: Uint8Array<ArrayBuffer>,
  query: string,
): ReturnType<Testbed['request']> {
  const headers = { 'content-type': 'application/octet-stream', ...WORDS }
  return await bed.request('POST', `/v1/restore${query}`, { body: file, headers })
}

test('an older one is brought up before it is decided', async () => {
  const older = await bedWith([FIRST])
  const file = await take(older)
  await older.stop()
  await using now = await bedWith([FIRST, SECOND])
  const tried = await give(now, file, '?adopt=true&dry_run=true')
  assert.is(tried.status, 200, JSON.stringify(tried.body))
  const { schema, counts } = tried.body as {
    readonly schema: Readonly<Record<string, string>>
    readonly counts: Readonly<Record<string, number>>
  }
  assert.is(schema.toy, FIRST.id)
  assert.is(counts.toy_item, 1)
  const done = await give(now, file, '?adopt=true')
  assert.is(done.status, 200, JSON.stringify(done.body))
  const store = new DatabaseSync(join(now.dataDir, 'restore-pending', 'new', 'store.db'), {
    readOnly: true,
  })
  const [row, ...more] = store.prepare('select name, colour from toy_item').all()
  const applied = store.prepare("select id from kernel_migration where owner = 'toy' order by id").all()
  store.close()
  assert.equal({ ...row }, { name: 'ball', colour: null })
  assert.equal(more, [])
  assert.equal(
    applied.map(({ id }) => id),
    [FIRST.id, SECOND.id],
  )
})

test('a newer one is refused, says what to do, and changes nothing', async () => {
  const newer = await bedWith([FIRST, SECOND])
  const file = await take(newer)
  await newer.stop()
  await using now = await bedWith([FIRST])
  for (const query of ['?adopt=true&dry_run=true', '?adopt=true']) {
    const { status, body } = await give(now, file, query)
    assert.is(status, 400)
    const { code, message } = (
      body as { readonly error: { readonly code: string; readonly message: string } }
    ).error
    assert.is(code, 'backup_version_unsupported')
    assert.match(message, /restore it with that version or a later one/)
  }
  // Nothing was decided: it takes its own backup back.
  assert.is((await give(now, await take(now), '?dry_run=true')).status, 200)
})

test.run()
