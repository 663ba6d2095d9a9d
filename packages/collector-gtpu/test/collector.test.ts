import { assert, fakeClock, fakeMetrics, suite } from '@steeple/testkit'
import { tapCollector, tapMetrics } from '../src/collector.ts'
import { NO_PACKETS, type TapSnapshot, type UpfTap } from '../src/upf-tap.ts'

const collector = suite('collector-gtpu/collector')
const NEVER = new AbortController().signal
const READING: TapSnapshot = {
  generation: 'a.1',
  isOlder: false,
  sinceMs: 1_000,
  atMs: 2_000,
  counters: [{ address: '10.45.0.2', upBytes: 10, downBytes: 20 }],
  isFinal: false,
  lost: 0,
  began: 100,
  carried: 150,
}

/** A tap that reads what it is given next. */
function world() {
  const clock = fakeClock()
  const state = { next: READING, counted: [] as (string | undefined)[] }
  const tap: UpfTap = {
    snapshot: async (counted) => {
      state.counted.push(counted)
      return state.next
    },
    stats: () => NO_PACKETS,
    state: () => ({ status: 'ok', detail: 'reads' }),
    close: async () => undefined,
  }
  const { poll } = tapCollector(tap, clock)
  return { state, poll: (position: string | undefined) => poll(position, NEVER) }
}

collector('gives totals of counters with a generation, by address', async () => {
  const { volumes, sightings, isWhole, lost } = await world().poll(undefined)
  assert.equal(volumes, [
    {
      key: { by: 'address', address: '10.45.0.2' },
      upBytes: 10,
      downBytes: 20,
      fromMs: 1_000,
      toMs: 2_000,
      count: { counter: '10.45.0.2', generation: 'a.1' },
      isIncomplete: false,
    },
  ])
  assert.equal([sightings, isWhole, lost], [[], false, undefined])
})

collector(
  'says of an address that it shows for the first time that it moved nothing before the position',
  async () => {
    const { state, poll } = world()
    const spans = async (position: string | undefined) => {
      const { volumes, position: next } = await poll(position)
      return { spans: volumes.map(({ fromMs, toMs }) => [fromMs, toMs]), next }
    }
    const first = await spans(undefined)
    // Hours later a phone comes: its octets are of now, and not of all the time that the tap has looked.
    const other = { address: '10.45.0.3', upBytes: 1, downBytes: 1 }
    state.next = { ...READING, atMs: 36_000_000, counters: [] }
    const empty = await spans(first.next)
    state.next = { ...READING, atMs: 36_015_000, counters: [...READING.counters, other] }
    assert.equal((await spans(empty.next)).spans, [
      [36_000_000, 36_015_000],
      [36_000_000, 36_015_000],
    ])
    // Of the next generation nothing was read before: it says itself when it began.
    state.next = { ...READING, generation: 'a.2', sinceMs: 36_001_000, atMs: 36_015_000, counters: [other] }
    assert.equal((await spans(empty.next)).spans, [[36_001_000, 36_015_000]])
    assert.equal(first.spans, [[1_000, 2_000]])
  },
)

collector('counts on when the clock was far ahead, and was put right', async () => {
  const { state, poll } = world()
  const first = await poll(undefined)
  state.next = { ...READING, sinceMs: 1_500, atMs: 900, lost: 5 }
  const { volumes, lost } = await poll(first.position)
  assert.equal(
    volumes.map(({ fromMs, toMs }) => [fromMs, toMs]),
    [[900, 900]],
  )
  assert.ok(lost !== undefined && lost.fromMs <= 900)
})

collector('marks as incomplete what was lost since the position, until that is counted', async () => {
  const { state, poll } = world()
  const first = await poll(undefined)
  state.next = { ...READING, lost: 7 }
  for (const _ of [1, 2]) {
    const again = await poll(first.position)
    assert.is(again.lost?.packets, 7)
    assert.is(again.volumes[0]?.isIncomplete, true)
  }
  const second = await poll(first.position)
  const third = await poll(second.position)
  assert.is(third.lost, undefined)
  assert.is(third.volumes[0]?.isIncomplete, false)
})

collector(
  'exports the packets of each generation, also of one that saw as many as the one before',
  async () => {
    const metrics = fakeMetrics()
    const { seen } = tapMetrics({ metrics })
    const full = { ...NO_PACKETS, received: 65_536, unmatched: 1_000 }
    // Read twice, then one after the other.
    for (const generation of ['a.1', 'a.1', 'a.2', 'a.3']) seen({ ...READING, generation }, full)
    seen({ ...READING, generation: 'a.3' }, { ...full, unmatched: 1_500 })
    const value = (result: string): unknown => metrics.value('svc_collector_gtpu_packets_total', { result })
    assert.equal([value('received'), value('unmatched')], [3 * 65_536, 3_500])
  },
)

collector('says that a generation is over once its final reading was counted and it has gone', async () => {
  const { state, poll } = world()
  const first = await poll(undefined)
  state.next = { ...READING, isFinal: true }
  const final = await poll(first.position)
  // The service was ended before it was counted: it comes once more.
  const again = await poll(first.position)
  state.next = { ...READING, generation: 'a.2' }
  const next = await poll(again.position)
  assert.equal([first.over, final.over, again.over, next.over], [undefined, undefined, undefined, 'a.1'])
  // One that has gone without a final reading may lie where another tap looks.
  assert.is((await poll(first.position)).over, undefined)
})

collector('knows what went by between two generations that do not follow each other', async () => {
  const { state, poll } = world()
  const { position } = await poll(undefined)
  state.next = { ...READING, generation: 'b.1', began: 190 }
  const gap = await poll(position)
  assert.equal([gap.lost?.packets, gap.volumes[0]?.isIncomplete], [40, true])
  // The machine was restarted: its interface began from 0.
  state.next = { ...READING, generation: 'b.1', began: 30 }
  assert.is((await poll(position)).lost?.packets, 30)
  state.next = { ...READING, generation: 'b.1', began: 150 }
  const tail = await poll(position)
  assert.equal([tail.lost, tail.volumes[0]?.isIncomplete], [undefined, true], 'what came last is not known')
})

collector(
  'has a generation forgotten once its final reading is counted, and goes on without a gap',
  async () => {
    const { state, poll } = world()
    state.next = { ...READING, isFinal: true }
    const final = await poll(undefined)
    assert.equal(state.counted, [undefined])
    state.next = { ...READING, generation: 'a.2', began: 150, carried: 160 }
    const next = await poll(final.position)
    assert.equal(state.counted, [undefined, 'a.1'])
    assert.equal([next.lost, next.volumes[0]?.isIncomplete], [undefined, false])
  },
)

collector('counts all that is there when it does not know the position', async () => {
  const { poll } = world()
  for (const position of ['', '{}', 'x', '{"generation":"a.1"}'])
    assert.is((await poll(position)).volumes[0]?.upBytes, 10)
})

collector(
  'counts nothing of what a service before the present store has left, and all that comes',
  async () => {
    const { state, poll } = world()
    const marks = async (position: string | undefined) => {
      const { volumes, lost, position: next } = await poll(position)
      const begins = volumes.map(({ count }) => count !== 'delta' && count.isBeginning === true)
      return { begins, lost: lost?.packets, next }
    }
    const other = { address: '10.45.0.3', upBytes: 1, downBytes: 1 }
    // Its generation had ended, and another had begun: both are that service's.
    state.next = { ...READING, isOlder: true, isFinal: true, lost: 7 }
    const final = await marks(undefined)
    assert.equal([final.begins, final.lost], [[true], undefined])
    state.next = { ...READING, generation: 'a.2', isOlder: true, lost: 3 }
    const second = await marks(final.next)
    assert.equal([second.begins, second.lost], [[true], undefined])
    // Whoever comes from now on is counted from nothing, and so is what is lost.
    state.next = { ...state.next, lost: 5, counters: [...READING.counters, other] }
    const third = await marks(second.next)
    assert.equal([third.begins, third.lost], [[false, false], 2])
    state.next = { ...state.next, isFinal: true }
    const fourth = await marks(third.next)
    state.next = { ...READING, generation: 'a.3', began: 150, isOlder: true }
    assert.equal((await marks(fourth.next)).begins, [false])
  },
)

collector(
  'counts all of a generation that it finds and has a position for, also one that it cannot read',
  async () => {
    const { state, poll } = world()
    state.next = { ...READING, isOlder: true }
    for (const position of ['', '{}', JSON.stringify({ generation: 'a.1', lost: 0, carried: 0, atMs: 0 })]) {
      const [volume] = (await poll(position)).volumes
      assert.equal(volume?.count, { counter: '10.45.0.2', generation: 'a.1' })
    }
  },
)

collector('gives others a turn however many addresses there are', async () => {
  const { state, poll } = world()
  const seen = { most: 0, inTurn: 0 }
  const counters = Array.from({ length: 65_536 }, (_, index) => ({
    get address() {
      if (seen.inTurn === 0)
        setImmediate(() => {
          seen.most = Math.max(seen.most, seen.inTurn)
          seen.inTurn = 0
        })
      seen.inTurn += 1
      return `11.0.${index >> 8}.${index & 255}`
    },
    upBytes: 1,
    downBytes: 0,
  }))
  state.next = { ...READING, counters }
  assert.is((await poll(undefined)).volumes.length, 65_536)
  assert.ok(seen.most < 65_536, `${seen.most} looked at in one turn`)
})

collector.run()
