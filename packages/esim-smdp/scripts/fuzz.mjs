// Sends changed requests to the SM-DP+ in this process: node scripts/fuzz.mjs [calls, 1000000] [seed].
// Ends with 1, the seed and the call when one of them was answered in another form than SGP.22's.
import { fuzz } from '../test/support/fuzz.ts'

const calls = Number(process.argv[2] ?? 1_000_000)
const seed = Number(process.argv[3] ?? (Date.now() % 0x7fffffff) + 1)
const CHUNK = 20_000
const answers = new Map()
const startedMs = Date.now()
for (let at = 0; at < calls; at += CHUNK) {
  const part = await fuzz(seed + at, Math.min(CHUNK, calls - at))
  for (const [answer, count] of part.answers) answers.set(answer, (answers.get(answer) ?? 0) + count)
}
const lines = [...answers].sort().map(([answer, count]) => `${String(count).padStart(8)}  ${answer}`)
process.stdout.write(
  `${lines.join('\n')}\n${calls} requests, seed ${seed}, ${Math.round((Date.now() - startedMs) / 1_000)} s: all answered in form\n`,
)
