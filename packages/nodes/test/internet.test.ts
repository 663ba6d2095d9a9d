import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { routesIn } from '@steeple/contracts'
import { assert, listen, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { askInternet, askRoot, hasDefaultRoute, internetWatch } from '../src/internet.ts'

/** Whether there is internet behind the default route: by proof, and without haste. */
const internet = suite('nodes/internet')
const NEVER = new AbortController().signal

const outcome = (asked: Promise<void>): Promise<string> =>
  asked.then(
    () => 'answered',
    () => 'refused',
  )

/** A watch of a line that is as `line` says, and what it looks like after another look. */
function watched(probe: readonly string[] = ['resolvers']) {
  const line = { hasRoute: true, answers: true, lost: 0, asked: 0, changes: 0 }
  let nowMs = 0
  const watch = internetWatch({
    targets: () => probe,
    nowMs: () => nowMs,
    changed: () => {
      line.changes += 1
    },
    hasRoute: async () => line.hasRoute,
    ask: async () => {
      line.asked += 1
      if (line.lost > 0) line.lost -= 1
      else if (line.answers) return
      throw new Error('no answer')
    },
    pause: async () => undefined,
  })
  const look = async () => {
    nowMs += 4_000
    await watch.look(NEVER)
    return watch.health()
  }
  return { line, look, watch }
}

internet('misses it behind a default route that leads nowhere, and says since when', async () => {
  const { line, look } = watched()
  assert.is((await look()).status, 'ok')
  line.answers = false
  const { status, detail, incident } = await look()
  assert.equal([status, incident, line.changes], ['down', 'no_internet', 1])
  assert.is(
    detail,
    'there is a default route, but no answer from the DNS servers since 1970-01-01T00:00:04.000Z',
  )
  line.hasRoute = false
  assert.match((await look()).detail, /^no default route; there was one until 1970-01-01T00:00:08/)
})

internet(
  'is there where somebody answered or nobody is asked, and not known where there never was one',
  async () => {
    const { line, look, watch } = watched()
    assert.is(watch.isThere(), undefined)
    await look()
    assert.is(watch.isThere(), true)
    line.answers = false
    await look()
    assert.is(watch.isThere(), false)
    const never = watched()
    never.line.answers = false
    await never.look()
    assert.is(never.watch.isThere(), undefined)
    const unasked = watched([])
    await unasked.look()
    assert.is(unasked.watch.isThere(), true)
  },
)

internet('bears two lost answers, and takes it for back after two good looks', async () => {
  const { line, look } = watched()
  await look()
  line.lost = 2
  assert.equal([(await look()).status, line.changes], ['ok', 0])
  line.lost = 3
  assert.is((await look()).status, 'down')
  assert.is((await look()).status, 'down')
  assert.equal([(await look()).status, line.changes], ['ok', 2])
})

internet('misses what was never there only where somebody has named an address', async () => {
  for (const [probe, status] of [
    [['resolvers'], 'ok'],
    [['192.0.2.1:443'], 'down'],
    [[], 'ok'],
  ] as const) {
    const { line, look } = watched(probe)
    line.answers = false
    assert.is((await look()).status, status, JSON.stringify(probe))
    if (probe.length === 0) assert.is(line.asked, 0)
    line.hasRoute = false
    assert.is((await look()).status, 'down', 'a route was there')
  }
  const { line, look } = watched()
  line.hasRoute = false
  assert.is((await look()).status, 'ok', 'a box may be without')
})

internet(
  'turns red by silence alone, and green by two answers in a row, in whatever order they come',
  async () => {
    const looks = fc.array(fc.constantFrom('answer', 'silence', 'no route'), { maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(looks, async (all) => {
        const { line, look } = watched()
        await look()
        let status = 'ok'
        let good = 1
        for (const one of all) {
          line.hasRoute = one !== 'no route'
          line.answers = one === 'answer'
          good = one === 'answer' ? good + 1 : 0
          if (one !== 'answer') status = 'down'
          else if (good >= 2) status = 'ok'
          assert.is((await look()).status, status)
        }
      }),
    )
  },
)

internet(
  'takes a connection that somebody accepts for an answer, and one that nobody does for none',
  async () => {
    const { port, close } = await listen(createServer((socket) => socket.end()))
    const target = `127.0.0.1:${port}`
    await askInternet(target, NEVER)
    await close()
    assert.is(await outcome(askInternet(target, NEVER)), 'refused')
  },
)

internet('asks a DNS server for the root and nothing else, and takes no refusal for an answer', async () => {
  const asked: string[] = []
  let code = 0
  const server = createSocket('udp4').bind(0, '127.0.0.1')
  await once(server, 'listening')
  server.on('message', (question, { port, address }) => {
    // Behind the header: the name (empty), the type SOA, the class IN.
    asked.push(question.subarray(12).toString('hex'))
    server.send(Buffer.concat([header(question, code), question.subarray(12), SOA]), port, address)
  })
  const at = `127.0.0.1:${server.address().port}`
  await askRoot(at)
  code = 2
  assert.is(await outcome(askRoot(at)), 'refused')
  assert.equal(new Set(asked), new Set(['0000060001']))
  server.close()
})

/** The header of an answer with one record. */
function header(question: Buffer, code: number): Buffer {
  const bytes = Buffer.from(question.subarray(0, 12))
  bytes.writeUInt16BE(0x8180 + code, 2)
  bytes.writeUInt16BE(1, 6)
  return bytes
}
/** The root's SOA (RFC 1035 §3.3.13) with empty names. */
const SOA = Buffer.from(`00000600010000003c0016${'0000'}${'00000001'.repeat(5)}`, 'hex')

internet('takes a route to everything for a way out, unless it is of the loopback or refuses', () => {
  const head = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n'
  const via = 'eth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n'
  const local = 'eth0\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n'
  const refusing = '*\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n'
  const none = '0'.repeat(32)
  const via6 = `${none} 00 ${none} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003 wlan0\n`
  const lo6 = `${none} 00 ${none} 00 ${none} ffffffff 00000001 00000000 00200200 lo\n`
  const refusing6 = `${none} 00 ${none} 00 ${none} 00000400 00000001 00000000 00200201 eth0\n`
  for (const [v4, v6, isThere] of [
    [head + local + via, '', true],
    [head + local, lo6, false],
    [head, lo6 + via6, true],
    ['', '', false],
    [head + refusing, refusing6, false],
  ] as const)
    assert.is(hasDefaultRoute(routesIn(v4, v6)), isThere, v4 + v6)
})

internet.run()
