import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import type { Context, Instance, Plugin } from '@steeple/contracts'
import { assert, eventually, loadTestbed, pluginFrom, suite, type Testbed } from '@steeple/testkit'
import { bundleOf } from '../src/bundle/archive.ts'
import { plugin } from '../src/plugin.ts'
import { filesIn } from './support/untar.ts'

/* Plugins, peers and stores that say whatever they like, in every place that a bundle reads. */

const test = suite('a bundle among the hostile')

const PERSON = 'ann.smith'
const IMSI = '001010123456789'
const PSK = `AbCdEf${'x'.repeat(37)}=`
const MATCHING_ID = 'QK7VN2XB4TR9WM3HDZ5FC8GJ6Y'

/** Says in each of its words what nobody outside is to know. */
const talker: Plugin = {
  setup: async (context: Context): Promise<Instance> => {
    const { log } = context
    log.warn({ [PERSON]: 1, [`${PERSON}@example.org`]: true, container: `attic-${PERSON}` }, 'words')
    log.warn({ why: `/home/${PERSON}/${PERSON}.txt can be read by others` }, 'words')
    log.warn({ error: `LPA:1$smdp.example.org$${MATCHING_ID}`, reason: `${IMSI}.` }, `key ${PSK}`)
    log.warn({ err: Object.assign(new Error(`EACCES: '/home/${PERSON}/x'`), { code: PERSON }) }, 'words')
    const seen = context.metrics.gauge('svc_talker_seen', 'What was seen', ['where'])
    seen.set(1, { where: `http://u:${PERSON}@example.org/${PERSON}` })
    return {
      health: async () => [
        {
          name: `talker.${PERSON}@example.org`,
          kind: 'feature',
          status: 'degraded',
          detail: `${'x'.repeat(100_000)}`,
        },
        {
          name: 'talker.files',
          kind: 'feature',
          status: 'degraded',
          detail: `/home/${PERSON}/${PERSON}.key: "${PERSON}" at http://h/${PERSON}, ${IMSI}.`,
        },
      ],
    }
  },
}

let bed: Testbed

test.before(async () => {
  const { startTestbed } = await loadTestbed()
  const manifest = {
    id: 'talker',
    kind: 'feature',
    contracts: '*',
    config_path: 'talker',
    handover: 'overlap',
    metrics: { svc_talker_seen: 'What was seen' },
  } as const
  bed = await startTestbed({
    plugins: [
      await pluginFrom(import.meta.url, plugin),
      { manifest, name: 'talker', version: '1.0.0', plugin: talker },
    ],
  })
})
test.after(() => bed.stop())

async function bundle(): Promise<Buffer> {
  const response = await fetch(`${bed.url}/v1/support/bundle`, {
    headers: { authorization: `Bearer ${bed.adminToken}` },
  })
  assert.is(response.status, 200)
  return gunzipSync(await response.bytes())
}

test('has nothing of what a plugin says of people and keys', async () => {
  await eventually(async () => {
    const archive = await bundle()
    const text = archive.toString()
    assert.ok(text.includes('talker.files'), 'the health was asked')
    assert.ok(text.includes('svc_talker_seen'))
    for (const secret of [PERSON, IMSI, PSK, MATCHING_ID]) {
      const at = text.indexOf(secret)
      assert.is(at, -1, text.slice(Math.max(0, at - 300), at + 100))
    }
    assert.ok(archive.length < 1_000_000)
  })
})

test('has the metrics of HTTP, and timings of it', async () => {
  const files = await filesIn(await bundle())
  assert.match(files.get('svc-support/metrics.txt') ?? '', /svc_http_requests_total\{method="GET"/)
  assert.match(files.get('svc-support/timings.json') ?? '', /svc_http_request_duration_seconds_sum/)
  const { body } = await bed.request('GET', '/metrics')
  assert.is(String(body).match(/# TYPE svc_http_requests_total/g)?.length, 1)
})

test('taken by many at once is whole each time', async () => {
  const archives = await Promise.all(Array.from({ length: 8 }, () => bundle()))
  for (const archive of archives) {
    const manifest = JSON.parse((await filesIn(archive)).get('svc-support/manifest.json') ?? '')
    assert.equal(manifest.failed, {})
  }
})

test('comes without what fails, whatever it fails with', async () => {
  const odd: readonly unknown[] = [
    Object.create(null),
    undefined,
    { toString: () => assert.unreachable('a text of it was asked for twice') },
    new Error('a plain one'),
  ]
  for (const thrown of odd) {
    const files = [
      {
        name: 'a.json',
        make: async () => {
          throw thrown
        },
      },
      { name: 'b.json', make: async () => '{}\n' },
    ]
    const octets = await buffer(bundleOf(files, {}, { nowMs: 0, reasonOf: (error) => String(error) }))
    const read = await filesIn(gunzipSync(octets))
    assert.is(read.get('svc-support/b.json'), '{}\n')
    const { failed } = JSON.parse(read.get('svc-support/manifest.json') ?? '')
    assert.type(failed['a.json'], 'string')
  }
})

test.run()
