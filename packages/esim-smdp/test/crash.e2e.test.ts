import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { assert, rounds, suite, tempDir } from '@steeple/testkit'
import { createEuicc } from '@steeple/virtual-euicc'
import { CODES, HELD, NOTICES, SESSIONS } from '../src/store/rows.ts'
import type { SentIdentity, ToChild } from './support/crash-child.ts'
import { fileDb } from './support/file-db.ts'
import { type Fields, handset } from './support/handset.ts'
import { eidOf, pki } from './support/pki.ts'
import { ADDRESS, iccidOf, START_MS } from './support/world.ts'

const crash = suite('esim-smdp/crash')
/** More than can be downloaded before the last kill. */
const CODES_AT_ONCE = 6
const hierarchy = pki('P-256')
const chains = new Map<number, ReturnType<typeof hierarchy.chain>>()

interface Answer {
  readonly code: string
  readonly body: Fields
}
/** A server process; `call` rejects when it is gone. */
interface Server {
  readonly child: ChildProcess
  /** Resolves when so many calls have been sent. */
  sent(calls: number): Promise<void>
  call(name: string, body: unknown): Promise<Answer>
}

type Request = ToChild extends infer Each ? (Each extends unknown ? Omit<Each, 'id'> : never) : never

/** Each begins later than the one before: whoever had to wait has waited. */
const APART_MS = 2 * 3_600_000

async function serverAt(path: string, codes: number, nowMs: number): Promise<Server> {
  const child = fork(fileURLToPath(new URL('support/crash-child.ts', import.meta.url)), {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const waiting = new Map<number, { done(value: unknown): void; gone(error: Error): void }>()
  let last = 0
  let mark: { readonly at: number; done(): void } | undefined
  child.on('message', (message: { readonly id: number }) => {
    waiting.get(message.id)?.done(message)
    waiting.delete(message.id)
  })
  // What is sent to one that is being killed.
  child.on('error', () => {})
  child.on('exit', () => {
    for (const { gone } of waiting.values()) gone(new Error('the server is gone'))
  })
  const ask = (message: Request): Promise<unknown> =>
    new Promise((done, gone) => {
      last += 1
      waiting.set(last, { done, gone })
      child.send({ ...message, id: last } as ToChild, (error) => error && gone(error))
      if (mark !== undefined && last >= mark.at) mark.done()
    })
  const { identity } = hierarchy
  const given: SentIdentity = { ...identity, auth: keyOf(identity.auth), pb: keyOf(identity.pb) }
  await ask({ open: path, identity: given, codes, nowMs })
  const sentSo = (at: number) =>
    new Promise<void>((done) => {
      mark = { at, done }
    })
  return { child, sent: sentSo, call: async (name, body) => (await ask({ name, body })) as Answer }
}

function keyOf({ der, key }: typeof hierarchy.identity.auth): SentIdentity['auth'] {
  return { der, key: key.export({ format: 'pem', type: 'pkcs8' }).toString() }
}

/** One whole download by one phone: whether the package came. Everything that it has signed is told. */
async function download(
  server: Server,
  number: number,
  code: number,
): Promise<'delivered' | 'installed' | 'refused'> {
  const eid = eidOf(number)
  const chain = chains.get(number) ?? hierarchy.chain(eid)
  chains.set(number, chain)
  const phone = handset(createEuicc({ eid, chains: [chain] }), ADDRESS)
  const first = await server.call('initiateAuthentication', phone.initiate())
  const request = phone.authenticate(first.body, `M-TOKEN-${code}`)
  const offer = await server.call('authenticateClient', request)
  if (offer.code !== 'ok') return 'refused'
  const bound = await server.call('getBoundProfilePackage', phone.prepare(offer.body))
  if (bound.code !== 'ok') return 'refused'
  const notices = phone.install(bound.body)
  assert.is(phone.euicc.profiles()[0]?.iccid, iccidOf(code), 'a code has one profile')
  reached(code, number)
  for (const notice of notices) await server.call('handleNotification', notice)
  return 'installed'
}

/** Which phone has got which code; over all runs of the server. */
const phones = new Map<number, number>()
function reached(code: number, number: number): void {
  assert.is(phones.get(code) ?? number, number, `the profile of code ${code} is on two devices`)
  phones.set(code, number)
}

/** What a kill leaves behind is whole: rows by their sums, and one with the other. */
async function checkStore(path: string): Promise<void> {
  const db = fileDb(path)
  const codes = await CODES.select(db, '')
  const held = await HELD.select(db, '')
  await SESSIONS.select(db, '')
  await NOTICES.select(db, '')
  for (const code of codes) {
    const of = held.filter(({ token }) => token === code.token)
    const isOut = code.downloads > 0
    assert.equal([isOut, code.eid_hash !== null], [of.length === 1, of.length === 1], code.token)
    if (isOut) assert.is(of[0]?.eid_hash, code.eid_hash)
    const number = Number(code.token.slice('token-'.length))
    if (phones.has(number)) assert.ok(isOut, 'what was delivered was written down before')
  }
  db.close()
}

crash(
  'is killed at any point and gives no profile twice, and none that it has not written down',
  async () => {
    await using dir = await tempDir()
    const kills = rounds(20)
    const codes = CODES_AT_ONCE + kills
    const path = join(dir.path, 'esim.db')
    for (let kill = 0; kill < kills; kill += 1) {
      const server = await serverAt(path, codes, START_MS + kill * APART_MS)
      const exited = new Promise((done) => server.child.once('exit', done))
      const work = Array.from({ length: CODES_AT_ONCE }, async (_, at) => {
        // Two phones want each code.
        for (let turn = 0; ; turn += 1) await download(server, 1 + ((at + turn) % 2) + 2 * at, kill + at + 1)
      })
      const settled = Promise.allSettled(work)
      // Any moment is one: after any call, and a little later.
      await server.sent(1 + Math.floor(Math.random() * 80))
      await wait(Math.random() * 4)
      server.child.kill('SIGKILL')
      await exited
      for (const result of await settled)
        if (result.status === 'rejected' && !/gone|channel|EPIPE/i.test(String(result.reason)))
          throw result.reason
      await checkStore(path)
    }
    const server = await serverAt(path, codes, START_MS + kills * APART_MS)
    for (const [code, number] of phones) {
      const db = fileDb(path)
      const row = await CODES.find(db, { token: `token-${code}` })
      db.close()
      const result = await download(server, number, code)
      assert.is(result, row?.state === 'installed' ? 'refused' : 'installed')
    }
    server.child.kill('SIGKILL')
    assert.ok(phones.size > 0)
  },
)

crash.run()
