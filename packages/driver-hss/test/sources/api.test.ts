import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { Imsi, SubscriberFound } from '@steeple/contracts'
import { assert, listen, suite, tempDir } from '@steeple/testkit'
import { type OtherCore, otherClients, otherSource } from '../../src/sources/api.ts'

/** Stand-ins with the answers that PyHSS 2.0 and the API of Ella Core 1.15.0 gave, and their refusals. */
const api = suite('driver-hss/sources/api')
const IMSI = '999990000008004' as Imsi // 15 digits
const KEYS = { ki: '465b5ce8b199b49faa5f0a2ee238a6c0', opc: 'cd63cb71954a9f4e48a5994e37a02baf' }
const TOKEN = 'the-token'

type Answers = Readonly<Record<string, unknown>>

const PYHSS: Answers = {
  '/subscriber/list': [
    {
      ...{ subscriber_id: 5, imsi: IMSI, enabled: false, auc_id: 7, default_apn: 2, apn_list: '1,2' },
      ...{ msisdn: '49170008004', ue_ambr_dl: 200_000_000, ue_ambr_ul: 100_000_000 },
    },
  ],
  '/apn/list': [
    { apn_id: 1, apn: 'internet', apn_ambr_dl: 100_000_000, apn_ambr_ul: 50_000_000, qci: 9 },
    { apn_id: 2, apn: 'ims', apn_ambr_dl: 1_000_000, apn_ambr_ul: 1_000_000, qci: 5 },
  ],
  '/auc/list': [{ auc_id: 7, imsi: IMSI, ...KEYS, amf: '9001', sqn: 97_128 }],
  '/subscriber/routing/5/1': { subscriber_id: 5, apn_id: 1, ip_address: '10.45.0.99' },
  '/subscriber/routing/5/2': null,
}
const items = (...list: readonly object[]) => ({ result: { items: list } })
const ELLA: Answers = {
  '/api/v1/subscribers': items({ imsi: IMSI, profile_name: 'gold' }),
  [`/api/v1/subscribers/${IMSI}/credentials`]: {
    result: { key: KEYS.ki, opc: KEYS.opc, sequenceNumber: '000000017b68' },
  },
  '/api/v1/profiles': items({ name: 'gold', ue_ambr_uplink: '1 Gbps', ue_ambr_downlink: '2 Gbps' }),
  '/api/v1/policies': items({
    ...{ name: 'p', profile_name: 'gold', slice_name: 'one', data_network_name: 'internet', default: true },
    ...{ session_ambr_uplink: '200 Mbps', session_ambr_downlink: '100 Mbps', var5qi: 8, arp: 1 },
  }),
  '/api/v1/slices': items({ name: 'one', sst: 1, sd: '010203' }),
  '/api/v1/networking/data-networks': items({ name: 'internet' }),
  '/api/v1/networking/data-networks/internet/static-ips': items({
    ...{ imsi: IMSI, data_network: 'internet', ip_version: 'ipv4', address: '10.45.0.99' },
  }),
}

/** Ella Core refuses pages of more than 100, and gives static addresses all at once whatever is asked for. */
function pagedOf(found: unknown, path: string, asked: URLSearchParams): readonly [number, unknown] {
  if (found === undefined) return [404, { error: 'not found' }]
  const { items: all } =
    (found as { readonly result?: { readonly items?: readonly object[] } } | null)?.result ?? {}
  if (all === undefined) return [200, ['0', '1', null].includes(asked.get('page')) ? found : []]
  const [page, size] = [Number(asked.get('page') ?? 1), Number(asked.get('per_page') ?? 25)]
  if (page < 1) return [400, { error: 'page must be >= 1' }]
  if (size < 1 || size > 100) return [400, { error: 'per_page must be between 1 and 100' }]
  const some = path.endsWith('/static-ips') ? all : all.slice((page - 1) * size, page * size)
  return [200, { result: { items: some, page, per_page: some.length, total_count: all.length } }]
}

/** Serves these to whoever shows the token; everything but a question is noted. */
async function withCore(
  other: 'pyhss' | 'ella',
  answers: Answers,
  work: (settings: OtherCore, told: readonly string[]) => Promise<void>,
): Promise<void> {
  await using dir = await tempDir()
  const file = join(dir.path, 'token')
  await writeFile(file, `${TOKEN}\n`)
  const told: string[] = []
  const server = createServer((request, response) => {
    const { headers, method, url = '/' } = request
    if (method !== 'GET') told.push(`${method} ${url}`)
    const isKnown = headers.authorization === `Bearer ${TOKEN}` || headers['provisioning-key'] === TOKEN
    const { pathname, searchParams } = new URL(url, 'http://core')
    const [status, body] = !isKnown
      ? [401, { error: 'Invalid token' }]
      : pagedOf(answers[pathname], pathname, searchParams)
    response.writeHead(status, { connection: 'close' }).end(JSON.stringify(body))
  })
  const { url, close } = await listen(server)
  try {
    await work({ other, other_url: `${url}/`, other_token_file: file, other_ca_file: '' }, told)
  } finally {
    await close()
  }
}

async function foundIn(settings: OtherCore, what: 'with keys' | 'without keys'): Promise<SubscriberFound> {
  const clients = otherClients({ maxBytes: 1_000_000, idleMs: 0 })
  try {
    const source = otherSource(settings, clients)
    const signal = AbortSignal.timeout(30_000)
    assert.equal(await source?.everybody(signal), [IMSI])
    const found = (await source?.whole([IMSI], what, signal))?.get(IMSI)
    assert.ok(found !== undefined)
    return found
  } finally {
    clients.close()
  }
}

/** The message that `work` rejects with. */
async function messageOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => '',
    (error: Error) => error.message,
  )
}

const hex = (octets: Uint8Array | undefined): string => Buffer.from(octets ?? []).toString('hex')

api('reads of PyHSS all that a subscriber has, and writes nothing', async () => {
  await withCore('pyhss', PYHSS, async (settings, told) => {
    const found = await foundIn(settings, 'with keys')
    assert.equal([hex(found.keys?.ki), hex(found.keys?.opc)], [KEYS.ki, KEYS.opc])
    assert.equal(
      [found.sqn, found.amf, found.msisdn, found.isBlocked, found.ambrBps],
      [97_128n, '9001', '49170008004', true, { up: 100_000_000, down: 200_000_000 }],
    )
    assert.equal(found.slices, [
      {
        ...{ sst: 1, sd: undefined, isDefault: true },
        apns: [
          { name: 'ims', ambrBps: { up: 1_000_000, down: 1_000_000 }, qos: 5, addresses: [] },
          {
            ...{ name: 'internet', ambrBps: { up: 50_000_000, down: 100_000_000 }, qos: 9 },
            addresses: ['10.45.0.99'],
          },
        ],
      },
    ])
    assert.equal((await foundIn(settings, 'without keys')).keys, undefined)
    assert.equal(told, [])
  })
})

api('says how PyHSS shows its keys when it hides them', async () => {
  const hidden = { ...PYHSS, '/auc/list': [{ auc_id: 7, imsi: IMSI, amf: '8000', sqn: 1 }] }
  await withCore('pyhss', hidden, async (settings) => {
    assert.match((await foundIn(settings, 'with keys')).problem ?? '', /enable_insecure_auc/)
  })
})

api('reads of Ella Core what profile, policies and slices make of a subscriber', async () => {
  await withCore('ella', ELLA, async (settings, told) => {
    const found = await foundIn(settings, 'with keys')
    assert.equal([hex(found.keys?.ki), hex(found.keys?.opc)], [KEYS.ki, KEYS.opc])
    assert.equal([found.sqn, found.ambrBps], [97_128n, { up: 1e9, down: 2e9 }])
    const apn = { name: 'internet', ambrBps: { up: 200e6, down: 100e6 }, qos: 8, addresses: ['10.45.0.99'] }
    assert.equal(found.slices, [{ sst: 1, sd: '010203', isDefault: true, apns: [apn] }])
    assert.equal(told, [])
  })
})

api('reads every page of Ella Core, and what comes without pages once', async () => {
  const imsis = Array.from({ length: 230 }, (_none, at) => `99999${String(at).padStart(10, '0')}` as Imsi)
  const given = imsis.map((imsi, at) => ({
    ...{ imsi, data_network: 'internet', ip_version: 'ipv4', address: `10.45.1.${at}` },
  }))
  const many = {
    ...ELLA,
    '/api/v1/subscribers': items(...imsis.map((imsi) => ({ imsi, profile_name: 'gold' }))),
    '/api/v1/networking/data-networks/internet/static-ips': items(...given),
  }
  await withCore('ella', many, async (settings) => {
    const clients = otherClients({ maxBytes: 1_000_000, idleMs: 0 })
    try {
      const source = otherSource(settings, clients)
      const signal = AbortSignal.timeout(30_000)
      assert.equal(await source?.everybody(signal), imsis)
      const last = imsis.slice(-1)
      const found = await source?.whole(last, 'without keys', signal)
      assert.equal(
        [...(found?.values() ?? [])].flatMap(({ slices }) =>
          slices.flatMap(({ apns }) => apns[0]?.addresses),
        ),
        ['10.45.1.229'],
      )
    } finally {
      clients.close()
    }
  })
})

api('says what is wrong with the other core: its token, its address, its answer', async () => {
  await withCore('ella', ELLA, async (settings) => {
    await writeFile(settings.other_token_file, 'wrong')
    assert.match(
      await messageOf(foundIn(settings, 'with keys')),
      /does not take the token of hss\.other_token_file/,
    )
    const away = { ...settings, other_url: 'http://127.0.0.1:9' }
    assert.match(await messageOf(foundIn(away, 'with keys')), /does not answer \(ECONNREFUSED\)/)
  })
  await withCore('ella', {}, async (settings) => {
    assert.match(await messageOf(foundIn(settings, 'with keys')), /answers 404 for/)
  })
})

api.run()
