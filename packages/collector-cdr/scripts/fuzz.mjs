// Parses and counts mutated files of charging records: node scripts/fuzz.mjs [inputs] [seed].
// Fails on any throw that is not the parser's own, octets that shrink, or memory that grows.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { seededDraw } from '@steeple/testkit'
import { countRecord, identityOf, knownFrom, lineFrom, runOf } from '../src/count/count-file.ts'
import { DamagedFile, recordsIn } from '../src/format/cdr-file.ts'
import { parseRecord } from '../src/format/charging-record.ts'

const FOLDER = join(import.meta.dirname, '..', 'test', 'fixtures')
const RECORDED = 'chf-3e81e85b094027ecfe738efb14e607fef26a8f7696cfa16a7c3a6990e82f4ef2.cdr'
const MOST_HEAP = 256 * 1024 * 1024
const inputs = Number(process.argv[2] ?? 1e5)
// The same inputs for the same seed.
const draw = seededDraw(Number(process.argv[3] ?? 1))
const seeds = readdirSync(FOLDER).map((file) => ({
  name: file.startsWith('p') ? 'imsi-999990000000010.cdr' : RECORDED,
  bytes: readFileSync(join(FOLDER, file)),
}))
const EDGES = [0x00, 0x01, 0x7f, 0x80, 0x81, 0x82, 0x83, 0x84, 0xff, 0x30, 0xa1, 0xa5, 0xbf, 0x1f]

const MUTATIONS = [
  (bytes) => {
    bytes[draw(bytes.length)] = draw(256)
    return bytes
  },
  (bytes) => {
    bytes[draw(bytes.length)] = EDGES[draw(EDGES.length)]
    return bytes
  },
  (bytes) => bytes.subarray(0, draw(bytes.length) + 1),
  (bytes) => {
    const [from, at] = [draw(bytes.length), draw(bytes.length)]
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(from, from + draw(64)), bytes.subarray(at)])
  },
  (bytes) => {
    const at = draw(bytes.length)
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + draw(16))])
  },
]

function mutated({ bytes }) {
  let copy = Buffer.from(bytes)
  for (let count = draw(4) + 1; count > 0; count -= 1) copy = MUTATIONS[draw(MUTATIONS.length)](copy)
  // Most get a header and lengths that let the parser in.
  if (copy.length >= 56 && draw(4) > 0) {
    copy = Buffer.from(copy)
    copy.writeUInt32BE(copy.length, 0)
    if (copy.readUInt32BE(18) === 1 && draw(2) > 0) copy.writeUInt16BE((copy.length - 56) & 0xffff, 52)
  }
  return copy
}

let known = []
const seen = { counted: 0, damaged: 0, foreign: 0 }
let slowestMs = 0
const begin = performance.now()
for (let index = 0; index < inputs; index += 1) {
  const seed = seeds[draw(seeds.length)]
  const bytes = mutated(seed)
  const { user, system } = process.cpuUsage()
  try {
    const records = [...recordsIn(bytes)].flatMap((body) => parseRecord(body, seed.name) ?? [])
    const found = runOf(known, records)
    if (found === undefined) seen.foreign += 1
    else {
      for (const shown of Map.groupBy(records, identityOf).values()) {
        const growth = countRecord(found.run, shown, index)
        if (growth !== undefined && !(growth.upBytes >= 0 && growth.downBytes >= 0))
          throw new Error('it shrank')
      }
      if (lineFrom(knownFrom(lineFrom(known))) !== lineFrom(known))
        throw new Error('a line is not read as written')
      if (found.run.records.size > 20) known = []
      seen.counted += 1
    }
  } catch (error) {
    if (!(error instanceof DamagedFile)) {
      process.stderr.write(`input ${index} (${bytes.toString('base64')})\n`)
      throw error
    }
    seen.damaged += 1
  }
  const after = process.cpuUsage()
  const tookMs = (after.user + after.system - user - system) / 1_000
  slowestMs = Math.max(slowestMs, tookMs)
  if (index % 100_000 === 0 && process.memoryUsage().heapUsed > MOST_HEAP) throw new Error('memory grows')
}
const seconds = ((performance.now() - begin) / 1_000).toFixed(1)
const heap = Math.round(process.memoryUsage().heapUsed / 1024 / 1024)
process.stdout.write(
  `${inputs} inputs in ${seconds} s: ${JSON.stringify(seen)}, slowest ${slowestMs.toFixed(1)} ms of processor time, heap ${heap} MB\n`,
)
