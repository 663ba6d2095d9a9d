import type { Clock } from '@steeple/contracts'
import { type CoreInfo, coreInfo, type InfoPlaces } from '@steeple/southbound'
import { assert, failureOf, patient, suite } from '@steeple/testkit'
import type { Generation } from '../src/render/roles.ts'
import { phone } from './support/phones.ts'
import { recordedItem } from './support/recordings.ts'
import { type StandInCore, type StandInDaemon, standInCore } from './support/stand-in-core.ts'

const info = suite('driver-core-a/info')
const CLOCK: Clock = { nowMs: () => performance.now(), monotonicMs: () => performance.now() }
/** What a walk may take on a busy machine. */
const WALK_MS = 60_000

function infoOf(core: StandInCore, ...generations: readonly Generation[]): CoreInfo {
  const urlOf: InfoPlaces['urlOf'] = (daemon) => core.url(daemon as StandInDaemon) // those with a server are asked
  const places = (): InfoPlaces => ({ generations, urlOf, plmn: '99999' })
  return coreInfo(CLOCK, new AbortController().signal, places, WALK_MS)
}

async function withCore(body: (core: StandInCore) => Promise<void>): Promise<void> {
  const core = await standInCore()
  try {
    await body(core)
  } finally {
    await core.close()
  }
}

info('counts who is registered, not who is remembered, refused or just cut', () =>
  withCore(async (core) => {
    const all = [1, 2, 3, 4, 5].map((n) => phone(n))
    const [, idle, gone, refused, cut] = all
    Object.assign(idle ?? {}, { state: 'idle' })
    Object.assign(gone ?? {}, { state: 'deregistered' })
    Object.assign(refused ?? {}, { state: 'exception' })
    Object.assign(cut ?? {}, { state: 'cut' })
    core.phones.push(...all)
    const { value } = await infoOf(core, 'epc').ues.recent(0, patient())
    const on = [...value.ues.values()].filter(({ isRegistered }) => isRegistered)
    assert.equal(
      on.map(({ imsi, isConnected, apns, technology }) => ({ imsi, isConnected, apns, technology })),
      [
        { imsi: all[0]?.imsi, isConnected: true, apns: ['internet'], technology: 'lte' },
        { imsi: idle?.imsi, isConnected: false, apns: ['internet'], technology: 'lte' },
      ],
    )
  }),
)

info('reads both generations, and takes the entry of the one where a phone is on', () =>
  withCore(async (core) => {
    const [inLte, inNr] = [phone(1), phone(1, 'nr')]
    inLte.state = 'deregistered'
    core.phones.push(inLte, inNr, phone(2, 'nr'))
    const { value } = await infoOf(core, 'epc', '5gc').ues.recent(0, patient())
    assert.is(value.ues.size, 2)
    assert.is(value.ues.get(inNr.imsi)?.technology, 'nr')
    assert.is(value.ues.get(inNr.imsi)?.isRegistered, true)
  }),
)

info('infers from its sessions who is registered on 2.7.7, which does not say it', () =>
  withCore(async (core) => {
    const gone = phone(2)
    gone.state = 'deregistered'
    core.release = '2.7.7'
    core.phones.push(phone(1), gone)
    const { value } = await infoOf(core, 'epc').ues.recent(0, patient())
    assert.equal(
      [...value.ues.values()].map(({ isRegistered }) => isRegistered),
      [true, false],
    )
  }),
)

info('says what release it takes when an older one refuses', () =>
  withCore(async (core) => {
    core.release = '2.7.6'
    const { code, message } = await failureOf(infoOf(core, 'epc').ues.recent(0, patient()))
    assert.is(code, 'southbound_unavailable')
    assert.match(
      message,
      /^mme has no \/ue-info: .* can be seen from Open5GS 2\.7\.7 on; update the core, or /,
    )
  }),
)

info('walks 10,000 phones in pages of 100, without a page size', () =>
  withCore(async (core) => {
    core.phones.push(...Array.from({ length: 10_000 }, (_, n) => phone(n)))
    const { value } = await infoOf(core, 'epc').ues.recent(0, AbortSignal.timeout(60_000))
    assert.is(value.ues.size, 10_000)
    // Where the list ends is looked for at the first time.
    assert.ok(core.asked.length < 150, `${core.asked.length} pages`)
    assert.ok(core.asked.every(({ path }) => /^\/ue-info\?page=[0-9]+$/.test(path)))
  }),
)

info('counts a phone once that moves to another page while it is walked', () =>
  withCore(async (core) => {
    core.phones.push(...Array.from({ length: 150 }, (_, n) => phone(n)))
    let isMoved = false
    core.afterPage = () => {
      if (!isMoved) core.phones.unshift(phone(1_000))
      isMoved = true
    }
    const { value } = await infoOf(core, 'epc').ues.recent(0, patient())
    // The last one has moved from the first page to the second.
    assert.ok(value.ues.has(phone(149).imsi))
    assert.is(value.ues.size, 151)
  }),
)

info('counts an eNB once that is listed twice, and none whose setup failed', () =>
  withCore(async (core) => {
    const [first] = core.radios.mme
    const other = {
      ...recordedItem('mme-enb-info.one-ue-connected.json.txt'),
      enb_id: 7,
      s1: { setup_success: false },
    }
    core.radios.mme.push({ ...first }, other)
    assert.is((await infoOf(core, 'epc', '5gc').radios.recent(0, patient())).value.count, 2)
  }),
)

info('gives one error for a list that cannot be read, whatever is wrong with it', () =>
  withCore(async (core) => {
    for (const [odd, words] of [
      [{ body: '{}' }, /answered without all its entries/],
      [{ body: '{"items":{}}' }, /answered without all its entries/],
      [{ body: 'garbage' }, /answered without all its entries/],
      [{ body: '' }, /answered without all its entries/],
      [{ body: `{"items":["${'x'.repeat(1_200_000)}"]}` }, /larger than 1048576 bytes/],
      [{ status: 500 }, /answered 500/],
      [{ how: 'break' }, /ECONNRESET|hang up/],
    ] as const) {
      core.fault = () => odd
      const { code, message } = await failureOf(infoOf(core, 'epc').ues.recent(0, patient()))
      assert.is(code, 'southbound_unavailable')
      assert.match(message, words)
    }
    await core.stop('mme')
    assert.match(
      (await failureOf(infoOf(core, 'epc').ues.recent(0, patient()))).message,
      /mme cannot be asked: ECONNREFUSED/,
    )
  }),
)

info('asks by HTTPS where the address says so', () =>
  withCore(async (core) => {
    const urlOf = () => core.url('mme').replace('http:', 'https:')
    const lists = coreInfo(CLOCK, new AbortController().signal, () => ({
      generations: ['epc'],
      urlOf,
      plmn: '99999',
    }))
    // The other side does not speak it.
    const { code, message } = await failureOf(lists.ues.recent(0, patient()))
    assert.is(code, 'southbound_unavailable')
    assert.match(message, /mme cannot be asked: (EPROTO|ERR_SSL)/)
  }),
)

info('takes a list without an end for one that cannot be read, and asks little of it', () =>
  withCore(async (core) => {
    let asked = 0
    const page = (items: readonly unknown[]) => {
      asked += 1
      return { body: JSON.stringify({ items, pager: { next: '/ue-info?page=1' } }) }
    }
    const many = (of: (n: number) => unknown, count = 100) => Array.from({ length: count }, (_, n) => of(n))
    for (const odd of [
      () => page([]),
      () => page(many((n) => n)),
      () => page([asked]),
      () => page(many((n) => asked * 10_000 + n, 10_000)),
    ]) {
      asked = 0
      core.fault = odd
      const { code, message } = await failureOf(infoOf(core, 'epc').ues.recent(0, patient()))
      assert.is(code, 'southbound_unavailable')
      assert.match(message, /^mme lists more than 200000 entries at \/ue-info$/)
      assert.ok(asked <= 13, `${asked} pages were asked for`)
    }
  }),
)

info('says that a walk takes too long, and leaves the core alone for some seconds after it failed', () =>
  withCore(async (core) => {
    let nowMs = 0
    const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs }
    const urlOf: InfoPlaces['urlOf'] = (daemon) => core.url(daemon as StandInDaemon) // those with a server are asked
    const { ues } = coreInfo(
      clock,
      new AbortController().signal,
      () => ({ generations: ['epc'], urlOf, plmn: '99999' }),
      2_000,
    )
    core.fault = () => {
      nowMs = 1_000
      return { how: 'hang' }
    }
    const { code, message } = await failureOf(ues.recent(0, patient()))
    assert.is(code, 'southbound_unavailable')
    assert.is(message, 'the lists of the core cannot be read: they take longer than 2000 ms')
    core.fault = () => undefined
    // Who must know is told to come again, and may in 2 s; who only looks shares the failure for five times its length.
    const ask = [
      () => ues.since(nowMs, patient()),
      () => ues.recent(0, patient()),
      () => ues.recent(0, patient()),
    ]
    for (const one of ask) assert.is((await failureOf(one())).message, message)
    assert.is(core.asked.length, 1)
    nowMs = 5_999
    assert.is((await failureOf(ues.recent(0, patient()))).message, message)
    assert.is((await ues.since(nowMs, patient())).value.ues.size, 0)
    nowMs += 10_000
    assert.is((await ues.recent(0, patient())).value.ues.size, 0)
    assert.is(core.asked.length, 3)
  }),
)

info('leaves a core alone the longer the more walks failed one after the other, at most for a minute', () =>
  withCore(async (core) => {
    let nowMs = 0
    const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs }
    const urlOf: InfoPlaces['urlOf'] = (daemon) => core.url(daemon as StandInDaemon) // those with a server are asked
    const { ues } = coreInfo(clock, new AbortController().signal, () => ({
      generations: ['epc'],
      urlOf,
      plmn: '99999',
    }))
    let isWell = false
    core.fault = () => {
      nowMs += 2_000
      return isWell ? undefined : { status: 500 }
    }
    const restS = async (): Promise<number> => {
      await failureOf(ues.recent(0, patient()))
      const [asked, fromMs] = [core.asked.length, nowMs]
      while (core.asked.length === asked) {
        nowMs += 1_000
        if (core.asked.length === asked) await ues.recent(0, patient()).catch(() => undefined)
      }
      return (nowMs - 2_000 - fromMs) / 1_000
    }
    // Each call ends with the walk that follows the rest.
    const rests = [await restS()]
    rests.push(await restS(), await restS(), await restS())
    assert.equal(rests, [10, 20, 40, 60])
    isWell = true
    nowMs += 60_000
    await ues.recent(0, patient())
    isWell = false
    nowMs += 60_000
    assert.is(await restS(), 10)
  }),
)

info('counts as its own base stations those that broadcast its network, or do not say', () =>
  withCore(async (core) => {
    const [own = {}] = core.radios.mme
    const { supported_ta_list: _list, plmn: _plmn, ...silent } = own
    const [gnb = {}] = core.radios.amf
    const broadcasts = (...plmns: readonly string[]) => [
      { tac: '000001', bplmns: plmns.map((plmn) => ({ plmn, snssai: [] })) },
    ]
    core.radios.mme.push(
      { ...silent, enb_id: 1 },
      { ...own, enb_id: 2, plmn: '00101', supported_ta_list: [{ tac: '0001', plmn: '00101' }] },
      // Of another operator, and shared with this one.
      {
        ...own,
        enb_id: 3,
        plmn: '00101',
        supported_ta_list: [
          { tac: '0001', plmn: '00101' },
          { tac: '1', plmn: '99999' },
        ],
      },
    )
    core.radios.amf.push(
      { ...gnb, gnb_id: 1, plmn: '001001', supported_ta_list: broadcasts('001001') },
      { ...gnb, gnb_id: 2, plmn: '001001', supported_ta_list: broadcasts('001001', '99999') },
    )
    const { value } = await infoOf(core, 'epc', '5gc').radios.recent(0, patient())
    assert.is(value.count, 5)
    assert.equal([...value.others].toSorted(), [
      ['001001', 1],
      ['00101', 1],
    ])
  }),
)

info('shares one walk among those who ask within a second, and begins another after that', () =>
  withCore(async (core) => {
    core.phones.push(phone(1))
    const { ues } = infoOf(core, 'epc')
    await Promise.all(Array.from({ length: 50 }, () => ues.recent(1_000, patient())))
    await ues.recent(1_000, patient())
    assert.is(core.asked.length, 1)
    const nowMs = performance.now()
    await Promise.all(Array.from({ length: 50 }, () => ues.since(nowMs, patient())))
    assert.is(core.asked.length, 2)
  }),
)

info('lets one stop waiting without ending the walk of the others', () =>
  withCore(async (core) => {
    core.phones.push(phone(1))
    const { ues } = infoOf(core, 'epc')
    const impatient = new AbortController()
    const stopped = failureOf(ues.recent(0, impatient.signal))
    const patientOne = ues.recent(1_000, patient())
    impatient.abort(new Error('enough'))
    assert.is((await stopped).message, 'enough')
    assert.is((await patientOne).value.ues.size, 1)
  }),
)

info.run()
