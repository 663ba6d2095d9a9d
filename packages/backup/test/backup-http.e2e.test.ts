import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { assert, eventually, loadTestbed, pluginFrom, suite, type Testbed } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { archiveOf, PASSPHRASE, smallState } from './support/state.ts'

const test = suite('backup over HTTP')

const WORDS = { 'x-backup-passphrase': 'twelve letters' }
let bed: Testbed

test.before(async () => {
  const { startTestbed } = await loadTestbed()
  const settings = { server: { max_restore_bytes: 1_048_576 } }
  bed = await startTestbed({ plugins: [await pluginFrom(import.meta.url, plugin)], settings })
})
test.after(() => bed.stop())

async function take(headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return await fetch(`${bed.url}/v1/backup`, {
    headers: { authorization: `Bearer ${bed.adminToken}`, ...headers },
  })
}

async function give(
  body: Uint8Array,
  query = '',
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> {
  const response = await fetch(`${bed.url}/v1/restore${query}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${bed.adminToken}`,
      'content-type': 'application/octet-stream',
      ...headers,
    },
    body: new Uint8Array(body),
  })
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> }
}

function codeOf(body: Readonly<Record<string, unknown>>): unknown {
  return (body.error as { readonly code?: unknown } | undefined)?.code
}

/** What a backup or a restore leaves while it is under way. */
function leftovers(): readonly string[] {
  return readdirSync(bed.dataDir).filter((name) => /^(\.backup-|restore-)/.test(name))
}

test('a backup without a passphrase is gzip and has no key', async () => {
  const response = await take()
  assert.is(response.status, 200)
  assert.is(response.headers.get('content-type'), 'application/gzip')
  const name = /filename="(svc-backup-testbed-\d{8}T\d{6}Z\.tar\.gz)"/
  assert.match(response.headers.get('content-disposition') ?? '', name)
  const file = Buffer.from(await response.arrayBuffer())
  const { status, body } = await give(file, '?dry_run=true')
  assert.is(status, 200, JSON.stringify(body))
  assert.is(body.with_keys, false)
  await eventually(() => assert.equal(leftovers(), []))
})

test('a dry run of one with keys shows the rows of both sides and changes nothing', async () => {
  const response = await take(WORDS)
  assert.is(response.headers.get('content-type'), 'application/octet-stream')
  const file = Buffer.from(await response.arrayBuffer())
  const { status, body } = await give(file, '?dry_run=true', WORDS)
  assert.is(status, 200, JSON.stringify(body))
  assert.is(body.restored_from, bed.identity.nodeId)
  assert.is(body.dry_run, true)
  assert.is(body.kept_in, null)
  const [then, now] = [body.counts, body.present] as readonly Readonly<Record<string, number>>[]
  assert.ok(Number(now?.kernel_audit) >= Number(then?.kernel_audit))
  await eventually(() => assert.equal(leftovers(), []))
})

test('the audit trail says who took a backup, and the backup holds that entry', async () => {
  const file = Buffer.from(await (await take(WORDS)).arrayBuffer())
  const entries = await bed.audit()
  const last = entries.find(({ action }) => action === 'backup.create')
  assert.equal(last?.detail, { encrypted: true, keys: true })
  const { body } = await give(file, '?dry_run=true', WORDS)
  const counts = body.counts as Readonly<Record<string, number>>
  assert.ok(Number(counts.kernel_audit) >= (last?.seq ?? Number.NaN))
})

test('what is wrong is refused with 400, is in the trail, and leaves nothing', async () => {
  const file = Buffer.from(await (await take(WORDS)).arrayBuffer())
  const half = file.subarray(0, file.length >> 1)
  const state = await smallState()
  const foreign = await archiveOf(state, PASSPHRASE)
  const german = { 'x-backup-passphrase': PASSPHRASE.toString('latin1') }
  const cases = [
    [file, {}, 'backup_decrypt_failed'],
    [file, { 'x-backup-passphrase': 'another passphrase' }, 'backup_decrypt_failed'],
    [half, WORDS, 'backup_decrypt_failed'],
    [Buffer.from('hello'), WORDS, 'backup_invalid'],
    [foreign, german, 'backup_invalid'],
  ] as const
  for (const [body, headers, code] of cases) {
    const answer = await give(body, '', headers)
    assert.is(answer.status, 400)
    assert.is(codeOf(answer.body), code)
  }
  const failed = (await bed.audit()).filter(
    ({ action, outcome }) => action === 'backup.restore' && outcome === 'failed',
  )
  assert.is(failed.length, cases.length)
  assert.not(existsSync(`${bed.dataDir}/restore-pending`))
  await eventually(() => assert.equal(leftovers(), []))
  await state.release()
})

test('of many backups at once each waits its turn and is whole', async () => {
  const answers = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const response = await take(WORDS)
      return { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
    }),
  )
  for (const { status, body } of answers) {
    assert.is(status, 200)
    assert.is((await give(body, '?dry_run=true', WORDS)).status, 200)
  }
  await eventually(() => assert.equal(leftovers(), []))
})

test('a passphrase that is too short is refused', async () => {
  const response = await take({ 'x-backup-passphrase': 'too short' })
  assert.is(response.status, 400)
  assert.is(codeOf((await response.json()) as Readonly<Record<string, unknown>>), 'validation_failed')
})

test('a file that is larger than server.max_restore_bytes is refused before it is sent', async () => {
  const sent = request(`${bed.url}/v1/restore`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${bed.adminToken}`,
      'content-type': 'application/gzip',
      'content-length': '1048577',
      expect: '100-continue',
    },
  })
  sent.on('error', () => undefined)
  sent.flushHeaders()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  sent.destroy()
  assert.is(response.statusCode, 413)
})

test('a restore is decided by one rename, and a second one has to wait for the new start', async () => {
  const file = Buffer.from(await (await take(WORDS)).arrayBuffer())
  const { status, body } = await give(file, '', WORDS)
  assert.is(status, 200, JSON.stringify(body))
  assert.match(String(body.kept_in), /restore-\d{8}T\d{6}Z$/)
  assert.ok(existsSync(`${bed.dataDir}/restore-pending/new/store.db`))
  assert.is((await give(file, '', WORDS)).status, 503)
})

test.run()
