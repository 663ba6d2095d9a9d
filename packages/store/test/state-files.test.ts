import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { asFullDisk, checkStateName, writeStateFile } from '../src/state-files.ts'

const test = suite('files of a state')

const BAD: readonly string[] = [
  '',
  'store.db/',
  '/etc/passwd',
  '../svc.db',
  'keys',
  'keys/',
  'keys/..',
  'keys/../svc.db',
  'keys/./vault.key',
  'keys//vault.key',
  'plugins/a/../../../x',
  'plugins/..\\x',
  'plugins/a\0b',
  'plugins/a\nb',
  'plugins/ü',
  'svc.db',
  'restore.json',
  'new/store.db',
  `keys/${'a'.repeat(201)}`,
  `plugins/${'a/'.repeat(600)}a`,
]

async function* one(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

function codeOf(work: () => void): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return (error as { readonly code?: unknown }).code
  }
}

async function refusal(work: Promise<void>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error: unknown) => (error as { readonly code?: unknown }).code,
  )
}

test('no name leads out of a state, or to what is not part of one', () => {
  for (const name of BAD)
    assert.is(
      codeOf(() => checkStateName(name)),
      'backup_invalid',
      JSON.stringify(name),
    )
  for (const name of [
    'store.db',
    'keys/vault.key',
    'keys/mesh/mesh.json',
    'plugins/hello@1.0.0-0a1b2c3d/index.js',
  ])
    assert.is(
      codeOf(() => checkStateName(name)),
      undefined,
      name,
    )
})

test('a file twice, or where a folder is to be, is the fault of the backup', async () => {
  await using dir = await tempDir()
  const path = (name: string): string => join(dir.path, name)
  await writeStateFile(path('keys/a'), one('first'))
  assert.is(await refusal(writeStateFile(path('keys/a'), one('second'))), 'backup_invalid')
  assert.is(await refusal(writeStateFile(path('keys/a/b'), one('second'))), 'backup_invalid')
  assert.is(await refusal(writeStateFile(path('keys'), one('second'))), 'backup_invalid')
  assert.is(readFileSync(path('keys/a'), 'utf8'), 'first')
  assert.equal(readdirSync(path('keys')), ['a'])
})

test('a full disk is no fault of the backup', () => {
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
  for (const error of [full, new Error('around it', { cause: full })])
    assert.is((asFullDisk(error) as { readonly code?: unknown }).code, 'store_unavailable')
  for (const error of [new Error('another'), undefined, 'text']) assert.is(asFullDisk(error), error)
})

test.run()
