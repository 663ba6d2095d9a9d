import {
  collectionConsumerRef,
  type ImsiHash,
  type SessionSighting,
  type UsageLedger,
  usageLedgerRef,
  type Volume,
} from '@steeple/contracts'
import { assert, fakeClock, loadTestbed, pluginFrom, suite, type Testbed } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { ANN, BOB, collection, reading, START_MS, sighting } from './support/world.ts'

const http = suite('sessions/http')

async function bedWith(
  sightings: readonly SessionSighting[],
  use: (bed: Testbed, take: (sightings: readonly SessionSighting[]) => Promise<void>) => Promise<void>,
): Promise<void> {
  const { startTestbed } = await loadTestbed()
  const bed = await startTestbed({
    plugins: [await pluginFrom(import.meta.url, plugin)],
    clock: fakeClock(START_MS),
  })
  const take = async (seen: readonly SessionSighting[]): Promise<void> => {
    const one = collection({
      sightings: seen,
      volumes: seen.length === 0 ? [] : [reading(100, START_MS + 15_000)],
      position: 'p1',
    })
    await bed.service(collectionConsumerRef)?.take(new Map([['mme', one]]), new AbortController().signal)
  }
  try {
    await take(sightings)
    await use(bed, take)
  } finally {
    await bed.stop()
  }
}

interface Page {
  readonly sessions: readonly Readonly<Record<string, unknown>>[]
  readonly next_cursor: string | null
}

async function list(bed: Testbed, query = ''): Promise<Page> {
  const { status, body } = await bed.request('GET', `/v1/sessions${query}`)
  assert.is(status, 200)
  return body as Page
}

http('shows a session with all of its fields, and its octets in the ledger', async () => {
  await bedWith([sighting({ startedAtMs: START_MS - 60_000, prefix: '2001:db8:0:1::/64' })], async (bed) => {
    assert.equal((await list(bed)).sessions, [
      {
        id: '1',
        imsi_sha256_12: ANN,
        label: null,
        apn: 'internet',
        ue_ip: '10.45.0.2',
        ue_ipv6_prefix: '2001:db8:0:1::/64',
        state: 'active',
        started_at: '2026-11-22T09:59:00.000Z',
        ended_at: null,
        up_bytes: 100,
        down_bytes: 1_000,
        incomplete: false,
        technology: 'lte',
        cell: 'cell-1',
        source: 'mme',
        plmn: '999-99',
      },
    ])
    const usage = bed.service<UsageLedger>(usageLedgerRef)
    const totals = await usage?.totals(ANN, 0, START_MS * 2)
    assert.is(totals?.upBytes, 100)
    assert.is(totals?.downBytes, 1_000)
    assert.is(await bed.service(collectionConsumerRef)?.position('mme'), 'p1')
  })
})

http('tells of the beginning and the end in events, and keeps what has ended as history', async () => {
  await bedWith([sighting()], async (bed, take) => {
    assert.equal((await list(bed, '?state=ended')).sessions, [])
    await take([])
    assert.equal((await list(bed)).sessions, [])
    const [ended] = (await list(bed, '?state=ended')).sessions
    assert.is(ended?.state, 'ended')
    assert.is(ended?.ended_at, '2026-11-22T10:00:00.000Z')
    const events = (await bed.events()).filter(({ type }) => type.startsWith('session.'))
    const data = { imsi_sha256_12: ANN, apn: 'internet', technology: 'lte' }
    assert.equal(
      events.map(({ type, subject, data: said }) => ({ type, subject, data: said })),
      [
        { type: 'session.begin', subject: '1', data },
        { type: 'session.end', subject: '1', data },
      ],
    )
  })
})

http('filters by state, APN, subscriber and technology, and refuses what it does not know', async () => {
  const seen = [
    sighting({ reference: 'r1', imsi: ANN, apn: 'internet', address: '10.45.0.2' }),
    sighting({ reference: 'r2', imsi: ANN, apn: 'ims', address: '10.46.0.2', state: 'idle' }),
    sighting({ reference: 'r3', imsi: BOB, apn: 'internet', address: '10.45.0.3', technology: 'nr' }),
  ]
  await bedWith(seen, async (bed) => {
    const ids = async (query: string): Promise<readonly unknown[]> =>
      (await list(bed, query)).sessions.map(({ id }) => id)
    assert.equal(await ids(''), ['3', '2', '1'])
    assert.equal(await ids('?state=idle'), ['2'])
    assert.equal(await ids('?state=active'), ['3', '1'])
    assert.equal(await ids('?apn=internet'), ['3', '1'])
    assert.equal(await ids(`?imsi=${ANN}`), ['2', '1'])
    assert.equal(await ids('?technology=nr'), ['3'])
    assert.equal(await ids(`?imsi=${ANN}&apn=ims&state=idle&technology=lte`), ['2'])
    for (const query of ['?imsi=999990000000001', '?state=gone', '?technology=gsm', '?cell=1']) {
      const { status, body } = await bed.request('GET', `/v1/sessions${query}`)
      assert.is(status, 400)
      assert.not.match(JSON.stringify(body), '999990000000001')
    }
  })
})

http('gives pages that stay right while sessions come and go', async () => {
  const many = Array.from({ length: 7 }, (_, index) =>
    sighting({
      reference: `r${index}`,
      imsi: `${index}`.repeat(12) as ImsiHash,
      address: `10.45.1.${index}`,
    }),
  )
  await bedWith(many, async (bed, take) => {
    const first = await list(bed, '?limit=3')
    assert.equal(
      first.sessions.map(({ id }) => id),
      ['7', '6', '5'],
    )
    await take([
      ...many.filter((_, index) => index !== 2),
      sighting({ reference: 'new', address: '10.45.9.9' }),
    ])
    const second = await list(bed, `?limit=3&cursor=${first.next_cursor}`)
    assert.equal(
      second.sessions.map(({ id }) => id),
      ['4', '2', '1'],
    )
    assert.is(second.next_cursor, null)
    const { status } = await bed.request('GET', `/v1/sessions?limit=3&apn=ims&cursor=${first.next_cursor}`)
    assert.is(status, 400)
  })
})

http('answers 304 when nothing has changed, and needs a viewer', async () => {
  await bedWith([sighting()], async (bed, take) => {
    const { headers } = await bed.request('GET', '/v1/sessions')
    const etag = headers.get('etag') ?? ''
    const again = await bed.request('GET', '/v1/sessions', { headers: { 'if-none-match': etag } })
    assert.is(again.status, 304)
    await take([])
    const changed = await bed.request('GET', '/v1/sessions', { headers: { 'if-none-match': etag } })
    assert.is(changed.status, 200)
    assert.is((await bed.request('GET', '/v1/sessions', { token: false })).status, 401)
  })
})

http('counts sessions by APN and network in a metric, also those that have gone', async () => {
  await bedWith([sighting()], async (bed, take) => {
    const metric = async (): Promise<string> => String((await bed.request('GET', '/metrics')).body)
    assert.match(await metric(), 'svc_sessions_active{apn="internet",plmn="999-99"} 1')
    await take([])
    assert.match(await metric(), 'svc_sessions_active{apn="internet",plmn="999-99"} 0')
  })
})

http('shows who used most, when, and by which APN, and gives it as CSV', async () => {
  const seen = [
    sighting({ reference: 'r1', imsi: ANN }),
    sighting({ reference: 'r2', imsi: BOB, address: '10.45.0.3' }),
  ]
  await bedWith(seen, async (bed) => {
    const used = (imsi: ImsiHash, upBytes: number, downBytes: number, hoursAgo: number): Volume => {
      const fromMs = START_MS - hoursAgo * 3_600_000
      const key = { by: 'imsi', imsi } as const
      return { key, upBytes, downBytes, fromMs, toMs: fromMs + 1, count: 'delta', isIncomplete: false }
    }
    const volumes = [used(BOB, 5_000, 50, 2), used(BOB, 1, 1, 3 * 24), used(ANN, 10, 20, 1)]
    await bed
      .service(collectionConsumerRef)
      ?.take(new Map([['cdr', collection({ volumes, position: 'p1' })]]), new AbortController().signal)
    const usage = async (query: string): Promise<Readonly<Record<string, unknown>>> => {
      const { status, body } = await bed.request('GET', `/v1/usage${query}`)
      assert.is(status, 200, JSON.stringify(body))
      return body as Readonly<Record<string, unknown>>
    }
    const names = (body: Readonly<Record<string, unknown>>): unknown =>
      (body.sims as readonly { readonly imsi_sha256_12: string; readonly total_bytes: number }[]).map(
        (one) => [one.imsi_sha256_12, one.total_bytes],
      )
    const today = await usage('')
    assert.equal(names(today), [
      [BOB, 5_050],
      [ANN, 1_130],
    ])
    assert.equal([today.up_bytes, today.down_bytes, today.total_bytes], [5_110, 1_070, 6_180])
    assert.equal((today.busiest_hour as { at: string }).at, '2026-11-22T08:00:00.000Z')
    assert.is((today.series as readonly unknown[]).length, 3)
    assert.equal(names(await usage('?sort=down&limit=1')), [[ANN, 1_130]])
    assert.is((await usage('?period=week')).total_bytes, 6_182)
    assert.is((await usage('?period=week')).step, 'day')
    assert.equal((today.apns as readonly { apn: string; total_bytes: number }[])[0]?.apn, 'internet')
    const csv = String((await bed.request('GET', '/v1/usage/export?period=month')).body)
    assert.equal(csv.split('\r\n'), [
      'imsi_sha256_12,label,up_bytes,down_bytes,total_bytes',
      `${BOB},,5001,51,5052`,
      `${ANN},,110,1020,1130`,
      '',
    ])
    for (const query of [
      '?period=year',
      '?from=yesterday',
      '?from=2026-11-22T10:00:00Z&to=2026-11-22T09:00:00Z',
      '?period=week&from=2026-11-22T10:00:00Z',
      '?from=2026-01-01T00:00:00Z',
    ])
      assert.is((await bed.request('GET', `/v1/usage${query}`)).status, 400, query)
  })
})

http.run()
