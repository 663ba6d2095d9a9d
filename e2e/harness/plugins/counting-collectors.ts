/** A subscriber of the collectors of these tests: nobody's IMSI has these hashes. */
export const JOURNAL_IMSI = '00000000aaaa'
export const METER_IMSI = '00000000bbbb'

const COMMON = (imsi: string, file: string): string => `
import { readFileSync } from 'node:fs'
const text = () => readFileSync(${JSON.stringify(file)}, 'utf8')
const sighting = (nowMs) => ({
  imsi: '${imsi}', apn: 'internet', plmn: '999-99', address: undefined, prefix: undefined, technology: 'lte',
  cell: undefined, state: 'active', reference: 'only', startedAtMs: undefined, seenAtMs: nowMs,
})
const volume = (nowMs, up, down, count) => ({
  key: { by: 'session', reference: 'only' }, upBytes: up, downBytes: down, fromMs: nowMs, toMs: nowMs, count, isIncomplete: false,
})
const plugin = (source, poll) => ({
  setup: async (context) => ({
    services: new Map([['collector.' + source, { source, poll: async (position, signal) => {
      signal.throwIfAborted()
      const nowMs = context.clock.nowMs()
      return { sightings: [sighting(nowMs)], isWhole: true, lost: undefined, ...poll(nowMs, position) }
    } }]]),
  }),
})
`

/** Gives the lines \`up down\` of a file that grows as deltas, from the line that its position names. */
export function journalSource(file: string, version: string): string {
  return `${COMMON(JOURNAL_IMSI, file)}
// ${version}
const exported = plugin('journal', (nowMs, position) => {
  const lines = text().split('\\n').slice(0, -1)
  const rows = lines.slice(Number(position ?? 0)).map((line) => line.split(' ').map(Number))
  const volumes = rows.map(([up, down]) => volume(nowMs, up, down, 'delta'))
  return { volumes, position: String(lines.length) }
})
export { exported as plugin }
`
}

/** Gives what a counter in a file reads: \`generation up down\`. */
export function meterSource(file: string, version: string): string {
  return `${COMMON(METER_IMSI, file)}
// ${version}
const exported = plugin('meter', (nowMs) => {
  const [generation, up, down] = text().split(' ')
  return { volumes: [volume(nowMs, Number(up), Number(down), { counter: 'meter', generation })], position: undefined }
})
export { exported as plugin }
`
}
