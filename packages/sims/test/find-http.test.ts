import { imsiHash, parseImsi } from '@steeple/telecom'
import { assert, bodyOf, codeOf, loadTestbed, pluginFrom, suite, type Testbed } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import type { SimBody } from './support/answers.ts'

const http = suite('sims/find-http')
let bed: Testbed

http.before(async () => {
  const { startTestbed } = await loadTestbed()
  bed = await startTestbed({ plugins: [await pluginFrom(import.meta.url, plugin)] })
  bodyOf(
    await bed.request('POST', '/v1/sims/import', {
      body: { sims: PEOPLE.map((person) => ({ ki: KI, opc: KI, ...person })) },
    }),
  )
})
http.after(() => bed.stop())

const KI = '465b5ce8b199b49faa5f0a2ee238a6bc'
const imsi = (number: number): string => `99999${String(number).padStart(10, '0')}`
const hashOf = (number: number): string => imsiHash(parseImsi(imsi(number))!)
const PEOPLE = [
  { imsi: imsi(1), label: 'Anna Müller, harbour', iccid: '8988211000000000003', msisdn: '4917012345' },
  { imsi: imsi(2), label: 'Ben (harbour office)', iccid: '8988211000000000011', msisdn: '4917099345' },
  { imsi: imsi(3), label: 'truck-7', iccid: '8988212000000000002' },
  { imsi: imsi(4) },
]

const inOrder = async (query: string): Promise<readonly number[]> => {
  const found: string[] = []
  let cursor: string | null = null
  do {
    const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: { sims: readonly SimBody[]; next_cursor: string | null } = bodyOf(
      await bed.request('GET', `/v1/sims?${query}${more}`),
    )
    found.push(...page.sims.map((sim) => sim.imsi_sha256_12))
    cursor = page.next_cursor
  } while (cursor !== null)
  return found.map((hash) => PEOPLE.findIndex((_, i) => hashOf(i + 1) === hash) + 1)
}
const all = async (query: string): Promise<readonly number[]> => (await inOrder(query)).toSorted()
const q = (text: string, more = ''): Promise<readonly number[]> => all(`q=${encodeURIComponent(text)}${more}`)
const found = async (body: object): Promise<readonly string[]> =>
  bodyOf<{ sims: readonly SimBody[] }>(await bed.request('POST', '/v1/sims/find', { body })).sims.map(
    (sim) => sim.imsi_sha256_12,
  )

http('finds by any word of the label, in any case and without accents', async () => {
  assert.equal(await q('harbour'), [1, 2])
  assert.equal(await q('HARB'), [1, 2])
  assert.equal(await q('muller'), [1])
  assert.equal(await q('müller harbour'), [1])
  assert.equal(await q('office'), [2])
  assert.equal(await q('truck-7'), [3])
  assert.equal(await q('ruck'), [])
  assert.equal(await q('nobody'), [])
})

http('finds by the beginning of the hash and by the last digits of ICCID and MSISDN', async () => {
  assert.equal(await q(hashOf(3).slice(0, 8)), [3])
  assert.equal(await q(hashOf(4)), [4])
  assert.ok((await q('0003')).includes(1))
  assert.ok((await q('003')).includes(1))
  assert.ok((await q('00003')).includes(1))
  assert.equal(await q('12000000000002'.slice(1)), [3])
  assert.equal(await q('1100000000000'), [])
  assert.equal(await q('012345'), [1])
  assert.equal(
    (await q('345')).filter((n) => n < 3),
    [1, 2],
  )
})

http('keeps to pages, and to the other filters', async () => {
  assert.equal(await q('harbour', '&limit=1'), [1, 2])
  assert.equal(await q('harbour', '&state=revoked'), [])
  assert.equal(await all('msisdn=4917099345'), [2])
  assert.equal(await all('msisdn=17099345'), [])
  assert.equal(await all('iccid_last4=0011'), [2])
  assert.is(codeOf(await bed.request('GET', '/v1/sims?iccid_last4=11'), 400), 'validation_failed')
})

http('sorts on the server, page by page, in both directions', async () => {
  const listed = async (query: string): Promise<readonly number[]> => {
    const [once, paged] = [await inOrder(`${query}&limit=100`), await inOrder(`${query}&limit=1`)]
    assert.equal(paged, once, query)
    return once
  }
  assert.equal(await listed('sort=label'), [1, 2, 3, 4])
  // Without a label behind all others.
  assert.equal(await listed('sort=-label'), [3, 2, 1, 4])
  assert.equal(await listed('sort=-label&q=harbour'), [2, 1])
  bodyOf(await bed.request('POST', `/v1/sims/${hashOf(2)}/suspend`, { body: {} }))
  assert.is((await listed('sort=-state'))[0], 2)
  assert.is((await listed('sort=state')).at(-1), 2)
  bodyOf(await bed.request('POST', `/v1/sims/${hashOf(2)}/resume`, { body: {} }))
  for (const sort of ['expires_at', 'last_seen', 'used'])
    for (const way of ['', '-']) assert.is(new Set(await listed(`sort=${way}${sort}`)).size, 4)
  assert.is(codeOf(await bed.request('GET', '/v1/sims?sort=imsi'), 400), 'validation_failed')
  const { next_cursor: cursor } = bodyOf<{ next_cursor: string }>(
    await bed.request('GET', '/v1/sims?sort=label&limit=1'),
  )
  const other = await bed.request('GET', `/v1/sims?sort=-label&limit=1&cursor=${encodeURIComponent(cursor)}`)
  assert.is(codeOf(other, 400), 'invalid_cursor')
})

http('says how many SIMs a filter means', async () => {
  const total = async (query: string): Promise<unknown> =>
    bodyOf<{ total: unknown }>(await bed.request('GET', `/v1/sims?limit=1&${query}`)).total
  assert.equal(
    [await total(''), await total('state=revoked'), await total('q=harbour'), await total('label=truck-7')],
    [4, 0, 2, 1],
  )
  assert.is(await total('expires_before=2020-01-01T00:00:00Z'), 0)
  assert.is(await total('expires_after=2020-01-01T00:00:00Z'), 4)
  const wrong = await bed.request('GET', '/v1/sims?expires_before=soon')
  assert.is(codeOf(wrong, 400), 'validation_failed')
})

http('takes no whole IMSI or ICCID in an address, and says where it goes', async () => {
  for (const text of [imsi(1), '8988211000000000003']) {
    const answer = await bed.request('GET', `/v1/sims?q=${text}`)
    assert.is(codeOf(answer, 400), 'validation_failed')
    assert.match(JSON.stringify(answer.body), /POST \/v1\/sims\/find/)
    assert.not.match(JSON.stringify(answer.body), text)
  }
  assert.is(codeOf(await bed.request('GET', '/v1/sims?q=%2C'), 400), 'validation_failed')
})

http('finds by IMSI, ICCID and MSISDN in a body, and leaves no trace of them', async () => {
  assert.equal(await found({ imsi: imsi(2) }), [hashOf(2)])
  assert.equal(await found({ iccid: '8988212000000000002' }), [hashOf(3)])
  assert.equal(await found({ msisdn: '4917012345' }), [hashOf(1)])
  assert.equal(await found({ msisdn: '012345' }), [])
  assert.equal(await found({ imsi: imsi(77) }), [])
  assert.equal(await found({ imsi: imsi(1), msisdn: '4917099345' }), [])
  assert.is(codeOf(await bed.request('POST', '/v1/sims/find', { body: {} }), 400), 'validation_failed')
})

http('labels one SIM and finds it by the new words alone', async () => {
  const label = async (hash: string, text: string | null): Promise<SimBody> =>
    bodyOf(await bed.request('POST', `/v1/sims/${hash}/label`, { body: { label: text } }))
  assert.is((await label(hashOf(4), 'Clara')).label, 'Clara')
  assert.equal(await q('clara'), [4])
  assert.is((await label(hashOf(4), 'Dora')).label, 'Dora')
  assert.equal([await q('clara'), await q('dora')], [[], [4]])
  assert.is((await label(hashOf(4), null)).label, null)
  assert.equal(await q('dora'), [])
  const missing = await bed.request('POST', '/v1/sims/000000000000/label', { body: { label: 'x' } })
  assert.is(codeOf(missing, 404), 'sim_not_found')
  const body = { action: 'label', filter: { q: 'harbour' }, label: 'Quay team' }
  const bulk = async (more: object): Promise<object> => {
    const { matched, changed } = bodyOf<{ matched: number; changed: number }>(
      await bed.request('POST', '/v1/sims/bulk', { body: { ...body, ...more } }),
    )
    return { matched, changed }
  }
  assert.equal(await bulk({ dry_run: true }), { matched: 2, changed: 2 })
  assert.equal(await q('quay'), [])
  assert.equal(await bulk({}), { matched: 2, changed: 2 })
  assert.equal([await q('quay'), await q('harbour')], [[1, 2], []])
})

http('labels nothing that has changed since it was read, and once of two at once', async () => {
  const path = `/v1/sims/${hashOf(3)}`
  const label = (text: string, etag: string | undefined) =>
    bed.request('POST', `${path}/label`, {
      body: { label: text },
      headers: etag === undefined ? {} : { 'if-match': etag },
    })
  const tagNow = async () => (await bed.request('GET', path)).headers.get('etag') ?? ''
  const labelNow = async () => bodyOf<SimBody>(await bed.request('GET', path)).label
  const seen = await tagNow()
  bodyOf(await label('truck-8', seen))
  assert.is(codeOf(await label('truck-9', seen), 412), 'stale_change')
  assert.is(await labelNow(), 'truck-8')
  const two = await Promise.all([await tagNow()].flatMap((tag) => [label('left', tag), label('right', tag)]))
  assert.equal(two.map(({ status }) => status).sort(), [200, 412])
  const won = two.find(({ status }) => status === 200)
  assert.is(await labelNow(), bodyOf<SimBody>(won!).label)
  assert.is(await tagNow(), won?.headers.get('etag'))
  const before = await tagNow()
  bodyOf(await bed.request('POST', `${path}/suspend`, { body: {} }))
  assert.is(codeOf(await label('truck-7', before), 412), 'stale_change')
  bodyOf(await bed.request('POST', `${path}/resume`, { body: {} }))
  bodyOf(await label('truck-7', undefined))
  assert.is(await labelNow(), 'truck-7')
})

http('finds what was issued with a label', async () => {
  bodyOf(await bed.request('POST', '/v1/sims', { body: { label: 'Erika', msisdn: '4930111' } }), 201)
  const { sims } = bodyOf<{ sims: readonly SimBody[] }>(await bed.request('GET', '/v1/sims?q=erika'))
  assert.equal(
    sims.map(({ label }) => label),
    ['Erika'],
  )
  assert.equal((await found({ msisdn: '4930111' })).length, 1)
})

http(
  'prints the handout of a batch, eight to a page, and codes only when asked, which is audited',
  async () => {
    const label = 'pier <1>'
    const { batch_id: batch } = bodyOf<{ batch_id: string }>(
      await bed.request('POST', '/v1/sims', { body: { count: 9, label } }),
      201,
    )
    const print = async (more: string): Promise<string> => {
      const answer = await bed.request('GET', `/v1/sims/handout?batch_id=${batch}${more}`)
      assert.is(answer.status, 200)
      assert.match(
        answer.headers.get('content-security-policy') ?? '',
        /^default-src 'none'; style-src 'sha256-/,
      )
      assert.match(answer.headers.get('content-disposition') ?? '', 'filename="handout-pier-1.html"')
      return String(answer.body)
    }
    const audited = async (): Promise<number> =>
      (await bed.audit()).filter(({ action }) => action === 'sim.handout').length
    const plain = await print('&language=fr')
    assert.is(plain.split('<section').length - 1, 2)
    assert.is(plain.split('<article').length - 1, 9)
    assert.match(plain, /<html lang="fr">/)
    assert.match(plain, /pier &lt;1&gt; 1.*pier &lt;1&gt; 9/s)
    // A person enters one: the one that the network gives who names none.
    assert.is(plain.match(/<dt>APN<\/dt><dd>[^,<]+<\/dd>/g)?.length, 9)
    assert.not.match(plain, /<script|PUK|src=|href=/)
    assert.is(await audited(), 0)
    const coded = await print('&codes=true')
    assert.is(coded.match(/<dt>PIN<\/dt><dd>\d{4,8}<\/dd><dt>PUK<\/dt><dd>\d{8}<\/dd>/g)?.length, 9)
    assert.is(await audited(), 1)
    const { sims } = bodyOf<{ sims: { imsi_sha256_12: string }[] }>(
      await bed.request('GET', `/v1/sims?batch_id=${batch}`),
    )
    const two = sims.slice(0, 2).map(({ imsi_sha256_12: hash }) => hash)
    const some = await bed.request('GET', `/v1/sims/handout?sims=${two.join(',')}`)
    assert.is(String(some.body).split('<article').length - 1, 2)
    const twice = await bed.request('GET', `/v1/sims/handout?sims=${[...two, ...two].join(',')}`)
    assert.is(String(twice.body).split('<article').length - 1, 2)
    for (const query of ['', `?sims=${two[0]}&batch_id=${batch}`, '?sims=zzz'])
      assert.is(codeOf(await bed.request('GET', `/v1/sims/handout${query}`), 400), 'validation_failed')
    // Whose codes were printed is in the trail, also of SIMs that are of no batch together.
    await bed.request('GET', `/v1/sims/handout?sims=${two.join(',')}&codes=true`)
    const details = (await bed.audit())
      .filter(({ action }) => action === 'sim.handout')
      .map(({ detail }) => detail as { readonly sims: number; readonly hashes?: readonly string[] })
    assert.equal(details.map(({ sims: count, hashes }) => [count, hashes?.toSorted()]).toSorted(), [
      [2, two.toSorted()],
      [9, undefined],
    ])
    const none = '/v1/sims/handout?batch_id=b-20260101-000000000000'
    assert.is(codeOf(await bed.request('GET', none), 404), 'not_found')
    // What looks like a key or an IMSI is in no answer, and in no entry of the audit trail.
    const key = '465b5ce8b199b49faa5f0a2ee238a6bc'
    const refused = await bed.request('GET', `/v1/sims/handout?batch_id=${key}&codes=true`)
    assert.is(codeOf(refused, 400), 'validation_failed')
    assert.not.match(JSON.stringify([refused.body, await bed.audit()]), key)
  },
)

http('does not say that nobody is attached while there is no core to ask', async () => {
  const { attached } = bodyOf<{ attached: unknown }>(await bed.request('GET', `/v1/sims/${hashOf(1)}`))
  assert.is(attached, null)
  for (const query of ['attached=true', 'attached=false'])
    assert.is(codeOf(await bed.request('GET', `/v1/sims?${query}`), 503), 'southbound_unavailable')
})

interface BulkAnswer {
  readonly matched: number
  readonly changed: number
  readonly unchanged: number
  readonly failed: number
  readonly next: string | null
  readonly kinds: readonly { readonly state: string; readonly status: string; readonly sims: number }[]
  readonly results: readonly { readonly imsi_sha256_12: string; readonly status: string }[]
}

http('says which SIMs a bulk change leaves out, before it is done part by part', async () => {
  const bulk = async (body: object): Promise<BulkAnswer> =>
    bodyOf<BulkAnswer>(await bed.request('POST', '/v1/sims/bulk', { body }))
  const everybody = { action: 'suspend', filter: { expires_after: '1970-01-01T00:00:00Z' } }
  await bulk({ action: 'suspend', ids: [hashOf(1)] })
  await bulk({ action: 'revoke', ids: [hashOf(2)] })
  const dry = await bulk({ ...everybody, dry_run: true })
  const changed = dry.matched - 2
  assert.equal(
    new Set(dry.kinds.map(({ state, status, sims }) => `${state} ${status} ${sims}`)),
    new Set([`issued changed ${changed}`, 'suspended unchanged 1', 'revoked error 1']),
  )
  assert.equal([dry.changed, dry.unchanged, dry.failed, dry.results], [changed, 1, 1, []])
  const { state } = bodyOf<SimBody>(await bed.request('GET', `/v1/sims/${hashOf(3)}`))
  assert.is(state, 'issued', 'a dry run changes nothing')
  const parts: BulkAnswer[] = []
  do {
    const after = parts.at(-1)?.next ?? undefined
    parts.push(await bulk({ ...everybody, limit: 5, ...(after === undefined ? {} : { after }) }))
  } while (parts.at(-1)?.next !== null)
  const sum = (name: 'matched' | 'changed' | 'unchanged' | 'failed'): number =>
    parts.reduce((all, part) => all + part[name], 0)
  assert.equal(
    [sum('matched'), sum('changed'), sum('unchanged'), sum('failed')],
    [dry.matched, changed, 1, 1],
  )
  const hashes = parts.flatMap(({ results }) => results.map((row) => row.imsi_sha256_12))
  assert.is(new Set(hashes).size, dry.matched)
  // A search finds the newest first; its parts go by hash all the same.
  const search = { action: 'resume', filter: { q: 'pier' }, limit: 4 }
  const first = await bulk(search)
  const rest = await bulk({ ...search, limit: 100, after: first.next })
  assert.equal([first.changed, rest.changed, rest.next], [4, 5, null])
  for (const wrong of [{ limit: 2 }, { after: hashOf(3) }, { expires_at: '2099-01-01T00:00:00Z' }]) {
    const body = { action: 'suspend', ids: [hashOf(3)], ...wrong }
    assert.is(codeOf(await bed.request('POST', '/v1/sims/bulk', { body }), 400), 'validation_failed')
  }
})

http.run()
