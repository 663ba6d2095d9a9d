import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { StateFile } from '@steeple/contracts'
import { assert, loadTestbed, pluginFrom, suite, type Testbed, tempDir } from '@steeple/testkit'
import { readArchive, writeArchive } from '../src/format/archive.ts'
import { plugin } from '../src/plugin.ts'

const test = suite('a backup whose store holds what no version makes')

const STRANGE = [
  `create trigger "every ""one""" after insert on kernel_audit begin delete from kernel_migration; end`,
  'create view every_row as select * from kernel_audit',
  'create trigger on_view instead of insert on every_row begin delete from kernel_migration; end',
]
const WEAKENED = [
  'drop trigger kernel_audit_update',
  "create trigger kernel_audit_update before update on kernel_audit when false begin select raise(abort, 'no'); end",
]
const OBJECTS =
  "select type || ' ' || name as what from sqlite_schema where type in ('trigger', 'view') order by 1"

async function bed(): Promise<Testbed> {
  const { startTestbed } = await loadTestbed()
  return await startTestbed({ plugins: [await pluginFrom(import.meta.url, plugin)] })
}

/** A backup of the service, without keys, whose store a hand has changed; and what was in that store before. */
async function changedBackup(
  { url, adminToken }: Testbed,
  ddl: readonly string[],
): Promise<{ readonly file: Buffer; readonly before: ReturnType<typeof seen> | undefined }> {
  await using dir = await tempDir()
  const response = await fetch(`${url}/v1/backup`, { headers: { authorization: `Bearer ${adminToken}` } })
  assert.is(response.status, 200)
  const files: StateFile[] = []
  let before: ReturnType<typeof seen> | undefined
  const { facts } = await readArchive(once(await response.arrayBuffer()), undefined, {
    add: async (name, _size, chunks) => {
      const path = join(dir.path, String(files.length))
      await writeFile(path, chunks)
      if (name === 'store.db') {
        before = seen(path)
        change(path, ddl)
      }
      files.push({ name, path, size: (await stat(path)).size })
    },
  })
  const pieces: Buffer[] = []
  for await (const piece of writeArchive({ facts, files }, undefined)) pieces.push(piece)
  return { file: Buffer.concat(pieces), before }
}

async function* once(bytes: ArrayBuffer): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(bytes)
}

function change(path: string, ddl: readonly string[]): void {
  const store = new DatabaseSync(path)
  for (const step of ddl) store.exec(step)
  store.close()
}

async function give(service: Testbed, file: Buffer): ReturnType<Testbed['request']> {
  const headers = { 'content-type': 'application/octet-stream' }
  return await service.request('POST', '/v1/restore', { body: new Uint8Array(file), headers })
}

/**
 * The triggers and views of a store that nobody has open, and how many migrations it knows of. Never of the one that is
 * served: a second SQLite in this process takes away the locks of the first when it closes the file.
 */
function seen(path: string): { readonly objects: readonly unknown[]; readonly migrations: unknown } {
  const store = new DatabaseSync(path, { readOnly: true })
  try {
    return {
      objects: store
        .prepare(OBJECTS)
        .all()
        .map(({ what }) => what),
      migrations: store.prepare('select count(*) as n from kernel_migration').get()?.n,
    }
  } finally {
    store.close()
  }
}

test('a trigger and a view are left out before anything is written, and the trail names them', async () => {
  await using service = await bed()
  const { file, before } = await changedBackup(service, STRANGE)
  const { status, body } = await give(service, file)
  assert.is(status, 200, JSON.stringify(body))
  const path = join(service.dataDir, 'restore-pending', 'new', 'store.db')
  assert.equal(seen(path), before)
  const store = new DatabaseSync(path, { readOnly: true })
  const said = store.prepare("select detail from kernel_audit where action = 'backup.restore'").all()
  store.close()
  assert.equal(
    said.map(({ detail }) => JSON.parse(String(detail)).left_out),
    [['trigger every "one"', 'trigger on_view', 'view every_row']],
  )
})

for (const [what, ddl] of [
  ['a trigger of the trail with another text', WEAKENED],
  ['a table that runs code of its own', ['create virtual table words using fts5(text)']],
] as const)
  test(`${what} is refused, and nothing has changed`, async () => {
    await using service = await bed()
    const { status, body } = await give(service, (await changedBackup(service, ddl)).file)
    assert.is(status, 400)
    assert.is((body as { readonly error: { readonly code: string } }).error.code, 'backup_invalid')
    const own = await give(service, (await changedBackup(service, [])).file)
    assert.is(own.status, 200, JSON.stringify(own.body))
  })

test.run()
