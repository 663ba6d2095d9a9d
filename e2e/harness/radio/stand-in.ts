// A stand-in for srsenb that streams samples to a counter and says what a cell of 5 MHz at EARFCN 3350 says. It is as slow to
// fall silent as it is told to be: see `Manners`.
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import type { Manners } from './air.ts'

const SAMPLE_EVERY_MS = 2
/** So long srsenb goes on after a signal, and so long it takes to close its device, ms. */
const [LAST_SAMPLES_MS, TEARDOWN_MS] = [60, 2_000]

const [, , counter = '', mannersFile = ''] = process.argv
const manners = readFileSync(mannersFile, 'utf8').trim() as Manners
if (manners === 'broken') process.exit(1)
writeFileSync(`${mannersFile}.pid`, String(process.pid))
const air = connect(counter)
air.on('error', () => process.exit(1))
// Each sample is its time, CLOCK_MONOTONIC in ms.
const sample = Buffer.alloc(8)
const sending = setInterval(() => {
  sample.writeDoubleLE(Number(process.hrtime.bigint()) / 1e6)
  air.write(Buffer.from(sample))
}, SAMPLE_EVERY_MS)

for (const line of [
  '---  Software Radio Systems LTE eNodeB  ---',
  'Opening 1 channels in RF device=uhd with args=type=b200',
  '==== eNodeB started ===',
  'Setting frequency: DL=2680.0 Mhz, UL=2560.0 MHz for cc_idx=0 nof_prb=25',
  '2026-11-20T13:10:07.143000 [S1AP   ] [I] Proc "MME Connection" - S1Setup procedure completed successfully',
])
  process.stdout.write(`${line}\n`)

const end = (): void => {
  if (manners === 'deaf') return
  setTimeout(() => clearInterval(sending), LAST_SAMPLES_MS)
  setTimeout(() => process.exit(0), TEARDOWN_MS)
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end)
createInterface({ input: process.stdin }).on('line', (line) => {
  if (manners !== 'deaf' && line.startsWith('cell_gain 1 -')) clearInterval(sending)
})
// As a radio: it runs until it is told to end.
setInterval(() => undefined, 60_000)
