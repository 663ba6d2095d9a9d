// Reads mutated pages of the info API as the collector does: node scripts/fuzz.mjs [inputs] [seed].
// Fails on any throw, a page that takes long, an IMSI in what comes out, or memory that grows.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { amfUe, enb, gnb, mmeUe, parsePage, smfPdu } from '@steeple/southbound'
import { seededDraw } from '@steeple/testkit'
import { sightingsIn } from '../src/plugin.ts'

const FOLDER = join(import.meta.dirname, '..', '..', 'southbound', 'fixtures', 'open5gs-info')
const LONGEST_MS = 50
const MOST_HEAP = 256 * 1024 * 1024
const inputs = Number(process.argv[2] ?? 1e5)
// The same inputs for the same seed.
const draw = seededDraw(Number(process.argv[3] ?? 1))
const one = (list) => list[draw(list.length)]
const seeds = readdirSync(FOLDER)
  .filter((file) => file.includes('-info.'))
  .map((file) => readFileSync(join(FOLDER, file), 'utf8').trim())
const VALUES = [
  'null', 'true', '0', '-1', '5', '1e400', '1.79517530451272e+15', '9007199254740993', '""', '"registered"',
  '"imsi-999990000000001"', '"999990000000001"', '"fe80::1%eth0"', '"::"', '"2001:db8::1"', '"10.45.0.2"',
  '"99970"', '[]', '{}', '[[]]', '{"__proto__":{"supi":"999990000000001"}}', '"\\ud800"', '[{"ebi":5,"apn":"internet"}]',
] // biome-ignore format: a table
const NAMES = ['supi', 'pdn', 'pdu', 'pdu_sessions', 'apn', 'dnn', 'ebi', 'psi', 'ipv4', 'ipv6', 'plmn', 'enb', 'location', 'tai', 'nci', 'cell_id', 'mm_state', 'items', 'pager', 'next', 'truncated'] // biome-ignore format: a table
const VALUE = /(?<=:)("(?:[^"\\]|\\.)*"|-?[0-9.e+]+|true|false|null|\[\]|\{\})/g

const MUTATIONS = [
  (text) => {
    const at = draw(text.length + 1)
    return text.slice(0, at) + String.fromCharCode(draw(256)) + text.slice(at + 1)
  },
  (text) => text.slice(0, draw(text.length + 1)),
  (text) => {
    const [from, at] = [draw(text.length + 1), draw(text.length + 1)]
    return text.slice(0, at) + text.slice(from, from + draw(64)) + text.slice(at)
  },
  // Values and names of the right form in the wrong places: these are the ones that still parse.
  ...Array.from({ length: 6 }, () => (text) => {
    let at = draw(24)
    return text.replace(VALUE, (value) => (at-- === 0 ? one(VALUES) : value))
  }),
  (text) => text.replaceAll(`"${one(NAMES)}"`, `"${one(NAMES)}"`),
  (text) => text.replace('"items":[', `"items":[${`${one(VALUES)},`.repeat(draw(40))}`),
]

function mutated() {
  let text = one(seeds)
  for (let count = draw(4) + 1; count > 0; count -= 1) text = one(MUTATIONS)(text)
  return text
}

const seen = { pages: 0, phones: 0, sessions: 0, sightings: 0 }
const by = { lte: new Map(), nr: new Map() }
const sessions = new Map()

function read(text) {
  const page = parsePage(text)
  if (page === undefined) return
  seen.pages += 1
  for (const item of page.items) {
    for (const reader of [mmeUe, amfUe]) {
      const ue = reader(item)
      if (ue !== undefined) by[ue.technology].set(ue.imsi, ue)
    }
    const pdu = smfPdu(item)
    if (pdu !== undefined && pdu.sessions.length > 0) {
      sessions.set(pdu.imsi, pdu.sessions)
      seen.sessions += pdu.sessions.length
    }
    enb(item)
    gnb(item)
  }
}

function check() {
  const walked = (value) => ({ value, beganMs: 0, endedMs: 0 })
  const { sightings } = sightingsIn({ ues: walked({ ues: by.lte, by }), sessions: walked(sessions) }, 0)
  seen.phones += by.lte.size + by.nr.size
  seen.sightings += sightings.length
  // An APN that is spelled like an IMSI is the core's word.
  const text = JSON.stringify(
    sightings.map(({ apn, reference, ...rest }) => [rest, reference.replace(`/${apn}/`, '/')]),
  )
  for (const imsi of [...by.lte.keys(), ...by.nr.keys()])
    if (text.includes(imsi)) throw new Error('an IMSI is in what comes out')
  for (const map of [by.lte, by.nr, sessions]) map.clear()
}

let slowestMs = 0
const begin = performance.now()
for (let index = 0; index < inputs; index += 1) {
  const text = mutated()
  const from = performance.now()
  try {
    read(text)
    if (index % 16 === 15) check()
  } catch (error) {
    process.stderr.write(`input ${index} (seed ${process.argv[3] ?? 1}): ${error.stack}\n${text}\n`)
    process.exit(1)
  }
  slowestMs = Math.max(slowestMs, performance.now() - from)
  if (index % 100_000 === 0 && process.memoryUsage().heapUsed > MOST_HEAP) throw new Error('memory grows')
}
const seconds = (performance.now() - begin) / 1000
process.stdout.write(
  `${inputs} inputs in ${seconds.toFixed(0)} s: ${JSON.stringify(seen)}, longest ${slowestMs.toFixed(1)} ms, ` +
    `heap ${(process.memoryUsage().heapUsed / 1048576).toFixed(0)} MiB\n`,
)
if (slowestMs > LONGEST_MS)
  process.stdout.write(`longer than ${LONGEST_MS} ms: look whether the machine was busy\n`)
