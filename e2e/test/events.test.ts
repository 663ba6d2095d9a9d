import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, rounds, suite } from '@steeple/testkit'
import { mint } from '../harness/credentials.ts'
import { type EventStream, openEvents, type SentEvent } from '../harness/event-client.ts'
import { sourceOf } from '../harness/plugins/failing-plugins.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { type Service, startService } from '../harness/service.ts'

const ADMIN = 'events-test-admin-token-0123456789abc'
const KILLS = rounds(8)
const WRITERS = 4
const events = suite('e2e/events')

let dataDir = ''
let service: Service
events.before(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'steeple-e2e-'))
  service = await start()
})
events.after(async () => {
  if (service === undefined) return
  assert.is(await service.stop(), 0)
  rmSync(dataDir, { recursive: true, force: true })
})

function start(): Promise<Service> {
  return startService({ dataDir, adminToken: ADMIN })
}

function listen(lastEventId?: number | string, token: string | undefined = ADMIN): Promise<EventStream> {
  return openEvents(`${service.url}/v1/events`, {
    token,
    ...(lastEventId === undefined ? {} : { lastEventId }),
  })
}

/** Those of what was asked for: parts of a box that has just started come and go by themselves. */
function asked({ events: all }: EventStream): readonly SentEvent[] {
  return all.filter(({ type }) => !/^(health|incident)\./.test(type))
}

function idsOf(list: readonly SentEvent[]): readonly number[] {
  return list.map(({ id }) => id ?? -1)
}

function assertRising(ids: readonly number[]): void {
  ids.forEach((id, index) => {
    assert.ok(index === 0 || id > (ids[index - 1] ?? 0), `${id} came after ${ids[index - 1]}`)
  })
}

events('sends the mutations in their order, each with id, time, type and subject', async () => {
  const stream = await listen()
  assert.is(stream.status, 200)
  const made: string[] = []
  for (let index = 0; index < 20; index += 1)
    made.push((await mint(service, { name: `e-${index}`, roles: ['viewer'] })).id)
  await service.request('PUT', '/v1/policy', { body: { sim_swap_cooldown_hours: 12 } })
  await service.request('DELETE', `/v1/tokens/${made[0]}`)
  await eventually(async () => asked(stream).length >= 22)
  assert.equal(
    asked(stream)
      .slice(0, 20)
      .map(({ type, data }) => [type, data.type, data.subject]),
    made.map((id) => ['token.create', 'token.create', id]),
  )
  const [changed, removed] = asked(stream).slice(20)
  assert.match(changed?.type ?? '', /^policy\./)
  assert.equal([removed?.type, removed?.data.subject], ['token.delete', made[0]])
  assertRising(idsOf(stream.events))
  for (const { id, data } of stream.events) {
    assert.is(data.id, id)
    assert.match(data.at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  }
  assert.not.match(JSON.stringify(stream.events), /"(?:svc_|svcb_)/)
  stream.close()
})

events('says nothing of a mutation that was refused', async () => {
  const stream = await listen()
  assert.is((await service.request('POST', '/v1/tokens', { body: { name: '', roles: [] } })).status, 400)
  assert.is((await service.request('DELETE', '/v1/tokens/00000000-0000-4000-8000-000000000000')).status, 404)
  const { id } = await mint(service, { name: 'after the refused', roles: ['viewer'] })
  await eventually(async () => asked(stream).length > 0)
  assert.equal(
    asked(stream).map(({ data }) => data.subject),
    [id],
  )
  stream.close()
})

/** Creates tokens until the service dies; notes the ids of those that were answered. */
async function write(who: string, answered: Set<string>, stop: { isOver: boolean }): Promise<void> {
  for (let index = 0; !stop.isOver; index += 1) {
    try {
      const { status, body } = await service.request('POST', '/v1/tokens', {
        body: { name: `${who}-${index}`, roles: ['viewer'] },
      })
      assert.is(status, 201)
      answered.add(body.id)
    } catch (error) {
      if (error instanceof assert.Assertion) throw error
      return
    }
  }
}

events(
  `goes on by Last-Event-ID over ${KILLS} rounds of kill -9 without a lost or doubled event`,
  async () => {
    const first = await listen()
    await mint(service, { name: 'the first', roles: ['viewer'] })
    await eventually(async () => first.events.length > 0)
    first.close()
    const seen: SentEvent[] = [...first.events]
    const from = (seen[0]?.id ?? 0) - 1
    const answered = new Set<string>()
    for (let round = 0; round < KILLS; round += 1) {
      const stream = await listen(seen.at(-1)?.id)
      const stop = { isOver: false }
      const writers = Array.from({ length: WRITERS }, (_, who) => write(`r${round}w${who}`, answered, stop))
      const enough = 20 + Math.floor(Math.random() * 40)
      await eventually(async () => stream.events.length >= enough)
      stop.isOver = Math.random() < 0.5
      await service.kill()
      await Promise.all(writers)
      assert.is(await stream.ended, 'cut off')
      // A client sees all or a part of what was sent before the end.
      seen.push(...stream.events.slice(0, Math.ceil(Math.random() * stream.events.length)))
      service = await start()
    }
    const last = await listen(seen.at(-1)?.id)
    const { id: end } = await mint(service, { name: 'the last', roles: ['viewer'] })
    await eventually(async () => last.events.some(({ data }) => data.subject === end))
    last.close()
    seen.push(...last.events)

    const whole = await listen(from)
    await eventually(async () => whole.events.length >= seen.length)
    whole.close()
    // What has happened since is in no piece.
    const upTo = seen.at(-1)?.id ?? 0
    const told = whole.events.filter(({ id = 0 }) => id <= upTo)
    assert.equal(idsOf(seen), idsOf(told), 'the pieces are the whole')
    assert.equal(seen, told)
    assertRising(idsOf(seen))
    assert.equal(
      seen.filter(({ type }) => type === 'gap'),
      [],
    )
    const counts = new Map<string, number>()
    for (const { data } of seen) counts.set(data.subject, (counts.get(data.subject) ?? 0) + 1)
    for (const id of answered)
      assert.is(counts.get(id), 1, `an answered creation has ${counts.get(id)} events`)
    process.stdout.write(
      `\n# ${seen.length} events of ${answered.size} answered writes over ${KILLS} rounds of kill -9: none lost, none twice\n`,
    )
  },
  { limitMs: rounds(120_000) },
)

events('sends the same to every listener, also while plugins come and go', async () => {
  const streams = await Promise.all(Array.from({ length: 8 }, () => listen()))
  for (const version of ['1.0.0', '1.0.1', '1.0.2']) {
    installVersion(dataDir, { id: 'guest', version, code: sourceOf() })
    assert.is((await service.request('POST', '/v1/plugins/guest/load')).status, 200)
  }
  assert.is((await service.request('POST', '/v1/plugins/guest/unload')).status, 200)
  const { id } = await mint(service, { name: 'after the guest', roles: ['viewer'] })
  await eventually(async () => streams.every((stream) => asked(stream).at(-1)?.data.subject === id))
  const [first] = streams
  assert.equal(first === undefined ? [] : asked(first).map(({ type }) => type), [
    'plugin.load',
    'plugin.load',
    'plugin.load',
    'plugin.unload',
    'token.create',
  ])
  for (const stream of streams) {
    const length = Math.min(stream.events.length, first?.events.length ?? 0)
    assert.equal(stream.events.slice(0, length), first?.events.slice(0, length))
    stream.close()
  }
})

events('asks for the role viewer and for an id that it has sent', async () => {
  const status = async (token: string | undefined, lastEventId?: string): Promise<number> => {
    const stream = await openEvents(`${service.url}/v1/events`, {
      token,
      ...(lastEventId === undefined ? {} : { lastEventId }),
    })
    stream.close()
    return stream.status
  }
  assert.is(await status(undefined), 401)
  assert.is(await status('svc_unknown'), 401)
  const bootstrap = await mint(service, { name: 'bootstrap', kind: 'bootstrap' })
  assert.ok([401, 403].includes(await status(bootstrap.token)))
  const viewer = await mint(service, { name: 'watcher', roles: ['viewer'] })
  assert.is(await status(viewer.token), 200)
  assert.is(await status(viewer.token, 'yesterday'), 400)
  assert.is(await status(viewer.token, '-1'), 400)
  const ahead = await listen(999_999_999)
  await eventually(async () => ahead.events.length > 0)
  assert.is(ahead.events[0]?.type, 'gap')
  ahead.close()
})

events('ends in order when the token is deleted or expires, and only then', async () => {
  const doomed = await mint(service, { name: 'doomed', roles: ['viewer'] })
  const [one, other] = [await listen(undefined, doomed.token), await listen()]
  // Long enough for a busy machine to open the stream.
  const brief = await mint(service, { name: 'brief', roles: ['viewer'], expires_in: '6s' })
  const two = await listen(undefined, brief.token)
  assert.equal([one.status, two.status], [200, 200])
  const startedMs = performance.now()
  await service.request('DELETE', `/v1/tokens/${doomed.id}`)
  assert.is(await one.ended, 'in order')
  const deletedMs = performance.now() - startedMs
  assert.is(await two.ended, 'in order')
  const { id } = await mint(service, { name: 'unseen', roles: ['viewer'] })
  await eventually(async () => asked(other).at(-1)?.data.subject === id)
  assert.not.ok(one.events.some(({ data }) => data.subject === id))
  other.close()
  process.stdout.write(`\n# a stream ended ${Math.round(deletedMs)} ms after its token was deleted\n`)
})

events('ends in order when the service stops, and the client goes on at the next', async () => {
  const before = await mint(service, { name: 'before the stop', roles: ['viewer'] })
  const stream = await listen(0)
  await eventually(async () => stream.events.some(({ data }) => data.subject === before.id))
  const seen = stream.events.at(-1)?.id
  assert.is(await service.stop(), 0)
  assert.is(await stream.ended, 'in order')
  service = await start()
  const next = await listen(seen)
  const after = await mint(service, { name: 'after the stop', roles: ['viewer'] })
  await eventually(async () => next.events.some(({ data }) => data.subject === after.id))
  assert.not.ok(next.events.some(({ data }) => data.subject === before.id))
  next.close()
})

events.run()
