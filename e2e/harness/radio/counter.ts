// Counts the samples that stand-ins send, in bins of 10 ms, in a process of its own. What it has seen is what was on air.
import { createServer } from 'node:net'

const BIN_MS = 10
const [, , path = ''] = process.argv
const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6

/** Samples by the bin in which they arrived. */
const bins = new Map<number, number>()
/** When the newest arrived, and when it was sent. */
let lastMs = 0
let lastSentMs = 0
/** Latest that a timer of this process came, ms, since it was asked: how busy the machine is. */
let lateMs = 0
let expectedMs = nowMs() + BIN_MS

setInterval(() => {
  lateMs = Math.max(lateMs, nowMs() - expectedMs)
  expectedMs = nowMs() + BIN_MS
}, BIN_MS)
createServer((radio) => {
  radio.on('error', () => undefined)
  let rest: Buffer = Buffer.alloc(0)
  radio.on('data', (chunk) => {
    const bytes = Buffer.concat([rest, chunk as Buffer])
    const whole = Math.floor(bytes.length / 8)
    rest = bytes.subarray(whole * 8)
    if (whole === 0) return
    lastMs = nowMs()
    lastSentMs = Math.max(lastSentMs, bytes.readDoubleLE((whole - 1) * 8))
    const bin = Math.floor(lastMs / BIN_MS)
    bins.set(bin, (bins.get(bin) ?? 0) + whole)
  })
}).listen(path, () => process.send?.('listening'))

process.on('message', (sinceMs: number) => {
  let samples = 0
  for (const [bin, count] of bins) if (bin * BIN_MS >= sinceMs) samples += count
  process.send?.({ samples, lastMs, lastSentMs, lateMs })
  lateMs = 0
})
process.on('disconnect', () => process.exit(0))
