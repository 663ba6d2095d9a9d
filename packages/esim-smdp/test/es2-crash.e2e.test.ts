import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { assert, rounds, suite, tempDir } from '@steeple/testkit'
import { OPEN_STATES } from '../src/store/code-queries.ts'
import { ORDERS } from '../src/store/es2-store.ts'
import { CODES } from '../src/store/rows.ts'
import { fileDb } from './support/file-db.ts'

const crash = suite('esim-smdp/es2-crash')

interface Answer {
  readonly code: string
  readonly body: Readonly<Record<string, string>>
}
interface Server {
  call(name: string, body: object, callId: string): Promise<Answer>
  kill(): Promise<void>
}

async function serverAt(path: string): Promise<Server> {
  const child = fork(fileURLToPath(new URL('support/es2-crash-child.ts', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const waiting = new Map<number, { done(value: unknown): void; gone(error: Error): void }>()
  let last = 0
  child.on('message', (message: { readonly id: number }) => waiting.get(message.id)?.done(message))
  // What is sent to one that is being killed.
  child.on('error', () => {})
  child.on('exit', () => {
    for (const { gone } of waiting.values()) gone(new Error('the server is gone'))
  })
  const ask = (message: object): Promise<unknown> =>
    new Promise((done, gone) => {
      last += 1
      waiting.set(last, { done, gone })
      child.send({ ...message, id: last }, (error) => error && gone(error))
    })
  await ask({ open: path })
  return {
    call: async (name, body, callId) => (await ask({ name, body, callId })) as Answer,
    kill: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Calls that an order consists of; each repeats until it was answered, over all runs of the server. */
interface Customer {
  readonly id: number
  ordered?: string
  confirmed?: string
}

async function goOn(server: Server, customer: Customer): Promise<void> {
  const { id } = customer
  const ordered = await server.call('downloadOrder', { profileType: 'default' }, `order-${id}`)
  assert.is(ordered.code, 'ok')
  assert.is(ordered.body.iccid, customer.ordered ?? ordered.body.iccid, 'the same call, the same SIM')
  customer.ordered = ordered.body.iccid ?? ''
  const confirm = { iccid: customer.ordered, releaseFlag: true, confirmationCode: '4711' }
  const { code, body } = await server.call('confirmOrder', confirm, `confirm-${id}`)
  assert.is(code, 'ok')
  assert.is(body.matchingId, customer.confirmed ?? body.matchingId, 'the same call, the same matching id')
  customer.confirmed = body.matchingId ?? ''
}

crash('executes each call once although it is killed at any point and all is sent again', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'esim.db')
  const customers: Customer[] = []
  for (let kill = 0; kill < rounds(12); kill += 1) {
    const server = await serverAt(path)
    for (let more = 0; more < 12; more += 1) customers.push({ id: customers.length })
    const work = Promise.allSettled(customers.map((customer) => goOn(server, customer)))
    // When it strikes is not what is tried: any moment is one.
    await wait(Math.random() * 60)
    await server.kill()
    for (const result of await work)
      if (result.status === 'rejected' && !/gone|channel|EPIPE/i.test(String(result.reason)))
        throw result.reason
  }
  const server = await serverAt(path)
  await Promise.all(customers.map((customer) => goOn(server, customer)))
  await server.kill()
  const db = fileDb(path)
  const [codes, orders] = [await CODES.select(db, ''), await ORDERS.select(db, '')]
  assert.is(orders.length, customers.length, 'one order each')
  assert.ok(codes.every(({ state }) => OPEN_STATES.includes(state)))
  assert.is(new Set(codes.map(({ hash }) => hash)).size, customers.length, 'one SIM each')
  db.close()
})

crash.run()
