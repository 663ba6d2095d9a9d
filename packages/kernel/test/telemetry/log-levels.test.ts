import { assert, fakeClock, suite } from '@steeple/testkit'
import { createLog, type KernelLog } from '../../src/telemetry/log.ts'
import type { LogSink } from '../../src/telemetry/log-sink.ts'

const levels = suite('levels of the log')

function logOf(clock = fakeClock()): {
  readonly log: KernelLog
  readonly messages: () => readonly unknown[]
} {
  const written: string[] = []
  const sink: LogSink = { write: (line) => written.push(line), flush: () => {}, close: () => {} }
  const log = createLog({ level: 'info', format: 'json', clock, sink })
  return { log, messages: () => written.splice(0).map((line) => JSON.parse(line).msg) }
}

levels('hold for one component, and end by themselves', async () => {
  const clock = fakeClock()
  const { log, messages } = logOf(clock)
  const sims = log.child({ plugin: 'sims' })
  log.control.hold('sims', 'debug', 60_000)
  sims.debug({}, 'detail of sims')
  sims.child({ sim: 'abc' }).debug({}, 'detail of a child of sims')
  log.debug({}, 'detail of the kernel')
  assert.equal(messages(), ['detail of sims', 'detail of a child of sims'])
  assert.equal(log.control.holds(), [{ component: 'sims', level: 'debug', untilMs: clock.nowMs() + 60_000 }])
  await clock.advance(60_000)
  sims.debug({}, 'too late')
  assert.equal(messages(), [])
  assert.equal(log.control.holds(), [])
})

levels('hold for all but those that have their own', () => {
  const { log, messages } = logOf()
  const [sims, mesh] = [log.child({ plugin: 'sims' }), log.child({ component: 'mesh' })]
  log.control.hold(undefined, 'debug', 60_000)
  log.control.hold('mesh', 'error', 60_000)
  sims.debug({}, 'sims')
  mesh.warn({}, 'mesh')
  log.plain({ n: 1 }, 'kernel')
  assert.equal(messages(), ['sims', 'kernel'])
  log.control.hold('mesh', undefined, 0)
  mesh.debug({}, 'mesh')
  log.control.hold(undefined, undefined, 0)
  mesh.debug({}, 'mesh again')
  assert.equal(messages(), ['mesh'])
})

levels('do not end by a wall clock that leaps', () => {
  const clock = fakeClock()
  const { log, messages } = logOf(clock)
  log.control.hold(undefined, 'debug', 60_000)
  clock.jump(clock.nowMs() + 86_400_000)
  log.debug({}, 'still')
  assert.equal(messages(), ['still'])
})

levels('follow the configuration below what holds', () => {
  const { log, messages } = logOf()
  log.control.hold('kernel', 'warn', 60_000)
  log.setLevel('debug')
  log.info({}, 'kernel')
  log.child({ plugin: 'sims' }).debug({}, 'sims')
  assert.equal(messages(), ['sims'])
  assert.is(log.control.level(), 'debug')
})

levels('know whom they can be set for', () => {
  const { log } = logOf()
  log.child({ plugin: 'sims' }).child({ sim: 'abc' })
  log.child({ component: 'http' })
  assert.equal(log.control.components(), ['http', 'kernel', 'sims'])
})

const recent = suite('the last lines')

recent('are those that were written, redacted, in their order', () => {
  const { log, messages } = logOf()
  log.info({ token: 'hunter2hunter2' }, 'one')
  log.plain({ n: 2 }, 'two')
  log.warn({}, 'three')
  log.debug({}, 'not written')
  assert.equal(
    log.recent().map((line) => JSON.parse(line).msg),
    ['one', 'two', 'three'],
  )
  assert.not(log.recent().join('').includes('hunter2'))
  assert.is(messages().length, 3)
})

recent('are bounded, and requests push out no warning', () => {
  const { log } = logOf()
  log.warn({}, 'the one that tells why')
  const text = 'x'.repeat(1_000)
  for (let i = 0; i < 5_000; i++) {
    log.plain({ i, text }, 'request')
    log.info({ i, text }, 'calm')
  }
  const lines = log.recent()
  assert.ok(lines.join('').length < 400_000, String(lines.join('').length))
  assert.is(JSON.parse(lines[0] ?? '').msg, 'the one that tells why')
  assert.is(JSON.parse(lines.at(-1) ?? '').i, 4_999)
})

levels.run()
recent.run()
